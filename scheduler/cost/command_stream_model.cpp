// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/command_stream_model.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "hwdesc/model/memory_time.h"
#include "hwdesc/model/stream_window.h"
#include "hwdesc/model/timing_choice.h"
#include "scheduler/cost/capacity.h"
#include "scheduler/cost/tile_uses.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

/// A search meets the same calls in many nests.
struct KnownCalls {
  struct Call {
    double interval = 0;
    double own_latency = 0;  ///< as the instruction states it
    double latency = 0;      ///< of its result
    TileMove held;           ///< ports of memories and links that it keeps as a move does
  };
  static constexpr std::size_t most = 4096;  ///< then they are forgotten
  std::map<std::vector<std::int64_t>, Call> by_extents;
};

namespace {

/// Dependence chains of calls: those of one chain update one tile of the output, in order.
struct Chains {
  double together = 1;  ///< interleaved chains
  double length = 1;    ///< calls of a chain
  double groups = 1;    ///< of interleaved chains, one group after another
  double repeats = 1;   ///< repetitions of all groups, for further parts of the reduction

  /// Latencies per call until the next group can start after the last; `interval` of a call in latencies, the scheduler
  /// sees `window` commands. Each latency issues a call of every started chain; a group starts when all but window - 1
  /// of the calls before it have issued, and at once after the last one.
  double latencies(double window, double interval) const {
    if (together * interval >= 1) return 1 / together;  // enough independent chains to hide the latency
    const double all = groups * repeats, seen = (window - 1) / together;
    const double alone = length - 1 + std::min(1.0, together * interval);
    const auto number = static_cast<std::size_t>(std::min(all, static_cast<double>(most_groups)));
    boost::container::small_vector<double, most_groups> begins(number, 0);
    for (std::size_t g = 1, oldest = 0; g < number; ++g) {
      begins[g] = begins[g - 1];
      const auto left = [&] {  // of one chain of each group
        double calls = 0;
        for (std::size_t i = oldest; i < g; ++i) calls += std::max(0.0, begins[i] + length - begins[g]);
        return calls;
      };
      for (double calls = left(); calls > seen && oldest < g; calls = left()) {
        const double needed = begins[g] + (calls - seen) / static_cast<double>(g - oldest);
        const double end = begins[oldest] + length;
        begins[g] = std::min(needed, end);
        if (needed <= end) break;
        ++oldest;
      }
      begins[g] = std::min(begins[g], begins[g - 1] + alone);
      const double before = static_cast<double>(g) - groups;
      if (before >= 0) begins[g] = std::max(begins[g], begins[static_cast<std::size_t>(before)] + length);
    }
    const std::size_t half = (number - 1) / 2;
    const double each = number > 1 ? (begins.back() - begins[half]) / static_cast<double>(number - 1 - half) : 0;
    const double last = begins.back() + (all - static_cast<double>(number)) * each;
    return (last + alone) / (all * length * together);
  }

  static constexpr std::size_t most_groups = 64;  ///< simulated groups; later ones take as long as the last
};

/// Whole and short tiles below some loops.
struct TileMix {
  std::vector<std::int64_t> whole;
  boost::container::small_vector<const TileCounts::Sizes*, 8> met;  ///< by dim
};

/// Mean of `cost` over all these tiles relative to a whole one, which costs `full`. Tails of dims are independent, and
/// cost is taken as a product over dims.
template <class F>
double mean_share(const TileMix& mix, double full, F&& cost) {
  double share = 1;
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < mix.met.size() && full > 0; ++d) {
    if (mix.met[d]->size() < 2) continue;
    if (sizes.empty()) sizes = mix.whole;
    double sum = 0, times = 0;
    for (const auto& [size, count] : *mix.met[d]) {
      sizes[d] = size;
      sum += count * (size == mix.whole[d] ? full : cost(sizes));
      times += count;
    }
    sizes[d] = mix.whole[d];
    share *= sum / (times * full);
  }
  return share;
}

/// What is averaged over tiles of several sizes, of a tile of one size.
using Quantities = boost::container::small_vector<double, 8>;

/// `mean_share` of several quantities of the same tile.
template <class F>
Quantities mean_shares(const TileMix& mix, const Quantities& full, F&& of) {
  Quantities shares(full.size(), 1), sums;
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < mix.met.size(); ++d) {
    if (mix.met[d]->size() < 2) continue;
    if (sizes.empty()) sizes = mix.whole;
    double times = 0;
    sums.assign(full.size(), 0);
    for (const auto& [size, count] : *mix.met[d]) {
      sizes[d] = size;
      const Quantities own = size == mix.whole[d] ? full : of(sizes);
      for (std::size_t q = 0; q < full.size(); ++q) sums[q] += count * own[q];
      times += count;
    }
    sizes[d] = mix.whole[d];
    for (std::size_t q = 0; q < full.size(); ++q)
      if (full[q] > 0) shares[q] *= sums[q] / (times * full[q]);
  }
  return shares;
}

