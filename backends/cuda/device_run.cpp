// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_run.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backends/common/environment.h"
#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cuda/device/api.h"
#include "backends/cuda/translation_unit.h"

namespace isamap {
namespace {

const char* const probe_text = R"(#include "isamap_device.h"
int main() {
  device::Gpu gpu;
  device::begin(gpu);
  if (const std::string why = device::open_compiler(); !why.empty()) device::stop(device::missing, "%s", why.c_str());
  std::printf("%s %s\n", gpu.arch.c_str(), gpu.name.c_str());
}
)";

const char* const device_main = R"(
std::string whole_file(const char* name) {
  std::string text;
  std::FILE* const file = std::fopen(name, "rb");
  if (file == nullptr) return text;
  char part[65536];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
  std::fclose(file);
  return text;
}
void put_file(const std::string& name, const std::string& bytes) {
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file) != 0)
    device::stop(device::wrong, "cannot write %s", name.c_str());
}
std::string code_of_the_kernels() {
  std::string code = whole_file("kernel.cubin");
  if (!code.empty()) return code;
  if (const std::string why = device::open_compiler(); !why.empty()) device::stop(device::missing, "%s", why.c_str());
  code = device::compile(whole_file("kernel.cu"), options);
  put_file("kernel.cubin", code);
  return code;
}
std::string contents(const Array& a) {
  std::string bytes(a.bytes + 2 * guard, '\0');
  device::expect(device::driver.from_device(bytes.data(), a.at, bytes.size()), "copying from the GPU");
  for (std::size_t i = 0; i < guard; ++i)
    if (bytes[i] != char(0xff) || bytes[bytes.size() - 1 - i] != char(0xff))
      device::stop(device::wrong, "the program wrote outside an array");
  return bytes.substr(guard, a.bytes);
}

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) device::stop(device::wrong, "usage: driver DIRECTORY MIN_SECONDS");
  device::Gpu gpu;
  device::begin(gpu);
  device::load_kernels(code_of_the_kernels());
  std::size_t number = 0;
  for (Array& a : arrays) {
    a.at = device::allocate(a.bytes + 2 * guard);
    device::expect(device::driver.fill(a.at, 0xff, a.bytes + 2 * guard), "filling memory of the GPU");
    const std::string in = a.input ? whole_file((std::to_string(number) + ".in").c_str()) : "";
    if (a.input && in.size() != a.bytes) device::stop(device::wrong, "a data file is too short");
    if (!in.empty()) device::expect(device::driver.to_device(a.at + guard, in.data(), in.size()), "copying to the GPU");
    ++number;
  }
  // A stream that waits for copies and fills, which are on the default one.
  device::expect(device::driver.new_stream(&stream, 0), "a stream");
  device::finish("copying to the GPU");
  pack();
  device::finish("the program");
  entry();
  device::finish("the program");
  number = 0;
  for (const Array& a : arrays) {
    const std::string out = contents(a);
    if (a.output) put_file(std::to_string(number) + ".out", out);
    ++number;
  }
  const double least = std::atof(argv[2]);
  double seconds = device::Timed(stream, entry).seconds();
  if (least > 0) {  // graphs of a millisecond, the median of them
    const long times = std::min(1000L, long(1e-3 / std::max(seconds, 1e-6)) + 1);
    device::Timed graph(stream, [&] { for (long i = 0; i < times; ++i) entry(); });
    std::vector<double> samples;
    double spent = 0;
    graph.seconds();
    do spent += samples.emplace_back(graph.seconds());
    while (spent < least && samples.size() < 20000);
    std::sort(samples.begin(), samples.end());
    seconds = samples[samples.size() / 2] / double(times);
  }
  char text[64];
  std::snprintf(text, sizeof text, "seconds %.9g\n", seconds);
  put_file("result", text);
}
)";

/// As a C++ string literal.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string call(const std::string& name, const RunCall& call) {
  if (call.function.empty()) return fmt::format("void {}() {{}}\n", name);
  std::string list;
  for (const std::size_t a : call.arrays) list += fmt::format("Pointer{{arrays[{}].at + guard}}, ", a);
  return fmt::format("void {}() {{ device::expect({}({}stream), \"{}\"); }}\n", name, call.function, list,
                     call.function);
}

