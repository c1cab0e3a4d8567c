// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/external.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "backends/common/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t file_limit = std::int64_t{1} << 30;

/// Memories shared with the host: those of arguments and of host nests.
std::vector<std::size_t> shared_memories(const Program& program, const HardwareModel& model) {
  std::vector<std::size_t> found;
  for (std::size_t m = 0; m < model.memories().size(); ++m)
    if (std::any_of(program.buffers.begin(), program.buffers.end(), [&](const Buffer& buffer) {
          return buffer.memory.index() == m && buffer.slots < 0 && model.memories()[m].kind == MemoryKind::dram;
        }))
      found.push_back(m);
  return found;
}

/// One line for each argument: NAME ROLE DTYPE MEMORY ADDRESS BYTES.
std::string argument_list(const Program& program, const HardwareModel& model) {
  std::string text;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::argument || buffer.slots >= 0) continue;
    const bool input = role_of(program.kernel, buffer.tensor) == Role::input;
    const bool inout = !input && program.kernel.tensors[buffer.tensor.index()].inout;
    const Memory& memory = model.memory(buffer.memory);
    text += fmt::format("{} {} {} {} {} {}\n", buffer.name,
                        input   ? "in"
                        : inout ? "inout"
                                : "out",
                        name(buffer.dtype), memory.name, memory.base + buffer.address / memory.granularity,
                        element_span(buffer) * bytes(buffer.dtype));
  }
  return text;
}

bool put(const fs::path& path, const std::string& text) { return write_file(path, text.data(), text.size()); }

Diagnostic failure(const std::string& who, const ProcessResult& result) {
  if (!result.started) return error(who + " cannot be executed");
  Diagnostic problem = error(result.signal != 0 ? fmt::format("{} was ended by signal {}", who, result.signal)
                                                : fmt::format("{} failed with exit code {}", who, result.exit_code));
  if (!result.output.empty()) problem.notes.push_back(result.output);
  return problem;
}

/// Its last line of output; empty: none.
std::string last_line(const std::string& output) {
  const std::size_t end = output.find_last_not_of(" \n\r");
  if (end == std::string::npos) return "";
  const std::size_t begin = output.find_last_of('\n', end);
  return output.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// Killed at the time limit, or exit code 77 (something is missing): not a wrong result.
std::optional<ExternalRun> without_result(const std::string& who, const ProcessResult& result, double seconds) {
  if (!result.started) return std::nullopt;
  const std::string last = last_line(result.output);
  ExternalRun ended;
  if (result.timed_out)
    ended.limit = fmt::format("{} was killed after {:g} s, its time limit ('seconds' of program.run){}", who, seconds,
                              last.empty() ? "" : "; its last line: " + last);
  else if (result.signal == 0 && result.exit_code == exit_missing)
    ended.missing = fmt::format("{} cannot run here: {}", who, last.empty() ? "it gave no reason" : last);
  else
    return std::nullopt;
  return ended;
}

}  // namespace

std::vector<std::string> simulator_command(const HardwareModel& model) {
  auto command = split_command(model.program.simulator.command);
  if (!command.empty() && command[0].starts_with("./"))
    command[0] = (fs::absolute(model.file).parent_path() / command[0].substr(2)).string();
  return command;
}

std::string simulator_title(const HardwareModel& model) {
  const ExternalSimulator& simulator = model.program.simulator;
  const bool named = !simulator.command.starts_with(simulator.name);
  return fmt::format("the simulator '{}'", named ? simulator.name : simulator_command(model)[0]);
}

Result<ExternalRun> run_external(const std::string& text, const Program& program, const HardwareModel& model,
                                 Machine& machine, double seconds) {
  const TemporaryDirectory folder;
  if (!folder.ok()) return error("cannot create a temporary folder in " + TemporaryDirectory::parent());
  const auto memories = shared_memories(program, model);
  bool written =
      put(folder.path() / "program.s", text) && put(folder.path() / "arguments", argument_list(program, model));
  for (const std::size_t m : memories) {
    const auto& image = machine.image(make_id<MemoryId>(m));
    written = written && write_file(folder.path() / (model.memories()[m].name + ".in"), image.data(), image.size());
  }
  if (!written) return error("cannot write the input files of the simulator", "is the disk full?");
  const std::string who = simulator_title(model);
  auto command = simulator_command(model);
  for (std::string& word : command) {
    if (word == "{program}") word = (folder.path() / "program.s").string();
    if (word == "{folder}") word = folder.path().string();
  }
  const auto result =
      run_process(command, {seconds, std::int64_t{8} << 30, file_limit}, folder.path() / "simulator.log");
  if (auto ended = without_result(who, result, seconds)) return *ended;
  if (!result.started || result.exit_code != 0) return failure(who, result);
  for (const std::size_t m : memories) {
    auto& image = machine.image(make_id<MemoryId>(m));
    const std::string name = model.memories()[m].name + ".out";
    const std::string found = read_file(folder.path() / name, image.size() + 1);
    if (found.size() != image.size())
      return error(fmt::format("{} left {} bytes in '{}'; the memory has {}", who, found.size(), name, image.size()));
    std::copy(found.begin(), found.end(), image.begin());
  }
  long long counted = 0;
  ExternalRun done;
  const std::size_t at = result.output.find("cycles ");
  if (at != std::string::npos && std::sscanf(result.output.c_str() + at, "cycles %lld", &counted) == 1)
    done.cycles = counted;
  return done;
}

}  // namespace isamap
