// SPDX-License-Identifier: Apache-2.0
// The JSON documents of `map` and `explain`.

#include <algorithm>
#include <map>
#include <set>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/json_internal.h"
#include "isamap/scheduler.h"
#include "mapper/advice/layout_advice.h"
#include "mapper/advice/missing_moves.h"
#include "mapper/advice/price.h"
#include "mapper/alternative_digit_orders.h"
#include "mapper/certificate_files.h"
#include "mapper/digits/completeness.h"
#include "mapper/mapping_names.h"
#include "mapper/match/instruction_tree.h"

namespace isamap::cli {

Json rejected_json(const std::vector<Rejection>& rejected, const HardwareModel& model) {
  Json json = Json::array();
  for (const Rejection& rejection : rejected) {
    Json reasons = Json::array();
    for (const Reason& reason : rejection.reasons) reasons.push_back(reason.text);
    json.push_back({{"instruction", model.instruction(rejection.instruction).name},
                    {"statement", rejection.statement.value},
                    {"reasons", std::move(reasons)}});
  }
  return json;
}

namespace {

Json extents_of(const Mapping& mapping, const HardwareModel& model) {
  Json json = Json::object();
  const auto named = named_digits(mapping, model);
  for (std::size_t d = 0; d < named.size(); ++d) {
    json[named[d].first] = Json::array();
    for (const Digit& digit : mapping.dims[d]) json[named[d].first].push_back(digit.extent);
  }
  return json;
}

Json loops_of(const Mapping& mapping) {
  Json json = Json::array();
  for (const ResidualLoop& loop : mapping.loops) {
    json.push_back({{"step", print(loop.step)}, {"extent", loop.extent}});
    if (loop.floating) json.back()["floating"] = true;
  }
  return json;
}

/// Overheads of the mapping beyond the statement's work (mapper/advice/price.h).
Json price_json(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  const Price price = price_of(kernel, model, mapping);
  Json json{{"calls", number(price.calls)}, {"extra_points", number(price.extra_points)}, {"operands", Json::object()}};
  for (const OperandPrice& operand : price.operands) {
    Json& entry = json["operands"][operand.operand];
    entry = {{"load", operand.direct ? "direct" : "pack"}, {"bytes", number(operand.bytes)}};
    if (operand.direct) continue;
    entry["why"] = operand.why_packed;
    entry["extra_bytes"] = number(operand.extra_bytes);
  }
  return json;
}

Json json_of(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  Json json{{"id", mapping.id},
            {"instruction", instruction_of(mapping, model).name},
            {"statement", mapping.statement.value},
            {"operands", object_of(named_operands(mapping, kernel, model))},
            {"dims", object_of(named_digits(mapping, model))}};
  if (has_partial_extents(mapping, kernel)) json["extents"] = extents_of(mapping, model);
  json["outer"] = mapping.outer;
  if (!mapping.loops.empty()) json["loops"] = loops_of(mapping);
  json["kinds"] = Json::array();
  for (const Kind kind : mapping.kinds) json["kinds"].push_back(std::string(isamap::name(kind)));
  json["utilisation"] = mapping.utilisation;
  const std::vector<Mapping> forms = programmable_forms(mapping, kernel, model);
  json["programmable"] = !forms.empty();
  if (forms.empty()) json["why"] = not_programmable(mapping, kernel, model);
  for (const Mapping& form : forms)
    if (form.dims != mapping.dims) json["programmed_as"].push_back(object_of(named_digits(form, model)));
  json["price"] = price_json(mapping, kernel, model);
  if (!mapping.carriers.empty()) json["carriers"] = object_of(named_carriers(mapping, model));
  if (!mapping.needs.empty()) json["needs"] = mapping.needs;
  if (mapping.kinds.count(Kind::partial)) json["partial"] = true;
  json["proof"] = {{"status", std::string(name(mapping.proof))}};
  return json;
}

Json json_of(const Refusal& refusal, const HardwareModel& model, const ProposedFiles& files) {
  Json json{{"statement", refusal.statement.value}, {"instructions", Json::array()}};
  for (const InstructionId id : refusal.instructions) json["instructions"].push_back(model.instruction(id).name);
  json["reasons"] = refusal.reasons;
  json["other_operation"] = refusal.other_operation;
  if (!refusal.rule.empty()) json["maps_with_rule"] = refusal.rule;
  json["kernel_changes"] = refusal.kernel_changes;
  for (std::size_t c = 0; !files.empty() && c < refusal.kernel_changes.size(); ++c) {
    const auto file = files.find({&refusal, c});
    json["kernel_files"].push_back(file == files.end() ? Json(nullptr) : Json(file->second));
  }
  json["hardware_changes"] = refusal.hardware_changes;
  return json;
}

Json solver_of(const auto& result) {
  return {{"queries", result.solver.queries}, {"unknown", result.solver.unknown}, {"seconds", result.solver.seconds}};
}

/// The exit code, as in failure documents: nothing maps (3), or a limit was reached first (4).
void add_exit(Json& json, std::size_t mappings, bool limit_reached) {
  if (mappings == 0) json["exit"] = static_cast<int>(limit_reached ? Exit::limit : Exit::no_answer);
}

/// `outside`: [{statement, instructions, text}], mappings not covered by the enumeration (docs/mapping.md), each text
/// once. `complete`: the enumeration is complete for its class.
template <class Pairs>
void add_claims(Json& json, const Kernel& kernel, const HardwareModel& model, Rule rule, const Pairs& pairs,
                bool limit_reached) {
  std::map<std::pair<StatementId, std::string>, std::vector<std::string>> texts;
  bool complete = !limit_reached;
  for (const auto& [statement, instruction] : pairs) {
    for (const KnownGap& one : known_gaps(kernel, statement, model.instruction(instruction), instruction, rule)) {
      texts[{statement, one.text}].push_back(model.instruction(instruction).name);
      complete = complete && !one.missing;
    }
  }
  json["outside"] = Json::array();
  for (const auto& [what, instructions] : texts)
    json["outside"].push_back({{"statement", what.first.value}, {"instructions", instructions}, {"text", what.second}});
  json["complete"] = complete;
  if (limit_reached) json["limit_reached"] = true;
}

}  // namespace

Json json_of(const SizeFacts& facts) {
  Json json = Json::object();
  for (const SymbolicSize& size : facts.sizes)
    json[size.name] = {
        {"min", size.min}, {"max", size.max}, {"multiple_of", size.multiple_of}, {"likely", size.likely}};
  return json;
}

Json facts_between(const SizeFacts& facts) {
  Json json = Json::array();
  for (const SizeFact& fact : facts.between)
    if (std::find(json.begin(), json.end(), Json(fact.text)) == json.end()) json.push_back(fact.text);
  return json;
}

std::string json_of_symbolic_map(const SymbolicKernel& kernel, const HardwareModel& model, Rule rule,
                                 const SymbolicMapResult& result) {
  Json json = document();
  const MapResult& mapped = result.mapped;
  add_exit(json, mapped.mappings.size(), mapped.limit_reached);
  json["kernel"] = result.kernel.name;
  json["target"] = model.name;
  json["rule"] = std::string(name(rule));
  json["sizes"] = json_of(kernel.facts);
  json["facts"] = facts_between(kernel.facts);
  json["at"] = kernel.at;
  json["versions"] = Json::array();
  json["guards"] = Json::array();
  json["unknown"] = mapped.solver.unknown;
  json["programmable"] = count_mappings(mapped.mappings, result.kernel, model).programmable;
  json["mappings"] = Json::array();
  for (std::size_t m = 0; m < mapped.mappings.size(); ++m) {
    json["mappings"].push_back(json_of(mapped.mappings[m], result.kernel, model));
    if (m < mapped.certificate_files.size()) json["mappings"].back()["proof"]["file"] = mapped.certificate_files[m];
  }
  json["refused"] = Json::array();
  for (const RefusedMapping& refused : result.refused)
    json["refused"].push_back({{"mapping", refused.mapping}, {"reason", refused.reason}});
  json["rejected"] = rejected_json(mapped.rejected, model);
  json["solver"] = solver_of(mapped);
  if (mapped.limit_reached) json["limit_reached"] = true;
  return text_of(json);
}

std::string json_of_map(const Kernel& kernel, const HardwareModel& model, Rule rule, const MapResult& result) {
  Json json = document();
  add_exit(json, result.mappings.size(), result.limit_reached);
  json["kernel"] = kernel.name;
  json["target"] = model.name;
  json["rule"] = std::string(name(rule));
  json["programmable"] = count_mappings(result.mappings, kernel, model).programmable;
  json["mappings"] = Json::array();
  AlternativeDigitOrders other_orders(kernel);
  for (std::size_t m = 0; m < result.mappings.size(); ++m) {
    Json mapping = json_of(result.mappings[m], kernel, model);
    const bool written = m < result.certificate_files.size();
    if (written) mapping["proof"]["file"] = result.certificate_files[m];
    int order = 0;
    for (const Mapping& other : other_orders.of(result.mappings[m], instruction_of(result.mappings[m], model))) {
      mapping["other_orders"].push_back(json_of(other, kernel, model));
      if (written) mapping["other_orders"].back()["proof"]["file"] = certificate_file(other, order++, model);
    }
    json["mappings"].push_back(std::move(mapping));
  }
  json["rejected"] = rejected_json(result.rejected, model);
  json["solver"] = solver_of(result);
  if (auto missing = missing_moves(result.mappings, model); !missing.empty())
    json["missing_moves"] = std::move(missing);
  std::set<std::pair<StatementId, InstructionId>> pairs;
  for (const Mapping& mapping : result.mappings) pairs.insert({mapping.statement, mapping.instruction});
  for (const Rejection& rejection : result.rejected) pairs.insert({rejection.statement, rejection.instruction});
  add_claims(json, kernel, model, rule, pairs, result.limit_reached);
  return text_of(json);
}

std::string json_of_counts(const Kernel& kernel, const HardwareModel& model, const MappingCounts& counts) {
  Json json = document();
  add_exit(json, static_cast<std::size_t>(counts.summary.mappings), counts.summary.limit_reached);
  json["kernel"] = kernel.name;
  json["target"] = model.name;
  json["rule"] = std::string(name(counts.rule));
  json["count"] = counts.summary.mappings;
  json["programmable"] = counts.programmable();
  json["counts"] = Json::array();
  for (const auto& [pair, count] : counts.of)
    json["counts"].push_back({{"instruction", model.instruction(pair.second).name},
                              {"statement", pair.first.value},
                              {"mappings", count.covering},
                              {"programmable", count.programmable}});
  json["rejected"] = rejected_json(counts.summary.rejected, model);
  json["solver"] = solver_of(counts.summary);
  std::set<std::pair<StatementId, InstructionId>> pairs;
  for (const auto& [pair, count] : counts.of) pairs.insert(pair);
  for (const Rejection& rejection : counts.summary.rejected) pairs.insert({rejection.statement, rejection.instruction});
  add_claims(json, kernel, model, counts.rule, pairs, counts.summary.limit_reached);
  return text_of(json);
}

std::string json_of_explain(const Kernel& kernel, const HardwareModel& model, const MapResult& result,
                            const std::vector<Refusal>& refusals, const ProposedFiles& files) {
  Json json = document();
  add_exit(json, result.mappings.size(), result.limit_reached);
  json["kernel"] = kernel.name;
  json["target"] = model.name;
  if (auto missing = missing_moves(result.mappings, model); !missing.empty())
    json["missing_moves"] = std::move(missing);
  json["instructions"] = Json::array();
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    if (!is_compute(model.instructions()[i])) continue;
    const InstructionId id = make_id<InstructionId>(i);
    Json row{{"instruction", model.instructions()[i].name}, {"mappings", Json::array()}, {"reasons", Json::array()}};
    std::map<std::uint32_t, std::vector<Mapping>> mine;  // by statement
    for (const Mapping& mapping : result.mappings) {
      if (mapping.instruction != id || !mapping.tree.empty()) continue;
      row["mappings"].push_back(json_of(mapping, kernel, model));
      mine[mapping.statement.value].push_back(mapping);
    }
    row["layouts"] = Json::array();
    for (const auto& [statement, mappings] : mine)
      for (const LayoutAdvice& advice : least_layout_advice(kernel, model, mappings))
        row["layouts"].push_back({{"statement", statement},
                                  {"operand", advice.operand},
                                  {"tensor", advice.tensor},
                                  {"found", advice.found},
                                  {"kernel", advice.kernel},
                                  {"hardware", advice.hardware}});
    for (const Rejection& rejection : result.rejected)
      if (rejection.instruction == id)
        for (const Reason& reason : rejection.reasons) row["reasons"].push_back(reason.text);
    json["instructions"].push_back(std::move(row));
  }
  if (result.limit_reached) json["limit_reached"] = true;
  json["refusals"] = Json::array();
  for (const Refusal& refusal : refusals) json["refusals"].push_back(json_of(refusal, model, files));
  return text_of(json);
}

}  // namespace isamap::cli
