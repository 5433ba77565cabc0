#include "cc/compile/inline_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::SizeIs;
using testing::UnorderedElementsAre;

void AddCall(FramesUnderTest* graph, const std::string& name, std::vector<std::string> inputs,
             const char* called = "f") {
  tensorflow::NameAttrList function;
  function.set_name(called);
  int arguments = 0;
  for (const std::string& input : inputs) arguments += input[0] != '^';
  tensorflow::NodeDef& call = graph->Add(name, "PartitionedCall", std::move(inputs));
  FramesUnderTest::Set(call, "Tin", tensorflow::DataTypeVector(arguments, DT_INT32));
  FramesUnderTest::Set(call, "Tout", tensorflow::DataTypeVector{DT_INT32});
  FramesUnderTest::Set(call, "f", function);
}

// The graph of a function, and a graph that calls it.
class InlineCallTest : public testing::Test {
 protected:
  InlineCallTest() {
    for (const char* name : {"a", "b", "c"}) caller_.Placeholder(name, DT_INT32);
    AddCall(&caller_, "call", {"a", "b", "^c"});
    caller_.AddUnary("reader", "Identity", DT_INT32, {"call"});
    caller_.Add("waits", "NoOp", {"^call"});
  }

  void AddArgument(const std::string& name, int index) {
    FramesUnderTest::Set(body_.AddUnary(name, "_Arg", DT_INT32, {}), "index", index);
  }

  void AddResult(const std::string& name, const std::string& input) {
    FramesUnderTest::Set(body_.AddUnary(name, "_Retval", DT_INT32, {input}), "index", 0);
  }

  // The function (x, y) -> x + 7. Its `y` is not used.
  void AddSum() {
    AddArgument("x", 0);
    AddArgument("y", 1);
    body_.AddValue("seven", tensorflow::Tensor(int32_t{7}));
    body_.AddBinary("sum", "AddV2", DT_INT32, {"x", "seven"});
    AddResult("result", "sum");
  }

  // Puts the body in place of each of `calls`.
  absl::Status Inline(const std::vector<std::string>& calls = {"call"}) {
    DefineF("AddV2");
    const std::shared_ptr<const Graph> body(std::shared_ptr<void>(), body_.graph().get());
    for (const std::string& call : calls) {
      inlined_.push_back({{}, caller_.Find(call)->id(), body});
    }
    return InlineCalls(&functions_, &inlined_, caller_.graph().get());
  }

  absl::Status ErrorOf(const std::string& node) {
    return ErrorAt(absl::NotFoundError("no such key"), caller_.Find(node)->def(), inlined_);
  }

  // The function f of a node of that op.
  void DefineF(const char* op) {
    functions_.Clear();
    Define("f", op);
  }

  void Define(const char* name, const char* op) {
    tensorflow::FunctionDef function;
    function.mutable_signature()->set_name(name);
    function.add_node_def()->set_op(op);
    EXPECT_OK(functions_.AddFunctionDef(function));
  }

  // Whether CaptureGraph keeps the body.
  bool IsKept() {
    const auto offer = [&] { OfferToCapture(*body_.graph(), &of_body_); };
    return CaptureGraph(&functions_, offer) != nullptr;
  }

  FramesUnderTest caller_, body_;
  std::vector<InlinedCall> inlined_;
  tensorflow::FunctionLibraryDefinition functions_{tensorflow::OpRegistry::Global(),
                                                   tensorflow::FunctionDefLibrary()};
  tensorflow::FunctionLibraryDefinition of_body_{functions_};
};

TEST_F(InlineCallTest, TheNodesTakeThePlaceOfTheCall) {
  AddSum();
  ASSERT_OK(Inline());
  EXPECT_EQ(caller_.Find("call"), nullptr);
  EXPECT_THAT(caller_.InputsOf("reader"), ElementsAre("result"));
  EXPECT_THAT(caller_.InputsOf("result"), ElementsAre("sum"));
  EXPECT_THAT(caller_.InputsOf("sum"), ElementsAre("x", "seven"));
  EXPECT_EQ(caller_.Find("result")->type_string(), "Identity");
  EXPECT_EQ(caller_.Find("sum")->assigned_device_name(), kCpu0);
}

