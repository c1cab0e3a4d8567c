// SPDX-License-Identifier: Apache-2.0
// Moves occupy ports: uses x interval / ports, summed over the moves of a port. A use transfers what the move carries;
// registers are filled one by one; a move that crosses a line occupies its port twice (scheduler/cost/split_lines.h).

#include <algorithm>
#include <boost/container/flat_map.hpp>

#include "scheduler/cost/move_uses.h"
#include "scheduler/cost/split_lines.h"
#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

class PortTimes {
 public:
  explicit PortTimes(const ResolvedNest& view) : view_(view) {}

  /// At least `calls` (registers filled one by one), at least what the elements need.
  void add(MemoryId from, MemoryId to, const Transfer& t, double elements, double calls) {
    const DType type = view_.kernel->tensors[access_of(view_.statement, t.access).tensor.index()].dtype;
    const Instruction* move = elements > 0 ? move_between(*view_.model, from, to, type) : nullptr;
    if (!move) return;
    const double carried = elements_per_use(*move, type);
    const double times = std::max(calls, elements / carried) *
                         (1 + split_share(view_, t, static_cast<std::int64_t>(carried) * bytes(type)));
    TermTime& port = ports_[{move->unit.value, move->timing.port}];
    port.kind = "port";
    port.of = port_name(*move);
    if (port.where == nullptr) port.where = &move->timing_where;
    port.cycles += times * full_interval(*move) / ports_of(*move, *view_.model);
  }
  void append_to(std::vector<TermTime>& times) const {
    for (const auto& [key, port] : ports_) {
      times.push_back(port);
      times.back().cycles *= view_.in_bounds;
    }
  }

 private:
  const ResolvedNest& view_;
  boost::container::small_flat_map<std::pair<std::int32_t, std::string_view>, TermTime, 4> ports_;
};

void port_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  PortTimes ports(view);
  for (const Transfer& t : at.traffic.transfers) {
    if (!t.to.valid() || t.from == t.to) continue;
    if (t.stage < 0) {  // memory operand: a load inside the call
      if (t.access != 0 && view.model->memory(t.to).is_register()) ports.add(t.from, t.to, t, 1, t.loads / t.instances);
      continue;
    }
    const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
    const bool registers = view.model->memory(t.to).is_register();
    const double calls =
        registers ? at.counts.refills(t.access, s.loops) * at.counts.slots(t.access, s.loops) / t.instances : 0;
    ports.add(t.from, t.to, t, t.elements_in / t.instances, t.access == 0 ? 0 : calls);
    const auto prefetched = [&](const Prefetch& p) { return p.access == t.access && !p.spread; };
    if (registers && std::any_of(view.prefetches.begin(), view.prefetches.end(), prefetched))  // takes a load slot each
      ports.add(t.from, t.to, t, t.elements_in / t.instances, calls);
    if (t.access == 0) ports.add(t.to, t.from, t, t.elements_out / t.instances, calls);
  }
  ports.append_to(times);
}

}  // namespace

namespace terms {

extern const Term ports{"port",
                        "uses of moves x interval / ports, a use that crosses a line twice",
                        "instructions.*.timing, units.*.ports, memories.*.line",
                        "throughput bound of ports (Fog, Instruction tables; Abel and Reineke, uops.info, ASPLOS 2019)",
                        Overlap::bound,
                        true,
                        port_times};

}  // namespace terms
}  // namespace isamap
