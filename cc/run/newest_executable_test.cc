#include "cc/run/newest_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/compile/inline_call.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int32_t kSteps = 5, kPerStep = 1111, kLimit = kSteps * kPerStep;

// What the functions add to their argument.
const std::map<std::string, int32_t>& Addends() {
  static const auto* const addends =
      new std::map<std::string, int32_t>{{"f", 10}, {"g", 100}, {"h", 1000}};
  return *addends;
}

// The graphs of the functions, and what their calls do and have done. The kernels may be called by
// several threads, so a test changes it only while nothing runs.
struct Functions {
  std::map<std::string, std::unique_ptr<tensorflow::Graph>> graphs;
  std::function<void(const std::string& function)> at_call;
  std::function<void()> when_made;  // when the kernel of a call is made
  std::atomic<int> kernels{0};      // that were made
};

Functions& TheFunctions() {
  static auto* const functions = new Functions;
  return *functions;
}

// The kernel of a call. Its first call instantiates the function: LoopPass then offers the graph.
class Call : public tensorflow::AsyncOpKernel {
 public:
  explicit Call(OpKernelConstruction* ctx) : AsyncOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("f", &function_));
    ++TheFunctions().kernels;
    if (TheFunctions().when_made) TheFunctions().when_made();
  }

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    const std::string& name = function_.name();
    if (TheFunctions().at_call) TheFunctions().at_call(name);
    if (!is_instantiated_.exchange(true)) {
      OfferToCapture(*TheFunctions().graphs.at(name),
                     ctx->function_library()->GetFunctionLibraryDefinition());
    }
    ctx->set_output(0, Tensor(ctx->input(0).scalar<int32_t>()() + Addends().at(name)));
    done();
  }

 private:
  tensorflow::NameAttrList function_;
  std::atomic<bool> is_instantiated_{false};
};

REGISTER_KERNEL_BUILDER(Name("PartitionedCall").Device(tensorflow::DEVICE_CPU), Call);

// Has functions, but runs none.
class LibraryUnderTest : public tensorflow::FunctionLibraryRuntime {
 public:
  explicit LibraryUnderTest(const tensorflow::FunctionLibraryDefinition* functions)
      : functions_(functions) {}

  const tensorflow::FunctionLibraryDefinition* GetFunctionLibraryDefinition() const override {
    return functions_;
  }

