// SPDX-License-Identifier: Apache-2.0
// isamap map: every way the instructions of a machine cover a kernel.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/listed.h"
#include "cli/sizes.h"
#include "ir/verify/recurrence.h"
#include "mapper/advice/mapped_splits.h"
#include "mapper/advice/missing_moves.h"
#include "mapper/alternative_digit_orders.h"
#include "mapper/certificate_files.h"
#include "mapper/mapping_names.h"
#include "mapper/match/instruction_tree.h"

namespace isamap::cli {
namespace {

std::string kinds_text(const Mapping& mapping) {
  std::string text;
  for (const Kind kind : mapping.kinds) text += (text.empty() ? "" : " ") + std::string(isamap::name(kind));
  return text;
}

std::string operands_text(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  std::string text;
  for (const auto& [operand, tensor] : named_operands(mapping, kernel, model))
    text += (text.empty() ? "" : " ") + operand + "=" + tensor;
  return text;
}

/// Instructions with equal rejection reasons share a line; nearest to mapping first.
std::string rejections_text(const Kernel& kernel, const HardwareModel& model, const std::vector<Rejection>& rejected) {
  struct Group {
    const Rejection* first;
    std::vector<InstructionId> instructions;
  };
  std::vector<Group> groups;
  for (const Rejection& rejection : rejected) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.first->statement == rejection.statement && g.first->reasons == rejection.reasons;
    });
    if (same == groups.end())
      groups.push_back({&rejection, {rejection.instruction}});
    else
      same->instructions.push_back(rejection.instruction);
  }
  const auto rank = [](const Group& g) { return std::pair(g.first->statement.value, g.first->kind()); };
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  std::string text;
  for (const Group& g : groups) {
    text += fmt::format("{} {} not map {}", listed(g.instructions, model), g.instructions.size() == 1 ? "does" : "do",
                        kernel.statements[g.first->statement.index()].name);
    const auto& reasons = g.first->reasons;
    if (!reasons.empty()) text += ": " + reasons.front().text;
    text += "\n";
    for (std::size_t r = 1; r < reasons.size(); ++r) text += "  " + reasons[r].text + "\n";
  }
  return text;
}

/// Unmapped statements that can be split into mappable ones: the replacement text.
std::string parts_text(const Kernel& whole, const HardwareModel& model, const MapOptions& options,
                       const MapResult& result) {
  const Kernel kernel = one_step_of(whole);
  std::string text;
  for (std::size_t s = 0; s < kernel.statements.size() && options.instruction.empty() && whole.repeats.empty(); ++s) {
    const auto id = make_id<StatementId>(s);
    if (std::any_of(result.mappings.begin(), result.mappings.end(),
                    [&](const Mapping& m) { return m.statement == id; }))
      continue;
    const auto splits = mapped_splits(kernel, id, model, options);
    if (splits.empty()) continue;
    text += fmt::format("{} maps when split; schedule, run and emit use the parts if cheaper than scalar code:\n",
                        kernel.statements[s].name);
    const Kernel& parts = splits.front().kernel;
    for (std::size_t p = s; p <= s + splits.front().parts.size(); ++p)
      text += "  " + print_formula(parts.statements[p], parts.tensors) + "\n";
  }
  return text;
}

/// "depthwise on outer16: 276 mappings, 18 programmable"
std::string headline(const Kernel& kernel, const HardwareModel& model, const MappingCount& count, bool limit_reached) {
  std::string text = fmt::format("{} on {}: {} mappings", kernel.name, model.name, count.covering);
  if (count.covering > 0)
    text += count.programmable == count.covering ? ", all programmable"
                                                 : fmt::format(", {} programmable", count.programmable);
  return text + (limit_reached ? " (a limit was reached: there may be more)\n" : "\n");
}

/// The rows of a table, with what they say of all of them together.
struct MappingTable {
  std::vector<std::vector<std::string>> rows{
      {"id", "instruction", "statement", "mapping", "operands", "outer", "kinds", "used", "proof", "programmable"}};
  MappingCount count;                 ///< of entries of the list, other orders of them aside
  std::map<std::string, int> reason;  ///< why entries cannot be programmed, and how many
};

/// A mapping of kind `split` is programmed with its digits whole ("whole"): rows "4 as" below it show how.
MappingTable table_of(const Kernel& kernel, const HardwareModel& model, const MapResult& result,
                      bool with_other_orders = true) {
  MappingTable table;
  const auto add_row = [&](const std::string& id, const Mapping& m, const std::string& programmable) {
    table.rows.push_back({id, instruction_of(m, model).name, kernel.statements[m.statement.index()].name,
                          digits_text(m, model), operands_text(m, kernel, model),
                          fmt::format("{}", fmt::join(m.outer, " ")), kinds_text(m),
                          fmt::format("{:.0f}%", 100 * m.utilisation), std::string(name(m.proof)), programmable});
  };
  const auto add_rows = [&](const std::string& id, const Mapping& m) {
    const std::vector<Mapping> forms = programmable_forms(m, kernel, model);
    const bool as_listed = forms.size() == 1 && forms.front().dims == m.dims;
    add_row(id, m, forms.empty() ? "no" : as_listed ? "yes" : "whole");
    for (const Mapping& form : forms)
      if (!as_listed) add_row(id + " as", form, "yes");
    return forms.empty() ? not_programmable(m, kernel, model) : "";
  };
  AlternativeDigitOrders other_orders(kernel);
  for (const Mapping& m : result.mappings) {
    const std::string why = add_rows(number_of(m, -1), m);
    ++table.count.covering;
    why.empty() ? ++table.count.programmable : ++table.reason[why];
    int order = 0;
    if (!with_other_orders) continue;
    for (const Mapping& other : other_orders.of(m, instruction_of(m, model))) add_rows(number_of(m, order++), other);
  }
  return table;
}

