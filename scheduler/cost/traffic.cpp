// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/traffic.h"

#include <algorithm>
#include <cmath>

#include "hwdesc/model/memory_time.h"
#include "scheduler/cost/cache_traffic.h"
#include "scheduler/cost/first_values.h"
#include "scheduler/cost/tile_uses.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

namespace {

TensorId tensor_id_of(const ResolvedNest& view, int access) { return access_of(view.statement, access).tensor; }

int element_bytes(const ResolvedNest& view, int access) {
  return view.facts->accesses[static_cast<std::size_t>(access)].element_bytes;
}

bool owned_inside(const ResolvedNest& view, MemoryId memory, UnitId unit) {
  return view.model->inside(view.model->memory(memory).per, unit);
}

/// The stages of one access, outermost first; -1 (home) leads.
boost::container::small_vector<int, 8> chain_of(const ResolvedNest& view, int access) {
  boost::container::small_vector<int, 8> chain;
  for (int s = view.innermost[static_cast<std::size_t>(access)]; s >= 0;
       s = view.stages[static_cast<std::size_t>(s)].parent)
    chain.push_back(s);
  chain.push_back(-1);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

int loops_above(const ResolvedNest& view, int stage) {
  return stage < 0 ? 0 : view.stages[static_cast<std::size_t>(stage)].loops;
}

const Stage* line_of(const ResolvedNest& view, int stage) {
  return stage < 0 ? nullptr : &view.stages[static_cast<std::size_t>(stage)].stage;
}

class Counting {
 public:
  Counting(const ResolvedNest& view, const TileCounts& counts) : view_(view), counts_(counts) {}

  Traffic run() {
    traffic_.transfers.reserve(view_.stages.size() + view_.innermost.size());
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const auto chain = chain_of(view_, a);
      for (std::size_t i = 0; i < chain.size(); ++i) open(a, chain[i]);
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const bool last = i + 1 == chain.size();
        if (a == 0)
          output(chain[i], last ? -1 : chain[i + 1], last);
        else
          input(a, chain[i], last ? -1 : chain[i + 1], last);
      }
    }
    for (const Transfer& t : traffic_.transfers) links(t);
    calls_over_link();
    return std::move(traffic_);
  }

 private:
  Totals& totals(int access, int stage) {
    return traffic_.memories[view_.memory_of(stage)][tensor_id_of(view_, access)];
  }

  void open(int access, int stage) {
    const int loops = loops_above(view_, stage);
    Totals& t = totals(access, stage);
    t.element_bytes = element_bytes(view_, access);
    t.tile = std::max(t.tile, counts_.tile(access, loops));
    t.instances = std::max(t.instances, stage < 0 ? 1.0 : instances_of(view_, counts_, view_.memory_of(stage)));
  }

  void input(int access, int stage, int child, bool last) {
    const int all = static_cast<int>(view_.loops.size());
    const int loops = loops_above(view_, stage);
    const TileCounts::Sharing shared{loops};
    Transfer t{access, last ? -1 : child, view_.memory_of(stage), {}, 0, 0, 1};
    if (last) {
      t.elements_in = counts_.touched(access, all, shared);
      t.loads = counts_.refills(access, all);
      t.to = view_.instruction ? view_.instruction->operands[operand_of_access(*view_.instruction, 0).index()].memory
                               : MemoryId{};
    } else {
      const Stage& line = *line_of(view_, child);
      const int below = loops_above(view_, child);
      t.to = view_.memory_of(child);
      if (!line.ahead_of_time && line.from.empty()) {
        t.elements_in = counts_.moved(access, below, shared, line.slide);
        t.own_in = counts_.moved(access, below, {}, line.slide);
        totals(access, child).fills += t.own_in;
      }
      t.instances = instances_of(view_, counts_, t.to);
    }
    totals(access, stage).reads += t.elements_in;
    t.copies_at = copies_of(view_, stage);
    t.copies_in = last ? 1 : copies_of(view_, child);
    traffic_.transfers.push_back(t);
  }