/// Of all commands that move a tile: their number, their cycles, and those for which they keep each of these ports.
Quantities quantities(const TileMove& move, std::size_t ports) {
  Quantities all{move.uses, move.cycles};
  for (std::size_t p = 0; p < ports; ++p) all.push_back(p < move.shared.size() ? move.shared[p].cycles : 0);
  return all;
}

/// One direction of a tile: commands per round of its place.
struct TilePath {
  int port = -1;  ///< -1: nothing is moved
  double uses = 0, cycles = 0, latency = 0;
};

/// Ports of memories and links that commands keep, by number, and cycles.
using KeptPorts = std::vector<std::pair<int, double>>;

struct StreamTile {
  int stage = -1, parent = -1;
  int place = 0;  ///< loops that renew it
  double refills = 0;
  bool doubled = false;
  bool apart = false;    ///< full and short tiles have buffers of their own
  bool cleared = false;  ///< `in` sets it to the identity, part by part
  double released = 0;   ///< share of a round, at its end, in which the first part is unused
  double largest = 1;    ///< work of a full tile for the mean of all
  double full = 1;       ///< full ones among all
  double changes = 0;    ///< share of its renewals in which a short one follows a full one
  double round = 0;      ///< cycles between its renewals
  TilePath in, out;
  TilePath full_in, full_out;  ///< of a full tile
  std::size_t number = 0;      ///< of the ports that its commands keep
};

/// A round: calls and inner moves between two renewals of a place.
struct Round {
  double cycles = 0, commands = 0;
};

bool has_name(const AffineExpr& e, const std::string& name) {
  return std::any_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& term) {
    const FloorDiv* divided = division(term);
    return divided != nullptr ? has_name(*divided->numerator, name) : std::get<std::string>(term.atom) == name;
  });
}

/// Share of a round, at its end, in which the first part of a tile that `move` fills or drains is unused. Loops that
/// advance along coordinates in the order of its uses, outermost first, divide the tile; any other loop passes over the
/// part that is left: it is unused after the last pass only. What one use covers is one part.
double released(const ResolvedNest& view, const TileCounts& counts, int stage, int access, const Instruction& move) {
  const int loops = view.stages[static_cast<std::size_t>(stage)].loops;
  boost::container::small_vector<const TileCoordinate*, 8> tile;
  for (const TileCoordinate& w : coordinates_of_move(view, stage, move, view.tiles(loops)))
    if (w.points < w.extent && !w.replicates()) tile.push_back(&w);
  const auto further_out = [](const TileCoordinate* a, const TileCoordinate* b) { return a->order < b->order; };
  if (!std::is_sorted(tile.begin(), tile.end(), further_out)) std::stable_sort(tile.begin(), tile.end(), further_out);
  boost::container::small_vector<double, 8> left;  // uses along a coordinate that no loop divides yet
  double pieces = 1;
  for (const TileCoordinate* w : tile) {
    left.push_back(std::ceil(static_cast<double>(w->extent) / static_cast<double>(w->points)));
    pieces *= left.back();
  }
  std::size_t reached = 0;  // coordinates outside of it are divided
  double parts = 1, step = 1, used = 0;
  for (int w = loops; w < static_cast<int>(view.loops.size()); ++w) {
    const auto trip = static_cast<double>(counts.trip(w));
    if (trip <= 1) continue;
    const std::string& dim =
        view.statement.domain.dims[static_cast<std::size_t>(view.loops[static_cast<std::size_t>(w)].dim)].name;
    std::size_t along = reached;
    while (along < tile.size() && !has_name(tile[along]->form, dim)) ++along;
    step /= trip;
    if (!counts.uses_loop(access, w) || along == tile.size() || (parts <= 1 && along > 0)) {
      used += (trip - 1) * step;
      continue;
    }
    reached = along;
    const double divided = std::min(trip, left[along]);
    left[along] /= divided;
    parts *= divided;
    used += (trip / divided - 1) * step;  // several steps in one part
    if (parts >= pieces) return 1 - used - step;
  }
  return 1 - used - step;
}