  absl::Status Instantiate(const std::string&, tensorflow::AttrSlice, const InstantiateOptions&,
                           Handle*) override {
    return None();
  }
  absl::Status ReleaseHandle(Handle) override { return None(); }
  const tensorflow::FunctionBody* GetFunctionBody(Handle) override { return nullptr; }
  absl::Status GetRetTypes(Handle, tensorflow::DataTypeVector*) override { return None(); }
  void Run(const Options&, Handle, absl::Span<const Tensor>, std::vector<Tensor>*,
           DoneCallback done) override {
    done(None());
  }
  void Run(const Options&, Handle, tensorflow::CallFrameInterface*, DoneCallback done) override {
    done(None());
  }
  absl::Status RunSync(Options, Handle, absl::Span<const Tensor>, std::vector<Tensor>*) override {
    return None();
  }
  absl::Status RunSync(Options, Handle, tensorflow::CallFrameInterface*) override { return None(); }
  absl::Status CreateKernel(const std::shared_ptr<const tensorflow::NodeProperties>&,
                            tensorflow::OpKernel**) override {
    return None();
  }
  bool IsStateful(const std::string&) const override { return false; }
  tensorflow::Device* device() override { return nullptr; }
  const tensorflow::Device* device() const override { return nullptr; }
  std::function<void(std::function<void()>)>* runner() override { return nullptr; }
  const tensorflow::DeviceMgr* device_mgr() const override { return nullptr; }
  tensorflow::Env* env() override { return nullptr; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-qualifiers"  // TensorFlow's declaration has both
  const tensorflow::ConfigProto* const config_proto() override { return nullptr; }
#pragma GCC diagnostic pop
  std::string DebugString(Handle) override { return ""; }
  int graph_def_version() const override { return 0; }
  absl::Status Clone(std::unique_ptr<tensorflow::FunctionLibraryDefinition>*,
                     std::unique_ptr<tensorflow::ProcessFunctionLibraryRuntime>*,
                     tensorflow::FunctionLibraryRuntime**, bool) override {
    return None();
  }

 private:
  static absl::Status None() { return absl::UnimplementedError("runs no functions"); }

  const tensorflow::FunctionLibraryDefinition* const functions_;
};

using Loop = std::shared_ptr<const Executable>;

// The loop `while i < limit: i = h(g(f(i + 1)))`, which adds kPerStep in each iteration.
class NewestExecutableTest : public testing::Test, protected FramesUnderTest {
 protected:
  NewestExecutableTest() : library_(new LibraryUnderTest(&functions_)) {
    for (const char* name : {"start", "limit", "step"}) Placeholder(name, DT_INT32);
    AddCounter("i", "start", "limit", "step");
    AddCall("f", "i_plus");
    AddCall("g", "f");
    AddCall("h", "g");
    Named("i_next").set_input(0, "h");
    TheFunctions().at_call = nullptr;
    TheFunctions().when_made = nullptr;
    for (const auto& [name, addend] : Addends()) {
      Define(name, "AddV2");
      tensorflow::FunctionDef function;
      function.mutable_signature()->set_name(name);
      function.add_node_def()->set_op("AddV2");
      EXPECT_OK(functions_.AddFunctionDef(function));
    }
  }

  void AddCall(const std::string& name, const std::string& input) {
    tensorflow::NodeDef& call = Add(name, "PartitionedCall", {input});
    for (const char* types : {"Tin", "Tout"}) {
      Set(call, types, tensorflow::DataTypeVector{DT_INT32});
    }
    SetFunction(name, name);
  }

  void SetFunction(const std::string& call, const std::string& function) {
    tensorflow::NameAttrList called;
    called.set_name(function);
    Set(Named(call), "f", called);
  }

  // From now on the function has one node, of that op: AddV2, which adds, or LoopTest>Later, whose
  // kernel is asynchronous, so that no executable can have it.
  static void Define(const std::string& name, const std::string& op) {
    FramesUnderTest body;
    Set(body.AddUnary(name + "_x", "_Arg", DT_INT32, {}), "index", 0);
    if (op == "AddV2") {
      body.AddValue(name + "_addend", Tensor(Addends().at(name)));
      body.AddBinary(name + "_sum", op, DT_INT32, {name + "_x", name + "_addend"});
    } else {
      body.Add(name + "_sum", op, {name + "_x"});
    }
    Set(body.AddUnary(name + "_result", "_Retval", DT_INT32, {name + "_sum"}), "index", 0);
    TheFunctions().graphs[name] = std::move(body.graph());
  }

  // Makes the executable of the loop's RunLoop. Returns the error of its construction.
  absl::Status Make() {
    if (CountOf("TensorArrayGrad>RunLoop") == 0) {
      TF_RETURN_IF_ERROR(
          InsertRunLoop(FrameNamed("i"), /*record=*/0, /*in_session=*/false, graph().get()));
    }
    for (const Node* node : graph()->op_nodes()) {
      if (node->type_string() == "TensorArrayGrad>RunLoop") run_ = node->properties();
    }
    inputs_ = InputsOf(run_->node_def.name());
    return MakeOf(run_);
  }

  absl::Status MakeOf(const std::shared_ptr<const tensorflow::NodeProperties>& run) {
    absl::Status status;
    OpKernelConstruction ctx(tensorflow::DeviceType("CPU"), &cpu_, tensorflow::cpu_allocator(),
                             library_.get(), &resources_, run, {}, {}, 0, &status);
    newest_ = std::make_unique<NewestExecutable>(&ctx);
    return status;
  }

