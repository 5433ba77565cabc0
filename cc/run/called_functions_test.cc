#include "cc/run/called_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/run/executable.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {
namespace {

using absl::Notification;
using testing::ElementsAre;
using testing::IsEmpty;

using Calls = std::vector<InlinedCall>;
using Made = std::unique_ptr<Executable>;

// Makes executables of a graph that calls f in two nodes, "f" and "f_again", and g and h in one.
class CalledFunctionsTest : public testing::Test {
 protected:
  CalledFunctionsTest() {
    for (const char* name : {"f", "g", "h"}) {
      tensorflow::FunctionDef function;
      function.mutable_signature()->set_name(name);
      function.add_node_def()->set_op("AddV2");
      EXPECT_OK(library_.AddFunctionDef(function));
    }
    first_ = *Make({});
  }

  static void AddCall(const std::string& name, const char* function, FramesUnderTest* graph) {
    tensorflow::NameAttrList called;
    called.set_name(function);
    tensorflow::NodeDef& call = graph->Add(name, "PartitionedCall", {"x"});
    for (const char* types : {"Tin", "Tout"}) {
      FramesUnderTest::Set(call, types, tensorflow::DataTypeVector{DT_INT32});
    }
    FramesUnderTest::Set(call, "f", called);
  }

  // Fails if the nodes of a call in `failing_` shall take its place.
  absl::StatusOr<Made> Make(Calls inlined) {
    FramesUnderTest frames;
    frames.Placeholder("x", DT_INT32);
    AddCall("f", "f", &frames);
    AddCall("g", "g", &frames);
    AddCall("h", "h", &frames);
    AddCall("f_again", "f", &frames);
    auto made = std::make_unique<Executable>();
    made->graph = std::move(frames.graph());
    for (const InlinedCall& call : inlined) {
      const std::string& name = made->graph->FindNodeId(call.node)->name();
      if (failing_.count(name) != 0) return absl::FailedPreconditionError(name + " fails");
    }
    TF_RETURN_IF_ERROR(made->called.Inline(&library_, std::move(inlined), made->graph.get()));
    auto& functions = functions_[made.get()];
    functions.clear();  // those of an executable that was at this address
    for (const Node* node : made->graph->op_nodes()) {
      if (node->type_string() != "PartitionedCall") continue;
      functions[node->name()] = made->called.Add(*node);
    }
    return made;
  }

  Made Replacement(const Executable& executable) {
    return executable.called.Replacement("loop", [this](Calls calls) { return Make(calls); });
  }

  CalledFunctions::Function& FunctionOf(const Executable& executable, const std::string& call) {
    return *functions_.at(&executable).at(call);
  }

  CalledFunctions::State StateOf(const Executable& executable, const std::string& call) {
    return FunctionOf(executable, call).state();
  }

  // What TensorFlow does in the call that makes the instance: the graph of the function is offered.
  static void Instantiate() {
    FramesUnderTest body;
    FramesUnderTest::Set(body.AddUnary("argument", "_Arg", DT_INT32, {}), "index", 0);
    FramesUnderTest::Set(body.AddUnary("result", "_Retval", DT_INT32, {"argument"}), "index", 0);
    OfferToCapture(*body.graph(), nullptr);
  }

  void MakeKnown(const Executable& executable, const std::string& call) {
    FunctionOf(executable, call).Call(Instantiate);
    EXPECT_EQ(StateOf(executable, call), CalledFunctions::kKnown);
  }

  // The calls that are left.
  std::vector<std::string> CallsIn(const Executable& executable) {
    std::vector<std::string> names;
    for (const auto& [name, function] : functions_[&executable]) names.push_back(name);
    return names;
  }

  tensorflow::FunctionLibraryDefinition library_{tensorflow::OpRegistry::Global(),
                                                 tensorflow::FunctionDefLibrary()};
  std::set<std::string> failing_;
  std::map<const Executable*, std::map<std::string, CalledFunctions::Function*>> functions_;
  Made first_;
};

// ---- the first call

TEST_F(CalledFunctionsTest, AFunctionIsKnownWhenACallHasRecordedItsGraph) {
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kWaiting);
  EXPECT_FALSE(first_->called.IsAnyKnown());
  MakeKnown(*first_, "f");
  EXPECT_EQ(StateOf(*first_, "f_again"), CalledFunctions::kKnown) << "the same function";
  EXPECT_EQ(StateOf(*first_, "g"), CalledFunctions::kWaiting);
  EXPECT_TRUE(first_->called.IsAnyKnown());
}

