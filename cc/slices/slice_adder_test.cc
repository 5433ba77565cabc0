#include "cc/slices/slice_adder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/core/counters.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {
namespace {

using tensorflow::NodeDef;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using testing::HasSubstr;

void Here(int64_t total, int64_t, cpu::Work work) { work(0, total); }

Tensor Ints(const std::vector<int32_t>& values) {
  return TensorOf<int32_t>({static_cast<int64_t>(values.size())}, values);
}

// A sum of some gradients of x[i] and then some of them before it.
class SliceAdderTest : public testing::Test {
 protected:
  // The gradient of x[index], where x has `rows` numbers.
  void AddIndex(int32_t index, float gradient, int32_t rows = 3) {
    NodeDef def;
    def.set_op("StridedSliceGrad");
    tensorflow::SetAttrValue(1, &(*def.mutable_attr())["shrink_axis_mask"]);
    addends_.push_back(def.SerializeAsString());
    for (const Tensor& input : {Ints({rows}), Ints({index}), Ints({index + 1}), Ints({1})}) {
      inputs_.push_back(input);
    }
    inputs_.push_back(Tensor(gradient));
  }

  absl::Status Add(int before = 0) {
    NodeDef node;
    tensorflow::SetAttrValue(addends_, &(*node.mutable_attr())["addends"]);
    tensorflow::SetAttrValue(before, &(*node.mutable_attr())["before"]);
    SliceAdder adder;
    std::vector<const Tensor*> inputs{&sum_};
    for (const Tensor& input : inputs_) inputs.push_back(&input);
    TF_RETURN_IF_ERROR(SliceAdder::Of(tensorflow::AttrSlice(node),
                                      static_cast<int>(inputs.size()) + missing_inputs_, &adder));
    SliceAdder::Terms terms;
    TF_RETURN_IF_ERROR(adder.Read("the_sum", inputs, &terms));
    values_ = terms.values();
    return SliceAdder::Add(terms, Here, &sum_);
  }

  std::vector<std::string> addends_;
  std::vector<Tensor> inputs_;
  Tensor sum_ = Vec({1, 2, 3});
  int64_t values_ = 0;
  int missing_inputs_ = 0;
};

TEST_F(SliceAdderTest, RowsAreAddedToTheirParts) {
  AddIndex(1, 10);
  AddIndex(-1, 20);
  const int64_t rows = ReadCounters()["slice_sums.rows"];
  ASSERT_OK(Add());
  EXPECT_THAT(sum_, TensorEq(Vec({1, 12, 23})));
  EXPECT_EQ(values_, 2);
  EXPECT_EQ(ReadCounters()["slice_sums.rows"], rows + 2);
}

TEST_F(SliceAdderTest, TermsBehindTheSumAreAddedToItOneByOne) {
  const float big = 1 << 24;
  sum_ = Vec({big, 0, 0});
  AddIndex(0, 1);
  AddIndex(0, 1);
  ASSERT_OK(Add());
  EXPECT_THAT(sum_, TensorEq(Vec({big, 0, 0}))) << "(2^24 + 1) + 1 rounds twice";
}

TEST_F(SliceAdderTest, TermsBeforeTheSumAreSummedFirst) {
  const float big = 1 << 24;
  sum_ = Vec({big, 5, 0});
  AddIndex(0, 1);
  AddIndex(0, 1);
  ASSERT_OK(Add(/*before=*/2));
  EXPECT_THAT(sum_, TensorEq(Vec({big + 2, 5, 0}))) << "2^24 + (1 + 1) is exact";
}

TEST_F(SliceAdderTest, AnotherShapeIsAddNsError) {
  AddIndex(1, 10, /*rows=*/4);
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument,
                           "Inputs to operation the_sum of type AddN must have the same size and "
                           "shape.  Input 0: [3] != input 1: [4]"));
  EXPECT_THAT(sum_, TensorEq(Vec({1, 2, 3})));
}

TEST_F(SliceAdderTest, AnotherDtypeIsAnError) {
  AddIndex(1, 10);
  inputs_.back() = Tensor(10.0);
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument,
                           "the_sum: gradients of double cannot be added to float"));
}

TEST_F(SliceAdderTest, AttributesThatDoNotFitAreErrors) {
  AddIndex(1, 10);
  EXPECT_THAT(Add(/*before=*/2),
              Fails(absl::StatusCode::kInvalidArgument, "There are fewer addends than 2"));
  missing_inputs_ = 1;
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument, "The addends need 5 inputs, not 6"));
  addends_ = {"no NodeDef"};
  EXPECT_THAT(Add(), Fails(absl::StatusCode::kInvalidArgument, "no NodeDef"));
}

}  // namespace
}  // namespace tensor_array_grad