  // Makes an executable like that of the loop, but with another frame.
  absl::Status MakeWithFrame(const std::string& frame) {
    EXPECT_OK(Make());
    auto changed = std::make_shared<tensorflow::NodeProperties>(*run_);
    Set(changed->node_def, "frame", frame);
    run_ = changed;
    return MakeOf(run_);
  }

  // Does what a first call of `call` does in a run of `loop`.
  void MakeKnown(const Executable& loop, const std::string& call) {
    for (const NodeKernel& node : loop.kernels) {
      if (node.call == nullptr || node.kernel->name() != call) continue;
      tensorflow::NameAttrList function;
      EXPECT_OK(GetNodeAttr(node.kernel->def(), "f", &function));
      node.call->function()->Call(
          [&] { OfferToCapture(*TheFunctions().graphs.at(function.name()), &functions_); });
    }
  }

  // The calls of functions in `loop`.
  static std::vector<std::string> CallsIn(const Executable& loop) {
    std::map<std::string, bool> names;
    for (const NodeKernel& node : loop.kernels) {
      if (node.call != nullptr) names[node.kernel->name()] = true;
    }
    std::vector<std::string> sorted;
    for (const auto& [name, is_there] : names) sorted.push_back(name);
    return sorted;
  }

  // Runs iterations as RunLoop does. Returns whether another executable is to go on.
  bool RunOn(const Executable& loop, int32_t limit, int32_t* i) {
    const std::map<std::string, int32_t> values = {{"start", *i}, {"limit", limit}, {"step", 1}};
    std::vector<Tensor> tensors;
    std::vector<tensorflow::TensorValue> inputs;
    for (const std::string& name : inputs_) tensors.emplace_back(values.at(name));
    for (Tensor& tensor : tensors) inputs.emplace_back(&tensor);
    tensorflow::CancellationManager cancellation;
    OpKernelContext::Params params;
    params.device = &cpu_;
    params.resource_manager = &resources_;
    params.function_library = library_.get();
    params.inputs = inputs;
    params.cancellation_manager = &cancellation;
    OpKernelContext ctx(&params, 0);
    Interpreter interpreter(loop, &ctx, /*threads=*/1, RunStart());
    for (size_t k = 0; k < inputs.size(); ++k) interpreter.TakeArgument(static_cast<int>(k));
    EXPECT_OK(interpreter.Run());
    loop.called.NoteServed(interpreter.iterations());
    *i = interpreter.Result(0).scalar<int32_t>()();
    return interpreter.is_outdated();
  }

  // The result of a run from 0, which ends early if an outdated executable is not replaced.
  int32_t Run(int32_t limit = kLimit) {
    int32_t i = 0;
    for (int replaced = 0; replaced < 20 && RunOn(*newest_->Get(), limit, &i);) ++replaced;
    return i;
  }

