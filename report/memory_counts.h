// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory requests that an emulation counted (ISAMAP_EMULATION_COUNTS), of a kernel or of a whole model.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isamap/interpret.h"

namespace isamap {

/// Lines of requests to memories and to banks; nothing was counted: "".
std::string text_of_counts(const std::vector<MemoryRequests>& requests, const std::vector<BankRequests>& banks);

/// `requests`, `bank_requests` and `bank_totals`, where something was counted.
void add_counts(nlohmann::ordered_json& json, const std::vector<MemoryRequests>& requests,
                const std::vector<BankRequests>& banks);

}  // namespace isamap
