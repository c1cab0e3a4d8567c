// SPDX-License-Identifier: Apache-2.0
// Bytes of the outermost memory / its bandwidth, all blocks together: each tensor once, or as often as rasterization
// makes tiles miss the cache (scheduler/cost/l2_reuse.h). Partial sums of a split reduction are a read-modify-write
// each where no cache holds the output.

#include <algorithm>

#include "scheduler/cost/l2_reuse.h"
#include "scheduler/cost/split_sums.h"
#include "scheduler/cost/term.h"

namespace isamap {

namespace {

BlockLoop reuse_loop(const TermContext& at, std::size_t w) {
  BlockLoop made{static_cast<double>(at.counts.trip(static_cast<int>(w))), {}};
  for (int a = 1; a < access_count(at.view.statement); ++a)
    made.used.push_back(at.counts.uses_loop(a, static_cast<int>(w)));
  return made;
}

/// Bytes of inputs, with re-reads of tiles that the cache evicts before another block uses them.
double fetched_by_blocks(const TermContext& at) {
  const ResolvedNest& view = at.view;
  std::size_t outside = 0;  // loops on blocks
  while (outside < view.loops.size() && is_on_blocks(view, *at.blocks, outside)) ++outside;
  std::vector<BlockInput> inputs;
  SharedCache cache;
  for (int a = 1; a < access_count(view.statement); ++a) {
    const DType dtype = view.kernel->tensors[access_of(view.statement, a).tensor.index()].dtype;
    inputs.push_back({at.counts.tile(a, static_cast<int>(outside)) * bytes(dtype), tensor_bytes(view, a)});
    for (const StagedTile& s : view.stages)
      if (s.access == a && s.parent < 0)
        if (const SharedCache own = shared_cache(*view.model, s.memory, at.blocks->block);
            own.capacity > cache.capacity)
          cache = own;
  }
  if (cache.capacity <= 0) return 0;
  std::vector<BlockLoop> loops;
  for (std::size_t w = 0; w < outside; ++w) {
    if (view.loops[w].raster > 0 && w + 1 < outside) {
      for (BlockLoop& l : grouped(reuse_loop(at, w), reuse_loop(at, w + 1), static_cast<double>(view.loops[w].raster)))
        loops.push_back(std::move(l));
      ++w;
    } else {
      loops.push_back(reuse_loop(at, w));
    }
  }
  return fetched_bytes(loops, inputs, cache);
}

void block_memory_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  const Memory& home = view.model->memory(view.model->home());
  double read = 0, written = 0;
  std::vector<TensorId> seen;
  for (int a = 0; a < access_count(view.statement); ++a) {
    const TensorId id = access_of(view.statement, a).tensor;
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    (a == 0 ? written : read) += tensor_bytes(view, a);
  }
  read = std::max(read, fetched_by_blocks(at));
  if (at.blocks->combine.valid() && !combined_in_cache(view, *at.blocks)) {
    read += at.blocks->partial_sums * tensor_bytes(view, 0);
    written += (at.blocks->partial_sums - 1) * tensor_bytes(view, 0);
  }
  const auto add = [&](double moved, double bandwidth) {
    if (bandwidth > 0)
      times.push_back({.kind = "memory", .of = home.name, .cycles = moved / bandwidth, .where = &home.bandwidth_where});
  };
  add(read, home.read_bandwidth);
  add(written, home.write_bandwidth);
}

}  // namespace

namespace terms {

extern const Term block_memory{"memory",
                               "bytes of all blocks / bandwidth, with re-reads of tiles that the cache evicts",
                               "memories.*.bandwidth, capacity",
                               "roofline; reuse of rasterized blocks, docs/cost.md",
                               Overlap::bound,
                               true,
                               block_memory_times};

}  // namespace terms
}  // namespace isamap
