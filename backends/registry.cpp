// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/printer.h"
#include "backends/compiled_runner.h"
#include "backends/cpp/header.h"
#include "backends/cpp/names.h"
#include "backends/cpp/self_test.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/translation_unit.h"
#include "backends/simulator/simulate.h"
#include "isamap/backend.h"

namespace isamap {
std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model) {
  return model.program.language == "asm" ? too_many_commands(program) : std::nullopt;
}

Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model, const EmitOptions& options) {
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
  auto unit = print_cpp(program, model, options.workspace);
  if (!unit) return unit.diagnostics();
  std::vector<EmittedFile> files{{unit->name + ".cpp", unit->text}};
  if (options.header) files.push_back({unit->name + ".h", print_header(*unit, program)});
  if (options.test) {
    auto test = print_self_test(*unit, program, model);
    if (!test) return test.diagnostics();
    files.push_back({unit->name + "_test.cpp", std::move(*test)});
  }
  return files;
}

namespace {
std::string include_line(const EmittedFile& header) { return "#include \"" + header.name + "\"\n"; }
}  // namespace

bool includes(const EmittedFile& text, const EmittedFile& header) {
  return text.text.find(include_line(header)) != std::string::npos;
}

std::string joined(const std::vector<EmittedFile>& files) {
  const std::string once = "#pragma once\n";  // compilers warn about `#pragma once` in the main file
  std::string text = files.front().text;
  for (std::size_t f = 1; f < files.size(); ++f) {
    const std::size_t at = text.find(include_line(files[f]));
    if (at == std::string::npos) continue;
    const std::string& header = files[f].text;
    text.replace(at, include_line(files[f]).size(), header.substr(header.starts_with(once) ? once.size() : 0));
  }
  return text;
}

std::unique_ptr<Runner> make_runner(const HardwareModel& model, bool workspace) {
  return model.program.language == "asm" ? make_simulator(model) : make_cpp_runner(model, workspace);
}

}  // namespace isamap