  CpuUnderTest cpu_;
  tensorflow::ResourceMgr resources_;
  tensorflow::FunctionLibraryDefinition functions_{tensorflow::OpRegistry::Global(),
                                                   tensorflow::FunctionDefLibrary()};
  tensorflow::core::RefCountPtr<LibraryUnderTest> library_;
  std::shared_ptr<const tensorflow::NodeProperties> run_;
  std::vector<std::string> inputs_;
  std::unique_ptr<NewestExecutable> newest_;
};

TEST_F(NewestExecutableTest, ItStaysTheSameWhileNoFunctionIsKnown) {
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  EXPECT_THAT(CallsIn(*first), ElementsAre("f", "g", "h"));
  first->called.NoteServed(100);
  EXPECT_EQ(newest_->Get(), first);
}

TEST_F(NewestExecutableTest, AKnownFunctionIsInlinedWhenTheExecutableHasServed) {
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  MakeKnown(*first, "g");
  EXPECT_EQ(newest_->Get(), first) << "has served no iteration";
  first->called.NoteServed(1);
  const Loop second = newest_->Get();
  EXPECT_NE(second, first);
  EXPECT_THAT(CallsIn(*second), ElementsAre("f", "h"));
  EXPECT_EQ(newest_->Get(), second);
  EXPECT_EQ(Run(), kLimit);
}

TEST_F(NewestExecutableTest, EachExecutableServesTwiceAsLongAsTheOneBefore) {
  ASSERT_OK(Make());
  const int64_t before = ReadCounters()["loops.inlined_calls"];
  int64_t serves = 1;
  std::vector<std::string> calls = {"f", "g", "h"};
  for (const char* known : {"h", "f", "g"}) {
    const Loop loop = newest_->Get();
    MakeKnown(*loop, known);
    loop->called.NoteServed(serves - 1);
    EXPECT_EQ(newest_->Get(), loop);
    loop->called.NoteServed(1);
    calls.erase(std::find(calls.begin(), calls.end(), known));
    EXPECT_EQ(CallsIn(*newest_->Get()), calls);
    serves *= 2;
  }
  EXPECT_EQ(ReadCounters()["loops.inlined_calls"] - before, 3);
  EXPECT_EQ(Run(), kLimit);
}

TEST_F(NewestExecutableTest, ARunGoesOnWithANewExecutableAfterItsFirstIteration) {
  ASSERT_OK(Make());
  int calls = 0;
  TheFunctions().at_call = [&](const std::string&) { ++calls; };
  EXPECT_EQ(Run(), kLimit);
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(CallsIn(*newest_->Get()), IsEmpty());
}

TEST_F(NewestExecutableTest, AFunctionIsInlinedInAllItsCalls) {
  SetFunction("h", "f");
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  MakeKnown(*first, "f");
  first->called.NoteServed(1);
  EXPECT_THAT(CallsIn(*newest_->Get()), ElementsAre("g"));
}

// ---- functions that cannot be inlined

TEST_F(NewestExecutableTest, AFunctionWithWhichNoExecutableCanBeMadeStaysACall) {
  Define("g", "LoopTest>Later");
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  MakeKnown(*first, "g");
  first->called.NoteServed(1);
  EXPECT_EQ(newest_->Get(), first);
  const int kernels = TheFunctions().kernels;
  EXPECT_EQ(newest_->Get(), first);
  EXPECT_EQ(TheFunctions().kernels, kernels) << "it is not tried again";
  EXPECT_EQ(Run(), kLimit);
}

TEST_F(NewestExecutableTest, AFunctionIsInlinedInAllItsCallsIfAnotherFails) {
  Define("f", "LoopTest>Later");
  SetFunction("g", "h");
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  for (const char* call : {"f", "g"}) MakeKnown(*first, call);
  first->called.NoteServed(1);
  EXPECT_THAT(CallsIn(*newest_->Get()), ElementsAre("f"));
  EXPECT_EQ(Run(1), 1 + 10 + 2 * 1000);
}

TEST_F(NewestExecutableTest, WhatWasInlinedStaysInlinedIfAnotherFunctionFails) {
  Define("h", "LoopTest>Later");
  ASSERT_OK(Make());
  for (const std::vector<const char*>& known : {std::vector<const char*>{"f"}, {"g", "h"}}) {
    const Loop loop = newest_->Get();
    for (const char* call : known) MakeKnown(*loop, call);
    loop->called.NoteServed(2);
  }
  EXPECT_THAT(CallsIn(*newest_->Get()), ElementsAre("h"));
  EXPECT_EQ(Run(), kLimit);
}

TEST_F(NewestExecutableTest, AllFunctionsButTheOneThatFailsAreInlinedAtOnce) {
  Define("h", "LoopTest>Later");
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  for (const char* call : {"f", "g", "h"}) MakeKnown(*first, call);
  first->called.NoteServed(1);
  EXPECT_THAT(CallsIn(*newest_->Get()), ElementsAre("h"));
  EXPECT_EQ(Run(), kLimit);
}

TEST_F(NewestExecutableTest, ThereIsNoneForALoopThatCannotBePrepared) {
  ASSERT_OK(Make());
  tensorflow::GraphDef def;
  ASSERT_TRUE(def.ParseFromString(run_->node_def.attr().at("frame").s()));
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    if (node.name() != "f") continue;
    node.set_op("LoopTest>Later");
    node.clear_attr();
  }
  ASSERT_OK(MakeWithFrame(def.SerializeAsString()));
  EXPECT_EQ(newest_->Get(), nullptr);
}

