#include "cc/base/pooled_tensor.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "cc/base/block_pool.h"
#include "tensorflow/core/framework/allocation_description.pb.h"

namespace tensor_array_grad {
namespace {

// The TensorBuffer of a pooled tensor. It is stored in the first kHeader bytes of the tensor's
// block; the values follow.
class PooledBuffer final : public tensorflow::TensorBuffer, public InBlock {
 public:
  static constexpr size_t kHeader = 64;

  static PooledBuffer* New(size_t bytes) {
    void* const block = AllocateBlock(kHeader + bytes);
    return ::new (block) PooledBuffer(static_cast<char*>(block) + kHeader, bytes);
  }

  size_t size() const override { return bytes_; }
  TensorBuffer* root_buffer() override { return this; }
  void FillAllocationDescription(tensorflow::AllocationDescription* proto) const override {
    proto->set_requested_bytes(static_cast<int64_t>(bytes_));
    proto->set_allocator_name("tensor_array_grad");
    proto->set_ptr(reinterpret_cast<uintptr_t>(data()));
  }
  bool GetAllocatedBytes(size_t* bytes) const override {
    *bytes = bytes_;
    return true;
  }

 private:
  PooledBuffer(void* values, size_t bytes) : TensorBuffer(values), bytes_(bytes) {}

  const size_t bytes_;
};
static_assert(sizeof(PooledBuffer) <= PooledBuffer::kHeader, "the values follow the header");

}  // namespace

bool MakePooledTensor(DataType dtype, const TensorShape& shape, Tensor* out) {
  constexpr size_t kMostBytes = kMostPooledBytes - PooledBuffer::kHeader;
  if (!tensorflow::DataTypeCanUseMemcpy(dtype)) return false;
  const int64_t elements = shape.num_elements();
  if (elements == 0 || elements > static_cast<int64_t>(kMostBytes)) return false;
  const size_t bytes = static_cast<size_t>(elements) * tensorflow::DataTypeSize(dtype);
  if (bytes > kMostBytes) return false;
  tensorflow::core::RefCountPtr<tensorflow::TensorBuffer> buffer(PooledBuffer::New(bytes));
  *out = Tensor(dtype, shape, std::move(buffer));
  return true;
}

}  // namespace tensor_array_grad