  /// Elements initialised with the identity instead of loaded: each once, in every copy of the reduction.
  double first_visits(int stage) const {
    return starts_full(view_) ? 0 : counts_.first_visits(0, loops_above(view_, stage));
  }

  void output(int stage, int child, bool last) {
    const int loops = loops_above(view_, stage);
    const TileCounts::Sharing shared{loops};
    Totals& own = totals(0, stage);
    Transfer t{0, last ? -1 : child, view_.memory_of(stage), view_.memory_of(stage), 0, 0, 1};
    if (last) {
      t.elements_out = counts_.touched(0, static_cast<int>(view_.loops.size()), shared);
    } else {
      const int below = loops_above(view_, child);
      t.to = view_.memory_of(child);
      t.instances = instances_of(view_, counts_, t.to);
      t.elements_out = counts_.moved(0, below, shared, false);
      t.own_out = counts_.moved(0, below, {}, false);
      const double back = std::max(0.0, t.own_out - first_visits(child));
      totals(0, child).fills += back;
      t.own_in = back;
    }
    const double visited = t.elements_out;
    if (!last && is_consumed(child)) t.elements_out = t.own_out = 0;
    if (const double parts = last ? 0 : parts_added(child); parts > 0) {  // the addition happens at the parent
      t.own_out = t.elements_out *= parts;
      t.own_in = 0;
      own.updates += t.elements_out;
      own.reads += t.elements_out;
      traffic_.transfers.push_back(t);
      return;
    }
    t.elements_in = std::max(0.0, visited - first_visits(stage));
    t.own_in = std::max(t.own_in, t.elements_in);  // tiles of O[p + r] overlap: what another one has begun is read
    own.updates += t.elements_out;
    own.reads += t.elements_in;
    traffic_.transfers.push_back(t);
  }

  /// Do fused consumers take all results, from this stage or one inside?
  bool is_consumed(int stage) const {
    for (int s = view_.innermost[0]; s >= 0; s = view_.stages[static_cast<std::size_t>(s)].parent) {
      if (!is_stored(*view_.kernel, view_.id, *line_of(view_, s))) return true;
      if (s == stage) return false;
    }
    return false;
  }

  /// Partial sums added per element at the parent (split reduction); 0: tiles are stored.
  double parts_added(int stage) const {
    double parts = 0;
    for (int w = 0; w < loops_above(view_, stage); ++w) {
      const LoopLevel& loop = view_.loops[static_cast<std::size_t>(w)];
      if (!loop.combine.valid() || view_.memory_of(view_.stages[static_cast<std::size_t>(stage)].parent) !=
                                       combine_target(view_.model->instruction(loop.combine)))
        continue;
      parts = std::max(parts, 1.0);
      if (!counts_.uses_loop(0, w)) parts *= static_cast<double>(counts_.trip(w));
    }
    return parts;
  }

  void calls_over_link() {
    if (!view_.instruction || !view_.instruction->link.valid()) return;
    const LinkId link = view_.instruction->link;
    traffic_.link_bytes[link] += bytes_over_link(view_, counts_);
    traffic_.link_loads[link] += bytes_over_link_of_one(view_, counts_);
  }

  void links(const Transfer& t) {
    if (!t.to.valid() || t.from == t.to) return;
    // An operand that a call takes from memory reaches its registers over the links; from a register file or a
    // scratchpad the unit reads it through ports of its own.
    // All operands of an instruction over a link lie where it begins (hwdesc refuses others): calls_over_link.
    const bool over_link = view_.instruction && view_.instruction->link.valid();
    if (t.stage < 0 && t.access != 0 && (t.from != view_.model->home() || over_link)) return;
    const double size = element_bytes(view_, t.access) * t.copies_at;
    const double instances = std::max(1.0, instances_of(view_, counts_, t.to));
    const auto add = [&](MemoryId from, MemoryId to, double elements, double own) {
      if (elements <= 0) return;
      for (LinkId l : links_of(view_, t.stage, from, to)) {
        traffic_.link_bytes[l] += elements * size;
        traffic_.link_loads[l] += own * size / instances;
      }
    };
    if (t.stage < 0 && t.access != 0) {  // operands reused by consecutive calls are loaded once
      const double moved = counts_.moved(t.access, static_cast<int>(view_.loops.size()), {}, false);
      return add(t.from, t.to, moved, moved);
    }
    add(t.from, t.to, t.elements_in, t.own_in);
    add(t.to, t.from, t.access == 0 ? t.elements_out : 0, t.own_out);
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  Traffic traffic_;
};

std::int64_t whole(double words) {
  return words >= 9.0e18 ? INT64_MAX : static_cast<std::int64_t>(std::ceil(words - 1e-9));
}

}  // namespace

