#include "backends/backend.h"

#include "backends/assembly/printer.h"
#include "backends/cpp/names.h"
#include "backends/cpp/runner.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/translation_unit.h"
#include "backends/simulator/simulate.h"

namespace isamap {
std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model) {
  return model.program.language == "asm" ? too_many_commands(program) : std::nullopt;
}

Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model) {
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
  auto unit = print_cpp(program, model);
  if (!unit) return unit.diagnostics();
  return std::vector<EmittedFile>{{unit->name + ".cpp", unit->text}};
}

std::unique_ptr<Runner> make_runner(const HardwareModel& model) {
  return model.program.language == "asm" ? make_simulator(model) : make_cpp_runner(model);
}

}  // namespace isamap