/// Compiles and runs the probe.
DeviceProbe ask() {
  // Fast path of the common case: without the driver library there is no GPU to probe.
  std::string why;
  void* const library = device::open_library("ISAMAP_CUDA_DRIVER", {"libcuda.so.1"}, why);
  if (library == nullptr) return {"", "", why + " (the driver of a GPU)"};
  dlclose(library);
  const TemporaryDirectory folder;
  if (!folder.ok()) return {"", "", "cannot create a temporary folder in " + TemporaryDirectory::parent()};
  const std::string key = "probe\n" + device_header() + probe_text, source = (folder.path() / "probe.cpp").string();
  const std::filesystem::path program = folder.path() / "probe";
  if (!take_from_cache(key, program)) {
    write_file(source, probe_text, std::string(probe_text).size());
    write_file(folder.path() / device_header_name, device_header().data(), device_header().size());
    std::vector<std::string> command = system_compiler();
    command.insert(command.end(), {"-std=c++20", source, "-o", program.string(), "-ldl"});
    const auto made = run_process(command, {60, 0, 0}, folder.path() / "log");
    if (made.exit_code != 0) return {"", "", "the program that probes the driver does not compile: " + made.output};
    put_into_cache(key, program);
  }
  constexpr double seconds = 30;
  const auto ran = run_process({program.string()}, {seconds, 0, 0}, folder.path() / "log");
  std::string said = ran.output.substr(0, ran.output.find('\n'));
  if (ran.timed_out) return {"", "", fmt::format("the GPU's driver did not answer within {} s", seconds)};
  if (ran.signal != 0) return {"", "", fmt::format("the GPU's driver crashed (signal {})", ran.signal)};
  if (ran.exit_code != 0) return {"", "", said};
  const std::size_t blank = said.find(' ');
  return {said.substr(blank + 1), said.substr(0, blank), ""};
}

}  // namespace

const DeviceProbe& probe_device() {
  static std::mutex mutex;
  static std::map<std::string, DeviceProbe> known;  // key: everything that determines the answer
  std::string key;
  for (const char* variable : {"ISAMAP_CUDA_DRIVER", "ISAMAP_NVRTC", "CUDA_VISIBLE_DEVICES"})
    if (const char* value = std::getenv(variable)) key += std::string(variable) + "=" + value + "\n";
  const std::lock_guard lock(mutex);
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, ask()).first->second;
}

std::string wanted_arch(const HardwareModel& model) {
  const auto number = [](const std::string& arch) {
    const std::size_t digits = arch.find_first_of("0123456789");
    return digits == std::string::npos ? -1 : std::atoi(arch.c_str() + digits);
  };
  std::string newest;
  for (const std::string& arch : model.needed.arch)
    if (newest.empty() || number(arch) > number(newest)) newest = arch;
  return newest;
}

std::string no_device_for(const HardwareModel& model) {
  if (const auto asked = asks_for_emulation(); !asked || *asked) return "ISAMAP_EMULATION asks for the emulation";
  if (!model.program.flags.contains("nvrtc"))
    return fmt::format("the file of '{}' has no flags for the runtime compiler (program: flags: nvrtc)", model.name);
  const DeviceProbe& probe = probe_device();
  if (!probe.why_not.empty()) return probe.why_not;
  const std::string wanted = wanted_arch(model);
  if (!device::is_arch(probe.arch, wanted))
    return fmt::format("the GPU here, {}, has architecture {}; '{}' is for {}", probe.name, probe.arch, model.name,
                       wanted.empty() ? "none that it names (requires: arch)" : wanted);
  return "";
}

std::string device_code_key(const HardwareModel& model, const std::string& text) {
  const char* const other = std::getenv("ISAMAP_NVRTC");
  std::string key = fmt::format("kernels {}\n", other == nullptr ? "" : other);
  if (const auto flags = model.program.flags.find("nvrtc"); flags != model.program.flags.end())
    for (const std::string& flag : flags->second) key += flag + " ";
  return key + "\n" + text;
}

std::string device_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                               const HardwareModel& model) {
  std::string text = fmt::format(
      "#include <unistd.h>\n\nstruct Array {{ std::size_t bytes; bool input, output; device::Address at; }};\n"
      "struct Pointer {{ device::Address at; template <class T> operator T*() const {{ return "
      "reinterpret_cast<T*>(at); }} "
      "}};\nArray arrays[] = {{\n");
  for (const RunArray& a : arrays) text += fmt::format("    {{{}, {}, {}, 0}},\n", a.bytes, a.input, a.output);
  std::string options;
  if (const auto flags = model.program.flags.find("nvrtc"); flags != model.program.flags.end())
    for (const std::string& flag : flags->second) options += (options.empty() ? "" : ", ") + quoted(flag);
  return text + "};\ndevice::Handle stream = nullptr;\nconstexpr std::size_t guard = 256;\n" +
         "const std::vector<std::string> options = {" + options + "};\n" + call("pack", pack) + call("entry", entry) +
         device_main;
}

}  // namespace isamap
