#ifndef CC_LOOP_POOLED_DEVICE_H_
#define CC_LOOP_POOLED_DEVICE_H_

#include <memory>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"

namespace tensor_array_grad {

// An allocator that takes small buffers from the pool of blocks (block_pool.h), and others from
// `underlying`. Lives as long as the process, as buffers outlive devices; so must `underlying`.
// `underlying` itself if an earlier call had another one: a process has one allocator for a CPU.
tensorflow::Allocator* PooledAllocator(tensorflow::Allocator* underlying);

// A device that is `underlying` in all but that kernels allocate small buffers from the pool.
//
// The kernels of a loop allocate a few small outputs in each iteration. TensorFlow's allocator
// calls posix_memalign for each, which is 10 to 20 % of the time of a loop over small matrices.
// Kernels ask their context's device for the allocator; there is no other place where to give them
// one. TensorFlow itself runs kernels on such a stand-in, RenamedDevice.
//
// Null unless `underlying` is a CPU. Must not outlive `underlying`.
std::unique_ptr<tensorflow::Device> NewPooledDevice(tensorflow::DeviceBase* underlying);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_POOLED_DEVICE_H_
