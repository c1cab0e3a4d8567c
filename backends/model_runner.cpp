// SPDX-License-Identifier: Apache-2.0
#include "backends/model_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <cstring>
#include <fstream>

#include "backends/assembly/model_stream.h"
#include "backends/assembly/printer.h"
#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/text/names.h"
#include "backends/cuda/model_unit.h"
#include "backends/cuda/translation_unit.h"
#include "backends/simulator/model_simulation.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "isamap/program_on_machine.h"
#include "support/stopwatch.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_file_bytes = std::int64_t{16} << 30;
const ProcessLimits run_limits{600, std::int64_t{16} << 30, most_file_bytes};

/// A model's program in a folder of its own, executed in others.
class CompiledModel {
 public:
  CompiledModel(const std::string& name, const HardwareModel& machine, ModelProgramRun how = {})
      : name_(name), machine_(machine), how_(std::move(how)) {}

  /// Compiles it and writes its weights. False: the outcome says what is missing.
  Result<bool> compile(const ModelUnit& unit, const std::string& driver, const std::string& weights,
                       ModelOutcome& outcome);
  /// `sizes`: those of the call, then the bytes of each input and output; `traced`: bytes of each array, by part.
  /// False: the outcome says which limit was reached.
  Result<bool> run(const std::vector<std::int64_t>& sizes, const std::vector<TensorData>& inputs, double min_seconds,
                   const std::vector<std::vector<std::int64_t>>& traced, const TraceReader& read,
                   ModelOutcome& outcome) const;

 private:
  fs::path program() const { return home_.path() / "program"; }
  Result<bool> execute(const fs::path& folder, double min_seconds, ModelOutcome& outcome) const;
  bool has_folder(const TemporaryDirectory& folder, ModelOutcome& outcome) const {
    if (!folder.ok())
      outcome.environment =
          fmt::format("cannot create a temporary folder in {}: set TMPDIR to a folder that exists and is writable",
                      TemporaryDirectory::parent());
    return folder.ok();
  }

  const std::string& name_;
  const HardwareModel& machine_;
  ModelProgramRun how_;
  TemporaryDirectory home_;
};

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

/// The command that executes `program`, by the machine's emulator if need be.
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

