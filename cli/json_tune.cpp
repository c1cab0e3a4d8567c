// SPDX-License-Identifier: Apache-2.0
#include "cli/json_tune.h"

#include "cli/json_internal.h"
#include "driver/compilers.h"

namespace isamap::cli {

std::string json_of_tune(const TuneAnswer& answer) {
  Json json = document();
  const Scheduled& found = answer.scheduled;
  json["best"] = {{"schedule", print(found.schedule)}};
  json["executed"] = name(answer.best.executed);
  json["correct"] = answer.best.correct();
  json["measured_seconds"] = answer.best.seconds > 0 ? Json(answer.best.seconds) : Json(nullptr);
  json["measured_cycles"] = answer.best.seconds > 0 || answer.rows.empty() ? Json(nullptr) : number(answer.best.cycles);
  json["cycles"] = number(found.cost.cycles);
  json["energy_pJ"] = found.cost.energy_pJ;
  json["evaluations"] = found.evaluations;
  if (found.stopped) json["stopped"] = true;
  json["seconds"] = found.seconds;
  json["candidates"] = Json::array();
  for (const TunedCandidate& row : answer.rows) {
    json["candidates"].push_back({{"statement", row.statement},
                                  {"trial", row.number},
                                  {"predicted_cycles", number(row.predicted)},
                                  {"measured", row.correct ? Json(row.measured) : Json(nullptr)},
                                  {"correct", row.correct}});
    if (!row.correct) json["candidates"].back()["problem"] = row.problem;
    if (!row.variation.empty()) json["candidates"].back()["variation"] = row.variation;
  }
  if (const auto* best = fastest(answer.compilers)) {
    json["compiler"] = best->command;
    for (const lab::CompilerRecord& one : answer.compilers)
      json["compilers"].push_back({{"command", one.command}, {"version", one.version}, {"seconds", one.seconds}});
  }
  json["seed"] = answer.seed;
  return text_of(json);
}

}  // namespace isamap::cli
