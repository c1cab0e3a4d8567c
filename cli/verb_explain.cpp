// SPDX-License-Identifier: Apache-2.0
// isamap explain: how instructions cover the kernel, or why they do not and which change would help, on one page. Every
// proposal was verified: the mapper found a mapping of the changed kernel or onto the changed instruction.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/listed.h"
#include "cli/models.h"
#include "cli/sizes.h"
#include "cli/symbolic_verbs.h"
#include "ir/verify/recurrence.h"
#include "mapper/advice/layout_advice.h"
#include "mapper/advice/missing_moves.h"
#include "mapper/advice/rejection_report.h"
#include "mapper/mapping_names.h"
#include "mapper/match/instruction_tree.h"

namespace isamap::cli {
namespace {

std::string cost_of_kinds(const Mapping& mapping) {
  std::string text = fmt::format("{:.0f}% of its points do work", 100 * mapping.utilisation);
  for (const Kind kind : mapping.kinds)
    if (kind != Kind::axis) text += fmt::format(", {}", isamap::name(kind));
  for (const std::string& need : mapping.needs) text += fmt::format(", needs inputs that are {}", need);
  return text;
}

/// Of many similar mappings only the best few are shown, by utilisation.
std::string best_mappings(std::vector<Mapping> mappings, const Kernel& kernel, const HardwareModel& model) {
  constexpr std::size_t shown = 3;
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.utilisation > b.utilisation; });
  std::string text;
  for (std::size_t m = 0; m < std::min(shown, mappings.size()); ++m)
    text += fmt::format("    {}: {}\n", digits_text(mappings[m], model), cost_of_kinds(mappings[m]));
  if (mappings.size() > shown) text += fmt::format("    and {} more (isamap map)\n", mappings.size() - shown);
  for (const LayoutAdvice& advice : least_layout_advice(kernel, model, mappings)) {
    text += fmt::format("    layout: {}\n", advice.found);
    if (!advice.kernel.empty()) text += fmt::format("    kernel: {}\n", advice.kernel);
    if (!advice.hardware.empty()) text += fmt::format("    hardware: {}\n", advice.hardware);
  }
  return text;
}

/// Instructions with equal mappings are grouped.
std::string mapped_text(StatementId statement, const MapResult& result, const Kernel& kernel,
                        const HardwareModel& model) {
  std::vector<std::pair<std::string, std::vector<InstructionId>>> paragraphs;
  std::map<std::uint32_t, std::vector<Mapping>> by_instruction;
  for (const Mapping& m : result.mappings)
    if (m.statement == statement && m.tree.empty()) by_instruction[m.instruction.value].push_back(m);
  for (auto& [id, mine] : by_instruction) {
    const InstructionId instruction = mine[0].instruction;
    const std::size_t ways = mine.size();
    const bool cut = result.limit_reached && ways >= static_cast<std::size_t>(MapOptions{}.max_mappings);
    const std::string body = fmt::format("in {} {}{}\n", ways, ways == 1 ? "way" : "ways",
                                         cut ? " or more (isamap map --count tells how many)" : "") +
                             best_mappings(std::move(mine), kernel, model);
    const auto same =
        std::find_if(paragraphs.begin(), paragraphs.end(), [&](const auto& entry) { return entry.first == body; });
    if (same == paragraphs.end())
      paragraphs.push_back({body, {instruction}});
    else
      same->second.push_back(instruction);
  }
  std::string text;
  for (const Mapping& m : result.mappings)
    if (m.statement == statement && !m.tree.empty() && text.empty())
      text = fmt::format("  {} computes it as a tree of instructions\n", m.tree.form->name);
  for (const auto& [body, ids] : paragraphs)
    text += fmt::format("  {} {} {}", listed(ids, model), ids.size() == 1 ? "maps" : "map", body);
  return text;
}

/// " (gemm_1.yaml)": the file of a proposed kernel.
std::string file_note(const ProposedFiles& files, const Refusal& refusal, std::size_t change) {
  const auto found = files.find({&refusal, change});
  return found == files.end() ? "" : " (" + found->second + ")";
}

std::string refusal_text(const Refusal& refusal, const HardwareModel& model, const ProposedFiles& files) {
  const std::size_t shown = refusal.other_operation ? 2 : 4;
  std::string text = fmt::format("  {} {} not map{}\n", listed(refusal.instructions, model),
                                 refusal.instructions.size() == 1 ? "does" : "do",
                                 refusal.other_operation ? ": another operation" : "");
  const std::size_t all = refusal.reasons.size(), told = std::min(shown, all);
  for (std::size_t r = 0; r < told; ++r) {
    text += "    " + refusal.reasons[r];
    if (r + 1 == told && all > told)
      text += fmt::format("; and {} more {}", all - told, all - told == 1 ? "reason" : "reasons");
    text += "\n";
  }
  if (!refusal.rule.empty()) text += fmt::format("    with --rule {}: maps as it is\n", refusal.rule);
  for (std::size_t c = 0; c < refusal.kernel_changes.size(); ++c)
    text += fmt::format("    kernel: {}{}\n", refusal.kernel_changes[c], file_note(files, refusal, c));
  const std::size_t changes = refusal.hardware_changes.size();
  for (std::size_t c = 0; c < (refusal.other_operation ? std::min<std::size_t>(changes, 1) : changes); ++c)
    text += fmt::format("    hardware: {}\n", refusal.hardware_changes[c]);
  if (refusal.rule.empty() && refusal.kernel_changes.empty() && refusal.hardware_changes.empty())
    text += "    no small change that was tried helps\n";
  return text;
}

