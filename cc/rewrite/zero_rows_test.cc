#include "cc/rewrite/zero_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/rewrite/rules.h"
#include "cc/testing/graph_under_test.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

constexpr char kLastRow[] = "TensorArrayGrad>LastRowOfZeros";

REGISTER_KERNEL_BUILDER(Name(kLastRow).Device(tensorflow::DEVICE_CPU), NeverRun);

Tensor Zeros(int64_t rows) {
  Tensor tensor(DT_FLOAT, {rows, 2});
  tensor.flat<float>().setZero();
  return tensor;
}

// The gradient of a gather in one branch, and the zeros of the other branch.
class ZeroRowsTest : public testing::Test, protected GraphUnderTest {
 protected:
  void Reset() {
    Clear();
    Placeholder("p", tensorflow::DT_BOOL);
    Placeholder("n", DT_INT32);
    for (const char* name : {"rows", "x"}) Placeholder(name, DT_FLOAT);
    for (const char* name : {"ids", "pivot"}) Placeholder(name, DT_INT32);
    Of(DT_FLOAT, "x_in", "Switch", {"x", "p"});
    Of(DT_FLOAT, "zeros", "ZerosLike", {"x_in", "^pivot"});
    Set(Of(DT_FLOAT, "shape", "Shape", {"zeros"}), "out_type", DT_INT32);
    Constant("begin", Ints({0}));
    for (const char* name : {"end", "strides"}) Constant(name, Ints({1}));
    Set(Of(DT_INT32, "limit", "StridedSlice", {"shape", "begin", "end", "strides"}), "Index",
        DT_INT32);
    Constant("zero", Tensor(int32_t{0}));
    Constant("one", Tensor(int32_t{1}));
    Set(Add("range", "Range", {"zero", "limit", "one"}), "Tidx", DT_INT32);
    Set(Of(DT_FLOAT, "all_rows", "Merge", {"rows", "zeros"}), "N", 2);
    Set(Of(DT_INT32, "all_ids", "Merge", {"ids", "range"}), "N", 2);
    NodeDef& sum = Of(DT_FLOAT, "sum", "UnsortedSegmentSum", {"all_rows", "all_ids", "n"});
    Set(sum, "Tindices", DT_INT32);
    Set(sum, "Tnumsegments", DT_INT32);
  }

  NodeDef& Of(tensorflow::DataType type, const std::string& name, const std::string& op,
              std::vector<std::string> inputs) {
    NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", type);
    return node;
  }

  void Constant(const std::string& name, const Tensor& value) {
    NodeDef& node = Add(name, "Const", {"^pivot"});
    Set(node, "dtype", value.dtype());
    Set(node, "value", value);
  }

  void Shrink() { EXPECT_TRUE(ShrinkZeroRows(*Find("sum"), graph().get()).ok()); }

  void ExpectKept(const std::function<void()>& change) {
    Reset();
    change();
    Shrink();
    EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros"));
    EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "range"));
  }

  // Makes the other branch output these constants.
  void ResetToConstants(const Tensor& zeros, const Tensor& numbers) {
    Reset();
    Constant("zeros_0", zeros);
    Constant("numbers_0", numbers);
    *Named("all_rows").mutable_input(1) = "zeros_0";
    *Named("all_ids").mutable_input(1) = "numbers_0";
  }

  // Puts the conditional into a branch of another one, whose other branch outputs constants.
  void Nest() {
    Constant("zeros_0", Zeros(3));
    Constant("numbers_0", Ints({0, 1, 2}));
    Set(Of(DT_FLOAT, "outer_rows", "Merge", {"all_rows", "zeros_0"}), "N", 2);
    Set(Of(DT_INT32, "outer_ids", "Merge", {"all_ids", "numbers_0"}), "N", 2);
    Named("sum").set_input(0, "outer_rows");
    Named("sum").set_input(1, "outer_ids");
  }

  // Casts the numbers of the other branch to int64.
  void CastNumbers() {
    NodeDef& cast = Add("cast", "Cast", {Named("all_ids").input(1)});
    Set(cast, "SrcT", DT_INT32);
    Set(cast, "DstT", DT_INT64);
    Placeholder("long_ids", DT_INT64);
    NodeDef& all_ids = Named("all_ids");
    Set(all_ids, "T", DT_INT64);
    all_ids.set_input(0, "long_ids");
    all_ids.set_input(1, "cast");
    Set(Named("sum"), "Tindices", DT_INT64);
  }

  // Expects that the last number became a constant.
  void ExpectNumber(int32_t expected) {
    ASSERT_NE(Find("zeros_0/last/_1"), nullptr);
    Tensor value;
    ASSERT_TRUE(GetNodeAttr(Find("zeros_0/last/_1")->attrs(), "value", &value).ok());
    ASSERT_EQ(value.NumElements(), 1);
    EXPECT_EQ(value.flat<int32_t>()(0), expected);
  }
};