TEST_F(NewestExecutableTest, TheKernelOfAContradictionIsNotMade) {
  EXPECT_THAT(MakeWithFrame("no graph"),
              Fails(absl::StatusCode::kInvalidArgument, "frame of RunLoop is no GraphDef"));
}

// ---- several threads

TEST_F(NewestExecutableTest, ARunKeepsItsExecutableWhileAnotherRunReplacesIt) {
  ASSERT_OK(Make());
  Loop first = newest_->Get();
  const std::weak_ptr<const Executable> kept = first;
  std::promise<void> in_call, replaced;
  std::atomic<bool> is_first{true};
  TheFunctions().at_call = [&](const std::string& function) {
    if (function != "h" || !is_first.exchange(false)) return;
    in_call.set_value();
    replaced.get_future().wait();
  };
  auto slow_run = std::async(std::launch::async, [&] {
    const Loop loop = std::move(first);
    int32_t i = 0;
    EXPECT_FALSE(RunOn(*loop, kLimit, &i)) << "goes on with the old executable";
    return i;
  });
  in_call.get_future().wait();
  EXPECT_EQ(Run(), kLimit);
  EXPECT_THAT(CallsIn(*newest_->Get()), IsEmpty());
  EXPECT_FALSE(kept.expired());
  replaced.set_value();
  EXPECT_EQ(slow_run.get(), kLimit);
  EXPECT_TRUE(kept.expired());
}

TEST_F(NewestExecutableTest, AThreadThatAsksWhileAnotherReplacesGetsTheNewOne) {
  ASSERT_OK(Make());
  const Loop first = newest_->Get();
  for (const char* call : {"f", "g"}) MakeKnown(*first, call);
  first->called.NoteServed(1);
  const int before = TheFunctions().kernels;
  std::future<Loop> other;
  TheFunctions().when_made = [&] {
    if (other.valid()) return;
    other = std::async(std::launch::async, [&] { return newest_->Get(); });
    EXPECT_EQ(other.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  };
  const Loop second = newest_->Get();
  EXPECT_NE(second, first);
  ASSERT_TRUE(other.valid());
  EXPECT_EQ(other.get(), second);
  EXPECT_EQ(TheFunctions().kernels - before, 1) << "the one of h is made once";
}

TEST_F(NewestExecutableTest, RunsOfSeveralThreadsShareTheExecutablesTheyReplace) {
  constexpr int kThreads = 4, kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_OK(Make());
    const int64_t before = ReadCounters()["loops.inlined_calls"];
    std::promise<void> start;
    std::shared_future<void> started(start.get_future());
    std::vector<std::future<int32_t>> results(kThreads);
    for (auto& result : results) {
      result = std::async(std::launch::async, [this, started] {
        started.wait();
        return Run();
      });
    }
    start.set_value();
    for (auto& result : results) EXPECT_EQ(result.get(), kLimit);
    EXPECT_EQ(Run(4 * kLimit), 4 * kLimit);
    EXPECT_THAT(CallsIn(*newest_->Get()), IsEmpty());
    EXPECT_EQ(ReadCounters()["loops.inlined_calls"] - before, 3);
  }
}

}  // namespace
}  // namespace tensor_array_grad
