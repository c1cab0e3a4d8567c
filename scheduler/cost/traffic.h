// SPDX-License-Identifier: Apache-2.0
#pragma once
// Traffic of a nest: words per memory and tensor, bytes per link (docs/cost.md).

#include <boost/container/flat_map.hpp>
#include <map>
#include <string>

#include "isamap/cost_model.h"
#include "scheduler/cost/access_counts.h"

namespace isamap {

/// Elements over all instances of a memory.
struct Totals {
  double instances = 1, tile = 0, reads = 0, fills = 0, updates = 0;
  int element_bytes = 1;
};

/// Fills from and drains to the parent of one stage, or of the calls themselves.
struct Transfer {
  int access = 0;
  int stage = -1;                       ///< the stage that is filled; -1: the calls take the operand where it lies
  MemoryId from, to;                    ///< of an input; an output drains from `to` into `from`
  double elements_in = 0;               ///< into the stage, as the parent sees it (multicast counted once)
  double elements_out = 0;              ///< from the stage back to its parent
  double own_in = 0, own_out = 0;       ///< the same over all instances of the stage: each receives its copy
  double copies_in = 1, copies_at = 1;  ///< of each element in the place filled and in the place it comes from
  double loads = 0;                     ///< loads by calls that take it where it lies, over all instances
  double instances = 1;                 ///< of the stage
};

/// Bytes into a cache, over all instances.
struct CacheTraffic {
  double bytes = 0, of_output = 0, bandwidth = 0, instances = 1;
  double stream_starts = 0;  ///< exposed latency of new prefetch streams, in bytes of link bandwidth
  double worst = 0;          ///< bytes if tiles that are resident in part were not resident at all
};

struct Traffic {
  template <class Id, class Value>
  using ById = boost::container::small_flat_map<Id, Value, 4>;
  using Memories = ById<MemoryId, ById<TensorId, Totals>>;
  Memories memories;
  std::vector<Transfer> transfers;
  ById<LinkId, double> link_bytes;  ///< over all instances, multicast counted once
  ById<LinkId, double> link_loads;  ///< over the link of one instance, in bytes: links do not multicast
  ById<MemoryId, CacheTraffic> caches;
};

Traffic traffic_of(const ResolvedNest& view, const TileCounts& counts);

/// Counts per instance, in words of each memory, rounded up.
std::map<std::string, std::map<std::string, TensorTraffic>> in_words(const Traffic& traffic, const ResolvedNest& view);

/// Replication in the layout of a stage: digits of dims of the instruction only ($j) repeat each element.
double copies_of(const ResolvedNest& view, int stage);

/// Bytes that all calls carry over the link of their instruction, as the emitted commands do: with the padding of short
/// ones. 0: it has no link.
double bytes_over_link(const ResolvedNest& view, const TileCounts& counts);
/// The same over the link of one instance.
double bytes_over_link_of_one(const ResolvedNest& view, const TileCounts& counts);

/// Instances of a memory that the loops on units occupy.
double instances_of(const ResolvedNest& view, const TileCounts& counts, MemoryId memory);
/// Tiles of a stage per instance of its memory: several where loops above it run on units that share the memory.
double tiles_per_instance(const ResolvedNest& view, const TileCounts& counts, int access, MemoryId memory, int loops);

}  // namespace isamap
