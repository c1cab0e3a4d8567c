// The JSON documents of `schedule` and `evaluate`.

#include "cli/common.h"
#include "cli/json.h"
#include "cli/json_internal.h"

namespace isamap::cli {

std::string json_of_schedule(const ScheduleAnswer& answer) {
  Json json = document();
  const Scheduled& found = answer.scheduled;
  json["objective"] = std::string(name(answer.objective));
  json["best"] = {{"schedule", answer.text.empty() ? print(found.schedule) : answer.text}};
  json["cycles"] = number(found.cost.cycles);
  if (found.cost.scalar_cycles > 0) json["scalar_cycles"] = number(found.cost.scalar_cycles);
  json["energy_pJ"] = found.cost.energy_pJ;
  json["lower_bound"] = answer.lower_bound ? Json(*answer.lower_bound) : Json(nullptr);
  json["gap"] = answer.gap ? Json(*answer.gap) : Json(nullptr);
  json["certified"] = answer.certified;
  json["evaluations"] = found.evaluations;
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

std::string json_of_evaluate(const Evaluation& evaluation) {
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
  return text_of(json);
}

}  // namespace isamap::cli