std::string text_of(const Kernel& kernel, const HardwareModel& model, const MapResult& result,
                    const std::vector<Refusal>& refusals, const ProposedFiles& files) {
  std::string text;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    text += fmt::format("{}: {}\n", kernel.statements[s].name, print(kernel.statements[s], kernel.tensors));
    text += mapped_text(statement, result, kernel, model);
    for (const Refusal& refusal : refusals)
      if (refusal.statement == statement) text += refusal_text(refusal, model, files);
  }
  for (const std::string& missing : missing_moves(result.mappings, model)) text += "note: " + missing + "\n";
  return text;
}

/// Writes each proposed kernel as NAME_1.yaml, NAME_2.yaml, ...; equal ones share a file. Proposals not expressible as
/// a kernel file have none.
Result<ProposedFiles> write_proposals(const std::string& folder, const std::vector<Refusal>& refusals) {
  if (auto why = make_folder(folder, "--write FOLDER")) return std::move(*why);
  ProposedFiles files;
  std::map<std::string, std::string> written;  // text -> name
  for (const Refusal& refusal : refusals) {
    for (std::size_t c = 0; c < refusal.changed_kernels.size(); ++c) {
      const Kernel& kernel = refusal.changed_kernels[c];
      const auto text = kernel_file(kernel);
      if (!text) continue;
      const auto [known, is_new] = written.emplace(*text, fmt::format("{}_{}.yaml", kernel.name, written.size() + 1));
      if (is_new) {
        const auto done = write_file((std::filesystem::path(folder) / known->second).string(),
                                     fmt::format("# {}\n{}", refusal.kernel_changes[c], *text));
        if (!done) return done.diagnostics();
      }
      files[{&refusal, c}] = known->second;
    }
  }
  return files;
}

Exit verb_explain(const Options& given, const std::string& folder) {
  if (is_model(given)) {
    const bool fits = without_kernel_flags(given) &&
                      !has_unused(given, {"--dims"}, "is for one program of many sizes, and a plan of one is explained",
                                  "--sizes NAME=128");
    return fits ? explain_model(given) : Exit::usage;
  }
  if (has_unused(given, {"--strict-float"}, "is for plans of models, and mappings are the same without it",
                 "isamap schedule and isamap run leave mappings out"))
    return Exit::usage;
  Exit code = Exit::ok;
  const auto of_kernel = kernel_options(given, code);
  if (!of_kernel) return code;
  const Options& options = *of_kernel;
  if (std::optional<SymbolicKernel> symbolic; !load_if_symbolic(options, symbolic, code))
    return code;
  else if (symbolic)
    return explain_symbolic(options, *symbolic);
  const auto inputs = load_inputs(options, code);
  if (!inputs) return code;
  const HardwareModel& model = inputs->model;
  const Kernel kernel = one_step_of(inputs->kernel);
  const auto result = enumerate_mappings(kernel, model, options.map);
  if (!result) return fail(Exit::wrong_input, result.diagnostics());
  code = !result->mappings.empty() ? Exit::ok : result->limit_reached ? Exit::limit : Exit::no_answer;
  const std::vector<Refusal> refusals = explain_refusals(kernel, model, options.map, *result);
  ProposedFiles files;
  if (!folder.empty()) {
    auto written = write_proposals(folder, refusals);
    if (!written) return fail(Exit::wrong_input, written.diagnostics());
    files = std::move(*written);
  }
  return deliver(options,
                 options.json ? json_of_explain(kernel, model, *result, refusals, files)
                              : text_of(kernel, model, *result, refusals, files),
                 code);
}

}  // namespace

std::vector<VerbRow> verbs_explain() {
  const auto folder = std::make_shared<std::string>();
  return {{230, "explain", "why instructions map or do not map",
           [=](Flags& flags) {
             flags.kernel("kernel file (YAML) or model (.onnx)");
             flags.target();
             flags.mapping();
             flags.model();
             flags.model_plan();
             flags.strict_float();
             flags.text("--write", *folder, "folder for the changed kernels that are proposed");
           },
           [=](const Options& options) { return verb_explain(options, *folder); }}};
}

}  // namespace isamap::cli
