// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/text/access_name.h"
#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/stream_simulation.h"
#include "scheduler/cost/tile_uses.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

/// 1234567 -> "1234567", 0.25 -> "0.25".
std::string plain(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

void sort_terms(std::vector<CostTerm>& terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const CostTerm& a, const CostTerm& b) { return a.value > b.value; });
}

/// The longest bound and what is added to it.
std::vector<CostTerm> parts_of(const TermSum& terms) {
  std::vector<CostTerm> parts;
  const auto longest = std::find_if(terms.bounds.begin(), terms.bounds.end(),
                                    [&](const TermTime& b) { return b.cycles > 0 && b.cycles == terms.longest; });
  if (longest != terms.bounds.end()) parts.push_back({longest->name(), longest->cycles, "", {}});
  for (const auto& [term, time] : terms.added)
    if (time.cycles > 0) parts.push_back({time.name(), time.cycles, "", {}});
  sort_terms(parts);
  return parts;
}

class CostExplainer {
 public:
  explicit CostExplainer(const PricedNest& nest)
      : nest_(nest), view_(nest.view), model_(*nest.view.model), flow_(flow_of(nest.view, nest.counts, nest.traffic)) {}

  CostReport run() {
    made_.statement = view_.statement.name;
    made_.cost = nest_.cost;
    if (nest_.timing == TimingModel::command_stream) {
      stream_ = stream_time(view_, nest_.counts, nest_.traffic);
      if (const auto replayed = replayed_stream(view_, nest_.counts, nest_.traffic)) {
        stream_.first = replayed->fill;
        stream_.compute = std::min(replayed->compute, replayed->cycles - replayed->fill - replayed->drain);
        stream_.last = replayed->drain;
        stream_.bound.cycles = replayed->cycles;
      }
      made_.cost.cycles = std::ceil(stream_.bound.cycles + nest_.cost.scalar_cycles - 1e-9) + 0.0;
    }
    for (const Dim& d : view_.statement.domain.dims) made_.dims.push_back(d.name);
    tiles();
    loops();
    links();
    overlap();
    if (nest_.timing == TimingModel::issued_moves) made_.parts = parts_of(nest_.terms);
    latency();
    energy();
    return std::move(made_);
  }

 private:
  const Tensor& tensor(int access) const {
    return view_.kernel->tensors[access_of(view_.statement, access).tensor.index()];
  }

  std::string extents(int access, int loops, std::vector<double>* shares) const {
    std::string text;
    const std::vector<std::int64_t> tile = view_.tiles(loops);
    for (std::size_t d = 0; d < tile.size(); ++d) {
      const Dim& dim = view_.statement.domain.dims[d];
      const bool used = nest_.counts.uses_dim(access, static_cast<int>(d));
      if (shares)
        shares->push_back(used ? static_cast<double>(tile[d]) / std::max(1.0, static_cast<double>(dim.extent)) : 0);
      if (used) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", dim.name, tile[d]);
    }
    return text.empty() ? "1" : text;
  }

  void tiles() {
    for (int a = 0; a < access_count(view_.statement); ++a) tile(a, -1);
    for (std::size_t s = 0; s < view_.stages.size(); ++s) tile(view_.stages[s].access, static_cast<int>(s));
  }

  void tile(int access, int stage) {
    const int loops = stage < 0 ? 0 : view_.stages[static_cast<std::size_t>(stage)].loops;
    const Memory& m = model_.memory(view_.memory_of(stage));
    TileRow row;
    row.memory = m.name;
    row.tensor = access_name(view_.kernel->tensors, view_.statement, access);
    row.extents = extents(access, loops, &row.shares);
    row.bytes = nest_.counts.tile(access, loops) * bytes(tensor(access).dtype);
    row.words = row.bytes / static_cast<double>(std::max<std::int64_t>(1, m.word));
    row.capacity = static_cast<double>(m.capacity);
    row.renewals = 1;
    if (stage >= 0) {
      row.buffers = view_.stages[static_cast<std::size_t>(stage)].stage.buffers;
      row.renewals = nest_.counts.refills(access, loops) / instances_of(view_, nest_.counts, view_.memory_of(stage));
    }
    made_.tiles.push_back(std::move(row));
  }

