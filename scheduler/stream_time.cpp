#include "scheduler/stream_time.h"

#include <algorithm>
#include <map>

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

/// Extents of the tensor's subscripts in one tile.
std::vector<std::int64_t> tile_extents(const NestView& view, int access, int walks) {
  const std::vector<std::int64_t> sizes = view.tiles(walks);
  Tiles tiles;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    tiles[view.statement.domain.dims[d].name] = {AffineExpr(0), std::max<std::int64_t>(1, sizes[d])};
  std::vector<std::int64_t> extents;
  for (const AffineExpr& form : natural_forms(access_of(view.statement, access)))
    extents.push_back(std::max<std::int64_t>(1, range_over(form, tiles).extent));
  return extents;
}

/// A move's uses for one tile: its last dims run over the tensor's last subscripts. Rows of fused dims (an
/// im2col copy) lie at irregular distances: one use for each.
TileMove uses_of_tile(const Instruction& move, std::vector<std::int64_t> tile, bool regular,
                      const HardwareModel& model) {
  std::vector<std::int64_t> extents = full_extents(move);
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (!move.ranges[d].fixed()) extents[d] = std::max<std::int64_t>(1, move.ranges[d].min);
  double uses = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    while (!tile.empty() && tile.back() == 1) tile.pop_back();
    if (tile.empty()) break;
    extents[d] = move.ranges[d].fixed() ? move.ranges[d].max : std::min(tile.back(), move.ranges[d].max);
    uses *= static_cast<double>(ceil_div(tile.back(), extents[d]));
    tile.pop_back();
    if (!regular) break;
  }
  for (const std::int64_t rest : tile) uses *= static_cast<double>(rest);
  return {uses, uses * interval_of(move, extents, model) / ports_of(move, model), 0};
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
    double refills = 0;
    int buffers = 1;
    Moved in, out;
  };

  void add_tile(const Transfer& t) {
    const StageView& s = view_.stages[static_cast<std::size_t>(t.stage)];
    StagedTile tile;
    tile.refills = counts_.refills(t.access, s.walks) / std::max(1.0, t.instances);
    tile.buffers = s.stage.buffers;
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
    parts_["latencies"] += waited_for * (in + out + of_calls);
    hidden_ += (refills - waited_for) * (in + out);
    if (!all_beside) around = std::max(around, refills);
  }

  const NestView& view_;
  const TileCounts& counts_;
  std::map<int, std::vector<StagedTile>> places_;  ///< by the walks around them
  std::map<std::string, double> parts_, beside_;   ///< in turn; while calls run
  double hidden_ = 0;                              ///< latencies of tiles that are moved while calls run
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
  const StageView& s = view.stages[static_cast<std::size_t>(stage)];
  const Access& access = access_of(view.statement, s.access);
  const std::vector<std::int64_t> tile = tile_extents(view, s.access, s.walks);
  const bool regular = s.parent >= 0 || std::all_of(access.index.begin(), access.index.end(),
                                                    [](const AffineExpr& e) { return e.is_linear(); });
  TileMove result = uses_of_tile(move, tile, regular, *view.model);
  if (const double rate = move.link.valid() ? view.model->link(move.link).bandwidth : 0; rate > 0) {
    double moved = static_cast<double>(bytes(view.kernel->tensors[access.tensor.index()].dtype));
    for (const std::int64_t extent : tile) moved *= static_cast<double>(extent);
    result.cycles = std::max(result.cycles, moved / rate);  // no faster than its link
  }
  std::vector<std::int64_t> extents = full_extents(move);
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (!move.ranges[d].fixed()) extents[d] = std::min<std::int64_t>(extents[d], tile.empty() ? 1 : tile.back());
  result.latency = latency_of(move, extents, *view.model);
  return result;
}

StreamTime stream_time(const NestView& view, const TileCounts& counts, const Traffic& traffic) {
  return Stream(view, counts).run(traffic);
}

}  // namespace isamap
