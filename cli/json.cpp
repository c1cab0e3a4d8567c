// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <algorithm>
#include <cmath>

#include "cli/common.h"
#include "cli/json_internal.h"
#include "hwdesc/layout/bank_conflict_passes.h"
#include "mapper/mapping_names.h"
#include "report/memory_counts.h"
#include "support/arithmetic.h"

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

Json document() {
  Json json{{"schema_version", 1}};
  if (const auto warnings = warnings_told(); !warnings.empty()) json["notes"] = warnings;
  return json;
}

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
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::error) json.push_back(d.message);
  return json;
}

Json scalar_json(const std::vector<ScalarCode>& scalar) {
  Json json = Json::array();
  for (const ScalarCode& code : scalar) json.push_back({{"statement", code.statement}, {"reasons", code.reasons}});
  return json;
}

namespace {

void add_run(Json& json, const Checked& checked) {
  json["executed"] = name(checked.executed);
  if (!checked.compiler.empty()) json["compiler"] = checked.compiler;
  if (!checked.simulator.empty()) {
    json["simulator"] = checked.simulator;
    json["simulator_seconds"] = number(checked.simulator_seconds);
  }
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
  add_counts(json, checked.requests, checked.banks);
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

std::string json_of_extract(const Extraction& extraction, const HardwareModel& model) {
  Json json = document();
  json["model"] = extraction.model;
  json["target"] = extraction.target;
  for (const std::string& note : extraction.notes) json["notes"].push_back(note);
  json["layers"] = layers_of(extraction.layers, model);
  if (!extraction.factorings.empty()) {
    json["factorings"] = Json::array();
    for (const FactoringResult& factoring : extraction.factorings)
      json["factorings"].push_back(json_of(factoring, model));
    json["verdict"] = extraction.verdict;
  }
  return text_of(json);
}

std::string json_of_emit(const Program& program, const HardwareModel& model, const std::vector<ScalarCode>& scalar,
                         const std::vector<EmittedFile>& files) {
  Json json = document();
  json["kernel"] = program.kernel.name;
  json["target"] = model.name;
  json["schedule"] = program.schedule_text;
  json["assumptions"] = Json::array();
  for (const Assumption& assumption : program.assumptions) json["assumptions"].push_back(assumption.text);
  json["scalar"] = scalar_json(scalar);
  if (!program.sizes.empty()) json["sizes"] = program.sizes;
  for (const Program& version : program.versions)
    json["versions"].push_back({{"sizes", version.sizes}, {"schedule", version.schedule_text}});
  json["files"] = Json::array();
  for (const EmittedFile& file : files) json["files"].push_back({{"name", file.name}, {"text", file.text}});
  return text_of(json);
}

namespace {

/// Instances that the loops of a nest are distributed over, a short last one included.
std::int64_t instances_of(const Nest& nest, const Computation& statement) {
  std::map<std::string, std::int64_t> sizes;
  for (const Dim& dim : statement.domain.dims) sizes[dim.name] = dim.extent;
  std::int64_t instances = 1;
  for (const Line& line : nest.lines) {
    const auto* f = std::get_if<For>(&line.is);
    if (f == nullptr) continue;
    for (const TiledLoop& loop : f->loops) {
      std::int64_t& size = sizes[loop.dim];
      const std::int64_t tile = std::max<std::int64_t>(1, loop.tile);
      if (!f->unit.empty()) instances *= std::max<std::int64_t>(1, ceil_div(size, tile));
      size = std::min(size, tile);
    }
  }
  return instances;
}

}  // namespace

std::int64_t distributed_instances(const Schedule& schedule, const Kernel& kernel) {
  std::int64_t most = 1;
  for (std::size_t s = 0; s < std::min(schedule.nests.size(), kernel.statements.size()); ++s)
    most = std::max(most, instances_of(schedule.nests[s], kernel.statements[s]));
  return most;
}

std::string json_of_run(const Checked& checked, const Scheduled& scheduled, const std::vector<ScalarCode>& scalar,
                        const Program& program, const HardwareModel& model) {
  Json json = document();
  add_run(json, checked);
  const Cost& predicted = scheduled.cost;
  if (const std::int64_t instances = distributed_instances(scheduled.schedule, program.kernel);
      checked.cycles > 0 && instances > 1)
    json["instances_in_turn"] = instances;
  json["predicted_cycles"] = number(predicted.cycles - predicted.scalar_cycles);
  if (predicted.scalar_cycles > 0) json["predicted_scalar_cycles"] = number(predicted.scalar_cycles);
  json["scalar"] = scalar_json(scalar);
  for (const CallPasses& call : call_passes(program, model)) {
    if (call.passes <= call.least) continue;
    const Buffer& buffer = program.buffers[call.buffer.index()];
    json["bank_conflicts"].push_back({{"instruction", model.instruction(call.instruction).name},
                                      {"array", buffer.name},
                                      {"memory", model.memory(buffer.memory).name},
                                      {"access", call.written ? "stores" : "loads"},
                                      {"passes", call.passes},
                                      {"least_passes", call.least}});
  }
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
  json["rejected"] = rejected_json(mapped.rejected, model);
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
      proofs.push_back({{"kind", name(fact.kind)},
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

namespace {

Json evidence_json(const std::vector<Evidence>& verified) {
  Json json = Json::array();
  for (const Evidence& one : verified) json.push_back({{"against", one.against}, {"what", one.what}, {"how", one.how}});
  return json;
}

Json simulator_json(const ExternalSimulator& simulator) {
  Json json{{"name", simulator.name}, {"command", simulator.command}};
  if (simulator.seconds > 0) json["seconds"] = number(simulator.seconds);
  return json;
}

}  // namespace

std::string json_of_hardware(const HardwareModel& model) {
  Json json = document();
  json["hardware"] = model.name;
  json["file"] = model.file;
  json["clock_hz"] = model.clock_hz;
  json["language"] = model.program.language;
  json["verified"] = evidence_json(model.verified);
  if (!model.program.simulator.command.empty()) json["simulator"] = simulator_json(model.program.simulator);
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
                             {"latency", link.latency},
                             {"begin", link.begin >= 0 ? Json(link.begin) : Json(nullptr)}});
  json["completion"] = Json::array();
  for (const Barrier& barrier : model.barriers())
    json["completion"].push_back({{"name", barrier.name}, {"kind", "barrier"}, {"count", barrier.count}});
  for (const AsyncObject& object : model.async_objects())
    json["completion"].push_back({{"name", object.name}, {"kind", name(object.kind)}, {"count", 1}});
  json["objects"] = Json::array();
  for (const HostObject& object : model.objects()) json["objects"].push_back({{"name", object.name}});
  json["instructions"] = Json::array();
  for (const Instruction& instruction : model.instructions()) {
    const bool setter = is_setter(instruction);
    const char* kind = setter                    ? "setter"
                       : is_move(instruction)    ? "move"
                       : fill_value(instruction) ? "fill"
                       : is_combine(instruction) ? "combine"
                                                 : "compute";
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
                               {"verified", evidence_json(target.verified)},
                               {"how", name(target.availability.how)},
                               {"why", target.availability.why}});
  return text_of(json);
}

}  // namespace isamap::cli