/// Work of a full tile relative to the mean; `whole`: share of full tiles.
double largest(const TileMix& mix, double& whole) {
  double ratio = 1;
  whole = 1;
  for (std::size_t d = 0; d < mix.met.size(); ++d) {
    double sum = 0, times = 0;
    for (const auto& [size, count] : *mix.met[d]) {
      sum += static_cast<double>(size) * count;
      times += count;
    }
    for (const auto& [size, count] : *mix.met[d])
      if (size == mix.whole[d]) whole *= count / std::max(times, 1.0);
    if (sum > 0) ratio *= static_cast<double>(mix.whole[d]) * times / sum;
  }
  return ratio;
}

/// How often a short step follows a full one in this loop: once each time that it is entered with both.
double changes_to_short(const ResolvedNest& view, const TileCounts& counts, int w) {
  const LoopLevel& loop = view.loops[static_cast<std::size_t>(w)];
  double entered = 0, with_both = 0;
  for (const auto& [size, times] : counts.tiles_along(loop.dim, w)) {
    entered += times;
    if (loop.tile > 0 && size > loop.tile && size % loop.tile > 0) with_both += times;
  }
  return counts.steps(w) * with_both / std::max(1.0, entered);
}

/// Groups of chains overlap inside the innermost renewed place, or across two of its rounds if all its tiles are
/// double-buffered.
Chains chains_of(const ResolvedNest& view, const TileCounts& counts, const std::vector<StreamTile>& tiles) {
  Chains found;
  double* const parts[] = {&found.together, &found.length, &found.groups, &found.repeats};
  std::size_t part = 0;
  bool closed = false;
  for (int w = static_cast<int>(view.loops.size()); w-- > 0;) {
    const auto trip = static_cast<double>(counts.trip(w));
    if (trip <= 1) continue;
    if (counts.uses_loop(0, w) != (part % 2 == 0)) ++part;
    bool renews = false;
    for (const StreamTile& tile : tiles)
      if (tile.place == w + 1) renews = true, closed = closed || !tile.doubled;
    if (part == std::size(parts) || (part >= 2 && closed)) break;
    *parts[part] *= part >= 2 && renews ? std::min(trip, 2.0) : trip;
    closed = closed || renews;
  }
  return found;
}

/// The end of a round: how far back the window reaches, and the length of the round with its gap.
struct Edge {
  double visible = 0;  ///< cycles, relative to the end; negative: before it
  double period = 0;
  bool first = false;  ///< no round before
  bool operator==(const Edge&) const = default;
};

/// The fills of a place.
struct Filled {
  double ready = 0;  ///< when calls can resume
  double whole = 0;  ///< when the last part of each tile is there
};

/// Drains of a port at the end of a round.
struct PortDrains {
  double free = -1e300, begins = 1e300, cycles = 0;

  void add(const TilePath& out, double first, double last) {
    begins = std::min(begins, first);
    free = last + out.cycles;
    cycles += out.uses * out.cycles;
  }
};

struct Drained {
  double ended = 0;    ///< when the last result is there
  double visible = 0;  ///< when the commands after it enter the window
  double commands = 0;
  boost::container::small_vector<PortDrains, 8> ports;
  boost::container::small_vector<double, 8> results;  ///< by tile: first part drained
};

/// Fills of a port between two rounds: those before its drains end at `ahead`, the others at `free`.
class PortFills {
 public:
  explicit PortFills(double from) : free_(from) {}
  explicit PortFills(const PortDrains& drains)
      : free_(drains.free), drains_begin_(drains.cycles > 0 ? drains.begins : -1e300) {}

  struct Starts {
    double first = 0, last = 0;
  };
  /// From `first` on after the drains, the last not before `least`. But ready commands pass the drains behind the last
  /// call: fills that can start before these do, from `early` on.
  Starts add(const TilePath& in, double first, double least, double early) {
    early = std::max({early, first, ahead_});
    if (early < drains_begin_) return pass(in, early);
    first = std::max(first, free_);
    const double last = std::max(least, first + (in.uses - 1) * in.cycles);
    free_ = last + in.cycles;
    return {first, last};
  }

 private:
  /// What does not start before the drains follows them.
  Starts pass(const TilePath& in, double first) {
    const double passed = std::min(in.uses, std::ceil((drains_begin_ - first) / std::max(in.cycles, 1.0)));
    ahead_ = first + passed * in.cycles;
    if (passed >= in.uses) return {first, ahead_ - in.cycles};
    free_ = std::max(free_, ahead_) + (in.uses - passed) * in.cycles;
    return {first, free_ - in.cycles};
  }

  double free_ = -1e300, drains_begin_ = -1e300, ahead_ = -1e300;
};

/// When calls that read a tile can resume, of whose fills the first and the last start then: its last part is read
/// later in their first pass over it.
double resumption(const StreamTile& tile, double first, double last) {
  const double begun = std::min(1.0, tile.in.uses) * (first + tile.in.latency);
  return tile.in.uses > 1 ? std::max(begun, last + tile.in.latency - tile.released * tile.round) : begun;
}

