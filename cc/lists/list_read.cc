#include "cc/lists/list_read.h"

#include <utility>

#include "cc/lists/element_shape.h"
#include "cc/lists/list_checks.h"

namespace tensor_array_grad {
namespace {

// Collects pieces. Consecutive zeros become one piece.
class PieceList {
 public:
  PieceList(ZerosLike zeros_like, std::vector<Piece>* pieces)
      : zeros_like_(zeros_like), pieces_(*pieces) {}

  void AddZeros(int64_t values) {
    if (values == 0) return;
    if (pieces_.empty() || !pieces_.back().zeros()) pieces_.push_back({});
    pieces_.back().count += values;
  }

  void Add(const Tensor& tensor) {
    if (tensor.NumElements() > 0) pieces_.push_back({tensor, 0, tensor.NumElements()});
  }

  // Adds `element`, which has `values` values if it is zeros.
  absl::Status Add(const ListElement& element, int64_t values) {
    if (element.kind == ListElement::kSet) {
      Add(*element.tensor);
    } else if (element.kind == ListElement::kZeros && element.tensor->dtype() == DT_VARIANT) {
      Tensor zeros;
      TF_RETURN_IF_ERROR(zeros_like_(*element.tensor, &zeros));
      Add(zeros);
    } else {
      AddZeros(values);
    }
    return absl::OkStatus();
  }

 private:
  const ZerosLike zeros_like_;
  std::vector<Piece>& pieces_;
};

// Collects elements that all have the shape `shape`.
class UniformPieces {
 public:
  UniformPieces(const TensorShape& shape, ZerosLike zeros_like, std::vector<Piece>* pieces)
      : shape_(shape), values_(shape.num_elements()), pieces_(zeros_like, pieces) {}

  absl::Status Add(const ListElement& element) {
    if (element.kind != ListElement::kUnset && element.tensor->shape() != shape_) {
      return Invalid("Incompatible shapes: an element is ", element.tensor->shape().DebugString(),
                     ", not ", shape_.DebugString());
    }
    return pieces_.Add(element, values_);
  }

  // Adds elements [begin, end) of `list`, none of which is set.
  absl::Status AddNotSet(const ListVariant& list, int64_t begin, int64_t end) {
    if (!list.has_zeros()) {
      pieces_.AddZeros((end - begin) * values_);
      return absl::OkStatus();
    }
    for (int64_t i = begin; i < end; ++i) TF_RETURN_IF_ERROR(Add(list.Get(i)));
    return absl::OkStatus();
  }

 private:
  const TensorShape& shape_;
  const int64_t values_;
  PieceList pieces_;
};

// Finds the shape that all rows have, and the length of unset elements, which is that of the other
// elements if they all have the same one. A length of -1 is unknown.
class RowMerger {
 public:
  RowMerger(PartialTensorShape row, int64_t length)
      : row_(std::move(row)), expected_(length), inferred_(length), infers_(length == -1) {}

  absl::Status Add(int64_t index, const Tensor& element) {
    if (element.dims() == 0) {
      return Invalid("Concat saw a scalar shape at index ", index,
                     " but requires at least vectors.");
    }
    TensorShape row;
    TF_RETURN_IF_ERROR(RowShape(element, &row));
    TF_RETURN_IF_ERROR(row_.Add(row));
    const int64_t length = element.dim_size(0);
    if (expected_ != -1 && length != expected_) {
      return Invalid(
          "First entry of element_shape input does not match the first dim of list "
          "element at index: ",
          index, " Expected: ", expected_, " Actual: ", length);
    }
    if (infers_ && inferred_ == -1) {
      inferred_ = length;
    } else if (infers_ && inferred_ != length) {
      inferred_ = -1;
      infers_ = false;
    }
    return absl::OkStatus();
  }

  const PartialTensorShape& row() const { return row_.shape(); }
  int64_t length() const { return inferred_; }

