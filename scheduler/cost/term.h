// SPDX-License-Identifier: Apache-2.0
#pragma once
// Terms of a cost model: each is one cause of cycles, in a file of scheduler/cost/terms, with its formula, the keys of
// the hardware file that it reads, and its source. The table of a timing model lists its terms; nothing else does.
//
//   cycles = longest(calls, bounds) + once + contended + exposed
//
// `calls` are summed: they are the time of the calls themselves. How a finer model replaces some of them: overlap.h.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/timing.h"
#include "scheduler/cost/block_work.h"
#include "scheduler/cost/scalar_work.h"
#include "scheduler/cost/traffic.h"

namespace isamap {

enum class Overlap {
  calls,      ///< added to the other times of the calls, which overlap with `bound`
  bound,      ///< overlaps with calls and other bounds: the longest counts
  once,       ///< before the first and after the last call
  contended,  ///< lost by what overlaps, for all of it together
  exposed     ///< nothing overlaps with it
};

/// What a bound is of, where other terms and reports need to know.
enum class BoundOf { other, calls, cache, link, memory_reads, memory_writes };

/// Cycles of one resource, or of one cause.
struct TermTime {
  std::string_view kind;  ///< "link", "packed copy of"
  std::string_view of;    ///< "ld", "B"; empty: there is one only
  double cycles = 0;
  BoundOf bound_of = BoundOf::other;
  double number = 0;  ///< of `counted`, 4 accumulators
  std::string_view counted = {};
  MemoryId cache = {};                    ///< of `BoundOf::cache`
  const SourceLocation* where = nullptr;  ///< of the figure that it is computed from; null: there is no single one

  std::string name() const;  ///< "link ld", "latency of fma (4 accumulators)"
};

/// What terms are computed from.
struct TermContext {
  const ResolvedNest& view;
  const TileCounts& counts;
  const Traffic& traffic;
  const TimingParameters& timing;
  double printed_calls = 0;            ///< calls in the emitted code
  const BlockWork* blocks = nullptr;   ///< of thread blocks
  const ScalarWork* scalar = nullptr;  ///< of scalar code distributed over threads
  /// The terms of the table before those of `once`, `contended` and `exposed`: first the calls.
  std::span<const TermTime> bounds = {};
  double longest = 0;  ///< of `bounds`
};

struct Term {
  std::string_view name, formula, parameters, source;
  Overlap overlap = Overlap::bound;
  bool replayed = false;  ///< latency and simulator find this time by themselves
  void (*times)(const TermContext& context, std::vector<TermTime>& times) = nullptr;
  bool after_calls = false;  ///< of `once`: after the last call, else before the first
};

/// The only list of the terms of a model: those of `calls` and `bound` first.
std::span<const Term* const> terms_of(TimingModel model);

/// What takes longest.
struct Bottleneck {
  std::string name;    ///< "compute", "fill of A in GLB"
  bool calls = false;  ///< it is the throughput of the calls
};

/// The terms of a nest and their sum.
struct TermSum {
  std::vector<TermTime> bounds;  ///< calls first
  std::vector<std::pair<const Term*, TermTime>> added;
  double longest = 0;  ///< of `bounds`
  std::string bound;   ///< its name, or what takes even longer
  bool bound_by_calls = false;
  double cycles = 0;

  double of(Overlap overlap) const;  ///< sum over `added`
};
TermSum sum_terms(TimingModel model, TermContext context);

}  // namespace isamap