/// Mean of the tails, from the mean of all and the `full` share of full tiles with mean `whole`.
double of_short(double all, double whole, double full) { return std::max(0.0, (all - full * whole) / (1 - full)); }

TilePath short_way(const TilePath& all, const TilePath& whole, double full) {
  TilePath way = all;
  way.uses = all.uses > 0 ? std::max(std::min(1.0, all.uses), of_short(all.uses, whole.uses, full)) : 0;
  if (way.uses > 0) way.cycles = of_short(all.uses * all.cycles, whole.uses * whole.cycles, full) / way.uses;
  return way;
}

/// The tiles of a place, between rounds in which each is a full or a short one.
class RoundTiles {
 public:
  RoundTiles(std::span<StreamTile> tiles, double full) : tiles_(tiles) {
    for (const StreamTile& tile : tiles)
      paths_.push_back({tile.doubled, tile.in, tile.out, short_way(tile.in, tile.full_in, full),
                        short_way(tile.out, tile.full_out, full)});
  }

  /// A full or short one is drained and a full or short one is filled.
  void set(bool from_full, bool to_full) {
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      StreamTile& tile = tiles_[t];
      tile.doubled = paths_[t].doubled || (tile.apart && from_full != to_full);
      tile.in = to_full ? tile.full_in : paths_[t].short_in;
      tile.out = from_full ? tile.full_out : paths_[t].short_out;
    }
  }
  /// Mean tiles again.
  void reset() {
    for (std::size_t t = 0; t < tiles_.size(); ++t)
      tiles_[t].doubled = paths_[t].doubled, tiles_[t].in = paths_[t].in, tiles_[t].out = paths_[t].out;
  }

 private:
  struct Paths {
    bool doubled = false;
    TilePath in, out;  ///< of the mean
    TilePath short_in, short_out;
  };
  std::span<StreamTile> tiles_;
  boost::container::small_vector<Paths, 8> paths_;
};

/// Commands that move these tiles, from number `first` on.
double moves_from(const std::vector<StreamTile>& tiles, std::size_t first) {
  double commands = 0;
  for (std::size_t t = first; t < tiles.size(); ++t) commands += tiles[t].in.uses + tiles[t].out.uses;
  return commands;
}

/// Ports of units, and those of memories and links that moves share, by number.
struct StreamPorts {
  struct Port {
    std::string_view name;
    int shared = -1;  ///< number in hwdesc/model/memory_time.h; -1: of a unit
  };
  std::vector<Port> all;

  int of(const Instruction& instruction) { return find({port_name(instruction), -1}); }

  /// Ports that memories and links share, and the cycles for which moves of a tile keep them, `times` over: of the mean
  /// tile. `one`: of a full tile; `shares`: of the mean relative to it, as `quantities` lists them.
  void keep(const HardwareModel& model, const TileMove& one, const Quantities& shares, double times, KeptPorts& kept) {
    for (std::size_t p = 0; p < one.shared.size(); ++p) {
      const int number = one.shared[p].port;
      kept.emplace_back(find({owner_of_shared_port(number, model), number}),
                        one.shared[p].cycles * shares[p + 2] * times);
    }
  }

 private:
  int find(const Port& port) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Port& known) {
      return known.shared == port.shared && (port.shared >= 0 || known.name == port.name);
    });
    if (found != all.end()) return static_cast<int>(found - all.begin());
    all.push_back(port);
    return static_cast<int>(all.size()) - 1;
  }
};

std::size_t index_of_largest(const std::vector<double>& of) {
  return static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
}

/// Loops down to the innermost of the first `loops` with several steps, each of which renews a tile below them.
int place_of(const TileCounts& counts, int loops) {
  while (loops > 0 && counts.trip(loops - 1) <= 1) --loops;
  return loops;
}

/// Commands that fill the tile of a transfer, by a load or a clear, and that drain it; nullptr: none.
struct TileMoves {
  const Instruction *in = nullptr, *out = nullptr;
};
TileMoves moves_of(const ResolvedNest& view, const Transfer& t) {
  const DType type = view.kernel->tensors[access_of(view.statement, t.access).tensor.index()].dtype;
  const bool drained = t.access == 0 && t.elements_out > 0;
  return {t.elements_in > 0 ? move_for_tile(view, t.stage, {t.from, t.to, type}) : clear_for_tile(view, t.stage),
          drained ? move_for_tile(view, t.stage, {t.to, t.from, type}) : nullptr};
}