/// Bytes of each array in order, by part.
std::optional<Diagnostic> read_trace(const fs::path& file, const std::vector<std::vector<std::int64_t>>& bytes,
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

/// "seconds S", "arena N" and "part N S".
void read_times(const fs::path& file, ModelOutcome& outcome) {
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

bool write_inputs(const fs::path& folder, const std::vector<std::int64_t>& sizes,
                  const std::vector<TensorData>& inputs) {
  const std::string list = fmt::format("{}\n", fmt::join(sizes, "\n"));
  if (!write_file(folder / "sizes", list.data(), list.size())) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!write_file(folder / fmt::format("{}.in", i), inputs[i].bytes.data(), inputs[i].bytes.size())) return false;
  return true;
}

Result<bool> CompiledModel::compile(const ModelUnit& unit, const std::string& driver, const std::string& weights,
                                    ModelOutcome& outcome) {
  if (!has_folder(home_, outcome)) return false;
  const Stopwatch watch;
  TextFiles headers = unit.others;
  headers.emplace_back(unit.name + ".h", unit.header);
  KernelText text(fmt::format("#define {}_PROFILE\n", unit.name) + unit.text);
  text.parts = unit.part_files;
  text.flags_for_parts = unit.flags_for_part_files;
  text.jobs = how_.jobs;
  const auto made = isamap::compile(machine_, text, driver, headers, program(),
                                    has_thread_blocks(machine_) ? emulation_part() : SharedPart{});
  outcome.compiling = watch.seconds();
  if (!made) {
    outcome.missing = why_compiler_fails(machine_, home_.path());
    outcome.executed = ExecutionMode::unavailable;
    if (outcome.missing.empty()) return made.diagnostics();
    return false;
  }
  outcome.limit = made->limit;
  if (!outcome.limit.empty()) return false;
  outcome.compiler = listed_command(made->compiler);
  if (!write_file(home_.path() / "weights", weights.data(), weights.size()))
    return error("cannot write the weights of a run", "is the disk full?");
  return true;
}

Result<bool> CompiledModel::run(const std::vector<std::int64_t>& sizes, const std::vector<TensorData>& inputs,
                                double min_seconds, const std::vector<std::vector<std::int64_t>>& traced,
                                const TraceReader& read, ModelOutcome& outcome) const {
  const TemporaryDirectory folder;
  if (!has_folder(folder, outcome)) return false;
  std::error_code problem;
  fs::create_symlink(home_.path() / "weights", folder.path() / "weights", problem);
  if (problem || !write_inputs(folder.path(), sizes, inputs))
    return error("cannot write the input files of a run", "is the disk full?");
  const auto ran = execute(folder.path(), min_seconds, outcome);
  if (!ran || !*ran) return ran;
  if (auto trace = read_trace(folder.path() / "trace", traced, read)) return *trace;
  return true;
}

Result<bool> CompiledModel::execute(const fs::path& folder, double min_seconds, ModelOutcome& outcome) const {
  const auto alone = how_.alone ? how_.alone() : nullptr;
  const auto result = run_process(model_command(machine_, outcome.executed, program(), folder, min_seconds), run_limits,
                                  folder / "run.log");
  if (!result.started) return error("the emitted program cannot be executed", result.output);
  if (result.timed_out || result.signal == SIGXCPU) {
    outcome.limit = fmt::format("the emitted program of '{}' ran longer than {} s", name_, run_limits.seconds);
    return false;
  }
  if (result.signal == SIGILL || result.exit_code == 128 + SIGILL) {
    outcome.missing = fmt::format("this machine does not execute the instructions of '{}'", machine_.name);
    outcome.executed = ExecutionMode::unavailable;
    return false;
  }
  if (auto problem = model_failure(name_, result)) return *problem;
  read_times(folder / "result", outcome);
  outcome.counts = counts_in(folder / "run.log");
  return true;
}

std::int64_t bytes_at(const SymbolicPort& port, const Bindings& sizes) {
  std::int64_t count = bytes(port.dtype);
  for (const AffineExpr& axis : port.shape) count *= evaluate(axis, sizes);
  return count;
}

class CompiledSymbolicModel final : public SymbolicModelRunner {
 public:
  CompiledSymbolicModel(const SymbolicModelProgram& model, const HardwareModel& machine)
      : model_(model), machine_(machine), compiled_(model.name, machine) {}

  int compilations() const override { return compilations_; }

  Result<ModelOutcome> run(const Bindings& sizes, const std::vector<TensorData>& inputs, double min_seconds,
                           const TraceReader& read) override {
    ModelOutcome outcome;
    outcome.executed = availability(machine_).how;
    if (compilations_ == 0) {
      const auto made = compile(outcome);
      if (!made) return made.diagnostics();
      if (!*made) return outcome;
    }
    outcome.compiler = compiler_;
    outcome.text_bytes = text_bytes_;
    std::vector<std::int64_t> numbers;
    for (const SymbolicSize& size : model_.facts.sizes) numbers.push_back(sizes.at(size.name));
    for (const auto* ports : {&model_.inputs, &model_.outputs})
      for (const SymbolicPort& port : *ports) numbers.push_back(bytes_at(port, sizes));
    const auto ran = compiled_.run(numbers, inputs, min_seconds, traced_bytes(sizes), read, outcome);
    if (!ran) return ran.diagnostics();
    return outcome;
  }

 private:
  Result<bool> compile(ModelOutcome& outcome) {
    const auto unit = print_symbolic_model(model_, machine_);
    if (!unit) return unit.diagnostics();
    text_bytes_ = static_cast<std::int64_t>(unit->text.size());
    auto made = compiled_.compile(*unit, model_driver_text(*unit, model_), weights_file(model_), outcome);
    if (!made || !*made) return made;
    ++compilations_;
    compiler_ = outcome.compiler;
    return true;
  }

  std::vector<std::vector<std::int64_t>> traced_bytes(const Bindings& sizes) const {
    std::vector<std::vector<std::int64_t>> all;
    for (const SymbolicCall& call : model_.calls) {
      auto& of_part = all.emplace_back();
      for (const SymbolicResult& result : call.results) of_part.push_back(bytes_at(result.tensor, sizes));
    }
    return all;
  }

  const SymbolicModelProgram& model_;
  const HardwareModel& machine_;
  CompiledModel compiled_;
  std::string compiler_;
  std::int64_t text_bytes_ = 0;
  int compilations_ = 0;
};

}  // namespace

bool prints_models(const HardwareModel& machine) {
  return is_host_code(machine) || has_thread_blocks(machine) || is_command_stream(machine);
}

bool runs_models_whole(const HardwareModel& machine) {
  if (is_command_stream(machine)) return machine.program.simulator.command.empty();
  return is_host_code(machine) || (has_thread_blocks(machine) && availability(machine).how == ExecutionMode::emulated);
}

bool prints_bands(const HardwareModel& machine) { return is_host_code(machine); }

