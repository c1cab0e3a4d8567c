// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/translation_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/text/fused_products.h"
#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/versions.h"

namespace isamap {
namespace {

std::string includes(const HardwareModel& model, const Surroundings& around) {
  std::set<std::string> standard = helper_includes(around.helpers);
  standard.insert(around.includes.begin(), around.includes.end());
  standard.insert("<cstdint>");
  if (around.scratch) standard.insert("<cstdlib>");
  std::string text;
  for (const std::string& include : standard) text += "#include " + include + "\n";
  for (const std::string& include : model.program.include) {
    const bool enclosed = !include.empty() && (include.front() == '<' || include.front() == '"');
    text += "#include " + (enclosed ? include : "<" + include + ">") + "\n";
  }
  if (around.scratch) text += "#if __has_include(<sys/mman.h>)\n#include <sys/mman.h>\n#endif\n";
  return text + "\n";
}

std::string program_text(const HardwareModel& model, const Surroundings& around, const std::string& code) {
  std::string text = machine_helpers(model.program, code);
  if (around.scratch)
    text += R"(namespace {

// Memory for local arrays: one block for each thread, kept from call to call. Where it is large it asks for large pages:
// the addresses of small ones have to be looked up again and again.
struct Scratch {
  char* const at;
  explicit Scratch(std::size_t size) : at(static_cast<char*>(std::aligned_alloc(unit(size), size))) {
    if (at == nullptr) std::abort();
#ifdef MADV_HUGEPAGE
    if (unit(size) > 4096) madvise(at, size, MADV_HUGEPAGE);
#endif
  }
  ~Scratch() { std::free(at); }
  static std::size_t unit(std::size_t size) { return size % (2 << 20) == 0 ? 2 << 20 : 4096; }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace

)";
  return text + with_fused_products(helper_text(around.helpers, code), model);
}

}  // namespace

std::string surrounding_text(const HardwareModel& model, Surroundings around, const std::string& code) {
  around.helpers.merge(helpers_in(code));  // texts of instructions call them by name
  return includes(model, around) + program_text(model, around, code) + compiled_for(model);
}

std::string header_comment(const Program& program, const HardwareModel& model, const std::string& needs) {
  std::string text = comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it{}{}\n\nkernel:",
                                         entry_name(program.name), model.name, needs.empty() ? "" : "\nneeds ", needs),
                             " ");
  text += comment(isamap::print(program.kernel), "   ");
  if (!program.schedule_text.empty()) text += comment("\nschedule:", " ") + comment(program.schedule_text, "   ");
  std::vector<std::string> assumptions = {"arguments do not overlap"};
  const auto assume = [&](const Program& version) {
    for (const Assumption& one : version.assumptions)
      if (std::find(assumptions.begin(), assumptions.end(), one.text) == assumptions.end())
        assumptions.push_back(one.text);
  };
  assume(program);
  for (const Program& version : program.versions) assume(version);
  text += comment("\nassumptions:\n", " ");
  for (const std::string& assumption : assumptions) text += comment(assumption, " ");
  return text + "\n";
}

Result<TranslationUnit> print_cpp(const Program& program, const HardwareModel& model, bool workspace) {
  Surroundings around;
  around.from_caller = workspace;
  Result<TranslationUnit> unit =
      asks_for_sizes(program, model)
          ? print_versions(program, model, around)
          : print_functions(program, model, entry_name(program.name), "extern \"C\"", around);
  if (!unit) return unit;
  if (workspace) unit->workspace = around.workspace;
  unit->text =
      header_comment(program, model, needed_flags(model)) + surrounding_text(model, around, unit->text) + unit->text;
  return unit;
}

}  // namespace isamap
