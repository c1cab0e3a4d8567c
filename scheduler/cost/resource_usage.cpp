// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/resource_usage.h"

#include <algorithm>

#include "hwdesc/model/timing_choice.h"
#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/move_uses.h"
#include "scheduler/cost/packing_time.h"
#include "scheduler/cost/term.h"
#include "scheduler/cost/tile_uses.h"
#include "scheduler/nest/instruction_timing.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

DType dtype_of(const ResolvedNest& view, int access) {
  return view.kernel->tensors[access_of(view.statement, access).tensor.index()].dtype;
}

/// Number of loops down to the innermost time loop with several steps that the access uses, within the first `loops`.
int renewing_loops(const ResolvedNest& view, const TileCounts& counts, int access, int loops) {
  for (int w = loops; w-- > 0;)
    if (!view.loops[static_cast<std::size_t>(w)].unit.valid() && counts.trip(w) > 1 && counts.uses_loop(access, w))
      return w + 1;
  return 0;
}

class FlowBuilder {
 public:
  FlowBuilder(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic)
      : view_(view), model_(*view.model), counts_(counts), traffic_(traffic) {}

  NestFlow run() {
    for (std::size_t s = 0; s < view_.stages.size(); ++s) stage(static_cast<int>(s));
    for (const TileFlow& f : made_.flows) made_.block = std::max(made_.block, f.place);
    calls();
    made_.scalar = copying_cycles(view_, counts_, traffic_);
    return std::move(made_);
  }

 private:
  int resource(const std::string& name, const SourceLocation& where, const std::string& port = "") {
    for (std::size_t r = 0; r < made_.resources.size(); ++r)
      if (made_.resources[r].name == name) return static_cast<int>(r);
    made_.resources.push_back({name, where, port});
    return static_cast<int>(made_.resources.size()) - 1;
  }
  int link_resource(const Link& link) {
    return resource("link " + (link.port.empty() ? link.name : link.port), link.bandwidth_where);
  }
  int issue_port(const Instruction& move) {
    return resource("port " + port_name(move), move.timing_where, port_name(move));
  }
  int port(const Memory& m, bool read) {
    return resource(m.name + (m.one_port ? " port" : read ? " read port" : " write port"), m.bandwidth_where);
  }

  double instances(int stage) const { return stage < 0 ? 1 : instances_of(view_, counts_, view_.memory_of(stage)); }

  void stage(int s) {
    const StagedTile& stage = view_.stages[static_cast<std::size_t>(s)];
    TileFlow f;
    f.stage = s;
    f.access = stage.access;
    for (std::size_t other = 0; other < made_.flows.size(); ++other)
      if (made_.flows[other].stage == stage.parent) f.parent = static_cast<int>(other);
    f.loops = stage.loops;
    f.place = renewing_loops(view_, counts_, stage.access, stage.loops);
    f.slide = stage.stage.slide && stage.access != 0;
    f.moves = !stage.stage.ahead_of_time;
    const Memory& own = model_.memory(stage.memory);
    f.buffers = std::max(stage.stage.buffers, own.is_register() ? 2 : 1);
    f.name = stage.stage.tensor + " in " + own.name;
    const MemoryId from = view_.memory_of(stage.parent);
    if (from == stage.memory) {
      copy(f, stage);
    } else if (f.moves) {
      way(f, stage, from, stage.memory, f.in);
      if (stage.access == 0) way(f, stage, stage.memory, from, f.out);
      // hidden by out-of-order execution
      if (own.is_register() && !executes_a_stream(model_)) f.in.latency = f.out.latency = 0;
    }
    made_.flows.push_back(std::move(f));
  }

  /// A copy by a scalar unit.
  void copy(TileFlow& f, const StagedTile& stage) {
    f.buffers = 1;
    if (!f.moves) return;
    const int scalar = resource("scalar unit", stage.where);
    const double each = copy_cycles(view_, stage) * copies_of(view_, f.stage);
    f.in.uses.push_back({scalar, 0, each});
    if (f.access == 0) f.out.uses.push_back({scalar, 0, each});
  }