  /// The lines, indented by the loops around them, in words.
  void loops() {
    std::vector<std::int64_t> extent;
    for (const Dim& d : view_.statement.domain.dims) extent.push_back(d.extent);
    std::size_t depth = 0, stage = 0, loop = 0;
    for (std::size_t w = 0; w <= view_.loops.size(); ++w) {
      for (; stage < view_.stages.size() && view_.stages[stage].loops == static_cast<int>(w); ++stage) {
        const StagedTile& s = view_.stages[stage];
        const TileRow& row = made_.tiles[static_cast<std::size_t>(access_count(view_.statement)) + stage];
        line(depth, fmt::format("{} in {}: {} ({} words{}), renewed {} times", s.stage.tensor, row.memory, row.extents,
                                plain(row.words), row.buffers > 1 ? fmt::format(", {} buffers", row.buffers) : "",
                                plain(std::ceil(row.renewals))));
      }
      if (w == view_.loops.size()) break;
      const LoopLevel& at = view_.loops[loop++];
      const auto d = static_cast<std::size_t>(at.dim);
      const std::int64_t steps = ceil_div(extent[d], at.tile), remainder = extent[d] % at.tile;
      const std::string where = at.unit.valid() ? " on " + unit_name(at) : "";
      line(depth++, fmt::format("for {}{}: {} steps of {}{}", view_.statement.domain.dims[d].name, where, steps,
                                at.tile, remainder > 0 && steps > 1 ? fmt::format(", the last of {}", remainder) : ""));
      extent[d] = std::min(extent[d], at.tile);
    }
    line(depth, view_.instruction ? "call " + view_.instruction->name : std::string("element by element"));
  }
  std::string unit_name(const LoopLevel& loop) const {
    const Unit& unit = model_.unit(loop.unit);
    return loop.axis < 0 ? unit.name : unit.name + "." + unit.axes[static_cast<std::size_t>(loop.axis)].first;
  }
  void line(std::size_t depth, const std::string& text) { made_.loops.push_back(std::string(2 * depth, ' ') + text); }

  /// The rules of scheduler/cost/traffic.cpp, by tensor.
  void links() {
    for (const Transfer& t : nest_.traffic.transfers) {
      if (!t.to.valid() || t.from == t.to) continue;
      const bool in_place = t.stage < 0 && t.access != 0;
      if (in_place && t.from != model_.home()) continue;
      const double size = bytes(tensor(t.access).dtype) * t.copies_at;
      const double in =
          in_place ? nest_.counts.moved(t.access, static_cast<int>(view_.loops.size()), {}, false) : t.elements_in;
      link(t, t.from, t.to, in * size);
      link(t, t.to, t.from, t.access == 0 ? t.elements_out * size : 0);
    }
  }
  void link(const Transfer& t, MemoryId from, MemoryId to, double moved) {
    if (moved <= 0) return;
    for (const LinkId id : links_of(view_, t.stage, from, to)) {
      const std::string &name = model_.link(id).name,
                        moves = access_name(view_.kernel->tensors, view_.statement, t.access);
      const auto known = std::find_if(made_.links.begin(), made_.links.end(),
                                      [&](const LinkRow& row) { return row.link == name && row.tensor == moves; });
      if (known == made_.links.end())
        made_.links.push_back({name, moves, moved});
      else
        known->bytes += moved;
    }
  }

  void overlap() {
    const bool waves = runs_in_waves(nest_);
    for (std::size_t i = 0; i < nest_.terms.bounds.size(); ++i) {
      const TermTime& b = nest_.terms.bounds[i];
      const bool of_stream = nest_.timing == TimingModel::command_stream && i == 0;
      CostTerm row{b.name(), of_stream ? stream_.bound.cycles : b.cycles, "",
                   b.where != nullptr ? *b.where : SourceLocation{}};
      if (i == 0 && !waves && view_.instruction) {
        row.where = view_.instruction->timing_where;
        row.how =
            fmt::format("{} calls of the busiest {}", plain(nest_.counts.steps(static_cast<int>(view_.loops.size()))),
                        model_.unit(view_.instruction->unit).name);
      }
      if (b.bound_of == BoundOf::memory_reads) row.how = "reads";
      if (b.bound_of == BoundOf::memory_writes) row.how = "fills and updates";
      made_.overlap.push_back(std::move(row));
    }
    sort_terms(made_.overlap);
  }