KnownCalls::Call call_time(const ResolvedNest& view, const std::vector<std::int64_t>& extents) {
  const Instruction& instruction = *view.instruction;
  const DType type = view.kernel->tensors[view.statement.write.tensor.index()].dtype;
  KnownCalls::Call time;
  time.interval = command_interval(instruction, extents, *view.model);
  time.own_latency = latency_of(instruction, extents, *view.model);
  time.latency = result_latency(time.interval, time.own_latency, instruction, *view.model);
  time.held = {1, 0, 0, held_ports(shared_port_uses(instruction, extents, type, *view.model), instruction)};
  return time;
}

constexpr int turns = 5;  ///< of the iteration that finds a stall

/// Whole and short tiles of a nest and its calls, each found once.
class TileMixes {
 public:
  TileMixes(const ResolvedNest& view, const TileCounts& counts)
      : view_(view), counts_(counts), by_loops_(view.loops.size() + 1) {
    if (std::shared_ptr<KnownCalls>& calls = view.facts->calls; !calls || calls->by_extents.size() >= KnownCalls::most)
      calls = std::make_shared<KnownCalls>();
  }

  /// Below the first loops.
  const TileMix& below(std::size_t loops) {
    TileMix& mix = by_loops_[loops];
    if (!mix.whole.empty()) return mix;
    const std::span<const std::int64_t> whole = counts_.extents(static_cast<int>(loops));
    mix.whole.assign(whole.begin(), whole.end());
    for (int d = 0; d < view_.dim_count(); ++d) mix.met.push_back(&counts_.tiles_along(d, static_cast<int>(loops)));
    return mix;
  }

  /// The call below all loops, for a tile of these sizes.
  const KnownCalls::Call& call(const std::vector<std::int64_t>& sizes) const {
    const auto [found, fresh] = view_.facts->calls->by_extents.try_emplace(padded_extents(view_, sizes));
    if (fresh) found->second = call_time(view_, found->first);
    return found->second;
  }

  /// Do full and short tiles have buffers of their own? The same for all stages in a memory.
  bool are_apart(int stage) {
    const auto [known, fresh] = apart_.try_emplace(view_.memory_of(stage), false);
    if (fresh) known->second = short_tiles_are_apart(view_, counts_, stage);
    return known->second;
  }

  /// How often short tiles follow full ones at the steps of the first loops.
  double changes_above(std::size_t loops) {
    while (changes_.size() <= loops)
      changes_.push_back(changes_.back() + changes_to_short(view_, counts_, static_cast<int>(changes_.size()) - 1));
    return changes_[loops];
  }

 private:
  const ResolvedNest& view_;
  const TileCounts& counts_;
  std::vector<TileMix> by_loops_;   ///< empty: not asked for yet
  std::vector<double> changes_{0};  ///< by loops, as far as known
  Traffic::ById<MemoryId, bool> apart_;
};

/// Sorts tiles by place, from the outermost, and finds the rounds of places: `rounds[0]` is the whole nest, once.
/// `first`: tile of each, and the end.
void settle_rounds(std::vector<StreamTile>& tiles, std::vector<double>& rounds, std::vector<std::size_t>& first) {
  const auto further_out = [](const StreamTile& a, const StreamTile& b) { return a.place < b.place; };
  if (!std::is_sorted(tiles.begin(), tiles.end(), further_out))
    std::stable_sort(tiles.begin(), tiles.end(), further_out);
  rounds = {1};
  first = {0};
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    if (tiles[t].place > 0 && (t == 0 || tiles[t].place != tiles[t - 1].place)) {
      rounds.push_back(rounds.back());
      first.push_back(t);
    }
    rounds.back() = std::max(rounds.back(), tiles[t].place > 0 ? tiles[t].refills : 1);
  }
  first.push_back(tiles.size());
}

class Stream {
 public:
  Stream(const ResolvedNest& view, const TileCounts& counts) : view_(view), counts_(counts), mixes_(view, counts) {
    const std::size_t window = stream_window(*view.model);
    window_ = orders_itself(*view.model) ? 1e18 : static_cast<double>(window);
    const Instruction& instruction = *view.instruction;
    const std::size_t loops = view.loops.size();
    const KnownCalls::Call& whole = mixes_.call(mixes_.below(loops).whole);
    call_ =
        whole.interval / ports_of(instruction, *view.model) *
        mean_share(mixes_.below(loops), whole.interval, [&](const auto& sizes) { return mixes_.call(sizes).interval; });
    latency_ = result_latency(call_, whole.own_latency, instruction, *view.model);
    calls_ = counts.steps(static_cast<int>(loops));
    call_port_ = ports_.of(instruction);
    if (const std::size_t ports = whole.held.shared.size(); ports > 0) {
      const Quantities shares = mean_shares(mixes_.below(loops), quantities(whole.held, ports), [&](const auto& sizes) {
        return quantities(mixes_.call(sizes).held, ports);
      });
      ports_.keep(*view.model, whole.held, shares, calls_, kept_by_calls_);
    }
  }

