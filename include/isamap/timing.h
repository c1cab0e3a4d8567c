// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing of nests: how their cycles add up on a machine, and the numbers of the machine that the terms of a cost model
// read (docs/cost.md).

#include <span>
#include <string_view>

#include "isamap/result.h"

namespace isamap {

/// How cycles of a nest add up. Chosen once from the description (hwdesc/model/timing_choice.h).
enum class TimingModel {
  overlapped,       ///< moves have no timing: transfers and calls overlap completely
  issued_moves,     ///< moves take issue slots beside calls: the longest bound, contention, and what is exposed
  thread_blocks,    ///< blocks of calls in waves over processors
  parallel_scalar,  ///< scalar code distributed over the threads of such blocks
  command_stream    ///< one stream of timed commands
};
std::string_view name(TimingModel model);

/// The key `timing:` of a hardware file over hwdesc/defaults/timing.yaml, which has unit, meaning and source of each.
/// `usable`, `ways`, `tlb_entries` and `prefetch_streams` hold for caches that do not state their own.
struct TimingParameters {
  double fetch = 0, most_calls = 0, predicted_trips = 0, access = 0;
  double copy_contiguous = 0, copy_strided = 0, copy_divided = 0;
  double issue_contention = 0, overlap_exponent = 0, exposed_starts = 0, exposed_reloads = 0, load_buffers = 0;
  double usable = 0, ways = 0, outward_bandwidth = 0, page = 0, tlb_entries = 0, prefetch_streams = 0;
  double start_nearest = 0, start_farther = 0, conflict_latency = 0, conflict_growth = 0, eviction = 0;
  double prefetched_starts = 0, prefetched_conflicts = 0;
};

/// One of them by its key, with the range that the loader accepts.
struct TimingParameter {
  std::string_view key;
  double TimingParameters::*value = nullptr;
  double least = 0, most = 0;
};
std::span<const TimingParameter> timing_parameters();
/// hwdesc/defaults/timing.yaml.
const TimingParameters& default_timing();

}  // namespace isamap
