// SPDX-License-Identifier: Apache-2.0
// The host's side of a printed kernel file, through the driver of a GPU: its library and that of the runtime compiler
// are opened when the program runs, so nothing of CUDA is needed to build it. What is used of both is declared here.
//
// ISAMAP_CUDA_DRIVER and ISAMAP_NVRTC name other files than libcuda.so.1 and libnvrtc.so: for unusual installations,
// and for tests, which have a driver that runs kernels by emulation.

#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace device {

/// How a program of ours ends when it does not end well.
enum Ending { wrong = 3, missing = 77 };

[[noreturn]] inline void stop(Ending how, const char* format, ...) {
  std::fflush(stdout);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::_Exit(how);
}

using Code = int;
using Address = unsigned long long;
using Handle = struct Opaque*;  // contexts, modules, functions, streams, events, graphs
constexpr Code out_of_memory = 2;

// Numbers of cuda.h, which never change.
enum Attribute {
  attribute_clock = 13,
  attribute_processors = 16,
  attribute_memory_clock = 36,
  attribute_l2 = 38,
  attribute_major = 75,
  attribute_minor = 76,
  attribute_shared_optin = 97
};
enum FunctionAttribute { function_local_bytes = 3, function_registers = 4, function_max_shared = 8 };
constexpr int capture_thread_local = 1;

#define ISAMAP_DRIVER_FUNCTIONS(F)                                                                                  \
  F(init, "cuInit", unsigned)                                                                                       \
  F(version, "cuDriverGetVersion", int*)                                                                            \
  F(error_name, "cuGetErrorName", Code, const char**)                                                               \
  F(error_text, "cuGetErrorString", Code, const char**)                                                             \
  F(count, "cuDeviceGetCount", int*)                                                                                \
  F(get, "cuDeviceGet", int*, int)                                                                                  \
  F(name, "cuDeviceGetName", char*, int, int)                                                                       \
  F(attribute, "cuDeviceGetAttribute", int*, int, int)                                                              \
  F(memory, "cuDeviceTotalMem_v2", std::size_t*, int)                                                               \
  F(retain, "cuDevicePrimaryCtxRetain", Handle*, int)                                                               \
  F(set_current, "cuCtxSetCurrent", Handle)                                                                         \
  F(synchronize, "cuCtxSynchronize")                                                                                \
  F(free_memory, "cuMemGetInfo_v2", std::size_t*, std::size_t*)                                                     \
  F(load, "cuModuleLoadData", Handle*, const void*)                                                                 \
  F(function, "cuModuleGetFunction", Handle*, Handle, const char*)                                                  \
  F(set_function, "cuFuncSetAttribute", Handle, int, int)                                                           \
  F(get_function, "cuFuncGetAttribute", int*, int, Handle)                                                          \
  F(launch, "cuLaunchKernel", Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, \
    void**, void**)                                                                                                 \
  F(allocate, "cuMemAlloc_v2", Address*, std::size_t)                                                               \
  F(release, "cuMemFree_v2", Address)                                                                               \
  F(allocate_on, "cuMemAllocAsync", Address*, std::size_t, Handle)                                                  \
  F(release_on, "cuMemFreeAsync", Address, Handle)                                                                  \
  F(to_device, "cuMemcpyHtoD_v2", Address, const void*, std::size_t)                                                \
  F(from_device, "cuMemcpyDtoH_v2", void*, Address, std::size_t)                                                    \
  F(fill, "cuMemsetD8_v2", Address, unsigned char, std::size_t)                                                     \
  F(new_stream, "cuStreamCreate", Handle*, unsigned)                                                                \
  F(wait_stream, "cuStreamSynchronize", Handle)                                                                     \
  F(begin_capture, "cuStreamBeginCapture_v2", Handle, int)                                                          \
  F(end_capture, "cuStreamEndCapture", Handle, Handle*)                                                             \
  F(instantiate, "cuGraphInstantiateWithFlags", Handle*, Handle, unsigned long long)                                \
  F(launch_graph, "cuGraphLaunch", Handle, Handle)                                                                  \
  F(destroy_executable, "cuGraphExecDestroy", Handle)                                                               \
  F(destroy_graph, "cuGraphDestroy", Handle)                                                                        \
  F(new_event, "cuEventCreate", Handle*, unsigned)                                                                  \
  F(record, "cuEventRecord", Handle, Handle)                                                                        \
  F(wait_event, "cuEventSynchronize", Handle)                                                                       \
  F(elapsed, "cuEventElapsedTime", float*, Handle, Handle)                                                          \
  F(describe, "cuTensorMapEncodeTiled", void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,    \
    const std::uint32_t*, const std::uint32_t*, int, int, int, int)

#define ISAMAP_COMPILER_FUNCTIONS(F)                                                                              \
  F(version, "nvrtcVersion", int*, int*)                                                                          \
  F(create, "nvrtcCreateProgram", Handle*, const char*, const char*, int, const char* const*, const char* const*) \
  F(compile, "nvrtcCompileProgram", Handle, int, const char* const*)                                              \
  F(log_size, "nvrtcGetProgramLogSize", Handle, std::size_t*)                                                     \
  F(log, "nvrtcGetProgramLog", Handle, char*)                                                                     \
  F(size, "nvrtcGetCUBINSize", Handle, std::size_t*)                                                              \
  F(code, "nvrtcGetCUBIN", Handle, char*)                                                                         \
  F(destroy, "nvrtcDestroyProgram", Handle*)

