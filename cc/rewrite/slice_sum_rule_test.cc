#include "cc/rewrite/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/graph_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr char kAddSlices[] = "TensorArrayGrad>AddSlices";

REGISTER_KERNEL_BUILDER(Name(kAddSlices).Device(tensorflow::DEVICE_CPU), NeverRun);

class SliceSumRuleTest : public testing::Test, protected GraphUnderTest {
 protected:
  SliceSumRuleTest() {
    Clear();
    AddPlaceholders();
  }

  void AddPlaceholders() {
    for (const char* name : {"a", "b", "dy", "rows"}) Placeholder(name, DT_FLOAT);
    for (const char* name : {"paddings", "ids", "n", "perm", "shape"}) {
      Placeholder(name, DT_INT32);
    }
    AddScatter("g");
    AddScatter("h");
  }

  void AddScatter(const std::string& name) {
    NodeDef& scatter = Add(name, "ScatterNd", {"ids", "dy", "shape"});
    Set(scatter, "T", DT_FLOAT);
    Set(scatter, "Tindices", DT_INT32);
  }

  void AddPad(const std::string& name) {
    NodeDef& pad = Add(name, "Pad", {"dy", "paddings"});
    Set(pad, "T", DT_FLOAT);
    Set(pad, "Tpaddings", DT_INT32);
  }

  NodeDef& AddOf(const std::string& name, const std::string& op, std::vector<std::string> inputs) {
    NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", DT_FLOAT);
    return node;
  }

  int Apply(std::vector<std::string> operands) {
    const int n = static_cast<int>(operands.size());
    Set(AddOf("sum", "AddN", std::move(operands)), "N", n);
    return ApplyToSum();
  }

  int ApplyToAdd(std::vector<std::string> operands, const char* op = "AddV2") {
    AddOf("sum", op, std::move(operands));
    return ApplyToSum();
  }

  int ApplyToSum(DataType dtype = DT_FLOAT) {
    Set(AddOf("use", "Identity", {"sum"}), "T", dtype);
    outcome_ = {{}, "slice_sum", /*wants_remarks=*/true};
    EXPECT_TRUE(SliceSumRule().apply(Find("sum"), graph().get(), &outcome_).ok());
    return static_cast<int>(outcome_.done.size());
  }

  // A Merge of both branches of a conditional.
  void AddMerge(const std::string& name, const std::string& one, const std::string& other) {
    Set(AddOf(name, "Merge", {one, other}), "N", 2);
  }

  // `zeros` is the output of the branch that reads nothing.
  void AddBranches() {
    Placeholder("p", tensorflow::DT_BOOL);
    AddOf("a_in", "Switch", {"a", "p"});
    AddOf("zeros", "ZerosLike", {"a_in"});
  }

  int64_t Before(const std::string& name) { return Find(name)->attrs().Find("before")->i(); }

  // Which operand of an Add the sum is; -1 if it is that of an AddN.
  int64_t Operand() {
    const auto* const operand = Find("sum")->attrs().Find("operand");
    return operand == nullptr ? -1 : operand->i();
  }

  // Expects one remark, about `node`, with that reason.
  void ExpectRemark(const std::string& node, const std::string& reason) {
    EXPECT_THAT(outcome_.missed, ElementsAre(IsRemark(node, reason)));
  }

  Outcome outcome_;  // of the last application
};

// Stock has no such kernels today.
TEST_F(SliceSumRuleTest, IndicesOfADtypeThatAddSlicesDoesNotReadAreLeftAlone) {
  for (const char* name : {"ids", "shape"}) Set(Named(name), "dtype", tensorflow::DT_INT16);
  for (const char* name : {"g", "h"}) Set(Named(name), "Tindices", tensorflow::DT_INT16);
  EXPECT_EQ(Apply({"a", "g", "h"}), 0);
  EXPECT_THAT(outcome_.missed,
              ElementsAre(IsRemark("g", "`ids` is a variable of TF1, or has another dtype"),
                          IsRemark("h", "`ids` is a variable of TF1, or has another dtype")));
}

