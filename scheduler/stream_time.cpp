#include "scheduler/stream_time.h"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/machine_costs.h"
#include "scheduler/stage_tile.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Calls in a row that update different tiles of the output.
double independent_calls(const NestView& view, const TileCounts& counts) {
  double calls = 1;
  for (int w = static_cast<int>(view.walks.size()); w-- > 0;) {
    if (counts.trip(w) <= 1) continue;
    if (!counts.uses_walk(0, w)) break;
    calls *= static_cast<double>(counts.trip(w));
  }
  return calls;
}

/// A coordinate of a tile, as moves walk it.
struct Walked {
  AffineExpr form;
  std::int64_t extent = 1;  ///< points in the tile
  std::int64_t piece = 1;   ///< neighbours that lie side by side: the digit `form % piece` of the layout
  bool regular = true;      ///< neighbours lie at one distance in the memory outside; of fused dims they often do not
};

/// How the stage's tile is laid out: by its own line, or like the tile around it.
const std::vector<LayoutDigit>* layout_of(const NestView& view, int stage) {
  for (; stage >= 0; stage = view.stages[static_cast<std::size_t>(stage)].parent)
    if (const auto& layout = view.stages[static_cast<std::size_t>(stage)].stage.layout; !layout.empty()) return &layout;
  return nullptr;
}

/// Dims along which the tensor's elements lie at irregular distances: those inside divisions of the offset.
std::set<std::string> irregular_dims(const NestView& view, const Access& access) {
  std::set<std::string> names;
  const auto linear = [](const AffineExpr& e) { return e.is_linear(); };
  if (std::all_of(access.index.begin(), access.index.end(), linear)) return names;
  const Tensor& tensor = view.kernel->tensors[access.tensor.index()];
  const AffineExpr offset = simplify(row_major(access.index, tensor.shape), ranges_of(view.statement.domain));
  for (const AffineTerm& term : offset.terms())
    if (const FloorDiv* part = division(term)) names.merge(part->numerator->names());
  return names;
}

/// Do neighbours along the form lie side by side where the tile comes from and goes to?
bool side_by_side_outside(const NestView& view, int stage, const AffineExpr& form) {
  const StageView& s = view.stages[static_cast<std::size_t>(stage)];
  if (const auto* layout = layout_of(view, s.parent)) {
    const auto split = split_digit(layout->back().index);
    return split && split->divide == 1 && split->form == form;
  }
  const Access& access = access_of(view.statement, s.access);
  if (access.index.empty()) return true;
  const AffineExpr& last = access.index.back();
  const std::set<std::string> names = form.names();
  return !last.is_linear() ||
         std::all_of(names.begin(), names.end(), [&](const std::string& name) { return last.coefficient(name) == 1; });
}

/// Must neighbours along the move's last dim lie at one distance, mostly side by side?
bool demands_distance(const Instruction& move) {
  std::size_t d = move.ranges.size();
  while (d > 0 && move.ranges[d - 1].max == 1) --d;
  if (d == 0) return false;
  const std::string& last = move.statement().domain.dims[d - 1].name;
  return std::any_of(move.operands.begin(), move.operands.end(), [&](const Operand& operand) {
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    return !strided || std::any_of(strided->terms.begin(), strided->terms.end(), [&](const StrideTerm& term) {
      return term.stride && term.term.names().contains(last);
    });
  });
}

/// Coordinates of a stage's tile with more than one point, the one whose neighbours lie side by side last; if they lie
/// otherwise where the tile comes from, there is a single point of none in its place.
std::vector<Walked> coordinates_of(const NestView& view, int stage, bool demands) {
  const StageView& s = view.stages[static_cast<std::size_t>(stage)];
  const Access& access = access_of(view.statement, s.access);
  const std::vector<std::int64_t> sizes = view.tiles(s.walks);
  Tiles tiles;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    tiles[view.statement.domain.dims[d].name] = {AffineExpr(0), std::max<std::int64_t>(1, sizes[d])};
  std::vector<Walked> all;
  if (const auto* layout = layout_of(view, stage)) {
    for (const LayoutDigit& digit : *layout) {
      const auto split = split_digit(digit.index);
      const auto name = split ? split->form.as_dim() : std::nullopt;
      if (!split || (name && name->front() == '$')) continue;
      const auto same = [&](const Walked& w) { return w.form == split->form; };
      auto at = std::find_if(all.begin(), all.end(), same);
      if (at == all.end()) {
        const std::int64_t extent = std::max<std::int64_t>(1, range_over(split->form, tiles).extent);
        at = all.insert(all.end(), {split->form, extent, extent, true});
      }
      if (split->divide == 1 && split->modulo > 0) at->piece = std::min(at->extent, split->modulo);
      std::rotate(at, at + 1, all.end());
    }
  } else {
    for (const AffineExpr& form : natural_forms(access)) {
      const std::int64_t extent = std::max<std::int64_t>(1, range_over(form, tiles).extent);
      all.push_back({form, extent, extent, true});
    }
  }
  if (s.parent < 0) {
    const std::set<std::string> irregular = irregular_dims(view, access);
    for (Walked& w : all)
      for (const std::string& name : w.form.names()) w.regular = w.regular && !irregular.contains(name);
  }
  std::erase_if(all, [](const Walked& w) { return w.extent <= 1; });
  if (!all.empty() && demands && !side_by_side_outside(view, stage, all.back().form)) all.push_back({});
  return all;
}