TEST_F(CalledFunctionsTest, ACallWithoutAGraphKeepsTheCalls) {
  FunctionOf(*first_, "f").Call([] {});
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kKept);
  FunctionOf(*first_, "f").Call(Instantiate);
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kKept) << "later calls record nothing";
  EXPECT_FALSE(first_->called.IsAnyKnown());
}

TEST_F(CalledFunctionsTest, ACallBesideOneWithoutAGraphMayRecordIt) {
  CalledFunctions::Function& f = FunctionOf(*first_, "f");
  f.Call([&] {
    Instantiate();
    std::thread([&] { f.Call([] {}); }).join();
    EXPECT_EQ(f.state(), CalledFunctions::kKept);
  });
  EXPECT_EQ(f.state(), CalledFunctions::kKnown);
}

TEST_F(CalledFunctionsTest, AFunctionStaysKnownWhenACallBesideEndsWithoutAGraph) {
  CalledFunctions::Function& f = FunctionOf(*first_, "f");
  f.Call([&] {
    std::thread([&] { f.Call(Instantiate); }).join();
    EXPECT_EQ(f.state(), CalledFunctions::kKnown);
  });
  EXPECT_EQ(f.state(), CalledFunctions::kKnown);
}

TEST_F(CalledFunctionsTest, ACallThatHasNoInstanceOfItsOwnHasNoFunction) {
  FramesUnderTest frames;
  frames.Placeholder("x", DT_INT32);
  AddCall("call", "f", &frames);
  EXPECT_EQ(first_->called.Add(*frames.Find("call")), nullptr);
}

// ---- the replacement

TEST_F(CalledFunctionsTest, IsOutdatedAfterAsManyIterationsAsTheExecutableServes) {
  Made served = std::move(first_);
  for (const char* call : {"f", "g"}) {  // the first serves 1 iteration, the second 2
    const int64_t serves = call[0] == 'f' ? 1 : 2;
    EXPECT_FALSE(served->called.IsOutdated(9));
    MakeKnown(*served, call);
    EXPECT_FALSE(served->called.IsOutdated(serves - 1));
    EXPECT_TRUE(served->called.IsOutdated(serves));
    served->called.NoteServed(serves - 1);
    EXPECT_FALSE(served->called.IsOutdated(0));
    EXPECT_TRUE(served->called.IsOutdated(1));
    served = Replacement(*served);
  }
}

TEST_F(CalledFunctionsTest, ReplacementInlinesKnownFunctionsInAllTheirCalls) {
  const int64_t before = ReadCounters()["loops.inlined_calls"];
  MakeKnown(*first_, "f");
  const Made second = Replacement(*first_);
  EXPECT_EQ(ReadCounters()["loops.inlined_calls"] - before, 2);
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kInlined);
  EXPECT_FALSE(first_->called.IsAnyKnown());
  EXPECT_THAT(CallsIn(*second), ElementsAre("g", "h"));
  EXPECT_EQ(StateOf(*second, "g"), CalledFunctions::kWaiting);
  MakeKnown(*second, "g");
  EXPECT_THAT(CallsIn(*Replacement(*second)), ElementsAre("h")) << "f stays inlined";
}

TEST_F(CalledFunctionsTest, WithoutKnownFunctionsThereIsNoReplacement) {
  FunctionOf(*first_, "f").Call([] {});
  EXPECT_EQ(Replacement(*first_), nullptr);
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kKept);
}

TEST_F(CalledFunctionsTest, CallsWithWhoseNodesNoExecutableCanBeMadeAreKept) {
  failing_ = {"f_again"};
  MakeKnown(*first_, "f");
  EXPECT_EQ(Replacement(*first_), nullptr);
  EXPECT_EQ(StateOf(*first_, "f"), CalledFunctions::kKept);
  EXPECT_FALSE(first_->called.IsAnyKnown());
}

