// SPDX-License-Identifier: Apache-2.0
// Run time of mapping and greedy search: every example on every model, slowest first. Claim: below 1 s each.

#include <fmt/format.h>

#include "bench/matrix.h"
#include "isamap/scheduler.h"

int main() {
  using namespace isamap;
  return bench::time_matrix(
      "mapping and greedy scheduling", 1.0, [](const Kernel& kernel, const HardwareModel& model) -> std::string {
        const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
        if (!mapped) return render(mapped.diagnostics());
        ScheduleOptions options;
        options.objective = Objective::cycles;
        const auto found = schedule(kernel, *mapped, model, options);
        return found ? fmt::format("{} evaluations, {:.3g} cycles", found->evaluations, found->cost.cycles)
                     : "no schedule";
      });
}
