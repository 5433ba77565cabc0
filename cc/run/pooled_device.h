#ifndef CC_RUN_POOLED_DEVICE_H_
#define CC_RUN_POOLED_DEVICE_H_

#include <memory>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"

namespace tensor_array_grad {

// Returns an allocator that takes small buffers from the pool of blocks (block_pool.h) and others
// from a cache over `underlying` (buffer_cache.h). The result exists until the process ends,
// because buffers outlive devices, and `underlying` must exist as long. If an earlier call had
// another `underlying`, returns `underlying` itself: a process has one allocator for a CPU.
// Thread-safe.
tensorflow::Allocator* PooledAllocator(tensorflow::Allocator* underlying);

// Returns a device that behaves like `underlying`, except that kernels allocate buffers from the
// pool and the cache. Null unless `underlying` is a CPU. The device must not outlive `underlying`.
//
// The kernels of a loop allocate a few small outputs in each iteration. TensorFlow's allocator
// calls posix_memalign for each, which is 10 to 20 % of the time of a loop over small matrices. A
// kernel gets its allocator from the device of its context, so only another device can give it
// another allocator. TensorFlow itself runs kernels on such a wrapper, RenamedDevice.
std::unique_ptr<tensorflow::Device> NewPooledDevice(tensorflow::DeviceBase* underlying);

// Gives the free buffers of the cache back to the underlying allocator. `pooled` is null or comes
// from NewPooledDevice. To be called when a loop is handed back, or is left to the executor because
// earlier runs were handed back: the executor does not take its buffers from the cache. Other loops
// use the same cache and fill it again, which costs them some page faults but no measurable time.
// Returns whether there were any free buffers. Thread-safe.
bool GiveBackFreeBuffers(tensorflow::Device* pooled);

}  // namespace tensor_array_grad

#endif  // CC_RUN_POOLED_DEVICE_H_
