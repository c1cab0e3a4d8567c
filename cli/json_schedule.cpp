// SPDX-License-Identifier: Apache-2.0
// The JSON documents of `schedule` and `evaluate`.

#include <cmath>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/json_internal.h"

namespace isamap::cli {

std::string json_of_schedule(const ScheduleAnswer& answer) {
  Json json = document();
  const Scheduled& found = answer.scheduled;
  json["objective"] = std::string(name(answer.objective));
  if (answer.cost_model != "closed_form") json["cost_model"] = answer.cost_model;
  json["best"] = {{"schedule", answer.text.empty() ? print(found.schedule) : answer.text}};
  json["cycles"] = number(found.cost.cycles);
  if (found.cost.scalar_cycles > 0) json["scalar_cycles"] = number(found.cost.scalar_cycles);
  json["energy_pJ"] = found.cost.energy_pJ;
  json["scalar"] = scalar_json(answer.scalar);
  json["lower_bound"] = answer.lower_bound ? Json(*answer.lower_bound) : Json(nullptr);
  json["gap"] = answer.gap ? Json(*answer.gap) : Json(nullptr);
  json["certified"] = answer.certified;
  json["evaluations"] = found.evaluations;
  if (found.stopped) json["stopped"] = true;  // by the user, before the budget
  if (answer.counts) {
    json["nodes"] = answer.counts->nodes;
    json["pruned"] = {
        {"bound", answer.counts->by_bound}, {"capacity", answer.counts->by_room}, {"growth", answer.counts->by_growth}};
  }
  json["seconds"] = found.seconds;
  json["curve"] = Json::array();
  for (const auto& [evaluations, best] : found.curve) json["curve"].push_back({evaluations, best});
  json["seed"] = answer.seed;
  if (!answer.problems.empty()) json["reasons"] = reasons_of(answer.problems);
  return text_of(json);
}

namespace {

Json terms_json(const std::vector<CostTerm>& terms) {
  Json list = Json::array();
  for (const CostTerm& t : terms) {
    Json term = {{"name", t.name}, {"value", number(t.value)}};
    if (t.where.line > 0) term["from"] = place_of(t.where);
    list.push_back(std::move(term));
  }
  return list;
}

/// Statements run sequentially: terms are summed.
Json times_json(const std::vector<CostReport>& statements) {
  double cycles = 0, fill = 0, compute = 0, drain = 0;
  Json waits = Json::object();
  for (const CostReport& e : statements) {
    cycles += e.latency_cycles;
    fill += e.times.fill;
    compute += e.times.compute;
    drain += e.times.drain;
    for (std::size_t f = 0; f < e.flows.size(); ++f)
      if (e.times.waited[f] > 0) waits[e.flows[f]] = number(e.times.waited[f] + waits.value(e.flows[f], 0.0));
  }
  return {{"cycles", number(cycles)},
          {"fill", number(fill)},
          {"compute", number(compute)},
          {"drain", number(drain)},
          {"waits", waits}};
}

Json simulated_json(const std::vector<Timeline>& timelines) {
  double cycles = 0, fill = 0, compute = 0, drain = 0;
  Json waits = Json::object(), busy = Json::object();
  for (const Timeline& t : timelines) {
    cycles += std::ceil(t.simulated.cycles - 1e-9);
    fill += t.simulated.fill;
    compute += t.simulated.compute;
    drain += t.simulated.drain;
    for (std::size_t f = 0; f < t.flow.flows.size(); ++f)
      if (const std::string& name = t.flow.flows[f].name; t.simulated.waited[f] > 0)
        waits[name] = number(t.simulated.waited[f] + waits.value(name, 0.0));
    for (std::size_t r = 0; r < t.flow.resources.size(); ++r)
      if (const std::string& name = t.flow.resources[r].name; t.simulated.busy[r] > 0)
        busy[name] = number(t.simulated.busy[r] + busy.value(name, 0.0));
  }
  return {{"cycles", number(cycles)}, {"fill", number(fill)}, {"compute", number(compute)},
          {"drain", number(drain)},   {"waits", waits},       {"busy", busy}};
}

}  // namespace

std::string json_of_evaluate(const Evaluation& evaluation, const std::string& cost_model,
                             const std::vector<CostReport>& explained, const std::vector<Timeline>& simulated) {
  Json json = document();
  const Cost& cost = evaluation.total;
  json["memories"] = Json::object();
  for (const auto& [memory, tensors] : cost.memories)
    for (const auto& [tensor, traffic] : tensors)
      json["memories"][memory][tensor] = {{"instances", traffic.instances},
                                          {"tile", traffic.tile},
                                          {"reads", traffic.reads},
                                          {"fills", traffic.fills},
                                          {"updates", traffic.updates}};
  json["cycles"] = number(cost.cycles);
  if (cost.scalar_cycles > 0) json["scalar_cycles"] = number(cost.scalar_cycles);
  json["energy_pJ"] = cost.energy_pJ;
  json["bytes"] = number(cost.bytes);
  json["bound"] = cost.bound;
  json["cost_model"] = cost_model;
  json["latency"] = times_json(explained);
  if (!simulated.empty()) json["simulated"] = simulated_json(simulated);
  if (explained.size() == 1) {
    json["terms"] = {{"overlap", terms_json(explained.front().overlap)},
                     {"predicted", terms_json(explained.front().parts)},
                     {"latency", terms_json(explained.front().latency)},
                     {"energy", terms_json(explained.front().energy)}};
    json["links"] = Json::object();
    for (const LinkRow& row : explained.front().links) json["links"][row.link][row.tensor] = number(row.bytes);
  }
  return text_of(json);
}

}  // namespace isamap::cli