/// The reasons, most frequent first.
std::string unprogrammable_text(const MappingTable& table) {
  std::vector<std::pair<std::string, int>> reasons(table.reason.begin(), table.reason.end());
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [why, number] : reasons) text += fmt::format("{:>6} of them: {}\n", number, why);
  return text.empty() ? text : "mappings that cover a statement, but of which lowering makes no program:\n" + text;
}

std::string text_of(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                    const MapResult& result) {
  const MappingTable found = table_of(kernel, model, result);
  std::string text = headline(kernel, model, found.count, result.limit_reached);
  if (!result.mappings.empty()) text += table(found.rows);
  text += unprogrammable_text(found);
  for (const std::string& missing : missing_moves(result.mappings, model)) text += "note: " + missing + "\n";
  return text + rejections_text(kernel, model, result.rejected) + parts_text(kernel, model, options, result);
}

/// Mappings are counted, not stored.
Exit count(const Options& options, const Kernel& kernel, const HardwareModel& model) {
  Progress progress;
  MappingCounts counts;
  counts.rule = options.map.rule;
  const auto summary = for_each_mapping(kernel, model, options.map, [&](const Mapping& m) {
    MappingCount& count = counts.of[{m.statement, m.instruction}];
    ++count.covering;
    count.programmable += not_programmable(m, kernel, model).empty() ? 1 : 0;
    if (m.id % 1024 == 0) progress(fmt::format("{} mappings so far", m.id));
    return true;
  });
  if (!summary) return fail(Exit::wrong_input, summary.diagnostics());
  counts.summary = *summary;
  std::string text = headline(kernel, model, {summary->mappings, counts.programmable()}, summary->limit_reached);
  std::vector<std::vector<std::string>> rows{{"instruction", "statement", "mappings", "programmable"}};
  for (const auto& [pair, count] : counts.of)
    rows.push_back({model.instruction(pair.second).name, kernel.statements[pair.first.index()].name,
                    std::to_string(count.covering), std::to_string(count.programmable)});
  if (rows.size() > 1) text += table(rows);
  const Exit code = summary->mappings > 0 ? Exit::ok : summary->limit_reached ? Exit::limit : Exit::no_answer;
  return deliver(options, options.json ? json_of_counts(kernel, model, counts) : text, code);
}

/// "M in 0..4096 (used at M = 128): "
std::string sizes_headline(const SymbolicKernel& kernel) {
  std::string at;
  for (const auto& [name, value] : kernel.at) at += fmt::format("{}{} = {}", at.empty() ? "" : ", ", name, value);
  return fmt::format("for {} (used at {})", isamap::print(kernel.facts), at);
}

/// All mappings that hold for all sizes of a symbolic kernel.
Exit map_symbolic(const Options& options, const SymbolicKernel& kernel) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  if (options.count)
    return fail(Exit::usage, "--count counts mappings of a kernel whose sizes are numbers", "bind them with --sizes");
  const auto found = map_all_sizes(kernel, *model, options.map);
  if (!found) return fail(Exit::wrong_input, found.diagnostics());
  const MapResult& mapped = found->mapped;
  const Exit code = !mapped.mappings.empty() ? Exit::ok : mapped.limit_reached ? Exit::limit : Exit::no_answer;
  if (options.json) return deliver(options, json_of_symbolic_map(kernel, *model, options.map.rule, *found), code);
  const MappingTable rows = table_of(found->kernel, *model, mapped, false);
  std::string text = headline(found->kernel, *model, rows.count, mapped.limit_reached);
  text += sizes_headline(kernel) + (mapped.mappings.empty() ? "\n" : ", each proved for all of them\n");
  if (!mapped.mappings.empty()) text += table(rows.rows);
  text += unprogrammable_text(rows);
  for (const RefusedMapping& refused : found->refused) text += fmt::format("{} {}\n", refused.mapping, refused.reason);
  return deliver(options, text + rejections_text(found->kernel, *model, mapped.rejected), code);
}

Exit verb_map(const Options& options) {
  Exit code = Exit::ok;
  if (std::optional<SymbolicKernel> symbolic; !load_if_symbolic(options, symbolic, code))
    return code;
  else if (symbolic)
    return map_symbolic(options, *symbolic);
  const auto inputs = load_inputs(options, code);
  if (!inputs) return code;
  const auto& [kernel, model] = *inputs;
  if (options.count) return count(options, kernel, model);
  MapOptions with = options.map;
  Progress progress;
  with.certificate_progress = [&](std::size_t written, std::size_t all) {
    progress(fmt::format("certificates: {} of {} mappings", written, all));
    return true;
  };
  const auto result = enumerate_mappings(kernel, model, with);
  if (!result) return fail(Exit::wrong_input, result.diagnostics());
  if (result->mappings.empty())
    code = result->limit_reached ? Exit::limit : Exit::no_answer;
  else
    code = Exit::ok;
  return deliver(options,
                 options.json ? json_of_map(kernel, model, options.map.rule, *result)
                              : text_of(kernel, model, options.map, *result),
                 code);
}

}  // namespace

std::vector<VerbRow> verbs_map() {
  return {{220, "map", "every way the instructions cover a kernel",
           [](Flags& flags) {
             flags.kernel();
             flags.target();
             flags.mapping();
             flags.on("--count", flags.options.count, "only how many there are, of each statement and instruction");
             flags.text("--limit", flags.written.limit,
                        "at most N for each statement and instruction (default 3072; 1000000 with --count)");
             flags.text("--certificates", flags.options.map.certificates, "folder for proofs that z3 replays");
           },
           verb_map}};
}

}  // namespace isamap::cli
