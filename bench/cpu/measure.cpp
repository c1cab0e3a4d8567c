// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/measure.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <ctime>

namespace isamap::bench {
namespace {

/// Long enough that the first call of a sample, with cold caches, has little weight.
constexpr double least_sample = 0.003, shake = 1.03;
constexpr std::size_t least_rounds = 5, most_rounds = 41;

}  // namespace

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

void measure(std::vector<Candidate>& candidates, double budget) {
  std::vector<int> calls;
  for (Candidate& c : candidates) {
    c.run();  // warm-up: packs, touches pages, loads code
    int count = 1;
    for (;; count *= 2) {
      const double begin = thread_seconds();
      for (int n = 0; n < count; ++n) c.run();
      if (thread_seconds() - begin >= least_sample) break;
    }
    calls.push_back(count);
  }
  const double begin = thread_seconds();
  for (std::size_t round = 0; round < most_rounds && (round < least_rounds || thread_seconds() - begin < budget);
       ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = (i + round) % candidates.size();
      const double t0 = thread_seconds();
      for (int n = 0; n < calls[at]; ++n) candidates[at].run();
      candidates[at].seconds.push_back((thread_seconds() - t0) / calls[at]);
    }
}

std::string above_peak(double operations, double seconds, double peak) {
  if (peak <= 0 || seconds <= 0 || operations / seconds <= peak * shake) return "";
  return fmt::format("{:.0f} GOP/s, above the {:.0f} that the processor did in the same rounds",
                     1e-9 * operations / seconds, 1e-9 * peak);
}

int pin(int processor) {
  if (processor < 0) processor = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(std::max(processor, 0)), &one);
  return sched_setaffinity(0, sizeof(one), &one) == 0 ? processor : -1;
}

}  // namespace isamap::bench