TEST_F(ZeroRowsTest, RowsAreReplacedByTheLastRow) {
  Reset();
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "zeros/last/_0"));
  EXPECT_THAT(InputsOf("zeros/last/_0"), ElementsAre("x_in", "limit", "^pivot"));
  EXPECT_EQ(Find("zeros/last/_0")->type_string(), kLastRow);
  EXPECT_THAT(InputsOf("shape"), ElementsAre("x_in", "^pivot"));
  EXPECT_EQ(Find("zeros"), nullptr);
  EXPECT_EQ(Find("range"), nullptr);
}

TEST_F(ZeroRowsTest, BranchesOfAConditionalInABranchShrink) {
  Reset();
  Nest();
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "zeros/last/_0"));
  EXPECT_THAT(InputsOf("outer_rows"), ElementsAre("all_rows", "zeros_0/last/_1"));
  EXPECT_THAT(InputsOf("outer_ids"), ElementsAre("all_ids", "zeros_0/last/_2"));
}

TEST_F(ZeroRowsTest, AnInnerConditionalThatOthersReadIsLeftAlone) {
  const auto inner_is_kept = [this](const std::function<void()>& change) {
    ExpectKept([&] {
      Nest();
      change();
    });
    EXPECT_EQ(InputsOf("outer_rows")[1], "zeros_0/last/_0");
  };
  inner_is_kept([this] { Of(DT_FLOAT, "other", "Identity", {"all_rows"}); });
  inner_is_kept([this] { Of(DT_INT32, "other", "Identity", {"all_ids"}); });
  inner_is_kept([this] { Named("outer_ids").set_input(0, "all_ids:1"); });
}

TEST_F(ZeroRowsTest, TheOperandThatStaysInASumKeepsItsRows) {
  Reset();
  NodeDef& other = Of(DT_FLOAT, "other", "UnsortedSegmentSum", {"rows", "ids", "n"});
  for (const char* type : {"Tindices", "Tnumsegments"}) Set(other, type, DT_INT32);
  Set(Of(DT_FLOAT, "total", "AddN", {"sum", "other"}), "N", 2);
  Of(DT_FLOAT, "use", "Identity", {"total"});
  Outcome outcome{{}, "slice_sum", /*wants_remarks=*/false};
  ASSERT_TRUE(SliceSumRule().apply(Find("total"), graph().get(), &outcome).ok());
  EXPECT_EQ(outcome.done.size(), 1u);
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "range"));
}

TEST_F(ZeroRowsTest, LengthMayComeFromTheTensorOfTheSameShape) {
  Reset();
  *Named("shape").mutable_input(0) = "x_in";
  Shrink();
  EXPECT_THAT(InputsOf("zeros/last/_0"), ElementsAre("x_in", "limit", "^pivot"));
}

TEST_F(ZeroRowsTest, OtherNumbersAreLeftAlone) {
  ExpectKept([&] { *Named("range").mutable_input(0) = "one"; });
  ExpectKept([&] { *Named("range").mutable_input(2) = "zero"; });
  ExpectKept([&] { *Named("range").mutable_input(1) = "n"; });
  ExpectKept([&] { *Named("shape").mutable_input(0) = "x"; });
}

TEST_F(ZeroRowsTest, RowsWithOtherConsumersAreLeftAlone) {
  ExpectKept([&] { Of(DT_FLOAT, "other", "Identity", {"zeros"}); });
  ExpectKept([&] { Of(DT_INT32, "other", "Identity", {"range"}); });
  ExpectKept([&] { Of(DT_FLOAT, "other", "Identity", {"rows", "^zeros"}); });
  ExpectKept([&] { Of(DT_FLOAT, "other", "Identity", {"all_rows"}); });
}

TEST_F(ZeroRowsTest, ZerosAndNumbersThatWaitForDifferentNodesAreLeftAlone) {
  ExpectKept([&] { Named("range").add_input("^p"); });
  ExpectKept([&] { Named("limit").add_input("^p"); });
  ExpectKept([&] {
    *Named("shape").mutable_input(0) = "x_in";
    Named("zeros").add_input("^p");
  });
}

TEST_F(ZeroRowsTest, MergesOfDifferentConditionalsAreLeftAlone) {
  Reset();
  Placeholder("more_rows", DT_FLOAT);
  Named("all_rows").add_input("more_rows");
  Set(Named("all_rows"), "N", 3);
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros", "more_rows"));
}

TEST_F(ZeroRowsTest, TheValueIndexOfAMergeIsNoNumberOfARow) {
  ExpectKept([&] { *Named("sum").mutable_input(1) = "all_ids:1"; });
}

TEST_F(ZeroRowsTest, OtherDevicesAreLeftAlone) {
  ExpectKept([&] { Named("range").set_device(kCpu1); });
  ExpectKept([&] { Named("sum").set_device(kCpu1); });
  ExpectKept([&] { PlaceAllOn(kGpu0); });
}

