#include "cli/json.h"

#include <cmath>
#include <map>
#include <set>

#include "cli/common.h"
#include "cli/json_internal.h"
#include "cli/names.h"
#include "mapper/certificate_files.h"
#include "mapper/claims.h"
#include "mapper/layout_advice.h"
#include "mapper/other_orders.h"
#include "mapper/price.h"

namespace isamap::cli {
namespace {

Json json_of(const Diagnostic& d) {
  Json json{{"severity", d.severity == Severity::error ? "error" : "warning"},
            {"file", d.where.file},
            {"line", d.where.line},
            {"column", d.where.column},
            {"message", d.message}};
  if (!d.hint.empty()) json["hint"] = d.hint;
  if (!d.notes.empty()) json["notes"] = d.notes;
  return json;
}

}  // namespace

Json document() { return {{"schema_version", 1}}; }

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json number(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 9e15;
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json diagnostics_json(const Diagnostics& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& d : diagnostics) json.push_back(json_of(d));
  return json;
}

Json reasons_of(const Diagnostics& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& d : diagnostics) json.push_back(d.message);
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

/// What the mapping costs beyond the statement's own work (mapper/price.h).
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
            {"instruction", model.instruction(mapping.instruction).name},
            {"statement", mapping.statement.value},
            {"operands", object_of(named_operands(mapping, kernel, model))},
            {"dims", object_of(named_digits(mapping, model))}};
  if (has_partial_extents(mapping, kernel)) json["extents"] = extents_of(mapping, model);
  json["outer"] = mapping.outer;
  if (!mapping.loops.empty()) json["loops"] = loops_of(mapping);
  json["kinds"] = Json::array();
  for (const Kind kind : mapping.kinds) json["kinds"].push_back(std::string(isamap::name(kind)));
  json["utilisation"] = mapping.utilisation;
  json["price"] = price_json(mapping, kernel, model);
  if (!mapping.carriers.empty()) json["carriers"] = object_of(named_carriers(mapping, model));
  if (!mapping.needs.empty()) json["needs"] = mapping.needs;
  if (mapping.kinds.count(Kind::partial)) json["partial"] = true;
  json["proof"] = {{"status", std::string(name(mapping.proof))}};
  return json;
}

Json rejected_of(const auto& result, const HardwareModel& model) {
  Json json = Json::array();
  for (const Rejection& rejection : result.rejected)
    json.push_back({{"instruction", model.instruction(rejection.instruction).name},
                    {"statement", rejection.statement.value},
                    {"reasons", rejection.reasons}});
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

void add_run(Json& json, const Checked& checked) {
  json["executed"] = checked.executed;
  if (!checked.missing.empty()) json["missing"] = checked.missing;
  if (const std::string why = why_not_run(checked); !why.empty()) {
    json["exit"] = static_cast<int>(exit_of(checked));
    json["reasons"] = Json::array({why});
    return;
  }
  json["correct"] = checked.correct;
  json["max_error"] = checked.max_error;
  json["seconds"] = checked.seconds;
  json["gflops"] = checked.gflops;
  if (checked.cycles > 0) json["measured_cycles"] = checked.cycles;
  if (checked.scalar_cycles > 0) json["measured_scalar_cycles"] = number(checked.scalar_cycles);
  if (!checked.first_difference.empty()) json["first_difference"] = checked.first_difference;
}

Json json_of(const LayerResult& layer, const HardwareModel& model) {
  Json json{{"name", layer.name}, {"op", layer.op}};
  if (layer.matmul) {
    json["m"] = layer.matmul->m;
    json["n"] = layer.matmul->n;
    json["k"] = layer.matmul->k;
    json["outer"] = object_of(layer.matmul->outer);
  }
  if (!layer.instruction.empty()) json["instruction"] = layer.instruction;
  if (layer.instruction.empty() && !layer.schedule.nests.empty()) json["scalar"] = true;
  if (layer.mapping) json["mapping"] = object_of(named_digits(*layer.mapping, model));
  json["mappings"] = layer.mappings;
  if (layer.mapped) {
    json["tiles"] = object_of(layer.tiles);
    json["cycles"] = number(layer.cost.cycles);
    json["bytes"] = number(layer.cost.bytes);
  }
  if (layer.checked) add_run(json, *layer.checked);
  if (!layer.same_as.empty()) json["same_as"] = layer.same_as;
  if (!layer.reasons.empty()) json["reasons"] = layer.reasons;
  if (!layer.notes.empty()) json["notes"] = layer.notes;
  return json;
}

Json layers_of(const std::vector<LayerResult>& layers, const HardwareModel& model) {
  Json json = Json::array();
  for (const LayerResult& layer : layers) json.push_back(json_of(layer, model));
  return json;
}

Json json_of(const FactoringResult& factoring, const HardwareModel& model) {
  Json json{{"description", factoring.description},
            {"mapped", factoring.mapped},
            {"cycles", number(factoring.cycles)},
            {"bytes", number(factoring.bytes)},
            {"multiplications", number(factoring.multiplications)},
            {"layers", layers_of(factoring.layers, model)}};
  if (factoring.checked) add_run(json, *factoring.checked);
  if (factoring.equals_original) json["equals_original"] = *factoring.equals_original;
  return json;
}

}  // namespace

