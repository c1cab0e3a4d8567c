// SPDX-License-Identifier: Apache-2.0
// What the launching functions of a printed file call, and the clock.

#pragma once

#include <functional>

#include "backends/cuda/device/module.h"

namespace device {

/// A kernel by name. The arguments have the types of its parameters.
template <class... T>
void launch(const char* name, long blocks, int threads, long bytes, Handle stream, T... arguments) {
  Handle function = nullptr;
  if (const Code code = driver.function(&function, kernels, name); code != 0)
    stop(wrong, "the module has no kernel %s: %s", name, words(code).c_str());
  if (const Code code = driver.set_function(function, function_max_shared, static_cast<int>(bytes)); code != 0)
    stop(wrong, "kernel %s asks for %ld bytes of a block's shared memory: %s", name, bytes, words(code).c_str());
  void* list[] = {static_cast<void*>(&arguments)..., nullptr};
  const Code code = driver.launch(function, static_cast<unsigned>(blocks), 1, 1, static_cast<unsigned>(threads), 1, 1,
                                  static_cast<unsigned>(bytes), stream, list, nullptr);
  if (code != 0)
    stop(wrong, "kernel %s was not launched (%ld blocks of %d threads, %ld bytes of shared memory): %s", name, blocks,
         threads, bytes, words(code).c_str());
}

/// All that was launched has ended, and ended well.
inline void finish(const char* what) {
  if (const Code code = driver.synchronize(); code != 0) stop(wrong, "%s failed: %s", what, words(code).c_str());
}

/// Launches of one graph, between two events.
class Timed {
 public:
  /// `run` puts work on the stream; it is captured once.
  Timed(Handle stream, const std::function<void()>& run) : stream_(stream) {
    Handle graph = nullptr;
    expect(driver.begin_capture(stream, capture_thread_local), "a graph cannot be captured");
    run();
    expect(driver.end_capture(stream, &graph), "a graph cannot be captured");
    expect(driver.instantiate(&graph_, graph, 0), "a graph cannot be made");
    expect(driver.destroy_graph(graph), "a graph");
    expect(driver.new_event(&begin_, 0), "an event");
    expect(driver.new_event(&end_, 0), "an event");
  }
  ~Timed() { driver.destroy_executable(graph_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  double seconds() {
    float milliseconds = 0;
    expect(driver.record(begin_, stream_), "an event");
    expect(driver.launch_graph(graph_, stream_), "a graph was not launched");
    expect(driver.record(end_, stream_), "an event");
    if (const Code code = driver.wait_event(end_); code != 0) stop(wrong, "a graph failed: %s", words(code).c_str());
    expect(driver.elapsed(&milliseconds, begin_, end_), "an event");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  Handle stream_, graph_ = nullptr, begin_ = nullptr, end_ = nullptr;
};

}  // namespace device

// Names of the runtime that printed files use.
using cudaStream_t = device::Handle;
using cudaError_t = device::Code;
constexpr cudaError_t cudaSuccess = 0, cudaErrorInvalidValue = 1;

// The driver's description of a tensor, and the numbers of cuda.h that it is made from.
struct alignas(128) CUtensorMap {
  std::uint64_t words[16];
};
using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2
};
enum CUtensorMapSwizzle {};
enum CUtensorMapChoices {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2
};
constexpr device::Code CUDA_SUCCESS = 0;
// signature of cuda.h
inline device::Code cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, int rank, void* base,
                                           const cuuint64_t* sizes, const cuuint64_t* pitches, const cuuint32_t* box,
                                           const cuuint32_t* steps, int interleave, CUtensorMapSwizzle swizzle,
                                           int promotion, int outside) {
  return device::driver.describe(map, type, static_cast<unsigned>(rank), base, sizes, pitches, box, steps, interleave,
                                 swizzle, promotion, outside);
}
inline cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t stream) {
  device::Address address = 0;
  const device::Code code = device::driver.allocate_on(&address, bytes, stream);
  *at = reinterpret_cast<void*>(address);
  return code;
}
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
  return device::driver.release_on(reinterpret_cast<device::Address>(at), stream);
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