TEST_F(CalledFunctionsTest, AFunctionThatIsKeptIsTriedAgainInTheNextExecutable) {
  failing_ = {"g"};
  for (const char* call : {"h", "g", "f"}) MakeKnown(*first_, call);
  const Made second = Replacement(*first_);
  for (const char* call : {"f", "h"}) {
    EXPECT_EQ(StateOf(*first_, call), CalledFunctions::kInlined) << call;
  }
  EXPECT_EQ(StateOf(*first_, "g"), CalledFunctions::kKept);
  EXPECT_THAT(CallsIn(*second), ElementsAre("g"));
  EXPECT_EQ(StateOf(*second, "g"), CalledFunctions::kWaiting);
  failing_ = {};
  MakeKnown(*second, "g");
  EXPECT_THAT(CallsIn(*Replacement(*second)), IsEmpty());
}

// ---- runs beside a replacement

TEST_F(CalledFunctionsTest, AFunctionThatBecomesKnownDuringAReplacementWaitsForTheNext) {
  MakeKnown(*first_, "f");
  const Made second = first_->called.Replacement("loop", [this](Calls calls) {
    std::thread([this] { MakeKnown(*first_, "g"); }).join();
    return Make(calls);
  });
  EXPECT_THAT(CallsIn(*second), ElementsAre("g", "h"));
  EXPECT_EQ(StateOf(*first_, "g"), CalledFunctions::kKnown);
  EXPECT_TRUE(first_->called.IsOutdated(1));
}

TEST_F(CalledFunctionsTest, ACallMayEndAfterItsExecutableWasReplaced) {
  Notification in_call, replaced;
  MakeKnown(*first_, "f");
  std::thread run([&, &g = FunctionOf(*first_, "g")] {
    g.Call([&] {
      Instantiate();
      in_call.Notify();
      replaced.WaitForNotification();
    });
  });
  in_call.WaitForNotification();
  const Made second = Replacement(*first_);
  replaced.Notify();
  run.join();
  EXPECT_EQ(StateOf(*first_, "g"), CalledFunctions::kKnown);
  EXPECT_EQ(StateOf(*second, "g"), CalledFunctions::kWaiting);
  EXPECT_FALSE(second->called.IsAnyKnown());
}

TEST_F(CalledFunctionsTest, ACallBesideTheFirstMayEndAfterTheReplacement) {
  CalledFunctions::Function& f = FunctionOf(*first_, "f");
  Made second;
  f.Call([&] {
    std::thread([&] { f.Call(Instantiate); }).join();
    second = Replacement(*first_);
  });
  EXPECT_THAT(CallsIn(*second), ElementsAre("g", "h"));
  EXPECT_EQ(f.state(), CalledFunctions::kInlined);
  f.Call(Instantiate);
  EXPECT_EQ(f.state(), CalledFunctions::kInlined) << "a run that goes on with the old executable";
}

TEST_F(CalledFunctionsTest, EachFunctionIsTakenOnceWhileManyThreadsCall) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    Made served = *Make({});
    Notification start;
    std::vector<std::thread> threads;
    for (const char* call : {"f", "g", "h"}) {
      threads.emplace_back([&start, &function = FunctionOf(*served, call)] {
        start.WaitForNotification();
        function.Call(Instantiate);
      });
    }
    start.Notify();
    const Made during = Replacement(*served);
    for (std::thread& thread : threads) thread.join();
    const Made after = Replacement(*served);
    std::multiset<std::string> left;
    for (const Made* made : {&during, &after}) {
      const auto calls =
          *made == nullptr ? std::vector<std::string>{"f", "f_again", "g", "h"} : CallsIn(**made);
      left.insert(calls.begin(), calls.end());
    }
    EXPECT_FALSE(served->called.IsAnyKnown());
    EXPECT_THAT(left, ElementsAre("f", "f_again", "g", "h"));
  }
}

}  // namespace
}  // namespace tensor_array_grad