  StreamTime run(const Traffic& traffic) {
    for (const Transfer& t : traffic.transfers)
      if (t.stage >= 0 && t.from != t.to) add_tile(t);
    settle_rounds(tiles_, rounds_, first_);
    wait_for_sums();
    Round round{calls_ * call_ / rounds_.back(), calls_ / rounds_.back()};
    for (std::size_t p = rounds_.size(); p-- > 0;) {
      for (std::size_t t = first_[p]; t < first_[p + 1]; ++t) tiles_[t].round = round.cycles;
      if (p == 0) break;
      const double times = rounds_[p] / rounds_[p - 1];
      const double between = std::max(mean_gap(p, round), busiest(first_[p], rounds_[p]) - round.cycles);
      for (std::size_t t = first_[p]; t < first_[p + 1]; ++t) round.commands += tiles_[t].in.uses + tiles_[t].out.uses;
      round = {times * round.cycles + (times - 1) * between, times * round.commands};
    }
    const Filled first = fill(0, {}, Edge{0, 0, true});
    const double begin = std::max(0.0, first.ready);
    Drained end;
    drain(0, round, lookahead(0, round, 0, 0), end);
    // The last call also waits for the last part of the tiles that are filled once.
    double serial = std::max(begin + round.cycles, first.whole) + end.ended;
    for (const StreamTile& tile : tiles_)  // no result drains before the first tile, a full one, is finished
      if (tile.out.port >= 0)
        serial = std::max(serial, begin + tile.round * tile.largest * (1 - tile.released) +
                                      (tile.refills * tile.out.uses - 1) * tile.out.cycles + tile.out.latency);
    const double busy = busiest(0, 1), compute = calls_ * call_;
    StreamTime time{{"latencies", "", std::max(serial, busy)}, begin, compute, std::max(0.0, end.ended)};
    if (2 * compute >= time.bound.cycles)
      time.bound.kind = "compute", time.bound.bound_of = BoundOf::calls;
    else if (2 * busy >= time.bound.cycles)
      time.bound.kind = "port", time.bound.of = ports_.all[index_of_largest(busy_)].name;
    return time;
  }

 private:
  void add_tile(const Transfer& t) {
    const StagedTile& s = view_.stages[static_cast<std::size_t>(t.stage)];
    StreamTile tile;
    tile.number = kept_by_moves_.size();
    kept_by_moves_.emplace_back();
    tile.stage = t.stage;
    tile.parent = s.parent;
    tile.refills = counts_.steps(s.loops);
    tile.doubled = s.stage.buffers > 1;
    tile.apart = !tile.doubled && mixes_.are_apart(t.stage);
    tile.place = place_of(counts_, s.loops);
    const TileMoves by = moves_of(view_, t);
    const double loaded =
        t.access == 0 && t.elements_in > 0 ? std::min(1.0, t.elements_in / std::max(t.elements_out, 1.0)) : 1;
    if (by.in != nullptr) tile.in = way(*by.in, t, loaded, tile.full_in);
    tile.cleared = by.in != nullptr && t.elements_in <= 0;
    if (by.out != nullptr) tile.out = way(*by.out, t, 1, tile.full_out);
    tile.largest = largest(mixes_.below(static_cast<std::size_t>(s.loops)), tile.full);
    tile.changes = mixes_.changes_above(static_cast<std::size_t>(s.loops)) / std::max(1.0, tile.refills);
    if (const Instruction* most = tile.in.uses > tile.out.uses ? by.in : by.out; most != nullptr)
      tile.released = released(view_, counts_, t.stage, t.access, *most);
    tiles_.push_back(std::move(tile));
  }

  /// For the mean tile, and for a full one.
  TilePath way(const Instruction& move, const Transfer& t, double share, TilePath& full) {
    const TileMix& tiles =
        mixes_.below(static_cast<std::size_t>(view_.stages[static_cast<std::size_t>(t.stage)].loops));
    const TileMove one = move_of_tile(view_, t.stage, move, tiles.whole);
    const std::size_t ports = one.shared.size();
    const Quantities shares = mean_shares(tiles, quantities(one, ports), [&](const auto& sizes) {
      return quantities(move_of_tile(view_, t.stage, move, sizes), ports);
    });
    const double uses = std::max(1.0, one.uses * shares[0]);
    const double cycles = one.cycles * shares[1] / uses;
    const double whole = std::max(1.0, one.uses);
    const double behind = link_latency(move, *view_.model);
    full = {ports_.of(move), whole * share, one.cycles / whole, std::max(one.latency, one.cycles / whole + behind)};
    ports_.keep(*view_.model, one, shares, share * t.instances, kept_by_moves_.back());
    return {full.port, uses * share, cycles, std::max(one.latency, cycles + behind)};
  }

