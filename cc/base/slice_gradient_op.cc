#include "cc/base/slice_gradient_op.h"

#include <algorithm>
#include <iterator>

#include "cc/base/invalid.h"
#include "cc/base/op_names.h"

namespace tensor_array_grad {
namespace {

struct Signature {
  absl::string_view op;
  int inputs, values;
};

// By kind.
constexpr Signature kSignatures[] = {{ops::kStridedSliceGrad, 5, 4},   {ops::kPad, 2, 0},
                                     {ops::kUnsortedSegmentSum, 3, 0}, {"ScatterNd", 3, 1},
                                     {ops::kZerosLike, 1, 0},          {ops::kFill, 2, 1},
                                     {ops::kSliceGradients, 1, 0}};

}  // namespace

SliceMasks SliceMasks::Of(const tensorflow::AttrSlice& attributes) {
  SliceMasks masks;
  tensorflow::TryGetNodeAttr(attributes, "begin_mask", &masks.begin);
  tensorflow::TryGetNodeAttr(attributes, "end_mask", &masks.end);
  tensorflow::TryGetNodeAttr(attributes, "ellipsis_mask", &masks.ellipsis);
  tensorflow::TryGetNodeAttr(attributes, "new_axis_mask", &masks.new_axis);
  tensorflow::TryGetNodeAttr(attributes, "shrink_axis_mask", &masks.shrink_axis);
  return masks;
}

SliceGradientOp::SliceGradientOp(Kind which)
    : kind(which), inputs(kSignatures[which].inputs), values(kSignatures[which].values) {}

std::optional<SliceGradientOp> SliceGradientOp::Of(absl::string_view op,
                                                   const tensorflow::AttrSlice& attributes) {
  const auto* const found = std::find_if(std::begin(kSignatures), std::end(kSignatures),
                                         [op](const Signature& each) { return each.op == op; });
  if (found == std::end(kSignatures)) return std::nullopt;
  SliceGradientOp result(static_cast<Kind>(found - kSignatures));
  result.masks = SliceMasks::Of(attributes);
  return result;
}

void SliceGradientOp::AppendTo(tensorflow::AttrValue* addends) const {
  for (const int64_t number : {int{kind}, int{transposed}, int{reshaped}, masks.begin, masks.end,
                               masks.ellipsis, masks.new_axis, masks.shrink_axis}) {
    addends->mutable_list()->add_i(number);
  }
}

absl::Status SliceGradientOp::ReadAll(const tensorflow::AttrSlice& attributes,
                                      std::vector<SliceGradientOp>* ops) {
  std::vector<int32_t> all;
  TF_RETURN_IF_ERROR(GetNodeAttr(attributes, kAttribute, &all));
  if (all.empty() || all.size() % kNumbers != 0) {
    return Invalid("The attribute ", kAttribute, " must have ", kNumbers,
                   " numbers for each addend and at least one addend, but has ", all.size());
  }
  for (auto at = all.begin(); at != all.end(); at += kNumbers) {
    const auto is_flag = [&](int32_t flag) {
      return flag == 0 || (flag == 1 && *at == kSegmentSum);
    };
    if (*at < 0 || *at > kSum || !is_flag(at[1]) || !is_flag(at[2])) {
      return Invalid("Addend ", ops->size(), " has the kind, transposed and reshaped ", at[0], ", ",
                     at[1], ", ", at[2], ", but the kinds are 0 to ", int{kSum}, ", and only ",
                     int{kSegmentSum}, " may have a 1 behind it");
    }
    SliceGradientOp& op = ops->emplace_back(static_cast<Kind>(*at));
    op.transposed = at[1] != 0;
    op.reshaped = at[2] != 0;
    op.masks = {at[3], at[4], at[5], at[6], at[7]};
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
