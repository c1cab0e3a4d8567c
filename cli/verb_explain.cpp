// isamap explain: for each instruction, how it covers the kernel, or in words why it does not.

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/names.h"
#include "cli/verbs.h"

namespace isamap::cli {
namespace {

std::string cost_of_kinds(const Mapping& mapping) {
  std::string text = fmt::format("{:.0f}% of its points do work", 100 * mapping.utilisation);
  for (const Kind kind : mapping.kinds)
    if (kind != Kind::axis) text += fmt::format(", {}", isamap::name(kind));
  for (const std::string& need : mapping.needs) text += fmt::format(", needs inputs that are {}", need);
  return text;
}

/// The mappings are many and alike: the best few are shown, by how much of the instruction they use.
std::string best_mappings(std::vector<Mapping> mappings, const HardwareModel& model) {
  constexpr std::size_t shown = 3;
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.utilisation > b.utilisation; });
  std::string text;
  for (std::size_t m = 0; m < std::min(shown, mappings.size()); ++m)
    text += fmt::format("    {}: {}\n", digits_text(mappings[m], model), cost_of_kinds(mappings[m]));
  if (mappings.size() > shown) text += fmt::format("    and {} more (isamap map)\n", mappings.size() - shown);
  return text;
}

std::string explain_instruction(InstructionId id, StatementId statement, const MapResult& result,
                                const HardwareModel& model) {
  std::vector<Mapping> mine;
  for (const Mapping& m : result.mappings)
    if (m.instruction == id && m.statement == statement) mine.push_back(m);
  const std::string& instruction = model.instruction(id).name;
  if (!mine.empty())
    return fmt::format("  {} maps in {} {}\n", instruction, mine.size(), mine.size() == 1 ? "way" : "ways") +
           best_mappings(std::move(mine), model);
  std::string text = fmt::format("  {} does not map\n", instruction);
  for (const Rejection& rejection : result.rejected)
    if (rejection.instruction == id && rejection.statement == statement)
      for (const std::string& reason : rejection.reasons) text += fmt::format("    {}\n", reason);
  return text;
}

std::string text_of(const Kernel& kernel, const HardwareModel& model, const MapResult& result,
                    const MapOptions& options) {
  std::string text;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    text += fmt::format("{}: {}\n", kernel.statements[s].name, print(kernel.statements[s], kernel.tensors));
    for (std::size_t i = 0; i < model.instructions().size(); ++i) {
      const Instruction& instruction = model.instructions()[i];
      if (!is_compute(instruction) || (!options.instruction.empty() && options.instruction != instruction.name))
        continue;
      text += explain_instruction(make_id<InstructionId>(i), make_id<StatementId>(s), result, model);
    }
  }
  return text;
}

}  // namespace

Exit verb_explain(const Options& options) {
  Exit code = Exit::ok;
  const auto inputs = load_inputs(options, code);
  if (!inputs) return code;
  const auto& [kernel, model] = *inputs;
  const auto result = enumerate_mappings(kernel, model, options.map);
  if (!result) return fail(Exit::wrong_input, result.diagnostics());
  code = !result->mappings.empty() ? Exit::ok : result->limit_reached ? Exit::limit : Exit::no_answer;
  return deliver(options,
                 options.json ? json_of_explain(kernel, model, *result) : text_of(kernel, model, *result, options.map),
                 code);
}

}  // namespace isamap::cli