TEST_F(SliceSumRuleTest, SegmentIdsMayBeInt16) {
  Set(Named("ids"), "dtype", tensorflow::DT_INT16);
  for (const char* name : {"g", "h"}) Set(Named(name), "Tindices", tensorflow::DT_INT16);
  Set(Named("shape"), "dtype", tensorflow::DT_INT16);
  NodeDef& segments = AddOf("s", "UnsortedSegmentSum", {"rows", "ids", "n"});
  Set(segments, "Tindices", tensorflow::DT_INT16);
  Set(segments, "Tnumsegments", DT_INT32);
  EXPECT_EQ(Apply({"a", "s"}), 1);
}

TEST_F(SliceSumRuleTest, OneOpAddsTheSlices) {
  EXPECT_EQ(Apply({"a", "g", "h"}), 2);
  EXPECT_EQ(Find("sum")->type_string(), kAddSlices);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "ids", "dy", "shape", "ids", "dy", "shape"));
  EXPECT_EQ(Before("sum"), 0);
  EXPECT_EQ(Find("g"), nullptr);
  EXPECT_EQ(Find("h"), nullptr);
}

TEST_F(SliceSumRuleTest, TheOperandOfAnAddIsKnown) {
  for (const char* op : {"Add", "AddV2"}) {
    for (const int operand : {0, 1}) {
      SCOPED_TRACE(absl::StrCat(op, " ", operand));
      Clear();
      AddPlaceholders();
      using Names = std::vector<std::string>;
      EXPECT_EQ(ApplyToAdd(operand == 0 ? Names{"a", "g"} : Names{"g", "a"}, op), 1);
      EXPECT_EQ(Find("sum")->type_string(), kAddSlices);
      EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "ids", "dy", "shape"));
      EXPECT_EQ(Operand(), operand);
      EXPECT_EQ(Before("sum"), 1);
    }
  }
}

