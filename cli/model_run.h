// SPDX-License-Identifier: Apache-2.0
#pragma once
// What several verbs of models say of a plan and of parts.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile_model.h"
#include "driver/stream_facts.h"

namespace isamap::cli {

nlohmann::ordered_json plan_json(const ModelPlan& plan);
/// Entry `number` of `part_list`: one for each program that is called. `part`: the part of the plan's count, in which a
/// group of bands is one; `band_rows`: rows of a band, 0: in none.
nlohmann::ordered_json part_json(const CompiledModel& compiled, std::size_t number);
nlohmann::ordered_json kept_json(const std::vector<ResidentTensor>& kept);
/// Kernels that one run launches; nothing: the language has none.
std::optional<std::int64_t> launches_in(const CompiledModel& compiled);
/// "1 launch", "2 launches".
std::string launches_in_words(std::int64_t count);

}  // namespace isamap::cli