 private:
  ShapeMerger row_;
  const int64_t expected_;
  int64_t inferred_;
  bool infers_;
};

// Sets `length` to the number of rows of `element`, which has index `i`.
absl::Status LengthOf(int64_t i, const ListElement& element, const ConcatRows& rows,
                      std::optional<absl::Span<const int64_t>> leading_dims, int64_t* length) {
  if (element.kind != ListElement::kUnset) {
    const TensorShape& shape = element.tensor->shape();
    TensorShape row;
    if (!RowShape(*element.tensor, &row).ok() || row != rows.row) {
      return Invalid("Concat saw shape ", shape.DebugString(), " at index ", i,
                     " but requires rows of shape ", rows.row.DebugString());
    }
    *length = shape.dim_size(0);
    return absl::OkStatus();
  }
  const int64_t known = leading_dims ? static_cast<int64_t>(leading_dims->size()) : 0;
  if (i >= known && rows.length != -1) {
    *length = rows.length;
    return absl::OkStatus();
  }
  if (!leading_dims) {
    return Invalid(
        "Concating lists with uninitialized tensors is not supported in this version of "
        "TensorListConcat. Consider updating your GraphDef to run the newer version.");
  }
  if (i >= known) {
    return Invalid("List contains uninitialized tensor at index ", i, " but leading_dims has only ",
                   known, " elements.");
  }
  *length = (*leading_dims)[i];
  if (*length >= 0) return absl::OkStatus();
  return Invalid("leading_dims must not be negative, but is ", *length, " at index ", i);
}

}  // namespace

absl::Status ReadElement(const ListVariant& list, int64_t index, const Tensor& element_shape,
                         ElementValue* value) {
  if (index < 0 || index >= list.size()) {
    return Invalid("Trying to access element ", index, " in a list with ", list.size(),
                   " elements.");
  }
  value->element = list.Get(index);
  if (value->element.kind != ListElement::kUnset) return absl::OkStatus();
  PartialTensorShape partial;
  TF_RETURN_IF_ERROR(MergedElementShape(list, element_shape, &partial));
  ShapeMerger merger(partial);
  if (!partial.IsFullyDefined()) TF_RETURN_IF_ERROR(merger.AddAll(list));
  if (merger.shape().AsTensorShape(&value->shape)) return absl::OkStatus();
  return Invalid("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                 merger.shape().DebugString(), " and no list element is set.");
}

absl::Status ReadLast(const ListVariant& list, const Tensor& element_shape, ElementValue* value) {
  if (list.size() == 0) return Invalid("Trying to pop from an empty list.");
  value->element = list.Get(list.size() - 1);
  if (value->element.kind != ListElement::kUnset) return absl::OkStatus();
  PartialTensorShape partial;
  TF_RETURN_IF_ERROR(MergedElementShape(list, element_shape, &partial));
  if (partial.AsTensorShape(&value->shape)) return absl::OkStatus();
  return Invalid("Trying to read an uninitialized tensor but element_shape is not fully defined.",
                 partial.DebugString());
}

absl::Status ShapeToStack(const ListVariant& list, const Tensor& element_shape,
                          int64_t num_elements, TensorShape* element) {
  if (num_elements != -1 && list.size() != num_elements) {
    return Invalid("Operation expected a list with ", num_elements,
                   " elements but got a list with ", list.size(), " elements.");
  }
  PartialTensorShape partial;
  TF_RETURN_IF_ERROR(MergedElementShape(list, element_shape, &partial));
  if (!partial.IsFullyDefined() && list.size() == 0) {
    return Invalid(
        "Tried to stack elements of an empty list with non-fully-defined element_shape: ",
        partial.DebugString());
  }
  ShapeMerger merger(partial);
  if (!list.shape().IsFullyDefined()) TF_RETURN_IF_ERROR(merger.AddAll(list));
  if (merger.shape().AsTensorShape(element)) return absl::OkStatus();
  return Invalid(
      "Tried to stack list which only contains uninitialized tensors and has a "
      "non-fully-defined element_shape: ",
      merger.shape().DebugString());
}

absl::Status PiecesToStack(const ListVariant& list, const TensorShape& element,
                           ZerosLike zeros_like, std::vector<Piece>* pieces) {
  UniformPieces uniform(element, zeros_like, pieces);
  int64_t next = 0;
  TF_RETURN_IF_ERROR(list.ForEachSet([&](int64_t index, const Tensor& value) {
    TF_RETURN_IF_ERROR(uniform.AddNotSet(list, next, index));
    next = index + 1;
    return uniform.Add({ListElement::kSet, &value});
  }));
  return uniform.AddNotSet(list, next, list.size());
}

absl::Status ShapeToGather(const ListVariant& list, const Tensor& element_shape,
                           absl::Span<const int32_t> indices, TensorShape* element) {
  PartialTensorShape partial;
  TF_RETURN_IF_ERROR(MergedElementShape(list, element_shape, &partial));
  if (!partial.IsFullyDefined() && indices.empty()) {
    return Invalid("Tried to gather 0-elements from a list with non-fully-defined shape: ",
                   partial.DebugString());
  }
  ShapeMerger merger(partial);
  if (!list.shape().IsFullyDefined()) {
    for (const int32_t index : indices) {
      if (index < 0 || index >= list.size()) {
        return Invalid("Trying to gather element ", index, " in a list with ", list.size(),
                       " elements.");
      }
      const ListElement found = list.Get(index);
      if (found.tensor != nullptr) TF_RETURN_IF_ERROR(merger.Add(found.tensor->shape()));
    }
  }
  if (merger.shape().AsTensorShape(element)) return absl::OkStatus();
  return Invalid(
      "Tried to gather uninitialized tensors from a list with non-fully-defined "
      "element_shape: ",
      merger.shape().DebugString());
}

absl::Status PiecesToGather(const ListVariant& list, const TensorShape& element,
                            absl::Span<const int32_t> indices, ZerosLike zeros_like,
                            std::vector<Piece>* pieces) {
  UniformPieces uniform(element, zeros_like, pieces);
  for (const int32_t index : indices) {
    if (index < 0 || index >= list.size()) {
      return Invalid("Index ", index, " out o range; list only has ", list.size(), " elements.");
    }
    TF_RETURN_IF_ERROR(uniform.Add(list.Get(index)));
  }
  return absl::OkStatus();
}

absl::Status ShapeToConcat(const ListVariant& list, const PartialTensorShape& shape,
                           bool first_dim_is_length, ConcatRows* rows) {
  PartialTensorShape row = shape;
  if (!shape.unknown_rank()) {
    if (shape.dims() == 0) {
      return Invalid("Concat requires elements to be at least vectors, found scalars instead.");
    }
    TF_RETURN_IF_ERROR(row.RemoveDimWithStatus(0));
    if (first_dim_is_length) rows->length = shape.dim_size(0);
  }
  if (list.size() == 0 && !row.IsFullyDefined()) {
    return Invalid(
        "All except the first dimension must be fully defined when concating an "
        "empty tensor list. element_shape: ",
        row.DebugString());
  }
  RowMerger merger(std::move(row), rows->length);
  if (!list.shape().IsFullyDefined()) {
    TF_RETURN_IF_ERROR(
        list.ForEach([&](int64_t index, const Tensor& value) { return merger.Add(index, value); }));
  }
  rows->length = merger.length();
  if (merger.row().AsTensorShape(&rows->row)) return absl::OkStatus();
  return Invalid(
      "Trying to concat list with only uninitialized tensors but "
      "element_shape_except_first_dim is not fully defined: ",
      merger.row().DebugString());
}

absl::Status PiecesToConcat(const ListVariant& list, const ConcatRows& rows,
                            std::optional<absl::Span<const int64_t>> leading_dims,
                            ZerosLike zeros_like, absl::Span<int64_t> lengths, TensorShape* out,
                            std::vector<Piece>* pieces) {
  PieceList all(zeros_like, pieces);
  int64_t total = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    const ListElement element = list.Get(i);
    TF_RETURN_IF_ERROR(LengthOf(i, element, rows, leading_dims, &lengths[i]));
    if (__builtin_add_overflow(total, lengths[i], &total)) {
      return Invalid("The lengths of the elements of the list are too large to be summed.");
    }
    TensorShape zeros = rows.row;
    if (element.kind != ListElement::kSet) {
      TF_RETURN_IF_ERROR(zeros.InsertDimWithStatus(0, lengths[i]));  // the product may overflow
    }
    TF_RETURN_IF_ERROR(all.Add(element, zeros.num_elements()));
  }
  *out = rows.row;
  return out->InsertDimWithStatus(0, total);
}

}  // namespace tensor_array_grad
