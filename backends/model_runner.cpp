// SPDX-License-Identifier: Apache-2.0
#include "backends/model_runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstring>
#include <fstream>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/compiler.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "support/stopwatch.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_file_bytes = std::int64_t{16} << 30;
const ProcessLimits run_limits{600, std::int64_t{16} << 30, most_file_bytes};

std::vector<std::string> command_of(const HardwareModel& machine, ExecutionMode executed, const fs::path& folder,
                                    double min_seconds) {
  const std::string executable = (folder / "program").string();
  std::vector<std::string> command = {executable};
  if (executed == ExecutionMode::emulated && !machine.program.run_emulated.empty()) {
    command = split_command(machine.program.run_emulated);
    for (std::string& word : command)
      if (word == "{exe}") word = executable;
  }
  command.insert(command.end(), {folder.string(), fmt::format("{}", min_seconds)});
  return command;
}

bool write_files(const ModelProgram& model, const std::vector<TensorData>& inputs, const fs::path& folder) {
  const std::string weights = weights_file(model);
  if (!write_file(folder / "weights", weights.data(), weights.size())) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!write_file(folder / fmt::format("{}.in", i), inputs[i].bytes.data(), inputs[i].bytes.size())) return false;
  return true;
}

std::optional<Diagnostic> read_trace(const fs::path& file, const std::vector<std::vector<TracedArray>>& traced,
                                     const TraceReader& read) {
  std::ifstream in(file, std::ios::binary);
  for (std::size_t part = 0; part < traced.size(); ++part) {
    std::vector<std::vector<std::uint8_t>> arrays;
    for (const TracedArray& one : traced[part]) {
      auto& bytes = arrays.emplace_back(static_cast<std::size_t>(one.bytes));
      in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      if (in.gcount() != one.bytes) return error("the trace of the run is cut off", "is the disk full?");
    }
    if (!read(part, arrays)) break;
  }
  return std::nullopt;
}

void read_times(const fs::path& file, ModelOutcome& outcome) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    double seconds = 0;
    std::size_t part = 0;
    if (std::sscanf(line.c_str(), "seconds %lf", &seconds) == 1) outcome.seconds = seconds;
    if (std::sscanf(line.c_str(), "part %zu %lf", &part, &seconds) != 2) continue;
    if (part >= outcome.part_seconds.size()) outcome.part_seconds.resize(part + 1);
    outcome.part_seconds[part] = seconds;
  }
}

std::optional<Diagnostic> failure(const ModelProgram& model, const ProcessResult& result) {
  if (result.exit_code == 0) return std::nullopt;
  const bool memory = result.signal == SIGSEGV || result.signal == SIGBUS;
  Diagnostic problem = error(fmt::format(
      "the emitted program of '{}' {}", model.name,
      memory               ? "touched memory outside its arrays"
      : result.signal != 0 ? fmt::format("was ended by signal {} ({})", result.signal, strsignal(result.signal))
                           : fmt::format("failed with exit code {}", result.exit_code)));
  if (!result.output.empty()) problem.notes.push_back(result.output);
  return problem;
}

}  // namespace

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
  const auto result = run_process(command_of(machine, outcome.executed, folder.path(), min_seconds), run_limits,
                                  folder.path() / "run.log");
  if (!result.started) return error("the emitted program cannot be executed", result.output);
  if (result.timed_out || result.signal == SIGXCPU) {
    outcome.limit = fmt::format("the emitted program of '{}' ran longer than {} s", model.name, run_limits.seconds);
    return outcome;
  }
  if (result.signal == SIGILL || result.exit_code == 128 + SIGILL) {
    outcome.missing = fmt::format("this machine does not execute the instructions of '{}'", machine.name);
    outcome.executed = ExecutionMode::unavailable;
    return outcome;
  }
  if (auto problem = failure(model, result)) return *problem;
  read_times(folder.path() / "result", outcome);
  if (auto problem = read_trace(folder.path() / "trace", traced, read)) return *problem;
  return outcome;
}

}  // namespace isamap
