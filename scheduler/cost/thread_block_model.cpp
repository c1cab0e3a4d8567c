// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/thread_block_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "hwdesc/model/parallel_units.h"
#include "scheduler/cost/l2_reuse.h"
#include "scheduler/cost/packing_time.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/split_reduction.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

std::optional<UnitId> block_unit(const ResolvedNest& view) {
  return view.instruction ? outermost_numbered(*view.model, view.instruction->unit) : std::nullopt;
}

class ThreadBlockModel {
 public:
  ThreadBlockModel(const ResolvedNest& view, const TileCounts& counts, UnitId block)
      : view_(view), counts_(counts), block_(block) {}

  ThreadBlockTime run() {
    const HardwareModel& model = *view_.model;
    const UnitId around = model.unit(block_).parent;
    const double processors = around.valid() ? static_cast<double>(model.instances(around)) : 1;
    double blocks = 1;
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      if (on_blocks(w)) blocks *= trip(w);
      if (!view_.loops[w].combine.valid()) continue;
      combine_ = view_.loops[w].combine;
      if (!counts_.uses_loop(0, static_cast<int>(w))) partial_sums_ *= trip(w);
    }
    const double waves = std::ceil(blocks / processors);
    calls();
    for (std::size_t s = 0; s < view_.stages.size(); ++s) stage(static_cast<int>(s));
    for (const auto& [name, cycles] : busy_) result_.join(name, cycles * waves);
    result_.join("latency of its calls", chain_ * waves);
    result_.join("latency of fetches", exposed_register_loads() * waves);
    outermost();
    const bool persistent =
        std::any_of(view_.loops.begin(), view_.loops.end(), [](const LoopLevel& w) { return w.wrap; });
    result_.first = prologue_ * (persistent ? 1 : waves) + initialise_sums();
    result_.waits = exposed_ * waves;
    result_.last = epilogue_ * waves;
    result_.cycles += result_.first + result_.waits + result_.last;
    if (result_.waits > result_.cycles / 2) result_.bound = "transfers that nothing hides";
    return result_;
  }

 private:
  /// Ports of a processor, shared by the instances inside it.
  double ports(const Instruction& instruction) const {
    for (UnitId at = instruction.unit; at.valid(); at = view_.model->unit(at).parent) {
      const auto& all = view_.model->unit(at).ports;
      if (const auto found = all.find(instruction.timing.port); found != all.end())
        return std::max<double>(1, static_cast<double>(found->second));
    }
    return 1;
  }
  double trip(std::size_t loop) const { return static_cast<double>(counts_.trip(static_cast<int>(loop))); }
  bool on_blocks(std::size_t loop) const {
    const UnitId unit = view_.loops[loop].unit;
    return unit.valid() && view_.model->inside(block_, unit);
  }
  void calls() {
    const Instruction& instruction = *view_.instruction;
    const std::vector<std::int64_t> extents = view_.call_extents();
    double all = 1, one_after_another = 1;
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      if (on_blocks(w)) continue;
      all *= trip(w);
      if (!view_.loops[w].unit.valid()) one_after_another *= trip(w);
    }
    busy_["compute"] += all * interval_of(instruction, extents, *view_.model) / ports(instruction);
    const int stage = view_.innermost[0];
    double chains = 1;  // accumulators of one instance
    if (stage >= 0)
      chains = std::max(1.0, counts_.slots(0, view_.stages[static_cast<std::size_t>(stage)].loops) *
                                 tiles_per_instance(view_, counts_, 0, view_.memory_of(stage),
                                                    view_.stages[static_cast<std::size_t>(stage)].loops));
    chain_ = one_after_another * latency_of(instruction, extents, *view_.model) / chains;
    own_calls_ = one_after_another * interval_of(instruction, extents, *view_.model) /
                 std::min(ports(instruction), parallel_instances_inside(instruction.unit));
  }

  /// An instance loads registers, then its calls use them: in sequence, except for registers loaded one step ahead.
  void fetches(const StagedTile& s, const Instruction* move, double link_latency) {
    double times = 1;
    for (int w = 0; w < s.loops; ++w)
      if (!on_blocks(static_cast<std::size_t>(w)) && !view_.loops[static_cast<std::size_t>(w)].unit.valid())
        times *= trip(static_cast<std::size_t>(w));
    const double latency =
        move != nullptr && move->timing.latency ? latency_of(*move, full_extents(*move), *view_.model) : link_latency;
    double& waited = (s.stage.ahead > 0 ? fetched_ahead_ : fetched_)[s.loops];  // concurrent loads overlap
    waited = std::max(waited, times * latency);
  }
  double exposed_register_loads() const {
    if (fetched_.empty() && fetched_ahead_.empty()) return 0;
    double at_once = own_calls_, ahead = 0;
    for (const auto& [loops, cycles] : fetched_) at_once += cycles;
    for (const auto& [loops, cycles] : fetched_ahead_) ahead += cycles;
    return std::max(at_once, ahead);
  }

  /// Refills of one stage in one block.
  void stage(int number) {
    const HardwareModel& model = *view_.model;
    const StagedTile& s = view_.stages[static_cast<std::size_t>(number)];
    const MemoryId from = view_.memory_of(s.parent);
    const Tensor& tensor = view_.kernel->tensors[access_of(view_.statement, s.access).tensor.index()];
    double times = 1, since = 1;  // refills; loops that the tensor does not use count only outside those it uses
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      if (on_blocks(w)) continue;
      const bool above = static_cast<int>(w) < s.loops;
      if (above && view_.loops[w].unit.valid()) {
        times *= trip(w);
      } else if (above) {
        since *= trip(w);
        if (counts_.uses_loop(s.access, static_cast<int>(w))) times *= since, since = 1;
      }
    }
    const double elements = counts_.padded_tile(s.access, s.loops) * times, width = bytes(tensor.dtype);
    const bool output = s.access == 0;
    const MemoryId source = output ? s.memory : from, target = output ? from : s.memory;
    double latency = 0;
    for (const LinkId l : links_between(model, source, target)) {
      const Link& link = model.link(l);
      if (link.bandwidth > 0) busy_["link " + link.name] += elements * width / link.bandwidth;
      latency += link.latency;
    }
    const Instruction* move = nullptr;
    for (const std::string& name : s.stage.via)
      if (const auto id = model.find_instruction(name)) move = &model.instruction(*id);
    const bool part = output && combine_.valid() && from == combine_target(model.instruction(combine_));
    if (part) move = &model.instruction(combine_);
    const bool scratch = !model.memory(s.memory).is_register();
    if (move == nullptr && !scratch) move = move_between(model, source, target, tensor.dtype);
    if (move != nullptr)
      busy_["port " + move->timing.port] += elements / elements_per_use(*move, tensor.dtype) *
                                            interval_of(*move, full_extents(*move), model) / ports(*move) *
                                            (is_innermost(move->unit) ? 1.0 / lanes() : 1);
    else  // scalar copy: a load and a store each
      busy_["copies by a scalar unit"] += elements * copy_cycles(view_, s) / lanes();
    if (!scratch && !output) return fetches(s, move, latency);
    if (output) {
      epilogue_ += latency;
      return;
    }
    if (!refill_places_.insert(s.loops).second) return;  // stages at the same loop are filled and awaited together
    // Producer warps fill the next tiles while the results of this block are stored. Polling a counter costs as much as
    // a barrier.
    const bool role = !s.stage.role.empty();
    const double rings = role ? 1 : std::min(ring_restarts(s), times),
                 ahead = std::min<double>(s.stage.ahead, times / rings);
    (role ? prologue_ : epilogue_) += ahead > 0 ? latency : 0;
    exposed_ += times * (barrier_latency() + (ahead > 0 ? 0 : latency)) + (ahead > 0 ? (rings - 1) * latency : 0);
    if (ahead > 0) busy_["latency of copies"] = std::max(busy_["latency of copies"], times * latency / ahead);
  }
  /// A circular buffer rotates along the loop right above it: its prologue is exposed each time that loop starts.
  double ring_restarts(const StagedTile& s) const {
    double times = 1;
    for (int w = 0; w + 1 < s.loops; ++w)
      if (!on_blocks(static_cast<std::size_t>(w)) && !view_.loops[static_cast<std::size_t>(w)].unit.valid())
        times *= trip(static_cast<std::size_t>(w));
    return times;
  }
  /// Latency of the barrier of a block at every step.
  double barrier_latency() const {
    for (const Barrier& barrier : view_.model->barriers())
      if (barrier.unit == block_ && !barrier.partial) return barrier.latency;
    return 0;
  }
  bool is_innermost(UnitId unit) const {
    for (std::size_t u = 0; u < view_.model->units().size(); ++u)
      if (make_id<UnitId>(u) != unit && view_.model->inside(make_id<UnitId>(u), unit)) return false;
    return true;
  }
  /// Instances inside the unit that contain instances themselves: each keeps a port busy with its share of a call.
  double parallel_instances_inside(UnitId unit) const {
    double count = 1;
    for (std::size_t u = 0; u < view_.model->units().size(); ++u)
      if (const UnitId id = make_id<UnitId>(u); id != unit && view_.model->inside(id, unit) && !is_innermost(id))
        count *= static_cast<double>(view_.model->unit(id).count);
    return count;
  }
  /// Innermost instances (lanes) of the instruction: they work in parallel.
  double lanes() const {
    double count = 1;
    for (std::size_t u = 0; u < view_.model->units().size(); ++u) {
      const UnitId id = make_id<UnitId>(u);
      if (id != view_.instruction->unit && view_.model->inside(id, view_.instruction->unit))
        count *= static_cast<double>(view_.model->unit(id).count);
    }
    return count;
  }

  /// Traffic of the outermost memory: each tensor once, or as often as rasterization makes it miss the cache.
  void outermost() {
    const Memory& home = view_.model->memory(view_.model->home());
    double read = 0, written = 0;
    std::vector<TensorId> seen;
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const TensorId id = access_of(view_.statement, a).tensor;
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      const Tensor& tensor = view_.kernel->tensors[id.index()];
      double size = bytes(tensor.dtype);
      for (const std::int64_t extent : tensor.shape) size *= static_cast<double>(extent);
      (a == 0 ? written : read) += size;
    }
    read = std::max(read, fetched());
    if (combine_.valid() && !combined_in_cache()) {  // each partial sum is a read-modify-write
      read += partial_sums_ * output_bytes();
      written += (partial_sums_ - 1) * output_bytes();
    }
    if (home.read_bandwidth > 0) result_.join("memory " + home.name, read / home.read_bandwidth);
    if (home.write_bandwidth > 0) result_.join("memory " + home.name, written / home.write_bandwidth);
  }

  /// Bytes of inputs, with re-reads of tiles that the cache evicts before another block uses them.
  double fetched() const {
    std::size_t outside = 0;  // loops on blocks
    while (outside < view_.loops.size() && on_blocks(outside)) ++outside;
    std::vector<BlockInput> inputs;
    SharedCache cache;
    for (int a = 1; a < access_count(view_.statement); ++a) {
      const Tensor& tensor = view_.kernel->tensors[access_of(view_.statement, a).tensor.index()];
      BlockInput input{counts_.tile(a, static_cast<int>(outside)) * bytes(tensor.dtype), bytes(tensor.dtype) * 1.0};
      for (const std::int64_t extent : tensor.shape) input.all *= static_cast<double>(extent);
      inputs.push_back(input);
      for (const StagedTile& s : view_.stages)
        if (s.access == a && s.parent < 0) {
          const SharedCache own = shared_cache(*view_.model, s.memory, block_);
          if (own.capacity > cache.capacity) cache = own;
        }
    }
    if (cache.capacity <= 0) return 0;
    const auto loop = [&](std::size_t w) {
      BlockLoop made{trip(w), {}};
      for (int a = 1; a < access_count(view_.statement); ++a)
        made.used.push_back(counts_.uses_loop(a, static_cast<int>(w)));
      return made;
    };
    std::vector<BlockLoop> loops;
    for (std::size_t w = 0; w < outside; ++w) {
      if (view_.loops[w].raster > 0 && w + 1 < outside) {
        for (BlockLoop& l : grouped(loop(w), loop(w + 1), static_cast<double>(view_.loops[w].raster)))
          loops.push_back(std::move(l));
        ++w;
      } else {
        loops.push_back(loop(w));
      }
    }
    return fetched_bytes(loops, inputs, cache);
  }

  // Split reductions --------------------------------------------------------------------------------------------------

  double output_bytes() const {
    const Tensor& tensor = view_.kernel->tensors[access_of(view_.statement, 0).tensor.index()];
    double size = bytes(tensor.dtype);
    for (const std::int64_t extent : tensor.shape) size *= static_cast<double>(extent);
    return size;
  }
  /// Does a cache between the partial sums and the output hold all of it? Then they are added there, and it is written
  /// once.
  bool combined_in_cache() const {
    const Instruction& by = view_.model->instruction(combine_);
    for (const LinkId l : links_between(*view_.model, combine_source(by), combine_target(by)))
      for (const MemoryId cache : view_.model->link(l).via)
        if (static_cast<double>(view_.model->memory(cache).capacity) >= output_bytes()) return true;
    return false;
  }
  /// Initialising the output with the identity is a launch of its own: it writes the output once and completes before
  /// the next launch starts.
  double initialise_sums() const {
    if (!combine_.valid() || view_.kernel->tensors[access_of(view_.statement, 0).tensor.index()].inout) return 0;
    const Instruction& by = view_.model->instruction(combine_);
    const Memory& to = view_.model->memory(combine_target(by));
    double cycles = to.write_bandwidth > 0 ? output_bytes() / to.write_bandwidth : 0;
    for (const LinkId l : links_between(*view_.model, combine_source(by), combine_target(by)))
      cycles += view_.model->link(l).latency;
    return cycles;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  UnitId block_;
  InstructionId combine_;               ///< invalid: no reduction is split
  double partial_sums_ = 1;             ///< of each sum
  std::map<std::string, double> busy_;  ///< of one block
  std::set<int> refill_places_;         ///< loops above stages in the scratchpad
  double chain_ = 0, exposed_ = 0, epilogue_ = 0;
  double own_calls_ = 0;                           ///< of one instance, one after another
  std::map<int, double> fetched_, fetched_ahead_;  ///< by loops above: latencies of fetching registers, all steps
  double prologue_ = 0;                            ///< prologue of an instance, once if blocks are persistent
  ThreadBlockTime result_;
};

}  // namespace

bool runs_in_blocks(const ResolvedNest& view) {
  const auto block = block_unit(view);
  return block && *block != view.instruction->unit && view.model->unit(*block).queued;
}

ThreadBlockTime thread_block_time(const ResolvedNest& view, const TileCounts& counts) {
  return ThreadBlockModel(view, counts, *block_unit(view)).run();
}

}  // namespace isamap
