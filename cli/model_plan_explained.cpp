// SPDX-License-Identifier: Apache-2.0
// explain MODEL: the plan, and what it leaves apart.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/built_model.h"
#include "cli/model_run.h"
#include "cli/models.h"
#include "driver/plan/plan_model.h"
#include "driver/stream_facts.h"
#include "hwdesc/model/program_language.h"
#include "planner/plan_file.h"
#include "planner/traffic.h"

namespace isamap::cli {
namespace {

/// What commands execute of each part, and what is left to the host.
void explain_parts(const Built& built, std::string& text, nlohmann::ordered_json& json) {
  const std::vector<PartFacts> facts = part_facts(built.compiled, built.machine);
  auto list = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < facts.size(); ++p) {
    const CompiledPart& part = built.compiled.parts[p];
    text +=
        fmt::format("# {}: {:.0f} cycles of commands{}, {:.0f} of the host\n", part.name, facts[p].predicted.commands,
                    facts[p].instructions.empty() ? "" : fmt::format(" ({})", fmt::join(facts[p].instructions, ", ")),
                    facts[p].predicted.host);
    auto left = nlohmann::ordered_json::array();
    for (const ScalarCode& code : facts[p].on_host) {
      left.push_back({{"statement", code.statement}, {"reasons", code.reasons}});
      if (part.same_as == p)
        text += fmt::format("#   {} on the host{}\n", code.statement,
                            code.reasons.empty() ? "" : ": " + code.reasons.front());
    }
    for (const ResidentTensor& kept : facts[p].kept)
      if (part.same_as == p)
        text += fmt::format("#   {} stays in {}, {} bytes at a time\n", kept.tensor, kept.memory, kept.bytes);
    list.push_back({{"name", part.name},
                    {"executed_by", name(facts[p].by)},
                    {"instructions", facts[p].instructions},
                    {"predicted_cycles", facts[p].predicted.commands},
                    {"predicted_host_cycles", facts[p].predicted.host},
                    {"kept", kept_json(facts[p].kept)},
                    {"on_host", std::move(left)}});
  }
  json["part_list"] = std::move(list);
}

}  // namespace

Exit explain_plan(const Options& options, std::string& text, nlohmann::ordered_json& json) {
  Exit code = Exit::ok;
  const auto built = Builder(options, code).build();
  if (!built) return code;
  const ModelPlan& plan = built->compiled.plan;
  const std::string plan_text = print(plan, built->imported, built->machine.name);
  text += plan_text + fmt::format("# {:.0f} cycles predicted", built->compiled.predicted_cycles);
  if (plan.cost > 0)  // that of a file is not compared with others
    text += fmt::format(", {:.0f} when plans were compared; no plan of the candidates took less than {:.0f} there{}",
                        plan.cost, plan.bound, plan.proved ? ": proved" : "");
  text += "\n";
  const Kernel& kernel = built->prepared.model.kernel;
  const std::size_t parts = bands_as_parts(plan).size();
  const std::int64_t activations = activation_bytes(kernel, bands_as_parts(plan)),
                     operators = activation_bytes(kernel, operators_of(built->prepared.model));
  text += fmt::format(
      "# {}, a group of bands counted once; {} bytes of activations between them, {:.2f} of those "
      "of one operator a part\n",
      counted(parts, "part"), activations, static_cast<double>(activations) / static_cast<double>(operators));
  json["activation_bytes"] = activations;
  json["activation_bytes_apart"] = operators;
  if (const auto launches = launches_in(built->compiled)) {
    text += fmt::format("# {} of kernels in {} part{}\n", launches_in_words(*launches), plan.parts.size(),
                        plan.parts.size() == 1 ? "" : "s");
    json["launches"] = *launches;
  }
  for (const std::string& priced : plan.orders_priced) text += "# orders: " + priced + "\n";
  if (is_command_stream(built->machine)) explain_parts(*built, text, json);
  auto refused = nlohmann::ordered_json::array();
  for (const RefusedJoin& join : plan.refused) {
    text += fmt::format("# {} and {} are not joined: {}\n", join.one, join.other, join.reason);
    refused.push_back({{"one", join.one}, {"other", join.other}, {"reason", join.reason}});
  }
  auto not_banded = nlohmann::ordered_json::array();
  for (const RefusedBand& band : plan.bands_refused) {
    text += fmt::format("# {} to {} are in no bands: {}\n", band.first, band.last, band.reason);
    not_banded.push_back({{"first", band.first}, {"last", band.last}, {"reason", band.reason}});
  }
  json["plan"] = plan_json(plan);
  json["plan_text"] = plan_text;
  json["orders_priced"] = plan.orders_priced;
  json["not_joined"] = std::move(refused);
  json["not_banded"] = std::move(not_banded);
  return code;
}

}  // namespace isamap::cli
