#include "cc/base/slice_gradient_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {
namespace {

using Op = SliceGradientOp;
using tensorflow::AttrSlice;
using tensorflow::NodeDef;

// A node with the masks 1, 2, 4, 8 and 16.
NodeDef WithMasks() {
  NodeDef node;
  int mask = 1;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    (*node.mutable_attr())[name].set_i(mask);
    mask *= 2;
  }
  return node;
}

absl::Status Read(const std::vector<int64_t>& numbers) {
  NodeDef node;
  auto* const list = (*node.mutable_attr())[Op::kAttribute].mutable_list();
  for (const int64_t number : numbers) list->add_i(number);
  std::vector<Op> ops;
  return Op::ReadAll(AttrSlice(node), &ops);
}

void ExpectRefused(const std::vector<int64_t>& numbers, const std::string& text) {
  EXPECT_THAT(Read(numbers), Fails(absl::StatusCode::kInvalidArgument, text));
}

TEST(SliceMasksTest, MasksAreReadFromTheAttributesOfANode) {
  const NodeDef node = WithMasks();
  const SliceMasks masks = SliceMasks::Of(AttrSlice(node));
  EXPECT_EQ(masks.begin, 1);
  EXPECT_EQ(masks.end, 2);
  EXPECT_EQ(masks.ellipsis, 4);
  EXPECT_EQ(masks.new_axis, 8);
  EXPECT_EQ(masks.shrink_axis, 16);
  EXPECT_EQ(SliceMasks::Of(AttrSlice(NodeDef())).shrink_axis, 0);
}

TEST(SliceGradientOpTest, TheOpOfANodeHasItsInputsAndMasks) {
  const NodeDef node = WithMasks();
  const auto op = Op::Of("StridedSliceGrad", AttrSlice(node));
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->kind, Op::kStridedSlice);
  EXPECT_EQ(op->num_inputs(), 5);
  EXPECT_EQ(op->values, 4);
  EXPECT_EQ(op->masks.new_axis, 8);
  EXPECT_TRUE(op->is_gradient());
  EXPECT_TRUE(Op::Of("ScatterNd", AttrSlice(node))->is_gradient());
  EXPECT_FALSE(Op::Of("ZerosLike", AttrSlice(node))->is_gradient());
  EXPECT_FALSE(Op::Of("AddN", AttrSlice(node)).has_value());
}

TEST(SliceGradientOpTest, OpsAreWrittenAndRead) {
  const NodeDef masked = WithMasks();
  NodeDef node;
  auto& attribute = (*node.mutable_attr())[Op::kAttribute];
  Op::Of("StridedSliceGrad", AttrSlice(masked))->AppendTo(&attribute);
  Op moved(Op::kSegmentSum);
  moved.reshaped = true;
  moved.AppendTo(&attribute);
  Op(Op::kSum).AppendTo(&attribute);
  std::vector<Op> ops;
  ASSERT_OK(Op::ReadAll(AttrSlice(node), &ops));
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].kind, Op::kStridedSlice);
  EXPECT_EQ(ops[0].masks.begin, 1);
  EXPECT_EQ(ops[0].masks.end, 2);
  EXPECT_EQ(ops[0].masks.ellipsis, 4);
  EXPECT_EQ(ops[0].masks.new_axis, 8);
  EXPECT_EQ(ops[0].masks.shrink_axis, 16);
  EXPECT_EQ(ops[1].kind, Op::kSegmentSum);
  EXPECT_FALSE(ops[1].transposed);
  EXPECT_TRUE(ops[1].reshaped);
  EXPECT_EQ(ops[1].num_inputs(), 4);
  EXPECT_EQ(ops[2].kind, Op::kSum);
}

TEST(SliceGradientOpTest, OtherNumbersAreRefused) {
  EXPECT_OK(Read({Op::kSegmentSum, 1, 1, 0, 0, 0, 0, 0}));
  ExpectRefused({}, "8 numbers for each addend and at least one addend, but has 0");
  ExpectRefused({0, 0, 0, 0, 0, 0, 0}, "8 numbers for each addend");
  ExpectRefused({-1, 0, 0, 0, 0, 0, 0, 0}, "Addend 0 has the kind, transposed and reshaped -1, 0");
  ExpectRefused({Op::kSum + 1, 0, 0, 0, 0, 0, 0, 0}, "but the kinds are 0 to 6");
  ExpectRefused({Op::kSegmentSum, 2, 0, 0, 0, 0, 0, 0}, "transposed and reshaped 2, 2, 0");
  ExpectRefused({Op::kSegmentSum, 0, -1, 0, 0, 0, 0, 0}, "transposed and reshaped 2, 0, -1");
  ExpectRefused({Op::kPad, 0, 1, 0, 0, 0, 0, 0}, "only 2 may have a 1 behind it");
  ExpectRefused({0, 0, 0, 0, 0, 0, 0, int64_t{1} << 40}, "out of range for an int32");
  NodeDef node;
  std::vector<Op> ops;
  EXPECT_THAT(Op::ReadAll(AttrSlice(node), &ops),
              Fails(absl::StatusCode::kNotFound, "No attr named 'addends'"));
  (*node.mutable_attr())[Op::kAttribute].set_s("text");
  EXPECT_THAT(Op::ReadAll(AttrSlice(node), &ops),
              Fails(absl::StatusCode::kInvalidArgument, "when 'list(int)' expected"));
}

}  // namespace
}  // namespace tensor_array_grad