TEST_F(ZeroRowsTest, ConstantsShrinkToConstants) {
  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "zeros_0/last/_1"));
  EXPECT_THAT(InputsOf("zeros_0/last/_0"), ElementsAre("^pivot"));
  Tensor value;
  ASSERT_TRUE(GetNodeAttr(Find("zeros_0/last/_0")->attrs(), "value", &value).ok());
  EXPECT_EQ(value.shape(), tensorflow::TensorShape({1, 2}));
  ExpectNumber(2);

  // The numbers may be a copy.
  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  Of(DT_INT32, "copy", "Identity", {"numbers_0"});
  Named("all_ids").set_input(1, "copy");
  Shrink();
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "zeros_0/last/_1"));
  ExpectNumber(2);
}

// TensorFlow folds no constants of 100 KiB or more.
TEST_F(ZeroRowsTest, ConstantZerosMayHaveComputedNumbers) {
  const auto reset = [this](int32_t start, int32_t limit, int32_t delta) {
    ResetToConstants(Zeros(3), Ints({0, 1, 2}));
    Constant("start", Tensor(start));
    Constant("three", Tensor(limit));
    Constant("delta", Tensor(delta));
    Set(Add("numbers", "Range", {"start", "three", "delta"}), "Tidx", DT_INT32);
    *Named("all_ids").mutable_input(1) = "numbers";
  };
  reset(0, 3, 1);
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "zeros_0/last/_1"));
  EXPECT_THAT(InputsOf("zeros_0/last/_1"), ElementsAre("^pivot"));
  ExpectNumber(2);

  const auto expect_kept = [this] {
    Shrink();
    EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0"));
    EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "numbers"));
  };
  reset(1, 3, 1);
  expect_kept();
  reset(0, 4, 1);
  expect_kept();
  reset(0, 3, 2);
  expect_kept();
  reset(0, 3, 1);
  Named("numbers").add_input("^p");  // live only together with p
  expect_kept();
  reset(0, 3, 1);
  Named("start").add_input("^p");
  expect_kept();
  reset(0, 3, 1);
  *Named("numbers").mutable_input(1) = "n";  // not known
  expect_kept();
}

TEST_F(ZeroRowsTest, NumbersMayBeCast) {
  Reset();
  CastNumbers();
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("long_ids", "cast"));
  EXPECT_THAT(InputsOf("cast"), ElementsAre("zeros/last/_0"));
  EXPECT_EQ(Find("range"), nullptr);

  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  CastNumbers();
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0/last/_0"));
  EXPECT_THAT(InputsOf("all_ids"), ElementsAre("long_ids", "cast"));
  EXPECT_THAT(InputsOf("cast"), ElementsAre("zeros_0/last/_1"));
  ExpectNumber(2);
}

TEST_F(ZeroRowsTest, OtherCastsAreLeftAlone) {
  const auto kept = [this](const std::function<void()>& change) {
    Reset();
    CastNumbers();
    change();
    Shrink();
    EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros"));
    EXPECT_THAT(InputsOf("all_ids"), ElementsAre("long_ids", "cast"));
    EXPECT_EQ(InputsOf("cast")[0], "range");
  };
  kept([this] { Of(DT_INT64, "other", "Identity", {"cast"}); });
  kept([this] { Named("cast").add_input("^p"); });
  kept([this] { Named("cast").set_device(kCpu1); });

  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  CastNumbers();
  Named("cast").add_input("^p");
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0"));
  EXPECT_THAT(InputsOf("cast"), ElementsAre("numbers_0", "^p"));

  // From int64 to int32, numbers could become negative.
  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  Constant("start", Tensor(int64_t{0}));
  Constant("three", Tensor(int64_t{3}));
  Constant("delta", Tensor(int64_t{1}));
  Set(Add("numbers", "Range", {"start", "three", "delta"}), "Tidx", DT_INT64);
  NodeDef& cast = Add("cast", "Cast", {"numbers"});
  Set(cast, "SrcT", DT_INT64);
  Set(cast, "DstT", DT_INT32);
  Named("all_ids").set_input(1, "cast");
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0"));
  EXPECT_THAT(InputsOf("cast"), ElementsAre("numbers"));
}

TEST_F(ZeroRowsTest, OtherConstantsAreLeftAlone) {
  const auto kept = [&](const Tensor& zeros, const Tensor& numbers) {
    ResetToConstants(zeros, numbers);
    Shrink();
    EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0"));
    EXPECT_THAT(InputsOf("all_ids"), ElementsAre("ids", "numbers_0"));
  };
  kept(Zeros(3), Ints({0, 2, 1}));
  kept(Zeros(3), Ints({0, 1}));
  kept(Zeros(1), Ints({0}));
  Tensor ones(DT_FLOAT, {2});
  ones.flat<float>().setConstant(1);
  kept(ones, Ints({0, 1}));
  kept(Tensor(0.0f), Ints({0}));

  // The numbers come from another frame.
  ResetToConstants(Zeros(3), Ints({0, 1, 2}));
  Set(Of(DT_INT32, "enter", "Enter", {"numbers_0"}), "frame_name", "loop");
  Named("all_ids").set_input(1, "enter");
  Shrink();
  EXPECT_THAT(InputsOf("all_rows"), ElementsAre("rows", "zeros_0"));
}

}  // namespace
}  // namespace tensor_array_grad
