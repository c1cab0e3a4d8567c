#include "backends/cpp/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/compiler.h"
#include "backends/cpp/program_cache.h"
#include "backends/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Result<std::monostate> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                               const fs::path& executable) {
  const auto generic = compile_command(model, {"kernel.cpp", "driver.cpp"}, "program");
  const std::string key = join(generic) + "\n" + identity(model) + "\n" + driver + "\n" + kernel;
  if (take_from_cache(key, executable)) return std::monostate{};

  const fs::path folder = executable.parent_path();
  if (!write_file(folder / "kernel.cpp", kernel.data(), kernel.size()) ||
      !write_file(folder / "driver.cpp", driver.data(), driver.size()))
    return error(fmt::format("cannot write to {}", folder.string()), "is the disk full?");
  const auto command =
      compile_command(model, {(folder / "kernel.cpp").string(), (folder / "driver.cpp").string()}, executable.string());
  const auto result =
      run_process(command, {300, std::int64_t{8} << 30, std::int64_t{1} << 30}, folder / "compiler.log");
  if (!result.started)
    return error(fmt::format("the compiler '{}' cannot be executed", command[0]),
                 model.program.compilers.empty() ? "install g++, or name another one in $CXX" : "");
  if (result.exit_code != 0) {
    Diagnostic problem = error(result.timed_out ? "the emitted program took more than 300 s to compile"
                                                : "the emitted program does not compile",
                               "the command was: " + join(command));
    for (std::size_t at = 0, lines = 0; at < result.output.size() && lines < 20; ++lines) {
      const std::size_t end = std::min(result.output.find('\n', at), result.output.size());
      problem.notes.push_back(result.output.substr(at, end - at));
      at = end + 1;
    }
    return problem;
  }
  put_into_cache(key, executable);
  return std::monostate{};
}

}  // namespace isamap
