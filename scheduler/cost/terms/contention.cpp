// SPDX-License-Identifier: Apache-2.0
// What bounds take from each other.
//
// Core and caches overlap the worse, the nearer their times: with p = overlap_exponent
//
//   longest x ((1 + (shorter / longer)^p)^(1/p) - 1)
//
// Moves and calls share issue slots, so that a part of all other bounds is added to the longest:
//
//   (sum of bounds - longest) x issue_contention

#include <algorithm>
#include <cmath>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

void core_cache_times(const TermContext& at, std::vector<TermTime>& times) {
  double core = 0, caches = 0;
  for (const TermTime& b : at.bounds) {
    double& most = b.bound_of == BoundOf::cache ? caches : core;
    most = std::max(most, b.cycles);
  }
  const double longer = std::max(core, caches), p = at.timing.overlap_exponent;
  const double factor = longer <= 0 ? 1 : std::pow(1 + std::pow(std::min(core, caches) / longer, p), 1 / p);
  times.push_back({"contention of core and caches", "", at.longest * (factor - 1)});
}

void issue_slot_times(const TermContext& at, std::vector<TermTime>& times) {
  double sum = 0;
  for (const TermTime& b : at.bounds) sum += b.cycles;
  times.push_back({"contended issue slots", "", (sum - at.longest) * at.timing.issue_contention});
}

}  // namespace

namespace terms {

extern const Term core_cache_contention{"contention of core and caches",
                                        "longest x ((1 + (shorter / longer)^p)^(1/p) - 1)",
                                        "timing.overlap_exponent",
                                        "fitted, docs/cost_measured.md",
                                        Overlap::contended,
                                        false,
                                        core_cache_times};

extern const Term issue_contention{"contended issue slots",   "(sum of bounds - longest) x issue_contention",
                                   "timing.issue_contention", "fitted, docs/cost_measured.md",
                                   Overlap::contended,        false,
                                   issue_slot_times};

}  // namespace terms
}  // namespace isamap