  void way(const TileFlow& f, const StagedTile& stage, MemoryId from, MemoryId to, Way& way) {
    const bool fills = to == stage.memory;
    const double size = bytes(dtype_of(view_, f.access));
    const double at = size * copies_of(view_, stage.parent), in = size * copies_of(view_, f.stage);
    const Memory& parent = model_.memory(fills ? from : to);
    if (const double rate = fills ? parent.read_bandwidth : parent.write_bandwidth; rate > 0)
      way.uses.push_back({port(parent, fills), at / rate / instances(stage.parent), 0});
    const Memory& own = model_.memory(stage.memory);  // draining is not an access of the tile
    if (fills && own.write_bandwidth > 0) way.uses.push_back({port(own, false), 0, in / own.write_bandwidth});
    for (const LinkId id : links_of(view_, f.stage, from, to)) {
      const Link& link = model_.link(id);
      if (link.latency > 0) way.latency_where.push_back(link.latency_where);
      way.latency += link.latency;
      if (link.bandwidth > 0) way.uses.push_back({link_resource(link), 0, at / link.bandwidth});
    }
    if (issues_moves(model_)) move(f, from, to, way);
    barriers(stage, way);
  }

  /// The instructions that move a tile.
  void move(const TileFlow& f, MemoryId from, MemoryId to, Way& way) {
    const DType type = dtype_of(view_, f.access);
    const Instruction* move = move_between(model_, from, to, type);
    if (!move || !move->timing.interval) return;
    const double elements = std::max(1.0, counts_.tile(f.access, f.loops));
    double cycles = 0, latency = 0;
    if (executes_a_stream(model_)) {
      const TileMove tile = tile_move(view_, f.stage, *move);
      cycles = tile.cycles;
      latency = tile.latency;
    } else {
      const bool registers = model_.memory(view_.memory_of(f.stage)).is_register();
      const double uses =
          std::max(registers ? counts_.slots(f.access, f.loops) : 0, elements / elements_per_use(*move, type));
      cycles = uses * full_interval(*move) / ports_of(*move, model_);
      latency = full_latency(*move);
    }
    way.uses.push_back({issue_port(*move), 0, cycles / elements});
    if (latency > way.latency) {
      way.latency = latency;
      way.latency_where = {move->timing_where};
    }
  }

  /// Instances see what the others wrote after a barrier.
  void barriers(const StagedTile& stage, Way& way) {
    const UnitId owner = model_.memory(stage.memory).per;
    for (const Barrier& b : model_.barriers()) {
      const bool listed = std::find(b.memories.begin(), b.memories.end(), stage.memory) != b.memories.end();
      if (!listed || b.partial || b.unit != owner || !view_.instruction) continue;
      if (!model_.inside(view_.instruction->unit, owner) || view_.instruction->unit == owner) continue;
      way.latency += b.latency;
      return;
    }
  }

  void per_call(int resource, double cycles) {
    const double each = cycles / std::max(1.0, counts_.steps(static_cast<int>(view_.loops.size())));
    for (Occupation& use : made_.call.uses)
      if (use.resource == resource) {
        use.own += each;
        return;
      }
    if (each > 0) made_.call.uses.push_back({resource, 0, each});
  }

  void calls() {
    CallFlow& call = made_.call;
    if (!view_.instruction) {
      call.each = call.latency = access_count(view_.statement);
      if (const auto block = block_of(model_, nullptr)) {  // share of one thread
        const ScalarWork work = scalar_work(view_, counts_, *block);
        TermContext context{view_, counts_, traffic_, model_.timing};
        context.scalar = &work;
        call.each = call.latency = sum_terms(TimingModel::parallel_scalar, context).cycles /
                                   std::max(1.0, counts_.steps(static_cast<int>(view_.loops.size())));
      }
      call.name = "scalar code";
      return;
    }
    const Instruction& instruction = *view_.instruction;
    const std::vector<std::int64_t> extents =
        executes_a_stream(model_) ? padded_call_extents(view_) : view_.call_extents();
    call.name = instruction.name;
    call.where = instruction.timing_where;
    call.each = interval_of(instruction, extents, model_) / ports_of(instruction, model_);
    call.latency = view_.statement.reduction == Reduction::assign ? 0 : latency_of(instruction, extents, model_);
    const int output = view_.innermost[0];
    if (output >= 0 && model_.memory(view_.memory_of(output)).is_register() && !executes_a_stream(model_))
      call.chains = std::max(1.0, counts_.slots(0, view_.stages[static_cast<std::size_t>(output)].loops));
    for (int a = 0; a < access_count(view_.statement); ++a) accesses(a);
    for (const Transfer& t : traffic_.transfers)
      if (t.stage < 0) in_place(t);
    if (instruction.link.valid())
      if (const Link& link = model_.link(instruction.link); link.bandwidth > 0)
        per_call(link_resource(link), bytes_over_link_of_one(view_, counts_) / link.bandwidth);
    for (const auto& [id, cache] : traffic_.caches)
      if (cache.bandwidth > 0)
        per_call(resource("cache " + model_.memory(id).name, model_.memory(id).where),
                 cache.bytes / cache.bandwidth / cache.instances);
  }

