#include "cc/device/functors_gpu.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/tensor_data.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad::gpu {
namespace {

Counter launches("gpu.launches");

// Calls queue(), which queues `what` on the GPU; returns its error and counts its launches.
template <typename Queue>
absl::Status Counted(absl::string_view what, Queue queue) {
  const int64_t before = cuda::Launched();
  const cuda::Error error = queue();
  launches.Add(cuda::Launched() - before);
  if (error == nullptr) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("tensor_array_grad could not queue ", what, " on the GPU: ", error));
}

// The numbers that a value of a dtype consists of.
struct Numbers {
  cuda::Number kind;
  int64_t in_a_value = 1;
};

std::optional<Numbers> NumbersOf(DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_INT8:
    case tensorflow::DT_UINT8:
      return Numbers{cuda::Number::kInt8};
    case tensorflow::DT_INT16:
    case tensorflow::DT_UINT16:
      return Numbers{cuda::Number::kInt16};
    case DT_INT32:
    case tensorflow::DT_UINT32:
      return Numbers{cuda::Number::kInt32};
    case DT_INT64:
    case tensorflow::DT_UINT64:
      return Numbers{cuda::Number::kInt64};
    case tensorflow::DT_HALF:
      return Numbers{cuda::Number::kHalf};
    case tensorflow::DT_BFLOAT16:
      return Numbers{cuda::Number::kBfloat16};
    case DT_FLOAT:
      return Numbers{cuda::Number::kFloat};
    case DT_DOUBLE:
      return Numbers{cuda::Number::kDouble};
    case tensorflow::DT_COMPLEX64:
      return Numbers{cuda::Number::kFloat, 2};
    case tensorflow::DT_COMPLEX128:
      return Numbers{cuda::Number::kDouble, 2};
    default:
      return std::nullopt;
  }
}

// The pieces, of values of `width` bytes, as segments. Pieces without values have none.
std::vector<cuda::Segment> SegmentsOf(absl::Span<const Piece> pieces, int64_t width) {
  std::vector<cuda::Segment> segments;
  const char* expected = nullptr;  // the address at which the last segment would continue
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.count == 0) continue;
    const char* const source =
        piece.zeros() ? nullptr : DataOf<char>(piece.source) + piece.begin * width;
    if (segments.empty() || source != expected) segments.push_back({source, at});
    at += piece.count * width;
    expected = source == nullptr ? nullptr : source + piece.count * width;
  }
  return segments;
}

}  // namespace

absl::Status Add(const Tensor& left, const Tensor& right, const Queue& queue, Tensor* out) {
  const std::optional<Numbers> numbers = NumbersOf(out->dtype());
  if (!numbers.has_value()) {
    return absl::InternalError(
        absl::StrCat("no sum of ", DataTypeString(out->dtype()), " on a GPU"));
  }
  return Counted("a sum", [&] {
    return cuda::Add(numbers->kind, left.data(), right.data(), out->data(),
                     out->NumElements() * numbers->in_a_value, queue.stream);
  });
}

absl::Status Zero(const Queue& queue, Tensor* out) {
  const auto bytes = static_cast<int64_t>(out->TotalBytes());
  return Counted("zeros", [&] { return cuda::Zero(out->data(), bytes, queue.stream); });
}

absl::Status Pack(absl::Span<const Piece> pieces, const Queue& queue, Tensor* out) {
  const std::vector<cuda::Segment> segments =
      SegmentsOf(pieces, tensorflow::DataTypeSize(out->dtype()));
  const auto count = static_cast<int64_t>(segments.size());
  Tensor table;
  if (count > cuda::kInlineSegments) {
    TF_RETURN_IF_ERROR(queue.allocate(count * static_cast<int64_t>(sizeof(cuda::Segment)), &table));
  }
  void* const room = count > cuda::kInlineSegments ? table.data() : nullptr;
  const auto bytes = static_cast<int64_t>(out->TotalBytes());
  return Counted("a copy", [&] {
    return cuda::Pack(segments.data(), count, room, out->data(), bytes, queue.stream);
  });
}

}  // namespace tensor_array_grad::gpu