double copies_of(const ResolvedNest& view, int stage) {
  return stage < 0 ? 1 : view.stages[static_cast<std::size_t>(stage)].facts->copies;
}

double bytes_over_link(const ResolvedNest& view, const TileCounts& counts) {
  if (!view.instruction || !view.instruction->link.valid()) return 0;
  const Instruction& instruction = *view.instruction;
  const std::vector<std::int64_t> one = padded(view, std::vector<std::int64_t>(instruction.ranges.size(), 1));
  const DType type = view.kernel->tensors[view.statement.write.tensor.index()].dtype;
  const double of_one = carried_bytes(instruction, one, type);
  double carried = of_one;
  for (int d = 0; d < view.dim_count(); ++d) {
    const int m = view.instruction_dim[static_cast<std::size_t>(d)];
    carried *= counts.sum_along(d, [&](std::int64_t extent) {
      if (m < 0) return 1.0;
      std::vector<std::int64_t> extents = one;
      extents[static_cast<std::size_t>(m)] = extent;
      return carried_bytes(instruction, padded(view, extents), type) / of_one;
    });
  }
  return carried;
}

double bytes_over_link_of_one(const ResolvedNest& view, const TileCounts& counts) {
  if (!view.instruction || !view.instruction->link.valid()) return 0;
  const MemoryId to = view.model->link(view.instruction->link).to;
  return bytes_over_link(view, counts) / std::max(1.0, instances_of(view, counts, to));
}

double instances_of(const ResolvedNest& view, const TileCounts& counts, MemoryId memory) {
  double product = 1;
  for (int w = 0; w < static_cast<int>(view.loops.size()); ++w) {
    const UnitId unit = view.loops[static_cast<std::size_t>(w)].unit;
    if (unit.valid() && owned_inside(view, memory, unit)) product *= static_cast<double>(counts.trip(w));
  }
  return product;
}

double tiles_per_instance(const ResolvedNest& view, const TileCounts& counts, int access, MemoryId memory, int loops) {
  double tiles = 1;
  for (int w = 0; w < static_cast<int>(view.loops.size()); ++w) {
    const UnitId unit = view.loops[static_cast<std::size_t>(w)].unit;
    if (!unit.valid()) continue;
    const bool inside = owned_inside(view, memory, unit);
    if (w < loops && !inside) tiles *= static_cast<double>(counts.trip(w));  // shared memory: tiles of all instances
    if (w >= loops && inside && counts.uses_loop(access, w)) tiles /= static_cast<double>(counts.trip(w));
  }
  return tiles;
}

Traffic traffic_of(const ResolvedNest& view, const TileCounts& counts) {
  Traffic traffic = Counting(view, counts).run();
  add_cache_traffic(view, counts, traffic);
  return traffic;
}

std::map<std::string, std::map<std::string, TensorTraffic>> in_words(const Traffic& traffic, const ResolvedNest& view) {
  std::map<std::string, std::map<std::string, TensorTraffic>> result;
  for (const auto& [memory, tensors] : traffic.memories) {
    const Memory& m = view.model->memory(memory);
    for (const auto& [tensor, t] : tensors) {
      const double words =
          static_cast<double>(t.element_bytes) / static_cast<double>(std::max<std::int64_t>(1, m.word));
      result[m.name][view.kernel->tensors[tensor.index()].name] = {
          whole(t.instances), whole(t.tile * words), whole(t.reads * words / t.instances),
          whole(t.fills * words / t.instances), whole(t.updates * words / t.instances)};
    }
  }
  return result;
}

}  // namespace isamap