namespace {

/// As the documents of failures have it: nothing maps (3), or nothing was found before a limit (4).
void add_exit(Json& json, std::size_t mappings, bool limit_reached) {
  if (mappings == 0) json["exit"] = static_cast<int>(limit_reached ? Exit::limit : Exit::no_answer);
}

/// `outside`: [{statement, instructions, text}], what the list does not hold (docs/mapping.md), each text once.
/// `complete`: everything of its class is there.
template <class Pairs>
void add_claims(Json& json, const Kernel& kernel, const HardwareModel& model, Rule rule, const Pairs& pairs,
                bool limit_reached) {
  std::map<std::pair<StatementId, std::string>, std::vector<std::string>> texts;
  bool complete = !limit_reached;
  for (const auto& [statement, instruction] : pairs) {
    for (const Unclaimed& one :
         outside_the_class(kernel, statement, model.instruction(instruction), instruction, rule)) {
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

std::string json_of_map(const Kernel& kernel, const HardwareModel& model, Rule rule, const MapResult& result) {
  Json json = document();
  add_exit(json, result.mappings.size(), result.limit_reached);
  json["kernel"] = kernel.name;
  json["target"] = model.name;
  json["rule"] = std::string(name(rule));
  json["mappings"] = Json::array();
  OtherOrders other_orders(kernel);
  for (std::size_t m = 0; m < result.mappings.size(); ++m) {
    Json mapping = json_of(result.mappings[m], kernel, model);
    const bool written = m < result.certificate_files.size();
    if (written) mapping["proof"]["file"] = result.certificate_files[m];
    int order = 0;
    for (const Mapping& other :
         other_orders.of(result.mappings[m], model.instruction(result.mappings[m].instruction))) {
      mapping["other_orders"].push_back(json_of(other, kernel, model));
      if (written) mapping["other_orders"].back()["proof"]["file"] = certificate_file(other, order++, model);
    }
    json["mappings"].push_back(std::move(mapping));
  }
  json["rejected"] = rejected_of(result, model);
  json["solver"] = solver_of(result);
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
  json["counts"] = Json::array();
  for (const auto& [pair, number] : counts.of)
    json["counts"].push_back(
        {{"instruction", model.instruction(pair.second).name}, {"statement", pair.first.value}, {"mappings", number}});
  json["rejected"] = rejected_of(counts.summary, model);
  json["solver"] = solver_of(counts.summary);
  std::set<std::pair<StatementId, InstructionId>> pairs;
  for (const auto& [pair, number] : counts.of) pairs.insert(pair);
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
  json["instructions"] = Json::array();
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    if (!is_compute(model.instructions()[i])) continue;
    const InstructionId id = make_id<InstructionId>(i);
    Json row{{"instruction", model.instructions()[i].name}, {"mappings", Json::array()}, {"reasons", Json::array()}};
    std::map<std::uint32_t, const Mapping*> best;  // of each statement, as the page shows it
    for (const Mapping& mapping : result.mappings) {
      if (mapping.instruction != id) continue;
      row["mappings"].push_back(json_of(mapping, kernel, model));
      const Mapping*& first = best[mapping.statement.value];
      if (first == nullptr || mapping.utilisation > first->utilisation) first = &mapping;
    }
    row["layouts"] = Json::array();
    for (const auto& [statement, mapping] : best)
      for (const LayoutAdvice& advice : layout_advice(kernel, model, *mapping))
        row["layouts"].push_back({{"mapping", mapping->id},
                                  {"operand", advice.operand},
                                  {"tensor", advice.tensor},
                                  {"found", advice.found},
                                  {"kernel", advice.kernel},
                                  {"hardware", advice.hardware}});
    for (const Rejection& rejection : result.rejected)
      if (rejection.instruction == id)
        for (const std::string& reason : rejection.reasons) row["reasons"].push_back(reason);
    json["instructions"].push_back(std::move(row));
  }
  if (result.limit_reached) json["limit_reached"] = true;
  json["refusals"] = Json::array();
  for (const Refusal& refusal : refusals) json["refusals"].push_back(json_of(refusal, model, files));
  return text_of(json);
}

std::string json_of_extract(const Extraction& extraction, const HardwareModel& model) {
  Json json = document();
  json["model"] = extraction.model;
  json["target"] = extraction.target;
  if (!extraction.notes.empty()) json["notes"] = extraction.notes;
  json["layers"] = layers_of(extraction.layers, model);
  if (!extraction.factorings.empty()) {
    json["factorings"] = Json::array();
    for (const FactoringResult& factoring : extraction.factorings)
      json["factorings"].push_back(json_of(factoring, model));
    json["verdict"] = extraction.verdict;
  }
  return text_of(json);
}

std::string json_of_emit(const Program& program, const HardwareModel& model, const std::vector<EmittedFile>& files) {
  Json json = document();
  json["kernel"] = program.kernel.name;
  json["target"] = model.name;
  json["schedule"] = program.schedule_text;
  json["assumptions"] = program.assumptions;
  if (!program.sizes.empty()) json["sizes"] = program.sizes;
  for (const Program& version : program.versions)
    json["versions"].push_back({{"sizes", version.sizes}, {"schedule", version.schedule_text}});
  json["files"] = Json::array();
  for (const EmittedFile& file : files) json["files"].push_back({{"name", file.name}, {"text", file.text}});
  return text_of(json);
}

std::string json_of_run(const Checked& checked, const std::vector<ScalarCode>& scalar) {
  Json json = document();
  add_run(json, checked);
  json["scalar"] = Json::array();
  for (const ScalarCode& code : scalar)
    json["scalar"].push_back({{"statement", code.statement}, {"reasons", code.reasons}});
  return text_of(json);
}

std::string json_of_failure(Exit code, const Diagnostics& problems, const Kernel& kernel, const HardwareModel& model,
                            const MapResult& mapped) {
  Json json = document();
  json["kernel"] = kernel.name;
  json["target"] = model.name;
  json["exit"] = static_cast<int>(code);
  json["reasons"] = reasons_of(problems);
  json["problems"] = diagnostics_json(problems);
  json["rejected"] = rejected_of(mapped, model);
  return text_of(json);
}

std::string json_of_failure(Exit code, const Diagnostics& problems) {
  Json json = document();
  json["exit"] = static_cast<int>(code);
  json["reasons"] = reasons_of(problems);
  json["problems"] = diagnostics_json(problems);
  return text_of(json);
}

std::string json_of_check(const std::vector<CheckedFile>& files) {
  Json json = document();
  json["files"] = Json::array();
  for (const CheckedFile& file : files) {
    Json proofs = Json::array();
    for (const LayoutFact& fact : file.facts)
      proofs.push_back({{"kind", fact.kind},
                        {"status", fact.proved ? "proved" : "refuted"},
                        {"operands", fact.operands},
                        {"text", fact.text}});
    json["files"].push_back({{"file", file.path},
                             {"ok", file.ok},
                             {"diagnostics", diagnostics_json(file.diagnostics)},
                             {"proofs", std::move(proofs)}});
  }
  return text_of(json);
}

std::string json_of_hardware(const HardwareModel& model) {
  Json json = document();
  json["hardware"] = model.name;
  json["file"] = model.file;
  json["clock_hz"] = model.clock_hz;
  json["language"] = model.program.language;
  for (const Symbol& s : model.symbols())
    json["symbols"].push_back(
        {{"name", s.name}, {"min", s.min}, {"max", s.max}, {"value", s.value}, {"versions", s.versions}});
  json["units"] = Json::array();
  for (const Unit& unit : model.units())
    json["units"].push_back({{"name", unit.name},
                             {"inside", unit.parent.valid() ? Json(model.unit(unit.parent).name) : Json(nullptr)},
                             {"count", unit.count},
                             {"scalar", unit.scalar}});
  json["memories"] = Json::array();
  for (const Memory& memory : model.memories())
    json["memories"].push_back({{"name", memory.name},
                                {"per", memory.per.valid() ? Json(model.unit(memory.per).name) : Json(nullptr)},
                                {"kind", std::string(isamap::name(memory.kind))},
                                {"capacity", memory.capacity}});
  json["links"] = Json::array();
  for (const Link& link : model.links())
    json["links"].push_back({{"name", link.name},
                             {"from", model.memory(link.from).name},
                             {"to", model.memory(link.to).name},
                             {"bandwidth", link.bandwidth},
                             {"latency", link.latency}});
  json["completion"] = Json::array();
  for (const Barrier& barrier : model.barriers())
    json["completion"].push_back({{"name", barrier.name}, {"kind", "barrier"}, {"count", barrier.count}});
  for (const AsyncObject& object : model.async_objects())
    json["completion"].push_back({{"name", object.name}, {"kind", object.kind}, {"count", 1}});
  json["objects"] = Json::array();
  for (const HostObject& object : model.objects()) json["objects"].push_back({{"name", object.name}});
  json["instructions"] = Json::array();
  for (const Instruction& instruction : model.instructions()) {
    const bool setter = is_setter(instruction);
    const char* kind = setter ? "setter" : is_move(instruction) ? "move" : fill_value(instruction) ? "fill" : "compute";
    Json row{{"name", instruction.name}, {"kind", kind}, {"unit", model.unit(instruction.unit).name}};
    if (!setter) row["compute"] = print(instruction.statement(), instruction.tensors);
    json["instructions"].push_back(std::move(row));
  }
  return text_of(json);
}

std::string json_of_new_hardware(const std::string& name, const std::string& text) {
  Json json = document();
  json["hardware"] = name;
  json["text"] = text;
  return text_of(json);
}

std::string json_of_targets(const std::vector<TargetRow>& targets) {
  Json json = document();
  json["targets"] = Json::array();
  for (const TargetRow& target : targets)
    json["targets"].push_back({{"name", target.name},
                               {"file", target.file},
                               {"language", target.language},
                               {"families", target.families},
                               {"lines", target.lines},
                               {"how", target.availability.how},
                               {"why", target.availability.why}});
  return text_of(json);
}

}  // namespace isamap::cli
