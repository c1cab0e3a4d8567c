// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/block_work.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/cost/tile_uses.h"
#include "scheduler/cost/traffic.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

namespace {

class BlockWorkBuilder {
 public:
  BlockWorkBuilder(const ResolvedNest& view, const TileCounts& counts, UnitId block)
      : view_(view), counts_(counts), model_(*view.model) {
    work_.block = block;
  }

  BlockWork run() {
    const UnitId around = model_.unit(work_.block).parent;
    work_.processors = around.valid() ? static_cast<double>(model_.instances(around)) : 1;
    double blocks = 1;
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      work_.persistent = work_.persistent || view_.loops[w].wrap;
      if (is_on_blocks(view_, work_, w))
        blocks *= trip(w);
      else
        work_.calls *= trip(w);
      if (!view_.loops[w].unit.valid()) work_.calls_in_sequence *= trip(w);
      if (!view_.loops[w].combine.valid()) continue;
      work_.combine = view_.loops[w].combine;
      if (!counts_.uses_loop(0, static_cast<int>(w))) work_.partial_sums *= trip(w);
    }
    work_.waves = std::ceil(blocks / work_.processors);
    if (const int stage = view_.innermost[0]; stage >= 0) {
      const int loops = view_.stages[static_cast<std::size_t>(stage)].loops;
      work_.chains =
          std::max(1.0, counts_.slots(0, loops) * tiles_per_instance(view_, counts_, 0, view_.memory_of(stage), loops));
    }
    for (std::size_t s = 0; s < view_.stages.size(); ++s) refill(static_cast<int>(s));
    return std::move(work_);
  }

 private:
  double trip(std::size_t loop) const { return static_cast<double>(counts_.trip(static_cast<int>(loop))); }

  /// Loops that the tensor does not use count only outside those it uses.
  double times(const StagedTile& s) const {
    double times = 1, since = 1;
    for (std::size_t w = 0; w < static_cast<std::size_t>(s.loops); ++w) {
      if (is_on_blocks(view_, work_, w)) continue;
      if (view_.loops[w].unit.valid()) {
        times *= trip(w);
        continue;
      }
      since *= trip(w);
      if (counts_.uses_loop(s.access, static_cast<int>(w))) times *= since, since = 1;
    }
    return times;
  }

  void refill(int stage) {
    const StagedTile& s = view_.stages[static_cast<std::size_t>(stage)];
    const MemoryId from = view_.memory_of(s.parent);
    const DType dtype = view_.kernel->tensors[access_of(view_.statement, s.access).tensor.index()].dtype;
    BlockRefill r;
    r.stage = &s;
    r.output = s.access == 0;
    r.registers = model_.memory(s.memory).is_register();
    r.source = r.output ? s.memory : from;
    r.target = r.output ? from : s.memory;
    r.times = times(s);
    r.elements = counts_.padded_tile(s.access, s.loops) * r.times;
    r.bytes = r.elements * bytes(dtype);
    for (const LinkId l : links_between(model_, r.source, r.target)) r.latency += model_.link(l).latency;
    if (const auto named = named_moves(view_, stage); !named.empty()) r.move = &model_.instruction(named.back());
    const bool part = r.output && work_.combine.valid() && from == combine_target(model_.instruction(work_.combine));
    if (part) r.move = &model_.instruction(work_.combine);
    if (r.move == nullptr && r.registers) r.move = move_between(model_, r.source, r.target, dtype);
    if (!r.registers && !r.output) r.first_at_its_loop = places_.insert(s.loops).second;
    work_.refills.push_back(r);
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const HardwareModel& model_;
  std::set<int> places_;  ///< loops above stages in the scratchpad
  BlockWork work_;
};

}  // namespace

BlockWork block_work(const ResolvedNest& view, const TileCounts& counts, UnitId block) {
  return BlockWorkBuilder(view, counts, block).run();
}

bool is_on_blocks(const ResolvedNest& view, const BlockWork& work, std::size_t loop) {
  const UnitId unit = view.loops[loop].unit;
  return unit.valid() && view.model->inside(work.block, unit);
}

double ports_of_processor(const Instruction& instruction, const HardwareModel& model) {
  for (UnitId at = instruction.unit; at.valid(); at = model.unit(at).parent) {
    const auto& all = model.unit(at).ports;
    if (const auto found = all.find(instruction.timing.port); found != all.end())
      return std::max<double>(1, static_cast<double>(found->second));
  }
  return 1;
}

double lanes_of(const Instruction& instruction, const HardwareModel& model) {
  double count = 1;
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    const UnitId id = make_id<UnitId>(u);
    if (id != instruction.unit && model.inside(id, instruction.unit))
      count *= static_cast<double>(model.unit(id).count);
  }
  return count;
}

bool is_innermost_unit(const HardwareModel& model, UnitId unit) {
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (make_id<UnitId>(u) != unit && model.inside(make_id<UnitId>(u), unit)) return false;
  return true;
}

double barrier_latency(const HardwareModel& model, UnitId block) {
  for (const Barrier& barrier : model.barriers())
    if (barrier.unit == block && !barrier.partial) return barrier.latency;
  return 0;
}

double tensor_bytes(const ResolvedNest& view, int access) {
  return static_cast<double>(byte_count(view.kernel->tensors[access_of(view.statement, access).tensor.index()]));
}

}  // namespace isamap