TEST_F(SliceSumRuleTest, AnAddTakesASumOfSlicesAsAWhole) {
  Set(AddOf("both", "AddN", {"g", "h"}), "N", 2);
  EXPECT_EQ(ApplyToAdd({"a", "both"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "ids", "dy", "shape", "ids", "dy", "shape"));
  EXPECT_EQ(Operand(), 0);
  EXPECT_EQ(Before("sum"), 2);
  EXPECT_EQ(Find("both"), nullptr);
}

TEST_F(SliceSumRuleTest, ASumOfSlicesIsLeftToTheAddThatReadsIt) {
  Set(AddOf("sum", "AddN", {"g", "h"}), "N", 2);
  AddOf("outer", "AddV2", {"sum", "a"});
  AddOf("next", "NextIteration", {"outer"});
  Outcome outcome;
  EXPECT_TRUE(SliceSumRule().apply(Find("sum"), graph().get(), &outcome).ok());
  EXPECT_THAT(outcome.done, testing::IsEmpty());
}

// A program may add padded tensors outside of loops.
TEST_F(SliceSumRuleTest, TheRuleIsAppliedToAnAddOnlyIfALoopSumsByIt) {
  for (const char* op : {"Add", "AddV2"}) {
    AddOf("in_loop", op, {"a", "g"});
    AddOf("next", "NextIteration", {"in_loop"});
    AddOf("outside", op, {"a", "h"});
    AddOf("read_twice", op, {"a", "h"});
    AddOf("next_too", "NextIteration", {"read_twice"});
    AddOf("reader", "Identity", {"read_twice"});
    for (const char* name : {"in_loop", "outside", "read_twice"}) {
      EXPECT_EQ(SliceSumRule().may_apply(*Find(name)), name == std::string("in_loop")) << name;
    }
    Clear();
    AddPlaceholders();
  }
}

TEST_F(SliceSumRuleTest, AnAddNDoesNotTakeASumOfSlicesAsAWhole) {
  Set(AddOf("both", "AddN", {"g", "h"}), "N", 2);
  EXPECT_EQ(Apply({"a", "both"}), 0);
  EXPECT_THAT(outcome_.missed, testing::IsEmpty());  // `both` has remarks of its own
}

TEST_F(SliceSumRuleTest, TheFirstOfTwoSlicesOfAnAddStaysAFullTensor) {
  EXPECT_EQ(ApplyToAdd({"g", "h"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("g", "ids", "dy", "shape"));
  EXPECT_EQ(Operand(), 0);
}

TEST_F(SliceSumRuleTest, AddsOfStringsAndOfNumbersThatAreNotSummedAreLeftAlone) {
  for (const auto dtype : {tensorflow::DT_STRING, DT_INT32}) {
    Clear();
    for (const char* name : {"a", "b"}) Placeholder(name, dtype);
    Set(AddOf("sum", "Add", {"a", "b"}), "T", dtype);
    EXPECT_EQ(ApplyToSum(dtype), 0);
  }
}

TEST_F(SliceSumRuleTest, ZerosOfATf1ConditionalAreZeros) {
  for (const bool of_unknown_shape : {false, true}) {
    Clear();
    AddPlaceholders();
    Placeholder("p", tensorflow::DT_BOOL);
    tensorflow::Tensor zero(DT_FLOAT, of_unknown_shape ? TensorShape({}) : TensorShape({2}));
    zero.flat<float>().setZero();
    NodeDef& constant = Add("zero", "Const");
    Set(constant, "dtype", DT_FLOAT);
    Set(constant, "value", zero);
    if (of_unknown_shape) {
      Set(AddOf("zeros", "Fill", {"shape", "zero"}), "index_type", DT_INT32);
    } else {
      AddOf("zeros", "Switch", {"zero", "p"});
    }
    AddMerge("chosen", "g", "zeros");
    EXPECT_EQ(ApplyToAdd({"a", "chosen"}), 1);
    EXPECT_EQ(CountOf("TensorArrayGrad>SliceGradients"), 2);
    EXPECT_EQ(CountOf("Fill"), 0);
  }
}

TEST_F(SliceSumRuleTest, AFillOfAnUnknownValueIsLeftAlone) {
  Placeholder("value", DT_FLOAT);
  Set(AddOf("filled", "Fill", {"shape", "value"}), "index_type", DT_INT32);
  AddMerge("chosen", "g", "filled");
  EXPECT_EQ(ApplyToAdd({"a", "chosen"}), 0);
  ExpectRemark("g", "may also output `filled`, which is neither");
}

TEST_F(SliceSumRuleTest, SlicesBeforeTheFirstOtherOperandAreCounted) {
  EXPECT_EQ(Apply({"g", "h", "a"}), 2);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "ids", "dy", "shape", "ids", "dy", "shape"));
  EXPECT_EQ(Before("sum"), 2);
}

TEST_F(SliceSumRuleTest, OrderOfTheAdditionsIsKept) {
  EXPECT_EQ(Apply({"a", "g", "b"}), 1);
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
  const std::vector<std::string> inputs = InputsOf("sum");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1], "b");
  EXPECT_EQ(Find(inputs[0])->type_string(), kAddSlices);
}

TEST_F(SliceSumRuleTest, ASumThatMayBeginWithItsThirdOperandIsLeftAlone) {
  EXPECT_EQ(Apply({"a", "b", "g"}), 0);
  ExpectRemark("g", "the sum `sum` has three or more terms");
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
}

// Pad outputs the buffer of `dy` if nothing is padded.
TEST_F(SliceSumRuleTest, PadDoesNotFixTheOrder) {
  AddPad("padded");
  EXPECT_EQ(Apply({"a", "padded", "b"}), 0);
  ExpectRemark("padded", "the sum `sum` has three or more terms");
}

