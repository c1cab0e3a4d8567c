// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the tiles of accesses lie in memory: runs, lines, sets and pages, from subscripts and strides.

#include <boost/container/small_vector.hpp>
#include <optional>
#include <vector>

#include "scheduler/cost/access_counts.h"

namespace isamap {

/// A packed tensor that an access reads.
struct PackedLayout {
  const StageFacts* stage = nullptr;
  int loops = 0;  ///< its tile is that below these loops
  /// Layouts with digits of the instruction, which replicate elements, are not: elements are used as contiguous.
  bool analysed() const { return stage->of_dims; }
};

/// Memory footprint of an access below some loops.
struct Footprint {
  double bytes = 0;          ///< in whole lines, one more for each unaligned segment
  double lines = 0;          ///< the same with aligned segments
  double stream_starts = 0;  ///< segments that do not continue the one before
  double lines_per_set = 0;  ///< in the sets that its addresses map to
  double segments = 1;       ///< contiguous runs
  double streams = 0;        ///< segments on different pages
  double pages = 0;
};

/// Footprints of the accesses of one nest in its caches, each computed once. Of one thread.
class FootprintModel {
 public:
  FootprintModel(const ResolvedNest& view, const TileCounts& counts);

  /// An access, as it is or packed; the number by which it is known below.
  int add(int access, const std::optional<PackedLayout>& packed);

  const Footprint& footprint(MemoryId cache, int form, int loops);
  /// Do the steps of a loop continue along the rows of the tiles below it?
  bool runs_along(int form, int loop) const;

  double element_bytes(int access) const { return facts(access).element_bytes; }
  double ways(MemoryId cache) const { return caches_[cache.index()].ways; }
  /// Bytes of one way: a line in each set. The number of sets is a power of two.
  double set_bytes(MemoryId cache) const { return caches_[cache.index()].set_bytes; }

 private:
  /// One axis of memory: a subscript, a digit of a packed layout, or a dim.
  struct AxisForm {
    const AxisTerms* terms = nullptr;
    double extent = 1, pitch = 1;  ///< of the array; distance of neighbours, in elements
    const SplitDigit* digit = nullptr;
  };
  struct Form {
    int access = 0;
    std::optional<PackedLayout> packed;
    boost::container::small_vector<AxisForm, 6> axes;  ///< outermost first
    /// By loops and axis: elements of the axis that a tile spans, the same in every cache; -1: not yet computed.
    mutable boost::container::small_vector<double, 48> along = {};
  };
  struct CacheSets {
    double ways = 0, set_bytes = 0;
    std::size_t number = 0;  ///< among caches
  };

  const AccessFacts& facts(int access) const { return view_.facts->accesses[static_cast<std::size_t>(access)]; }
  double reach(const AxisTerms& terms, std::span<const std::int64_t> tiles) const;
  void add_digits(Form& form) const;
  double elements_along(const Form& form, int loops, std::size_t axis) const;
  Footprint compute(MemoryId cache, const Form& form, int loops) const;

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const TimingParameters& timing_;
  boost::container::small_vector<CacheSets, 8> caches_;  ///< by memory
  boost::container::small_vector<Form, 4> forms_;
  std::size_t cache_count_ = 0;
  std::vector<std::optional<Footprint>> known_;  ///< by form, cache and loops
};

}  // namespace isamap
