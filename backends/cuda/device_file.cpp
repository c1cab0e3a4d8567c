// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_file.h"

#include <fmt/format.h>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/dialect.h"
#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/machine_words.h"
#include "backends/cpp/text/real_functions.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/reserved_words.h"
#include "backends/cuda/translation_unit.h"

namespace isamap {
namespace {

// A printed file is compiled by up to three compilers: nvcc compiles all of it; the runtime compiler NVRTC
// (__CUDACC_RTC__) only the kernels; the system's compiler all of it with the emulation or, with ISAMAP_HOST_PART, only
// the launching functions, whose kernels are then in a module of the driver.
constexpr const char* environment = R"(#if defined(ISAMAP_HOST_PART)
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
  device::launch(#kernel, blocks, threads, bytes, stream __VA_OPT__(, ) __VA_ARGS__)
#elif defined(__CUDACC__)
#define ISAMAP_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...)                            \
  do {                                                                                        \
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));    \
    kernel<<<dim3(unsigned(blocks)), dim3(unsigned(threads)), bytes, stream>>>(__VA_ARGS__); \
  } while (false)
template <class T> using shared_pointer = T*;
template <class T> using global_pointer = T*;
using loop_number = long;
template <class T> static __device__ __forceinline__ T* shared_array(unsigned char* at, const char*) { return reinterpret_cast<T*>(at); }
#else
#define ISAMAP_SHARED(name) unsigned char* const name = static_cast<unsigned char*>(emulation::shared_bytes())
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
  (static_cast<void>(stream), emulation::name_arguments(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__), \
   emulation::launch(#kernel, {unsigned(blocks), 1, 1}, threads, bytes, MEMORIES, [&] { kernel(__VA_ARGS__); }))
template <class T> using shared_pointer = emulation::SharedPointer<T>;
template <class T> using global_pointer = emulation::GlobalPointer<T>;
using loop_number = emulation::LoopNumber;
template <class T> emulation::SharedPointer<T> shared_array(unsigned char* at, const char* name) { return emulation::SharedPointer<T>(at, name); }
#endif

)";

/// Function objects of namespaces are on the host: "constexpr struct F { .. } f;" becomes a struct, and f makes an
/// object at each call.
std::string without_objects(std::string text) {
  const std::string begin = "constexpr struct ", end = "\n} ";
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    text.erase(at, std::string("constexpr ").size());
    const std::size_t type = at + std::string("struct ").size(), close = text.find(end, at);
    const std::size_t name = close + end.size(), semicolon = text.find(';', name);
    const std::string macro = fmt::format("\n}};\n#define {} {}{{}}", text.substr(name, semicolon - name),
                                          text.substr(type, text.find(' ', type) - type));
    text.replace(close, semicolon + 1 - close, macro);
    at = close + macro.size();
  }
  return text;
}

}  // namespace

DeviceFile::DeviceFile(const HardwareModel& machine, UnitId unit, bool library_functions)
    : model(machine), grid(unit), elements(machine, !library_functions), wrappers(machine, elements, names) {
  for (const std::string_view word : language_words) names.unique(std::string(word));
  for (const std::string& helper : helper_names()) names.unique(helper);
  for (const std::string& word : words_of_machine(machine)) names.unique(word);
  for (const std::string& name : device_names()) names.unique(name);
  for (const char* own : {"stream", "shared_memory", "emulation", "loop_number", Dialect::turn}) names.unique(own);
}

std::string DeviceFile::text(const std::string& entries) const {
  return includes() + replaced(environment, "MEMORIES", memories()) + "#if !defined(ISAMAP_HOST_PART)\n" +
         with_device_names(functions() + kernels) + "#endif\n" + "#if !defined(__CUDACC_RTC__)\n" + launch_helpers() +
         entries + "#endif\n";
}

bool DeviceFile::on_device(const Buffer& buffer) const {
  return buffer.slots < 0 && !model.inside(model.memory(buffer.memory).per, grid);
}

void DeviceFile::note_memories(const Program& program) {
  for (const Buffer& buffer : program.buffers) {
    const Memory& memory = model.memory(buffer.memory);
    if (on_device(buffer)) transactions_.insert(memory.transaction);
    if (!on_device(buffer) && buffer.slots < 0) banks_.insert({memory.banks, memory.bank_width});
  }
}

/// Parameters of the emulation's counters: transaction bytes of global memory; banks of shared memory, and bytes of a
/// bank. 0: not described, or buffers are in different memories.
std::string DeviceFile::memories() const {
  const auto [count, width] = banks_.size() == 1 ? *banks_.begin() : std::pair<std::int64_t, std::int64_t>();
  return fmt::format("{{{}, {}, {}}}", transactions_.size() == 1 ? *transactions_.begin() : 0, count, width);
}

std::string DeviceFile::includes() const {
  std::set<std::string> standard = helper_includes(elements.used_helpers());
  standard.insert(elements.includes().begin(), elements.includes().end());
  standard.insert({"<cstdint>", "<cstring>"});
  std::string text = fmt::format(
      "#if defined(ISAMAP_HOST_PART)\n#include \"{}\"\n#elif !defined(__CUDACC__)\n#include \"{}\"\n#endif\n",
      device_header_name, emulation_header_name);
  for (const std::string& include : standard) text += "#include " + include + "\n";
  text += "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n";
  for (const std::string& include : model.program.include) {
    const bool enclosed = !include.empty() && (include.front() == '<' || include.front() == '"');
    text += "#include " + (enclosed ? include : "<" + include + ">") + "\n";
  }
  return text + "#endif\n\n";
}

std::string DeviceFile::launch_helpers() const {
  const std::string& text = model.program.launch_helpers;
  return !has_objects ? "" : text + (text.empty() || text.back() == '\n' ? "\n" : "\n\n");
}

std::string DeviceFile::functions() const {
  const std::string code = wrappers.device() + wrappers.host() + kernels;
  std::string text = machine_helpers(model.program, code);
  // some are used by the emulation only
  const std::string helpers =
      replaced(helper_text(elements.used_helpers(), code), "[[maybe_unused]] inline ", "inline ");
  const std::string products =
      replaced(helpers, multiply_add_body,
               fmt::format("\n#if defined(__CUDA_ARCH__)\n  return __fmaf_rn(a, b, c);\n#else\n  {}\n#endif\n",
                           multiply_add_body));
  ISAMAP_CHECK(!says(helpers, "multiply_add") || products != helpers, "multiply_add has another body");
  text += without_objects(replaced(products, "inline ", "[[maybe_unused]] __host__ __device__ inline "));
  if (!wrappers.device().empty())
    text += "#if defined(__CUDACC__)\n" + wrappers.device() + "#else\n" + wrappers.host() + "#endif\n\n";
  return text;
}

}  // namespace isamap