namespace {

/// NAME.s, and NAME.program with the host nests, which commands do not state.
Result<ModelUnit> print_stream(const ModelProgram& model, const ModelStream& stream, const HardwareModel& machine) {
  auto text = print_assembly(stream.program, machine);
  if (!text) return text.diagnostics();
  ModelUnit unit;
  unit.name = model_name(model.name);
  unit.text = std::move(*text);
  unit.extension = ".s";
  unit.others = {{unit.name + ".program", print(stream.program, machine)}};
  unit.arena_bytes = model.arena_bytes;
  return unit;
}

Result<ModelUnit> print_stream(const ModelProgram& model, const HardwareModel& machine) {
  const auto stream = model_stream(model, machine);
  return stream ? print_stream(model, *stream, machine) : stream.diagnostics();
}

/// As a stream of commands in the simulator.
Result<ModelOutcome> simulate_model_program(const ModelProgram& model, const HardwareModel& machine,
                                            const std::vector<TensorData>& inputs,
                                            const std::vector<std::vector<TracedArray>>& traced,
                                            const TraceReader& read) {
  ModelOutcome outcome;
  outcome.executed = ExecutionMode::simulator;
  const auto stream = model_stream(model, machine);
  if (!stream) return stream.diagnostics();
  if (const auto problem = too_many_commands(stream->program)) {
    outcome.limit = problem->message;
    return outcome;
  }
  const auto unit = print_stream(model, *stream, machine);
  if (!unit) return unit.diagnostics();
  outcome.text_bytes = static_cast<std::int64_t>(unit->text.size());
  outcome.arena_bytes = model.arena_bytes;
  ModelSimulation run{unit->text, *stream, model, machine, {}, read, run_limits.seconds};
  for (const auto& part : traced) {
    auto& of_part = run.written.emplace_back();
    for (const TracedArray& one : part) of_part.push_back({address_in(stream->places, one.place), one.bytes});
  }
  std::vector<std::vector<std::uint8_t>> bytes;
  for (const TensorData& input : inputs) bytes.push_back(input.bytes);
  const Stopwatch watch;
  auto simulated = simulate_model(run, bytes);
  if (!simulated && watch.seconds() >= run.seconds) {
    outcome.limit = simulated.diagnostics().front().message;
    return outcome;
  }
  if (!simulated) return simulated.diagnostics();
  outcome.simulated = std::move(simulated->time);
  outcome.simulated_parts = std::move(simulated->parts);
  return outcome;
}

}  // namespace

Result<ModelUnit> print_whole_model(const ModelProgram& model, const HardwareModel& machine) {
  if (is_command_stream(machine)) return print_stream(model, machine);
  return has_thread_blocks(machine) ? print_device_model(model, machine) : print_model(model, machine);
}

std::optional<std::int64_t> launches_of(const Program& part, const HardwareModel& machine) {
  return has_thread_blocks(machine) ? device_launches_of(part, machine) : std::nullopt;
}

Result<Workspace> workspace_of_part(const Program& part, const HardwareModel& machine) {
  if (is_command_stream(machine)) {
    const StreamWorkspace workspace = stream_workspace(part, machine);
    return Workspace{workspace.bytes, workspace.align};
  }
  return has_thread_blocks(machine) ? device_workspace_of(part, machine) : workspace_of(part, machine);
}

Result<ModelOutcome> run_model_program(const ModelProgram& model, const HardwareModel& machine,
                                       const std::vector<TensorData>& inputs,
                                       const std::vector<std::vector<TracedArray>>& traced, const ModelProgramRun& how,
                                       const TraceReader& read) {
  if (is_command_stream(machine)) return simulate_model_program(model, machine, inputs, traced, read);
  ModelOutcome outcome;
  outcome.executed = availability(machine).how;
  const auto unit = print_whole_model(model, machine);
  if (!unit) return unit.diagnostics();
  outcome.text_bytes = static_cast<std::int64_t>(unit->text.size());
  outcome.arena_bytes = unit->arena_bytes;
  outcome.launches = unit->launches;
  CompiledModel compiled(model.name, machine, how);
  double min_seconds = how.min_seconds;
  std::vector<std::vector<TracedArray>> placed = traced;
  if (has_thread_blocks(machine)) {
    outcome.executed = ExecutionMode::emulated;
    for (auto& part : placed)
      for (TracedArray& one : part) one.place = in_device_memory(model, one.place);
    min_seconds = -1;  // a time of the emulation says nothing
  }
  const auto made = compiled.compile(*unit, model_driver_text(*unit, model, placed), weights_file(model), outcome);
  if (!made) return made.diagnostics();
  if (!*made) return outcome;
  std::vector<std::int64_t> port_bytes;
  for (const auto* ports : {&model.inputs, &model.outputs})
    for (const Port& port : *ports) port_bytes.push_back(port.bytes());
  std::vector<std::vector<std::int64_t>> bytes(traced.size());
  for (std::size_t part = 0; part < traced.size(); ++part)
    for (const TracedArray& one : traced[part]) bytes[part].push_back(one.bytes);
  const auto ran = compiled.run(port_bytes, inputs, min_seconds, bytes, read, outcome);
  if (!ran) return ran.diagnostics();
  return outcome;
}

std::unique_ptr<SymbolicModelRunner> make_symbolic_model_runner(const SymbolicModelProgram& model,
                                                                const HardwareModel& machine) {
  return std::make_unique<CompiledSymbolicModel>(model, machine);
}

}  // namespace isamap