  /// Accesses of calls to the memory of their operands.
  void accesses(int a) {
    const int stage = view_.innermost[static_cast<std::size_t>(a)];
    const Memory& m = model_.memory(view_.memory_of(stage));
    const Totals& t = traffic_.memories.at(view_.memory_of(stage)).at(access_of(view_.statement, a).tensor);
    double read = 0, written = 0;
    for (const Transfer& transfer : traffic_.transfers) {
      if (transfer.stage >= 0 || transfer.access != a) continue;
      read = transfer.elements_in;
      written = transfer.elements_out;
    }
    const double size = t.element_bytes / instances(stage);
    if (m.read_bandwidth > 0) per_call(port(m, true), read * size / m.read_bandwidth);
    if (m.write_bandwidth > 0) per_call(port(m, false), written * size / m.write_bandwidth);
  }

  /// Memory operands of calls: their loads.
  void in_place(const Transfer& t) {
    if (!t.to.valid() || t.from == t.to || t.access == 0 || t.from != model_.home()) return;
    if (view_.instruction->link.valid()) return;  // its operands all lie where the link begins: bytes_over_link
    const DType type = dtype_of(view_, t.access);
    const double moved = counts_.moved(t.access, static_cast<int>(view_.loops.size()), {}, false) * bytes(type);
    for (const LinkId id : links_between(model_, t.from, t.to)) {
      const Link& link = model_.link(id);
      if (link.bandwidth > 0) per_call(link_resource(link), moved * t.copies_at / link.bandwidth / t.instances);
    }
    const Instruction* move = model_.memory(t.to).is_register() ? move_between(model_, t.from, t.to, type) : nullptr;
    if (!move || !move->timing.interval) return;
    const double times = std::max(t.loads, 1 / elements_per_use(*move, type)) / t.instances;
    per_call(issue_port(*move), times * full_interval(*move) / ports_of(*move, model_));
  }

  const ResolvedNest& view_;
  const HardwareModel& model_;
  const TileCounts& counts_;
  const Traffic& traffic_;
  NestFlow made_;
};

}  // namespace

NestFlow flow_of(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  return FlowBuilder(view, counts, traffic).run();
}

namespace {

/// Calls of the first instance along one dim, below its loops from `loop` on.
double leaves(const LoopTable& table, int dim, std::size_t loop, std::int64_t extent) {
  for (std::size_t w = loop; w < table.loops.size(); ++w) {
    const LoopTable::Entry& e = table.loops[w];
    if (e.dim != dim || extent <= e.tile) continue;
    if (!e.time) {
      extent = e.tile;
      continue;
    }
    const std::int64_t remainder = extent % e.tile;
    return static_cast<double>(extent / e.tile) * leaves(table, dim, w + 1, e.tile) +
           (remainder > 0 ? leaves(table, dim, w + 1, remainder) : 0);
  }
  return 1;
}

}  // namespace

/// In-order execution: a call waits for the one before it that updated the same element. With I independent calls in a
/// row, repeated R times: (R - 1) x max(I x interval, latency) + I x interval.
CallBlock block_of(const NestFlow& flow, const LoopTable& table, const std::vector<std::int64_t>& extents) {
  CallBlock block;
  block.calls = 1;
  for (std::size_t d = 0; d < extents.size(); ++d)
    block.calls *= leaves(table, static_cast<int>(d), static_cast<std::size_t>(flow.block), extents[d]);
  const CallFlow& call = flow.call;
  if (call.chains > 0) {
    block.cycles = block.calls * std::max(call.each, call.latency / call.chains);
  } else {
    std::vector<std::int64_t> inside = extents;
    std::vector<double> trips(table.loops.size(), 1);
    for (std::size_t w = static_cast<std::size_t>(flow.block); w < table.loops.size(); ++w) {
      const LoopTable::Entry& e = table.loops[w];
      std::int64_t& extent = inside[static_cast<std::size_t>(e.dim)];
      if (e.time) trips[w] = static_cast<double>(ceil_div(extent, e.tile));
      extent = std::min(extent, e.tile);
    }
    double independent = 1, repeats = 1;
    bool repeating = false;
    for (std::size_t w = table.loops.size(); w-- > static_cast<std::size_t>(flow.block);) {
      if (trips[w] <= 1) continue;
      const bool used = table.loops[w].used[0];
      if (used && repeating) break;
      repeating = repeating || !used;
      (used ? independent : repeats) *= trips[w];
    }
    const double row = independent * call.each;
    block.cycles = block.calls / (independent * repeats) * ((repeats - 1) * std::max(row, call.latency) + row);
  }
  for (const Occupation& use : call.uses) block.cycles = std::max(block.cycles, use.own * block.calls);
  return block;
}

}  // namespace isamap
