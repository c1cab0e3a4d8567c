// SPDX-License-Identifier: Apache-2.0
#include "report/memory_counts.h"

#include <fmt/format.h>

#include "driver/execute.h"

namespace isamap {
namespace {

std::string times_as_many(std::int64_t taken, std::int64_t least) {
  return taken > least && least > 0 ? fmt::format(" ({:.2f} times as many)", double(taken) / double(least)) : "";
}

/// Memory coalescing counters: requests, sectors moved, and the minimum.
std::string lines_of(const std::vector<MemoryRequests>& all) {
  std::string text;
  for (const MemoryRequests& r : all)
    text += fmt::format("{}: {}: {} {} in {} sectors of {} bytes, at least {}{}\n", r.part, r.tensor, r.requests,
                        r.access, r.sectors, r.sector_bytes, r.least, times_as_many(r.sectors, r.least));
  return text;
}

/// Bank conflict counters of banked memories, with the worst source location.
std::string lines_of(const std::vector<BankRequests>& all) {
  std::string text;
  for (const BankRequests& r : all) {
    text += fmt::format("{}: {}: {} {} in {} passes of {} banks, {:.2f} each, at least {}{}", r.part, r.array,
                        r.requests, r.access, r.passes, r.banks, double(r.passes) / double(r.requests), r.least,
                        times_as_many(r.passes, r.least));
    if (r.worst_passes > r.worst_least)
      text += fmt::format("; worst {} where {} would do: line {}, block {}, warp {}", r.worst_passes, r.worst_least,
                          r.worst_line, r.worst_block, r.worst_warp);
    text += "\n";
  }
  for (const auto& [part, r] : by_part(all))
    text += fmt::format("{}: {} requests in {} passes of {} banks, at least {}{}\n", part, r.requests, r.passes,
                        r.banks, r.least, times_as_many(r.passes, r.least));
  return text;
}

}  // namespace

std::string text_of_counts(const std::vector<MemoryRequests>& requests, const std::vector<BankRequests>& banks) {
  return lines_of(requests) + lines_of(banks);
}

void add_counts(nlohmann::ordered_json& json, const std::vector<MemoryRequests>& requests,
                const std::vector<BankRequests>& banks) {
  for (const MemoryRequests& r : requests)
    json["requests"].push_back({{"part", r.part},
                                {"tensor", r.tensor},
                                {"access", r.access},
                                {"requests", r.requests},
                                {"sectors", r.sectors},
                                {"least_sectors", r.least},
                                {"sector_bytes", r.sector_bytes}});
  for (const BankRequests& r : banks)
    json["bank_requests"].push_back({{"part", r.part},
                                     {"array", r.array},
                                     {"access", r.access},
                                     {"requests", r.requests},
                                     {"passes", r.passes},
                                     {"least_passes", r.least},
                                     {"banks", r.banks},
                                     {"bank_width", r.bank_width},
                                     {"worst",
                                      {{"passes", r.worst_passes},
                                       {"least_passes", r.worst_least},
                                       {"line", r.worst_line},
                                       {"block", r.worst_block},
                                       {"warp", r.worst_warp}}}});
  for (const auto& [part, r] : by_part(banks))
    json["bank_totals"].push_back(
        {{"part", part}, {"requests", r.requests}, {"passes", r.passes}, {"least_passes", r.least}});
}

}  // namespace isamap
