#include "backends/backend.h"

#include "backends/assembly/printer.h"
#include "backends/cpp/names.h"
#include "backends/cpp/runner.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/translation_unit.h"
#include "backends/simulator/simulate.h"

namespace isamap {
namespace {

/// A language without a backend: says so, and runs nothing.
class NoRunner final : public Runner {
 public:
  explicit NoRunner(Availability why) : why_(std::move(why)) {}
  Result<RunOutcome> run(const Program&, std::vector<TensorData>&, const RunLimits&, double) override {
    RunOutcome outcome;
    outcome.executed = why_.how;
    outcome.missing = why_.why;
    return outcome;
  }

 private:
  Availability why_;
};

}  // namespace

bool has_backend(const HardwareModel& model) {
  return model.program.language == "c++" || model.program.language == "cuda" || model.program.language == "asm";
}

std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model) {
  return model.program.language == "asm" ? too_many_commands(program) : std::nullopt;
}

Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model) {
  if (model.program.language == "c++") {
    auto unit = print_cpp(program, model);
    if (!unit) return unit.diagnostics();
    return std::vector<EmittedFile>{{unit->name + ".cpp", unit->text}};
  }
  if (model.program.language == "cuda") {
    auto unit = print_cuda(program, model);
    if (!unit) return unit.diagnostics();
    return std::vector<EmittedFile>{{unit->name + ".cu", unit->text}, {emulation_header_name, emulation_header()}};
  }
  if (model.program.language == "asm") {
    auto text = print_assembly(program, model);
    if (!text) return text.diagnostics();
    return std::vector<EmittedFile>{{entry_name(program.name) + ".s", std::move(*text)}};
  }
  return error("there is no backend for " + model.program.language + " yet");
}

std::unique_ptr<Runner> make_runner(const HardwareModel& model) {
  if (model.program.language == "c++" || model.program.language == "cuda") return make_cpp_runner(model);
  if (model.program.language == "asm") return make_simulator(model);
  return std::make_unique<NoRunner>(availability(model));
}

}  // namespace isamap
