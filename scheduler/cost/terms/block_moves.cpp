// SPDX-License-Identifier: Apache-2.0
// Moves of thread blocks between memories, all of a block's refills together:
//
//   copies by a scalar unit  waves x elements x the larger of cycles of a copied element / lanes, and latency of the
//                            links / loads that all threads have in flight: each thread waits for its own
//   link                     waves x bytes / bandwidth
//   port                     waves x uses x interval / ports; a move of single lanes: of all lanes together

#include <algorithm>
#include <map>

#include "scheduler/cost/move_uses.h"
#include "scheduler/cost/packing_time.h"
#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

DType dtype_moved(const ResolvedNest& view, const BlockRefill& r) {
  return view.kernel->tensors[access_of(view.statement, r.stage->access).tensor.index()].dtype;
}

void add(TermTime& time, double cycles, const SourceLocation& where) {
  time.cycles += cycles;
  time.where = &where;
}

/// By name, of all waves.
void append(const std::map<std::string_view, TermTime>& busy, std::string_view kind, const BlockWork& blocks,
            std::vector<TermTime>& times) {
  for (const auto& [name, time] : busy)
    times.push_back({.kind = kind, .of = name, .cycles = time.cycles * blocks.waves, .where = time.where});
}

void block_copy_times(const TermContext& at, std::vector<TermTime>& times) {
  const double lanes = lanes_of(*at.view.instruction, *at.view.model);
  double threads = lanes, cycles = 0;
  for (std::size_t w = 0; w < at.view.loops.size(); ++w)
    if (at.view.loops[w].unit.valid() && !is_on_blocks(at.view, *at.blocks, w))
      threads *= static_cast<double>(at.counts.trip(static_cast<int>(w)));
  bool any = false;
  for (const BlockRefill& r : at.blocks->refills) {
    if (r.move != nullptr) continue;
    any = true;
    cycles += r.elements * std::max(copy_cycles(at.view, *r.stage) / lanes,
                                    (r.output ? 0 : r.latency) / (threads * static_cast<double>(usual_loads)));
  }
  if (any) times.push_back({"copies by a scalar unit", "", cycles * at.blocks->waves});
}

void block_link_times(const TermContext& at, std::vector<TermTime>& times) {
  std::map<std::string_view, TermTime> busy;
  for (const BlockRefill& r : at.blocks->refills)
    for (const LinkId l : links_between(*at.view.model, r.source, r.target))
      if (const Link& link = at.view.model->link(l); link.bandwidth > 0)
        add(busy[link.name], r.bytes / link.bandwidth, link.bandwidth_where);
  append(busy, "link", *at.blocks, times);
}

void block_port_times(const TermContext& at, std::vector<TermTime>& times) {
  const HardwareModel& model = *at.view.model;
  std::map<std::string_view, TermTime> busy;
  for (const BlockRefill& r : at.blocks->refills)
    if (r.move != nullptr)
      add(busy[r.move->timing.port],
          r.elements / elements_per_use(*r.move, dtype_moved(at.view, r)) * full_interval(*r.move) /
              ports_of_processor(*r.move, model) *
              (is_innermost_unit(model, r.move->unit) ? 1.0 / lanes_of(*at.view.instruction, model) : 1),
          r.move->timing_where);
  append(busy, "port", *at.blocks, times);
}

}  // namespace

namespace terms {

extern const Term block_copies{"copies by a scalar unit",
                               "waves x elements x max(cycles of a copied element / lanes, latency / loads "
                               "of all threads in flight)",
                               "timing.copy_*, links.*.latency",
                               "measured, docs/cost_measured.md",
                               Overlap::bound,
                               true,
                               block_copy_times};

extern const Term block_links{
    "link", "waves x bytes / bandwidth", "links.*.bandwidth", "roofline", Overlap::bound, true, block_link_times};

extern const Term block_ports{"port",
                              "waves x uses of moves x interval / ports of a processor",
                              "instructions.*.timing, units.*.ports",
                              "throughput bound of ports",
                              Overlap::bound,
                              true,
                              block_port_times};

}  // namespace terms
}  // namespace isamap