  void latency() {
    if (runs_in_waves(nest_)) return latency_in_waves();
    if (nest_.timing == TimingModel::command_stream) return latency(stream_);
    const Latency latency = latency_of_nest(view_, nest_.counts, flow_);
    made_.latency_cycles = replayed_cost(nest_, latency.cycles, latency.bound).cycles;
    made_.times = latency;
    for (const TileFlow& f : flow_.flows) made_.flows.push_back(f.name);
    const auto add = [&](const std::string& name, double cycles, const SourceLocation& where) {
      if (cycles > 0) made_.latency.push_back({name, cycles, "", where});
    };
    add("first tiles, before the first call", latency.fill, {});
    add("calls", latency.compute, flow_.call.where);
    for (std::size_t f = 0; f < flow_.flows.size(); ++f) {
      const TileFlow& flow = flow_.flows[f];
      add(fmt::format("waiting for {} ({})", flow.name, flow.buffers > 1 ? "two buffers" : "one buffer"),
          latency.waited[f], slowest(flow));
    }
    add("last results, after the last call", latency.drain, {});
  }
  void latency(const StreamTime& stream) {
    made_.latency_cycles = made_.times.cycles = made_.cost.cycles;
    made_.times.fill = stream.first;
    made_.times.compute = stream.compute;
    made_.times.drain = stream.last;
    made_.times.bound = {stream.bound.name()};
    const auto add = [&](const std::string& name, double cycles, const SourceLocation& where) {
      if (cycles > 0) made_.latency.push_back({name, cycles, "", where});
    };
    add("first tiles, before the first call", stream.first, {});
    add("calls", stream.compute, flow_.call.where);
    add("stalls on tiles and sums beyond the scheduling window",
        stream.bound.cycles - stream.first - stream.compute - stream.last, {});
    add("last results, after the last call", stream.last, {});
    add("copies by a scalar unit", nest_.cost.scalar_cycles, {});
  }
  void latency_in_waves() {
    const TermSum& terms = nest_.terms;
    made_.latency_cycles = made_.times.cycles = nest_.cost.cycles;
    made_.times.compute = terms.longest;
    made_.times.bound = {terms.bound, terms.bound_by_calls};
    double waits = 0;
    for (const auto& [term, time] : terms.added) {
      if (term->overlap == Overlap::exposed) waits += time.cycles;
      if (term->overlap == Overlap::once) (term->after_calls ? made_.times.drain : made_.times.fill) += time.cycles;
    }
    const auto add = [&](const std::string& name, double cycles) {
      if (cycles > 0) made_.latency.push_back({name, cycles, "", {}});
    };
    add("first tiles, before the first step", made_.times.fill);
    add("longest overlapped bound", made_.times.compute);
    add("barriers and exposed tile fills, every step", waits);
    add("last results, after the last step", made_.times.drain);
  }
  /// Source line of the slowest resource of a tile.
  SourceLocation slowest(const TileFlow& flow) const {
    const Occupation* most = nullptr;
    const auto cycles = [](const Occupation& use) { return use.shared + use.own; };
    for (const Way* way : {&flow.in, &flow.out})
      for (const Occupation& use : way->uses)
        if (!most || cycles(use) > cycles(*most)) most = &use;
    return most ? flow_.resources[static_cast<std::size_t>(most->resource)].where : SourceLocation{};
  }

  void energy() {
    for (const auto& [memory, tensors] : nest_.traffic.memories) {
      const Memory& m = model_.memory(memory);
      for (const auto& [id, t] : tensors) {
        const double words =
            static_cast<double>(t.element_bytes) / static_cast<double>(std::max<std::int64_t>(1, m.word));
        const std::string of = view_.kernel->tensors[id.index()].name + " in " + m.name;
        term("reads of " + of, t.reads * words, "words", m.read_energy, m.energy_where);
        term("fills and updates of " + of, (t.fills + t.updates) * words, "words", m.write_energy, m.energy_where);
      }
    }
    for (const auto& [id, moved] : nest_.traffic.link_bytes) {
      const Link& link = model_.link(id);
      term("link " + link.name, moved, "bytes", link.energy, link.energy_where);
    }
    if (view_.instruction)
      term("calls of " + view_.instruction->name, nest_.counts.visits(static_cast<int>(view_.loops.size())), "calls",
           view_.instruction->energy_pJ, view_.instruction->energy_where);
    sort_terms(made_.energy);
  }
  void term(const std::string& name, double amount, const char* what, double each, const SourceLocation& where) {
    if (amount * each > 0)
      made_.energy.push_back({name, amount * each, fmt::format("{} {} x {:g} pJ", plain(amount), what, each), where});
  }

  const PricedNest& nest_;
  const ResolvedNest& view_;
  const HardwareModel& model_;
  const NestFlow flow_;
  StreamTime stream_;  ///< of a command stream
  CostReport made_;
};

}  // namespace

CostReport cost_report(const PricedNest& nest) { return CostExplainer(nest).run(); }

std::vector<CostTerm> differences(const std::vector<CostTerm>& a, const std::vector<CostTerm>& b) {
  std::vector<CostTerm> found;
  const auto value_in = [](const std::vector<CostTerm>& terms, const std::string& name) {
    for (const CostTerm& t : terms)
      if (t.name == name) return t.value;
    return 0.0;
  };
  for (const CostTerm& t : b) {
    const double before = value_in(a, t.name);
    if (t.value != before)
      found.push_back({t.name, t.value - before, fmt::format("{} -> {}", plain(before), plain(t.value)), t.where});
  }
  for (const CostTerm& t : a)
    if (value_in(b, t.name) == 0 && t.value != 0)
      found.push_back({t.name, -t.value, fmt::format("{} -> 0", plain(t.value)), t.where});
  std::stable_sort(found.begin(), found.end(), [](const CostTerm& x, const CostTerm& y) { return x.value > y.value; });
  return found;
}

std::string place_of(const SourceLocation& where) {
  return where.line <= 0 ? "" : fmt::format("{}:{}", where.file, where.line);
}

}  // namespace isamap