TEST_F(InlineCallTest, NothingRunsBeforeAllInputsAreThere) {
  AddSum();
  ASSERT_OK(Inline());
  EXPECT_THAT(caller_.InputsOf("call/inputs"), UnorderedElementsAre("^a", "^b", "^c"));
  EXPECT_THAT(caller_.InputsOf("x"), ElementsAre("a", "^call/inputs"));
  EXPECT_THAT(caller_.InputsOf("seven"), ElementsAre("^call/inputs"));
}

TEST_F(InlineCallTest, WhatWaitsForTheCallWaitsForAllResults) {
  AddSum();
  ASSERT_OK(Inline());
  EXPECT_THAT(caller_.InputsOf("waits"), ElementsAre("^call/outputs"));
  EXPECT_THAT(caller_.InputsOf("call/outputs"), ElementsAre("^result"));
}

TEST_F(InlineCallTest, FramesOfTwoCallsDiffer) {
  AddCall(&caller_, "other", {"a", "b"});
  AddArgument("x", 0);
  AddArgument("y", 1);
  body_.AddValue("one", tensorflow::Tensor(int32_t{1}));
  body_.AddCounter("i", "x", "y", "one");
  AddResult("result", "i_exit");
  ASSERT_OK(Inline({"call", "other"}));
  const absl::StatusOr<FrameTree> tree = FrameTree::Of(*caller_.graph());
  ASSERT_OK(tree.status());
  std::vector<std::string> names;
  for (const Frame* frame : tree->root().children) names.push_back(frame->name);
  EXPECT_THAT(names, UnorderedElementsAre("call/0/i", "other/1/i"));
}

TEST_F(InlineCallTest, AFunctionWithOtherArgumentsIsAnError) {
  AddArgument("x", 2);
  AddResult("result", "x");
  EXPECT_THAT(Inline(), Fails(absl::StatusCode::kInternal, "the call does not fit the function"));
}

TEST_F(InlineCallTest, AFunctionWithoutTheResultIsAnError) {
  AddArgument("x", 0);
  EXPECT_THAT(Inline(), Fails(absl::StatusCode::kInternal, "an output of the function is missing"));
}

TEST_F(InlineCallTest, ErrorsNameTheNodeAndTheFunctionsAround) {
  AddSum();
  AddCall(&caller_, "other", {"a", "b"});
  ASSERT_OK(Inline({"other"}));
  EXPECT_EQ(ErrorOf("a").message(), "no such key\n\t [[{{node a}}]]");
  EXPECT_EQ(ErrorOf("sum").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      ErrorOf("sum").message(),
      "{{function_node f}} {{function_node f}} no such key\n\t [[{{node sum}}]]\n\t [[other]]");
}

// A graph from a file may have any attributes.
TEST_F(InlineCallTest, MarksOfOtherCallsInAFunctionAreForgotten) {
  AddSum();
  FramesUnderTest::Set(body_.Named("sum"), "_tensor_array_grad_inlined_call", 7);
  ASSERT_OK(Inline());
  EXPECT_THAT(ErrorOf("sum").message(), testing::HasSubstr("[[call]]"));
}

TEST_F(InlineCallTest, ACaptureKeepsTheFirstGraph) {
  AddSum();
  const auto kept = CaptureGraph(&functions_, [&] {
    OfferToCapture(*body_.graph(), &of_body_);
    OfferToCapture(*caller_.graph(), &of_body_);
  });
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->num_op_nodes(), 5);
}

TEST_F(InlineCallTest, WithoutACaptureAGraphIsNotKept) {
  AddSum();
  EXPECT_EQ(CaptureGraph(&functions_, [] {}), nullptr);
  OfferToCapture(*body_.graph(), &of_body_);
  EXPECT_EQ(CaptureGraph(&functions_, [] {}), nullptr);
}

TEST_F(InlineCallTest, AFunctionWithStateIsNotKept) {
  AddSum();
  EXPECT_TRUE(IsKept());
  body_.Clear();
  AddSum();
  FramesUnderTest::Set(body_.Add("noise", "RandomUniformInt", {"x", "x", "x"}), "T", DT_INT32);
  FramesUnderTest::Set(body_.Named("noise"), "Tout", DT_INT32);
  EXPECT_FALSE(IsKept());
}

TEST_F(InlineCallTest, AFunctionWithASumOfThreeIsNotKept) {
  AddSum();
  FramesUnderTest::Set(body_.AddUnary("three", "AddN", DT_INT32, {"x", "y", "x"}), "N", 3);
  EXPECT_FALSE(IsKept());
}