TEST_F(SliceSumRuleTest, PadInASumOfTwoIsReplaced) {
  AddPad("padded");
  EXPECT_EQ(Apply({"a", "padded"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "dy", "paddings"));
}

TEST_F(SliceSumRuleTest, AddNOfOneDoesNotFixTheOrder) {
  AddBranches();
  AddPad("padded");
  AddMerge("inner", "padded", "zeros");
  Set(AddOf("one", "AddN", {"inner"}), "N", 1);
  AddMerge("outer", "one", "g");
  EXPECT_EQ(Apply({"a", "outer", "b"}), 0);
}

TEST_F(SliceSumRuleTest, ABranchWhoseSumHasNoKnownOrderIsLeftAlone) {
  AddBranches();
  AddPad("padded");
  AddPad("padded_too");
  Set(AddOf("three", "AddN", {"padded", "padded_too", "g"}), "N", 3);
  AddMerge("chosen", "three", "zeros");
  EXPECT_EQ(Apply({"chosen", "b"}), 0);
  ExpectRemark("padded", "the sum `three` has three or more terms");
}

TEST_F(SliceSumRuleTest, SliceWithARefInputIsLeftAlone) {
  NodeDef& variable = Add("variable", "VariableV2");
  Set(variable, "dtype", DT_FLOAT);
  *Named("g").mutable_input(1) = "variable";
  EXPECT_EQ(Apply({"a", "g"}), 0);
  ExpectRemark("g", "`variable` is a variable of TF1");
}

TEST_F(SliceSumRuleTest, DeepBranchesAreLeftAlone) {
  std::string last = "g";
  for (int i = 0; i < 2000; ++i) {
    const std::string zeros = absl::StrCat("zeros_", i), merge = absl::StrCat("merge_", i);
    AddOf(zeros, "ZerosLike", {"b"});
    AddMerge(merge, last, zeros);
    last = merge;
  }
  EXPECT_EQ(Apply({"a", last}), 0);
}

TEST_F(SliceSumRuleTest, FirstOperandStaysAFullTensorIfAllAreSlices) {
  EXPECT_EQ(Apply({"g", "h"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("g", "ids", "dy", "shape"));
}

TEST_F(SliceSumRuleTest, SegmentsMayComeThroughTransposeAndReshape) {
  NodeDef& segments = AddOf("segments", "UnsortedSegmentSum", {"rows", "ids", "n"});
  Set(segments, "Tindices", DT_INT32);
  Set(segments, "Tnumsegments", DT_INT32);
  Set(AddOf("turned", "Transpose", {"segments", "perm"}), "Tperm", DT_INT32);
  Set(AddOf("shaped", "Reshape", {"turned", "shape"}), "Tshape", DT_INT32);
  EXPECT_EQ(Apply({"a", "shaped"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "rows", "ids", "n", "perm", "shape"));
}

TEST_F(SliceSumRuleTest, SliceThatAnotherNodeReadsStays) {
  AddOf("other", "Identity", {"g"});
  EXPECT_EQ(Apply({"a", "g"}), 0);
  ExpectRemark("g", "`g` has several readers: `other`, `sum`");
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
}

TEST_F(SliceSumRuleTest, ControlInputsOfTheSliceAreKept) {
  AddOf("first", "Identity", {"b"});
  Named("g").add_input("^first");
  EXPECT_EQ(Apply({"a", "g"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "ids", "dy", "shape", "^first"));
}

TEST_F(SliceSumRuleTest, ControlInputsOfAnIdentityAreKept) {
  AddOf("first", "Identity", {"b"});
  AddOf("copy", "Identity", {"g", "^first"});
  EXPECT_EQ(Apply({"copy", "b"}), 1);
  EXPECT_THAT(InputsOf("sum"), Contains("^first"));
  EXPECT_EQ(Find("copy"), nullptr);
}

TEST_F(SliceSumRuleTest, AConditionalWhoseResultWaitsForOthersIsLeftAlone) {
  AddBranches();
  AddOf("first", "Identity", {"b"});
  AddMerge("chosen", "g", "zeros");
  AddOf("copy", "Identity", {"chosen", "^first"});
  EXPECT_EQ(Apply({"copy", "b"}), 0);
}

TEST_F(SliceSumRuleTest, SumsOfMoreThanEightAreLeftAlone) {
  EXPECT_EQ(Apply({"a", "b", "b", "b", "b", "b", "b", "b", "g"}), 0);
  ExpectRemark("g", "the sum `sum` has more than eight terms");
}

TEST_F(SliceSumRuleTest, ReshapedScatterIsLeftAlone) {
  Set(AddOf("shaped", "Reshape", {"g", "shape"}), "Tshape", DT_INT32);
  EXPECT_EQ(Apply({"a", "shaped"}), 0);
  ExpectRemark("g", "the result of `g` is reshaped");
}

TEST_F(SliceSumRuleTest, OtherDevicesAreLeftAlone) {
  Named("g").set_device(kCpu1);
  EXPECT_EQ(Apply({"a", "g"}), 0);
  ExpectRemark("g", "`g` is on another device than the sum");
}

TEST_F(SliceSumRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  PlaceAllOn(kGpu0);
  Set(AddOf("sum", "AddN", {"a", "g"}), "N", 2);
  Named("sum").set_device(kGpu0);
  EXPECT_EQ(ApplyToSum(), 0);
  ExpectRemark("g", "the device of the sum, `sum`, has no kernel of this library");
}

TEST_F(SliceSumRuleTest, ASliceThatIsConvertedIsLeftAlone) {
  NodeDef& cast = Add("cast", "Cast", {"g"});
  for (const char* dtype : {"SrcT", "DstT"}) Set(cast, dtype, DT_FLOAT);
  EXPECT_EQ(Apply({"a", "cast"}), 0);
  ExpectRemark("g", "`cast` changes it before it is added");
}

TEST_F(SliceSumRuleTest, ASumWithoutASliceHasNoRemark) {
  EXPECT_EQ(Apply({"a", "b"}), 0);
  EXPECT_THAT(outcome_.missed, testing::IsEmpty());
}

TEST_F(SliceSumRuleTest, ABranchPassesItsSliceOnAsVariant) {
  AddBranches();
  AddMerge("chosen", "g", "zeros");
  EXPECT_EQ(Apply({"chosen", "b"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("b", "chosen/slices/_2"));
  EXPECT_EQ(Before("sum"), 1);
  EXPECT_THAT(InputsOf("chosen/slices/_2"), ElementsAre("g/slices/_0", "zeros/slices/_1"));
  EXPECT_EQ(Find("chosen/slices/_2")->output_type(0), tensorflow::DT_VARIANT);
  EXPECT_THAT(InputsOf("g/slices/_0"), ElementsAre("ids", "dy", "shape"));
  EXPECT_THAT(InputsOf("zeros/slices/_1"), ElementsAre("a_in"));
  for (const char* gone : {"g", "zeros", "chosen"}) EXPECT_EQ(Find(gone), nullptr) << gone;
}

TEST_F(SliceSumRuleTest, NodesInABranchKeepTheirControlInputs) {
  AddBranches();
  AddOf("first", "Identity", {"b"});
  AddMerge("chosen", "g", "zeros");
  for (const char* node : {"g", "zeros", "chosen"}) Named(node).add_input("^first");
  EXPECT_EQ(Apply({"b", "chosen"}), 1);
  EXPECT_THAT(InputsOf("g/slices/_0"), ElementsAre("ids", "dy", "shape", "^first"));
  EXPECT_THAT(InputsOf("zeros/slices/_1"), ElementsAre("a_in", "^first"));
  EXPECT_THAT(InputsOf("chosen/slices/_2"),
              ElementsAre("g/slices/_0", "zeros/slices/_1", "^first"));
}

TEST_F(SliceSumRuleTest, BranchesMayBeNestedAndSumThemselves) {
  AddBranches();
  AddMerge("inner", "g", "zeros");
  AddScatter("k");
  Set(AddOf("both", "AddN", {"inner", "h"}), "N", 2);
  AddMerge("outer", "both", "k");
  EXPECT_EQ(Apply({"outer", "a"}), 1);
  EXPECT_THAT(InputsOf("outer/slices/_5"), ElementsAre("both/slices/_3", "k/slices/_4"));
  EXPECT_THAT(InputsOf("both/slices/_3"), ElementsAre("inner/slices/_2", "ids", "dy", "shape"));
}

TEST_F(SliceSumRuleTest, ABranchMayOutputZerosInBothOfItsOwn) {
  AddBranches();
  AddOf("others", "ZerosLike", {"a_in:1"});
  AddMerge("inner", "others", "zeros");
  AddMerge("outer", "g", "inner");
  EXPECT_EQ(Apply({"outer", "a"}), 1);
  EXPECT_EQ(CountOf("TensorArrayGrad>SliceGradients"), 3);
  EXPECT_EQ(CountOf("ZerosLike"), 0);
}

TEST_F(SliceSumRuleTest, ASumAsSecondOperandOfABranchesSumIsLeftAlone) {
  AddBranches();
  Set(AddOf("both", "AddN", {"g", "h"}), "N", 2);
  AddMerge("inner", "both", "zeros");
  AddScatter("k");
  Set(AddOf("odd", "AddN", {"k", "inner"}), "N", 2);
  AddOf("others", "ZerosLike", {"a_in:1"});
  AddMerge("outer", "odd", "others");
  EXPECT_EQ(Apply({"outer", "a"}), 0);
  ExpectRemark("k", "`odd` adds a sum to other terms");
  EXPECT_NE(Find("outer"), nullptr);
}

TEST_F(SliceSumRuleTest, SumInABranchIsLeftToTheSumAfterTheMerge) {
  AddBranches();
  Set(AddOf("both", "AddN", {"g", "h"}), "N", 2);
  AddMerge("chosen", "both", "zeros");
  Set(AddOf("sum", "AddN", {"chosen", "b"}), "N", 2);
  Outcome outcome;
  EXPECT_TRUE(SliceSumRule().apply(Find("both"), graph().get(), &outcome).ok());
  EXPECT_THAT(outcome.done, testing::IsEmpty());
  EXPECT_TRUE(SliceSumRule().apply(Find("sum"), graph().get(), &outcome).ok());
  EXPECT_EQ(Find("both"), nullptr);
  EXPECT_THAT(InputsOf("both/slices/_0"), ElementsAre("ids", "dy", "shape", "ids", "dy", "shape"));
}

TEST_F(SliceSumRuleTest, ADenseBranchIsLeftAlone) {
  AddMerge("chosen", "g", "b");
  EXPECT_EQ(Apply({"chosen", "a"}), 0);
  ExpectRemark("g", "may also output `b`, which is neither");
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
}

TEST_F(SliceSumRuleTest, ZerosAloneAreLeftAlone) {
  AddBranches();
  AddOf("others", "ZerosLike", {"a_in:1"});
  AddMerge("chosen", "others", "zeros");
  EXPECT_EQ(Apply({"chosen", "b"}), 0);
  EXPECT_THAT(outcome_.missed, testing::IsEmpty());
}

TEST_F(SliceSumRuleTest, AMergeWhoseValueIndexIsReadIsLeftAlone) {
  AddBranches();
  AddMerge("chosen", "g", "zeros");
  Set(Add("which", "Identity", {"chosen:1"}), "T", DT_INT32);
  EXPECT_EQ(Apply({"chosen", "b"}), 0);
  ExpectRemark("g", "`chosen` has several readers: `sum`, `which`");
}

TEST_F(SliceSumRuleTest, ConstantZerosAreZerosIfTheOrderIsKnown) {
  const auto with = [&](std::vector<std::string> operands, float value) {
    Clear();
    for (const char* name : {"a", "b", "c", "dy"}) Placeholder(name, DT_FLOAT);
    for (const char* name : {"ids", "shape"}) Placeholder(name, DT_INT32);
    AddScatter("g");
    tensorflow::Tensor zeros(DT_FLOAT, {2});
    zeros.flat<float>().setConstant(value);
    NodeDef& constant = Add("zeros", "Const");
    Set(constant, "dtype", DT_FLOAT);
    Set(constant, "value", zeros);
    AddMerge("chosen", "g", "zeros");
    return Apply(std::move(operands));
  };
  EXPECT_EQ(with({"chosen", "a"}, 0), 1);
  EXPECT_EQ(CountOf("TensorArrayGrad>SliceGradients"), 2);
  EXPECT_EQ(with({"chosen", "a", "b"}, 0), 0);
  EXPECT_EQ(with({"chosen", "a"}, -0.0F), 0);
  EXPECT_EQ(with({"chosen", "a"}, 1), 0);
}

}  // namespace
}  // namespace tensor_array_grad