  /// Calls of a reduction depend on the sums of earlier calls.
  void wait_for_sums() {
    if (view_.statement.reduction == Reduction::assign) return;
    const Instruction& instruction = *view_.instruction;
    const TileMix& tiles = mixes_.below(view_.loops.size());
    // Calls that change state, and those of one queue, keep their order.
    const bool in_order = orders_itself(*view_.model) || !instruction.sets.empty();
    const double mean = latency_ * mean_share(tiles, mixes_.call(tiles.whole).latency,
                                              [&](const auto& sizes) { return mixes_.call(sizes).latency; });
    call_ =
        std::max(call_, mean * chains_of(view_, counts_, tiles_).latencies(in_order ? 1 : window_, call_ / latency_));
  }

  /// Cycles of the busiest port in one of `rounds`, for tiles from `first` on and for calls.
  double busiest(std::size_t first, double rounds) {
    busy_.assign(ports_.all.size(), 0);
    busy_[static_cast<std::size_t>(call_port_)] = calls_ * call_;
    for (const auto& [port, cycles] : kept_by_calls_) busy_[static_cast<std::size_t>(port)] += cycles;
    for (std::size_t t = first; t < tiles_.size(); ++t) {
      for (const TilePath* w : {&tiles_[t].in, &tiles_[t].out})
        if (w->port >= 0) busy_[static_cast<std::size_t>(w->port)] += tiles_[t].refills * w->uses * w->cycles;
      for (const auto& [port, cycles] : kept_by_moves_[tiles_[t].number])
        busy_[static_cast<std::size_t>(port)] += tiles_[t].refills * cycles;
    }
    return *std::max_element(busy_.begin(), busy_.end()) / rounds;
  }

  /// Time before the end of a round at which the command `behind` positions after it enters the window.
  double lookahead(std::size_t place, const Round& round, double gap, double behind) const {
    const double seen = window_ - 1 - behind;
    if (seen >= round.commands + moves_from(tiles_, first_[place])) return round.cycles + gap;
    return std::clamp(seen / std::max(round.commands, 1.0), 0.0, 1.0) * round.cycles;
  }

  /// Results drain in parts, inner tiles first: each when it is finished and within `seen` cycles of the end.
  void drain(std::size_t place, const Round& round, double seen, Drained& d) const {
    d.ended = latency_ - call_, d.visible = -1e300, d.commands = 0;
    d.ports.assign(ports_.all.size(), PortDrains{});
    d.results.assign(tiles_.size(), -1e300);
    double inner = latency_ - call_, each = 0, begins_at = 0;
    for (std::size_t t = tiles_.size(); t-- > first_[place];) {
      const TilePath& out = tiles_[t].out;
      if (out.port < 0) continue;
      PortDrains& port = d.ports[static_cast<std::size_t>(out.port)];
      begins_at = std::max(port.free, inner - std::min({tiles_[t].released * tiles_[t].round, seen, round.cycles}));
      const double last = std::max(begins_at + (out.uses - 1) * out.cycles, inner);
      port.add(out, begins_at, last);
      d.results[t] = begins_at + out.latency;
      d.ended = inner = last + out.latency;
      d.commands += out.uses;
      each = out.cycles;
    }
    if (d.commands >= window_) d.visible = begins_at + (d.commands - window_ + 1) * each;
  }