/// Points along a coordinate that one use takes.
std::int64_t points_of_use(const DimRange& range, const Walked& walked) {
  return walked.regular ? std::min(walked.piece, range.max) : 1;
}

/// A move's uses for one tile: its last dim runs over neighbours that lie side by side, the others each over the
/// coordinate along which that saves most uses. What no dim runs over takes one use for every point.
TileMove uses_of_tile(const Instruction& move, std::vector<Walked> tile, const HardwareModel& model) {
  std::vector<std::int64_t> extents = full_extents(move);
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (!move.ranges[d].fixed()) extents[d] = std::max<std::int64_t>(1, move.ranges[d].min);
  double uses = 1;
  bool last = true;
  for (std::size_t d = extents.size(); d-- > 0 && !tile.empty();) {
    if (move.ranges[d].max == 1) continue;
    const auto uses_left = [&](const Walked& w) {
      return static_cast<double>(ceil_div(w.extent, points_of_use(move.ranges[d], w))) / static_cast<double>(w.extent);
    };
    const auto walked =
        last ? tile.end() - 1 : std::min_element(tile.begin(), tile.end(), [&](const Walked& a, const Walked& b) {
          return uses_left(a) < uses_left(b);
        });
    last = false;
    const std::int64_t points = points_of_use(move.ranges[d], *walked);
    if (!move.ranges[d].fixed()) extents[d] = std::max(extents[d], points);
    uses *= static_cast<double>(ceil_div(walked->extent, points));
    tile.erase(walked);
  }
  for (const Walked& rest : tile) uses *= static_cast<double>(rest.extent);
  return {uses, uses * interval_of(move, extents, model) / ports_of(move, model), latency_of(move, extents, model)};
}

class Stream {
 public:
  Stream(const NestView& view, const TileCounts& counts) : view_(view), counts_(counts) {}

  StreamTime run(const Traffic& traffic) {
    const Instruction& instruction = *view_.instruction;
    const std::vector<std::int64_t> extents = padded_call_extents(view_);
    const double interval = interval_of(instruction, extents, *view_.model) / ports_of(instruction, *view_.model);
    const double latency = latency_of(instruction, extents, *view_.model);
    const double chained =
        view_.statement.reduction == Reduction::assign ? 0 : latency / independent_calls(view_, counts_);
    const double compute = counts_.steps(static_cast<int>(view_.walks.size())) * std::max(interval, chained);
    for (const Transfer& t : traffic.transfers)
      if (t.stage >= 0 && t.from != t.to) add_tile(t);
    double around = 1;  // how often tiles that are renewed in turn with the calls change outside
    for (auto place = places_.begin(); place != places_.end(); ++place)
      add_place(place->second, std::next(place) == places_.end() ? latency : 0, around);
    std::pair<std::string, double> longest{"compute", compute};  // of what runs at the same time
    double of_two = compute + hidden_;                           // a tile is moved and used within the time of two
    for (const auto& [port, cycles] : beside_) {
      of_two += cycles;
      if (cycles > longest.second) longest = {port, cycles};
    }
    if (of_two / 2 > longest.second) longest = {"tiles in turn", of_two / 2};
    parts_[longest.first] += longest.second;
    StreamTime time;
    double most = -1;
    for (const auto& [name, cycles] : parts_) {
      time.cycles += cycles;
      if (cycles > most) most = cycles, time.bound = name;
    }
    return time;
  }

 private:
  struct Moved {
    double times = 0;  ///< tiles
    std::string port;
    TileMove one;
  };
  struct StagedTile {
    int stage = -1, parent = -1;
    double refills = 0;
    int buffers = 1;
    Moved in, out;
  };

