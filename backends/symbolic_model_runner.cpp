// SPDX-License-Identifier: Apache-2.0
#include "backends/symbolic_model_runner.h"

#include <fmt/format.h>

#include "backends/cpp/compile.h"
#include "backends/cpp/compiler.h"
#include "backends/cpp/symbolic_model_unit.h"
#include "backends/model_execution.h"
#include "isamap/backend.h"
#include "support/stopwatch.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

std::int64_t elements_at(const std::vector<AffineExpr>& shape, const Bindings& sizes) {
  std::int64_t count = 1;
  for (const AffineExpr& axis : shape) count *= evaluate(axis, sizes);
  return count;
}

class CompiledSymbolicModel final : public SymbolicModelRunner {
 public:
  CompiledSymbolicModel(const SymbolicModelProgram& model, const HardwareModel& machine)
      : model_(model), machine_(machine) {}

  int compilations() const override { return compilations_; }

  Result<ModelOutcome> run(const Bindings& sizes, const std::vector<TensorData>& inputs, double min_seconds,
                           const TraceReader& read) override {
    ModelOutcome outcome;
    outcome.executed = availability(machine_).how;
    const TemporaryDirectory folder;
    if (!folder.ok() || !home_.ok()) {
      outcome.environment =
          fmt::format("cannot create a temporary folder in {}: set TMPDIR to a folder that exists and is writable",
                      TemporaryDirectory::parent());
      return outcome;
    }
    if (compilations_ == 0)
      if (const Diagnostics problems = compile_once(outcome); !problems.empty()) return problems;
    if (!outcome.missing.empty()) return outcome;
    outcome.compiler = compiler_;
    outcome.text_bytes = text_bytes_;
    std::error_code problem;
    fs::create_symlink(home_.path() / "weights", folder.path() / "weights", problem);
    if (problem || !write_inputs(sizes, inputs, folder.path()))
      return error("cannot write the input files of a run", "is the disk full?");
    const auto ran =
        execute_model(model_.name, machine_, home_.path() / "program", folder.path(), min_seconds, outcome);
    if (!ran) return ran.diagnostics();
    if (!*ran) return outcome;
    if (auto trace = read_model_trace(folder.path() / "trace", traced_bytes(sizes), read)) return *trace;
    return outcome;
  }

 private:
  Diagnostics compile_once(ModelOutcome& outcome) {
    const auto unit = print_symbolic_model(model_, machine_);
    if (!unit) return unit.diagnostics();
    text_bytes_ = static_cast<std::int64_t>(unit->text.size());
    const Stopwatch watch;
    const auto made = compile(machine_, fmt::format("#define {}_PROFILE\n", unit->name) + unit->text,
                              symbolic_model_driver_text(*unit, model_), {{unit->name + ".h", unit->header}},
                              home_.path() / "program");
    outcome.compiling = watch.seconds();
    if (!made) {
      outcome.missing = why_compiler_fails(machine_, home_.path());
      outcome.executed = ExecutionMode::unavailable;
      return outcome.missing.empty() ? made.diagnostics() : Diagnostics{};
    }
    ++compilations_;
    compiler_ = listed_command(*made);
    const std::string weights = weights_file(model_);
    if (!write_file(home_.path() / "weights", weights.data(), weights.size()))
      return {error("cannot write the weights of a run", "is the disk full?")};
    return {};
  }

  bool write_inputs(const Bindings& sizes, const std::vector<TensorData>& inputs, const fs::path& folder) const {
    std::string list;
    for (const SymbolicSize& size : model_.facts.sizes) list += fmt::format("{}\n", sizes.at(size.name));
    for (const auto* ports : {&model_.inputs, &model_.outputs})
      for (const SymbolicPort& port : *ports)
        list += fmt::format("{}\n", elements_at(port.shape, sizes) * bytes(port.dtype));
    if (!write_file(folder / "sizes", list.data(), list.size())) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!write_file(folder / fmt::format("{}.in", i), inputs[i].bytes.data(), inputs[i].bytes.size())) return false;
    return true;
  }

  std::vector<std::vector<std::int64_t>> traced_bytes(const Bindings& sizes) const {
    std::vector<std::vector<std::int64_t>> all;
    for (const SymbolicCall& call : model_.calls) {
      const SymbolicKernel& kernel = model_.programs[call.program].kernel;
      auto& of_part = all.emplace_back();
      for (const TensorId id : traced_tensors(kernel.sample))
        of_part.push_back(elements_at(kernel.shapes[id.index()], sizes) *
                          bytes(kernel.sample.tensors[id.index()].dtype));
    }
    return all;
  }

  const SymbolicModelProgram& model_;
  const HardwareModel& machine_;
  TemporaryDirectory home_;
  std::string compiler_;
  std::int64_t text_bytes_ = 0;
  int compilations_ = 0;
};

}  // namespace

std::unique_ptr<SymbolicModelRunner> make_symbolic_model_runner(const SymbolicModelProgram& model,
                                                                const HardwareModel& machine) {
  return std::make_unique<CompiledSymbolicModel>(model, machine);
}

}  // namespace isamap
