// SPDX-License-Identifier: Apache-2.0
#include "backends/model_runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <fstream>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/compiler.h"
#include "backends/model_execution.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "support/stopwatch.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_file_bytes = std::int64_t{16} << 30;
const ProcessLimits run_limits{600, std::int64_t{16} << 30, most_file_bytes};

bool write_files(const ModelProgram& model, const std::vector<TensorData>& inputs, const fs::path& folder) {
  const std::string weights = weights_file(model);
  if (!write_file(folder / "weights", weights.data(), weights.size())) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!write_file(folder / fmt::format("{}.in", i), inputs[i].bytes.data(), inputs[i].bytes.size())) return false;
  return true;
}

std::optional<Diagnostic> model_failure(const std::string& name, const ProcessResult& result) {
  if (result.exit_code == 0) return std::nullopt;
  const bool memory = result.signal == SIGSEGV || result.signal == SIGBUS;
  Diagnostic problem = error(fmt::format(
      "the emitted program of '{}' {}", name,
      memory               ? "touched memory outside its arrays"
      : result.signal != 0 ? fmt::format("was ended by signal {} ({})", result.signal, strsignal(result.signal))
                           : fmt::format("failed with exit code {}", result.exit_code)));
  if (!result.output.empty()) problem.notes.push_back(result.output);
  return problem;
}

}  // namespace

std::vector<std::string> model_command(const HardwareModel& machine, ExecutionMode executed, const fs::path& program,
                                       const fs::path& folder, double min_seconds) {
  const std::string executable = program.string();
  std::vector<std::string> command = {executable};
  if (executed == ExecutionMode::emulated && !machine.program.run_emulated.empty()) {
    command = split_command(machine.program.run_emulated);
    for (std::string& word : command)
      if (word == "{exe}") word = executable;
  }
  command.insert(command.end(), {folder.string(), fmt::format("{}", min_seconds)});
  return command;
}

std::optional<Diagnostic> read_model_trace(const fs::path& file, const std::vector<std::vector<std::int64_t>>& bytes,
                                           const TraceReader& read) {
  std::ifstream in(file, std::ios::binary);
  for (std::size_t part = 0; part < bytes.size(); ++part) {
    std::vector<std::vector<std::uint8_t>> arrays;
    for (const std::int64_t count : bytes[part]) {
      auto& array = arrays.emplace_back(static_cast<std::size_t>(count));
      in.read(reinterpret_cast<char*>(array.data()), static_cast<std::streamsize>(array.size()));
      if (in.gcount() != count) return error("the trace of the run is cut off", "is the disk full?");
    }
    if (!read(part, arrays)) break;
  }
  return std::nullopt;
}

void read_model_times(const fs::path& file, ModelOutcome& outcome) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    double seconds = 0;
    std::size_t number = 0;
    if (std::sscanf(line.c_str(), "seconds %lf", &seconds) == 1) outcome.seconds = seconds;
    if (std::sscanf(line.c_str(), "arena %zu", &number) == 1) outcome.arena_bytes = static_cast<std::int64_t>(number);
    if (std::sscanf(line.c_str(), "part %zu %lf", &number, &seconds) != 2) continue;
    if (number >= outcome.part_seconds.size()) outcome.part_seconds.resize(number + 1);
    outcome.part_seconds[number] = seconds;
  }
}

Result<bool> execute_model(const std::string& name, const HardwareModel& machine, const fs::path& program,
                           const fs::path& folder, double min_seconds, ModelOutcome& outcome) {
  const auto result = run_process(model_command(machine, outcome.executed, program, folder, min_seconds), run_limits,
                                  folder / "run.log");
  if (!result.started) return error("the emitted program cannot be executed", result.output);
  if (result.timed_out || result.signal == SIGXCPU) {
    outcome.limit = fmt::format("the emitted program of '{}' ran longer than {} s", name, run_limits.seconds);
    return false;
  }
  if (result.signal == SIGILL || result.exit_code == 128 + SIGILL) {
    outcome.missing = fmt::format("this machine does not execute the instructions of '{}'", machine.name);
    outcome.executed = ExecutionMode::unavailable;
    return false;
  }
  if (auto problem = model_failure(name, result)) return *problem;
  read_model_times(folder / "result", outcome);
  return true;
}

bool prints_models(const HardwareModel& machine) { return is_host_code(machine); }

Result<ModelOutcome> run_model_program(const ModelProgram& model, const HardwareModel& machine,
                                       const std::vector<TensorData>& inputs,
                                       const std::vector<std::vector<TracedArray>>& traced, double min_seconds,
                                       const TraceReader& read) {
  ModelOutcome outcome;
  const Availability available = availability(machine);
  outcome.executed = available.how;
  const auto unit = print_model(model, machine);
  if (!unit) return unit.diagnostics();
  outcome.text_bytes = static_cast<std::int64_t>(unit->text.size());
  outcome.arena_bytes = model.arena_bytes;
  const TemporaryDirectory folder;
  if (!folder.ok()) {
    outcome.environment = fmt::format(
        "cannot create a temporary folder in {}: set TMPDIR to a folder that exists and "
        "is writable",
        TemporaryDirectory::parent());
    return outcome;
  }
  const Stopwatch watch;
  const auto made =
      compile(machine, fmt::format("#define {}_PROFILE\n", unit->name) + unit->text,
              model_driver_text(*unit, model, traced), {{unit->name + ".h", unit->header}}, folder.path() / "program");
  outcome.compiling = watch.seconds();
  if (!made) {
    outcome.missing = why_compiler_fails(machine, folder.path());
    if (outcome.missing.empty()) return made.diagnostics();
    outcome.executed = ExecutionMode::unavailable;
    return outcome;
  }
  outcome.compiler = listed_command(*made);
  if (!write_files(model, inputs, folder.path()))
    return error("cannot write the input files of a run", "is the disk full?");
  const auto ran = execute_model(model.name, machine, folder.path() / "program", folder.path(), min_seconds, outcome);
  if (!ran) return ran.diagnostics();
  if (!*ran) return outcome;
  std::vector<std::vector<std::int64_t>> bytes(traced.size());
  for (std::size_t part = 0; part < traced.size(); ++part)
    for (const TracedArray& one : traced[part]) bytes[part].push_back(one.bytes);
  if (auto problem = read_model_trace(folder.path() / "trace", bytes, read)) return *problem;
  return outcome;
}

}  // namespace isamap