  void add_tile(const Transfer& t) {
    const StageView& s = view_.stages[static_cast<std::size_t>(t.stage)];
    StagedTile tile;
    tile.refills = counts_.refills(t.access, s.walks) / std::max(1.0, t.instances);
    tile.buffers = s.stage.buffers;
    tile.stage = t.stage;
    tile.parent = s.parent;
    const bool output = t.access == 0;
    if (t.elements_in > 0)
      tile.in = moved(t.from, t.to, t, tile.refills * (output ? t.elements_in / std::max(t.elements_out, 1.0) : 1));
    if (output && t.elements_out > 0) tile.out = moved(t.to, t.from, t, tile.refills);
    places_[s.walks].push_back(std::move(tile));
  }

  Moved moved(MemoryId from, MemoryId to, const Transfer& t, double times) const {
    const DType type = view_.kernel->tensors[access_of(view_.statement, t.access).tensor.index()].dtype;
    const Instruction* move = move_between(*view_.model, from, to, type);
    if (!move) return {};
    return {times, "port " + (move->timing.port.empty() ? move->name : move->timing.port),
            tile_move(view_, t.stage, *move)};
  }

  void add_place(const std::vector<StagedTile>& tiles, double of_calls, double& around) {
    double refills = 0, in = 0, out = 0;
    bool all_beside = true;
    for (const StagedTile& tile : tiles) {
      const bool beside = tile.buffers > 1 && tile.refills > around;  // the first of each round is waited for
      all_beside = all_beside && beside;
      for (const Moved* move : {&tile.in, &tile.out}) {
        if (move->times == 0) continue;
        const double rounds = beside ? move->times * around / tile.refills : move->times;
        const double waited_for = rounds / std::max(1.0, move->one.uses);  // for the first piece
        parts_[move->port] += waited_for * move->one.cycles;
        beside_[move->port] += (move->times - waited_for) * move->one.cycles;
      }
      refills = std::max(refills, tile.refills);
      in = std::max(in, tile.in.one.latency);
      out = std::max(out, tile.out.one.latency);
    }
    const double waited_for = all_beside ? around : refills;
    // With a tile outside also those inside are renewed: side by side, unless they come out of that one.
    const bool chained = std::any_of(tiles.begin(), tiles.end(),
                                     [&](const StagedTile& tile) { return outside_.stages.contains(tile.parent); });
    const double together = chained ? 0 : std::min(outside_.waited_for, waited_for) * std::min(outside_.in, in);
    outside_ = {{}, waited_for, in};
    for (const StagedTile& tile : tiles) outside_.stages.insert(tile.stage);
    parts_["latencies"] += waited_for * (in + out + of_calls) - together;
    hidden_ += (refills - waited_for) * (in + out);
    if (!all_beside) around = std::max(around, refills);
  }

  const NestView& view_;
  const TileCounts& counts_;
  std::map<int, std::vector<StagedTile>> places_;  ///< by the walks around them
  std::map<std::string, double> parts_, beside_;   ///< in turn; while calls run
  struct {
    std::set<int> stages;
    double waited_for = 0, in = 0;
  } outside_;          ///< the place before
  double hidden_ = 0;  ///< latencies of tiles that are moved while calls run
};

}  // namespace

bool executes_a_stream(const HardwareModel& model) { return model.program.language == "asm" && issues_moves(model); }

std::vector<std::int64_t> padded_call_extents(const NestView& view) {
  std::vector<std::int64_t> extents = view.call_extents();
  for (std::size_t m = 0; m < extents.size(); ++m) {
    const DimRange& range = view.instruction->ranges[m];
    const bool allowed = extents[m] >= range.min && extents[m] % std::max<std::int64_t>(1, range.multiple_of) == 0;
    if (!allowed) extents[m] = range.max;
  }
  return extents;
}

TileMove tile_move(const NestView& view, int stage, const Instruction& move) {
  const std::vector<Walked> tile = coordinates_of(view, stage, demands_distance(move));
  TileMove result = uses_of_tile(move, tile, *view.model);
  if (const double rate = move.link.valid() ? view.model->link(move.link).bandwidth : 0; rate > 0) {
    const Access& access = access_of(view.statement, view.stages[static_cast<std::size_t>(stage)].access);
    double moved = static_cast<double>(bytes(view.kernel->tensors[access.tensor.index()].dtype));
    for (const Walked& walked : tile) moved *= static_cast<double>(walked.extent);
    result.cycles = std::max(result.cycles, moved / rate);  // no faster than its link
  }
  return result;
}

StreamTime stream_time(const NestView& view, const TileCounts& counts, const Traffic& traffic) {
  return Stream(view, counts).run(traffic);
}

}  // namespace isamap