  /// Fills of tiles from `place` on, relative to the end of the round before.
  Filled fill(std::size_t place, const Drained& drained, const Edge& edge) const {
    boost::container::small_vector<PortFills, 8> ports;
    for (const PortDrains& port : drained.ports) ports.emplace_back(port);
    ports.resize(ports_.all.size(), PortFills(edge.first ? 0 : -1e300));
    boost::container::small_vector<double, 16> there(view_.stages.size(), -1e300);
    double ready = 0, latest = 0, each = 0, commands = 0, whole = 0;
    for (std::size_t t = first_[place]; t < tiles_.size(); ++t) {
      const StreamTile& tile = tiles_[t];
      const double unused = latency_ - call_;  // operands are free once the last call has read them
      if (tile.cleared && !edge.first) {
        commands += tile.in.uses;  // each part is cleared once it is drained, before calls read it again
      } else if (tile.in.port >= 0) {
        const auto p = static_cast<std::size_t>(tile.in.port);
        double start = edge.visible, least = -1e300;
        if (!edge.first) {
          const double lead = std::min(tile.released * tile.round, -std::min(edge.visible, 0.0));
          start = std::max(start, unused - (tile.doubled ? edge.period : lead));
          if (!tile.doubled) least = unused;
          if (tile.in.port == call_port_) start = std::max(start, 0.0);
        }
        if (tile.parent >= 0) start = std::max(start, there[static_cast<std::size_t>(tile.parent)]);
        // after the drains of the round before, which come first in the program
        const double early = !edge.first && tile.doubled && !orders_itself(*view_.model)
                                 ? unused - edge.period + drained.ports[p].cycles
                                 : 1e300;
        const auto [first, last] = ports[p].add(tile.in, start, least, early);
        if (tile.in.uses >= 1 && tile.out.port < 0) whole = std::max(whole, last + tile.in.latency);
        there[static_cast<std::size_t>(tile.stage)] = first + tile.in.latency;
        ready = std::max(ready, resumption(tile, first, last));
        commands += tile.in.uses;
        if (last + tile.in.cycles > latest) latest = last + tile.in.cycles, each = tile.in.cycles;
      }
      if (!edge.first && tile.out.port >= 0 && !tile.doubled) ready = std::max(ready, drained.results[t]);
    }
    return {std::max(ready, latest - std::min(window_, commands) * each), whole};  // calls enter the window
  }

  /// Stall between two rounds of a place. A longer stall lets later commands start earlier: a fixed point, found by
  /// damped iteration. `before`: the stall before the first of the two; nothing: the same.
  double gap(std::size_t place, const Round& round, std::optional<double> before = std::nullopt) const {
    double gap = 0, found = 0, seen = 0;
    Drained drained;
    Edge edge;
    for (int turn = 0; turn < turns; ++turn) {
      const double now = lookahead(place, round, gap, 0);
      const bool same = turn > 0 && now == seen;  // mostly: what the window reaches does not depend on the stall
      if (!same) drain(place, round, seen = now, drained);
      const Edge last = edge;
      edge.period = round.cycles + before.value_or(gap);
      edge.visible = std::max(drained.visible, -lookahead(place, round, gap, drained.commands));
      if (!same || edge != last) found = std::max(0.0, fill(place, drained, edge).ready);
      if (found == gap) break;
      gap = turn == 0 ? found : (gap + found) / 2;
    }
    return gap;
  }

  /// Full tiles and tails apart: the stall of one is not compensated by the other, and a full tile that follows a short
  /// one is filled during the short round.
  double mean_gap(std::size_t place, const Round& round) {
    const double full = tiles_[first_[place]].full, largest = tiles_[first_[place]].largest;
    if (full <= 0 || full >= 1) return gap(place, round);
    RoundTiles tiles{std::span(tiles_).subspan(first_[place]), full};
    const auto between = [&](bool from_full, bool to_full, std::optional<double> before = std::nullopt) {
      tiles.set(from_full, to_full);
      const double share = from_full ? largest : of_short(1, largest, full);
      return gap(place, {round.cycles * share, round.commands * share}, before);
    };
    const double alternating = std::min({full, 1 - full, tiles_[first_[place]].changes});
    double to_short = 0, to_full = 0;
    for (int turn = 0; turn < 2; ++turn) {
      const double before = to_short;
      to_full = between(false, true, before);
      to_short = between(true, false, to_full);
      if (to_short == before) break;
    }
    double sum = alternating * (to_full + to_short);
    if (full > alternating) sum += (full - alternating) * between(true, true);
    if (1 - full > alternating) sum += (1 - full - alternating) * between(false, false);
    tiles.reset();
    return sum;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  double window_ = 1, call_ = 0, latency_ = 0, calls_ = 0;
  int call_port_ = 0;
  KeptPorts kept_by_calls_;
  std::vector<KeptPorts> kept_by_moves_;  ///< by number of the tile
  StreamPorts ports_;
  std::vector<StreamTile> tiles_;   ///< by place, from the outermost
  std::vector<double> rounds_;      ///< by place: how often it is renewed
  std::vector<std::size_t> first_;  ///< by place: its first tile; one more at the end
  std::vector<double> busy_;
  TileMixes mixes_;
};

}  // namespace

bool is_stream(const ResolvedNest& view) { return view.instruction && executes_a_stream(*view.model); }

std::vector<std::int64_t> padded_call_extents(const ResolvedNest& view) { return padded(view, view.call_extents()); }

TileMove tile_move(const ResolvedNest& view, int stage, const Instruction& move) {
  return move_of_tile(view, stage, move, view.tiles(view.stages[static_cast<std::size_t>(stage)].loops));
}

StreamTime stream_time(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  return Stream(view, counts).run(traffic);
}

}  // namespace isamap
