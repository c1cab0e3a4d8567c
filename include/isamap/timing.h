// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing of nests: how their cycles add up on a machine, and the numbers of the machine that the terms of a cost model
// read (docs/cost.md).

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
  /// Of no file: bytes that others touch between two runs of a program, such as the other parts of its model. Constant
  /// operands are fetched again into caches that hold less; what else a program reads was just written.
  double between_runs = 0;
  double fetch = 0, most_calls = 0, block_call = 0, launch = 0, predicted_trips = 0, access = 0;
  double copy_contiguous = 0, copy_interleaved = 0, interleaved_rows = 0, vector_trips = 0;
  double copy_strided = 0, copy_divided = 0;
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
  std::string_view meaning;
};

/// The only list of them. A new one is a field, a row and a default.
inline constexpr TimingParameter timing_parameters[] = {
    {"fetch", &TimingParameters::fetch, 0, 1e6, "cycles of instruction fetch for each call printed"},
    {"most_calls", &TimingParameters::most_calls, 1, 1e9, "calls that a nest may unroll to"},
    {"block_call", &TimingParameters::block_call, 0, 1e6, "cycles of a call of a block through a table"},
    {"launch", &TimingParameters::launch, 0, 1e9, "cycles between two kernels of thread blocks"},
    {"predicted_trips", &TimingParameters::predicted_trips, 1, 1e9, "trips from which the exit of a loop mispredicts"},
    {"access", &TimingParameters::access, 0, 1e6, "cycles of each access of scalar code"},
    {"copy_contiguous", &TimingParameters::copy_contiguous, 0, 1e6, "cycles of a copied element, vectorised"},
    {"copy_interleaved", &TimingParameters::copy_interleaved, 0, 1e6, "cycles of a copied element of interleaved rows"},
    {"interleaved_rows", &TimingParameters::interleaved_rows, 0, 1e6, "most rows that compilers interleave"},
    {"vector_trips", &TimingParameters::vector_trips, 0, 1e9, "least trips of a loop over neighbours, vectorised"},
    {"copy_strided", &TimingParameters::copy_strided, 0, 1e6, "cycles of a copied element with a stride"},
    {"copy_divided", &TimingParameters::copy_divided, 0, 1e6, "cycles of a copied element whose place needs divisions"},
    {"issue_contention", &TimingParameters::issue_contention, 0, 1, "share of other bounds added to the longest"},
    {"overlap_exponent", &TimingParameters::overlap_exponent, 1, 100, "of the p-norm of core and cache time"},
    {"exposed_starts", &TimingParameters::exposed_starts, 0, 1, "share of the starts of streams that nothing hides"},
    {"exposed_reloads", &TimingParameters::exposed_reloads, 0, 1,
     "share of reloads of partial sums that nothing hides"},
    {"load_buffers", &TimingParameters::load_buffers, 0, 1, "share of the miss buffers that loads take from stores"},
    {"usable", &TimingParameters::usable, 0.01, 1, "share of a cache, and of the TLB, for the kernel"},
    {"ways", &TimingParameters::ways, 1, 1024, "associativity of caches"},
    {"outward_bandwidth", &TimingParameters::outward_bandwidth, 0.001, 1,
     "bandwidth per cache outwards, without a link"},
    {"page", &TimingParameters::page, 1, 1e9, "bytes of a page"},
    {"tlb_entries", &TimingParameters::tlb_entries, 1, 1e9, "pages of the first data TLB"},
    {"prefetch_streams", &TimingParameters::prefetch_streams, 1, 1e9, "streams that a prefetcher follows"},
    {"start_nearest", &TimingParameters::start_nearest, 0, 1e6, "lines; start of a stream into the nearest cache"},
    {"start_farther", &TimingParameters::start_farther, 0, 1e6, "lines; start of a stream into farther caches"},
    {"conflict_latency", &TimingParameters::conflict_latency, 0, 1, "share of a latency that an evicted line exposes"},
    {"conflict_growth", &TimingParameters::conflict_growth, 1, 100,
     "how much faster tiles with set conflicts are lost"},
    {"eviction", &TimingParameters::eviction, 0, 100, "slope of evicted prefetches over lines per way"},
    {"prefetched_starts", &TimingParameters::prefetched_starts, 0, 1, "share of starts that software prefetch hides"},
    {"prefetched_conflicts", &TimingParameters::prefetched_conflicts, 0, 1,
     "share of conflict misses that software prefetch hides"},
};
/// hwdesc/defaults/timing.yaml.
const TimingParameters& default_timing();

}  // namespace isamap