TEST_F(InlineCallTest, AFunctionWhoseResultMayBeDeadIsNotKept) {
  AddArgument("x", 0);
  FramesUnderTest::Set(body_.AddUnary("p", "_Arg", DT_BOOL, {}), "index", 1);
  body_.AddBinary("switch", "Switch", DT_INT32, {"x", "p"});
  AddResult("result", "switch:1");
  EXPECT_FALSE(IsKept());
}

TEST_F(InlineCallTest, OnlyCallsOfFunctionsWithoutStateMayBeInlined) {
  const auto may_be_inlined = [&](const tensorflow::FunctionLibraryDefinition* library) {
    EXPECT_OK(InlineCalls(library, &inlined_, caller_.graph().get()));
    EXPECT_EQ(InstanceOf(*caller_.Find("reader")), -1);
    return InstanceOf(*caller_.Find("call")) >= 0;
  };
  EXPECT_FALSE(may_be_inlined(nullptr));
  EXPECT_FALSE(may_be_inlined(&functions_)) << "no function f";
  DefineF("AddV2");
  EXPECT_TRUE(may_be_inlined(&functions_));
  DefineF("RandomUniformInt");
  EXPECT_FALSE(may_be_inlined(&functions_));
  DefineF("g");
  EXPECT_FALSE(may_be_inlined(&functions_)) << "no function g";
}

// TensorFlow may have specialised the functions that the captured graph calls.
TEST_F(InlineCallTest, AFunctionWhoseCallsHaveOtherFunctionsIsNotKept) {
  DefineF("AddV2");
  ASSERT_OK(of_body_.AddFunctionDef(*functions_.Find("f")));
  AddSum();
  AddCall(&body_, "inner", {"x"});
  EXPECT_TRUE(IsKept());
  functions_.Clear();
  EXPECT_FALSE(IsKept());
  DefineF("Less");
  EXPECT_FALSE(IsKept());
}

TEST_F(InlineCallTest, CallsOfTheSameKindShareAnInstance) {
  DefineF("Add");
  Define("g", "Add");
  AddCall(&caller_, "again", {"a", "b"});
  AddCall(&caller_, "of_one_argument", {"a"});
  AddCall(&caller_, "of_g", {"a", "b"}, "g");
  AddCall(&caller_, "elsewhere", {"a", "b"});
  AddCall(&caller_, "with_xla", {"a", "b"});
  AddCall(&caller_, "of_an_inlined_call", {"a", "b"});
  caller_.Find("of_an_inlined_call")->AddAttr("_tensor_array_grad_inlined_call", 3);
  caller_.Find("elsewhere")->set_assigned_device_name("/device:CPU:1");
  caller_.Find("with_xla")->AddAttr("_XlaMustCompile", true);
  const auto instance_of = [&](const char* name) { return InstanceOf(*caller_.Find(name)); };
  EXPECT_EQ(instance_of("call"), -1);
  std::vector<InlinedCall> calls;
  ASSERT_OK(InlineCalls(&functions_, &calls, caller_.graph().get()));
  EXPECT_EQ(instance_of("call"), instance_of("again"));
  EXPECT_EQ(instance_of("call"), instance_of("of_an_inlined_call"));
  const std::set<int64_t> instances{instance_of("call"), instance_of("of_one_argument"),
                                    instance_of("of_g"), instance_of("elsewhere"),
                                    instance_of("with_xla")};
  EXPECT_THAT(instances, SizeIs(5));
  EXPECT_THAT(instances, Each(Ge(0)));
  tensorflow::NameAttrList function;
  ASSERT_OK(GetNodeAttr(caller_.Find("of_g")->attrs(), "f", &function));
  EXPECT_EQ(function.name(), "g");
}

TEST_F(InlineCallTest, CallsOfTwoLoopsHaveTheirOwnInstances) {
  DefineF("Add");
  std::vector<InlinedCall> calls;
  ASSERT_OK(InlineCalls(&functions_, &calls, caller_.graph().get()));
  const int64_t before = InstanceOf(*caller_.Find("call"));
  ASSERT_OK(InlineCalls(&functions_, &calls, caller_.graph().get()));
  EXPECT_NE(InstanceOf(*caller_.Find("call")), before);
}

}  // namespace
}  // namespace tensor_array_grad
