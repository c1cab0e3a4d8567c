// SPDX-License-Identifier: Apache-2.0
// Everything that depends on the language of programs, dispatched by one table.

#include <algorithm>
#include <iterator>

#include "backends/assembly/printer.h"
#include "backends/compiled_runner.h"
#include "backends/cpp/header.h"
#include "backends/cpp/self_test.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/symbolic_unit.h"
#include "backends/cuda/translation_unit.h"
#include "backends/language_backend.h"
#include "backends/simulator/simulate.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"

namespace isamap {
namespace {

using Files = Result<std::vector<EmittedFile>>;

Files cuda_files(const Program& program, const HardwareModel& model, const EmitOptions&) {
  auto unit = print_cuda(program, model);
  if (!unit) return unit.diagnostics();
  return std::vector<EmittedFile>{{unit->name + ".cu", unit->text}, {emulation_header_name, emulation_header()}};
}

Files assembly_files(const Program& program, const HardwareModel& model, const EmitOptions&) {
  auto text = print_assembly(program, model);
  if (!text) return text.diagnostics();
  return std::vector<EmittedFile>{{entry_name(program.name) + ".s", std::move(*text)}};
}

Files cpp_files(const Program& program, const HardwareModel& model, const EmitOptions& options) {
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

std::unique_ptr<Runner> simulator_of(const HardwareModel& model, bool) { return make_simulator(model); }

}  // namespace

const LanguageBackend& backend_of(const HardwareModel& model) {
  static const LanguageBackend table[] = {
      {"c++", cpp_files, make_cpp_runner, cpp_availability, nullptr},
      {"cuda", cuda_files, make_cpp_runner, kernel_availability, nullptr},
      {"asm", assembly_files, simulator_of, simulator_availability, too_many_commands},
  };
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const LanguageBackend& row) { return row.name == model.program.language; });
  ISAMAP_CHECK(found != std::end(table), "the loader knows language '" + model.program.language + "', no backend does");
  return *found;
}

std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model) {
  const auto limit = backend_of(model).beyond_limit;
  return limit ? limit(program) : std::nullopt;
}

Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model, const EmitOptions& options) {
  return backend_of(model).print(program, model, options);
}

Result<std::vector<EmittedFile>> emit(const SymbolicProgram& program, const HardwareModel& model) {
  const bool kernels = has_thread_blocks(model);
  auto unit = kernels ? print_symbolic_cuda(program, model) : print_symbolic_cpp(program, model);
  if (!unit) return unit.diagnostics();
  if (!kernels) return std::vector<EmittedFile>{{unit->name + ".cpp", unit->text}};
  return std::vector<EmittedFile>{{unit->name + ".cu", unit->text}, {emulation_header_name, emulation_header()}};
}

std::unique_ptr<Runner> make_runner(const HardwareModel& model, bool workspace) {
  return backend_of(model).make_runner(model, workspace);
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

}  // namespace isamap