#define ISAMAP_MEMBER(name, symbol, ...) Code (*name)(__VA_ARGS__) = nullptr;
struct Driver {
  ISAMAP_DRIVER_FUNCTIONS(ISAMAP_MEMBER)
};
struct Compiler {
  ISAMAP_COMPILER_FUNCTIONS(ISAMAP_MEMBER)
};
#undef ISAMAP_MEMBER
inline Driver driver;
inline Compiler compiler;

/// The first of these files that can be opened; otherwise nothing, and why the first could not.
inline void* open_library(const char* variable, const std::vector<std::string>& names, std::string& why) {
  const char* const other = std::getenv(variable);
  const std::vector<std::string> files = other != nullptr && *other != '\0' ? std::vector<std::string>{other} : names;
  for (const std::string& file : files) {
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const std::string words = dlerror();
    const bool nowhere = words.find("No such file") != std::string::npos;
    if (why.empty()) why = nowhere ? "there is no " + file : words;
  }
  return nullptr;
}

/// Why the driver's functions are not there; empty: they are.
inline std::string open_driver() {
  std::string why;
  void* const library = open_library("ISAMAP_CUDA_DRIVER", {"libcuda.so.1"}, why);
  if (library == nullptr) return why + " (the driver of a GPU)";
#define ISAMAP_FIND(name, symbol, ...)                                           \
  driver.name = reinterpret_cast<Code (*)(__VA_ARGS__)>(dlsym(library, symbol)); \
  if (driver.name == nullptr) return "the driver has no " symbol ": it is too old (CUDA 12 is needed)";
  ISAMAP_DRIVER_FUNCTIONS(ISAMAP_FIND)
#undef ISAMAP_FIND
  return "";
}

/// Why there is no runtime compiler; empty: there is.
inline std::string open_compiler() {
  std::vector<std::string> names = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const home = std::getenv(variable)) names.push_back(std::string(home) + "/lib64/libnvrtc.so");
  names.insert(names.end(), {"/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so"});
  std::string why;
  void* const library = open_library("ISAMAP_NVRTC", names, why);
  if (library == nullptr)
    return "the runtime compiler is missing: " + why +
           " (it is part of the CUDA toolkit; CUDA_HOME says where that is)";
#define ISAMAP_FIND(name, symbol, ...)                                             \
  compiler.name = reinterpret_cast<Code (*)(__VA_ARGS__)>(dlsym(library, symbol)); \
  if (compiler.name == nullptr) return "the runtime compiler has no " symbol ": it is too old (CUDA 12 is needed)";
  ISAMAP_COMPILER_FUNCTIONS(ISAMAP_FIND)
#undef ISAMAP_FIND
  return "";
}

/// "CUDA_ERROR_INVALID_VALUE: invalid argument".
inline std::string words(Code code) {
  const char *name = nullptr, *text = nullptr;
  if (driver.error_name(code, &name) != 0 || name == nullptr) return "error " + std::to_string(code);
  driver.error_text(code, &text);
  return std::string(name) + (text == nullptr ? "" : std::string(": ") + text);
}

/// What the driver must be able to do, or the program ends and says what it was.
inline void expect(Code code, const char* what) {
  if (code != 0) stop(wrong, "%s: %s", what, words(code).c_str());
}

/// The GPU that is used: the first one that the driver shows (CUDA_VISIBLE_DEVICES chooses).
struct Gpu {
  int number = 0;
  std::string name, arch;  ///< "sm_90"
  int processors = 0, l2_bytes = 0, clock_khz = 0, memory_clock_khz = 0, shared_bytes = 0, driver_version = 0;
  std::size_t bytes = 0;
};

inline int attribute(const Gpu& gpu, int which) {
  int value = 0;
  driver.attribute(&value, which, gpu.number);
  return value;
}

/// Why there is none; empty: `gpu` is it. The driver must be open.
inline std::string find_gpu(Gpu& gpu) {
  if (const Code code = driver.init(0); code != 0) return "the driver finds no GPU: " + words(code);
  int count = 0;
  if (const Code code = driver.count(&count); code != 0) return "the driver finds no GPU: " + words(code);
  if (count == 0) return "the driver is there, and no GPU";
  if (const Code code = driver.get(&gpu.number, 0); code != 0) return "the GPU cannot be used: " + words(code);
  char name[256] = "";
  driver.name(name, sizeof name, gpu.number);
  gpu.name = name;
  gpu.arch = "sm_" + std::to_string(attribute(gpu, attribute_major)) + std::to_string(attribute(gpu, attribute_minor));
  gpu.processors = attribute(gpu, attribute_processors);
  gpu.l2_bytes = attribute(gpu, attribute_l2);
  gpu.clock_khz = attribute(gpu, attribute_clock);
  gpu.memory_clock_khz = attribute(gpu, attribute_memory_clock);
  gpu.shared_bytes = attribute(gpu, attribute_shared_optin);
  driver.memory(&gpu.bytes, gpu.number);
  driver.version(&gpu.driver_version);
  return "";
}

/// Is `wanted` ("sm_90a") what a GPU of `arch` ("sm_90") has? A letter behind the number stands for what only this
/// generation has.
inline bool is_arch(const std::string& arch, std::string wanted) {
  while (!wanted.empty() && (wanted.back() < '0' || wanted.back() > '9')) wanted.pop_back();
  return arch == wanted;
}

}  // namespace device
