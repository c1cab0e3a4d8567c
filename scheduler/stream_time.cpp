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

/// Cycles of a move's uses for one tile: its last dims run over the tensor's last subscripts. Rows of fused dims (an
/// im2col copy) lie at irregular distances: one use for each.
double cycles_of_tile(const Instruction& move, std::vector<std::int64_t> tile, bool regular,
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
  return uses * interval_of(move, extents, model) / ports_of(move, model);
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
    parts_["compute"] = counts_.steps(static_cast<int>(view_.walks.size())) * std::max(interval, chained);
    for (const Transfer& t : traffic.transfers)
      if (t.stage >= 0 && t.from != t.to) transfer(t);
    int deepest = -1;
    for (const auto& [walks, level] : levels_) deepest = std::max(deepest, walks);
    for (auto& [walks, level] : levels_)
      parts_["latencies"] += level.refills * (level.in + level.out + (walks == deepest ? latency : 0));
    StreamTime time;
    double most = -1;
    for (const auto& [name, cycles] : parts_) {
      time.cycles += cycles;
      if (cycles > most) most = cycles, time.bound = name;
    }
    return time;
  }

 private:
  struct Level {
    double refills = 0, in = 0, out = 0;
  };

  void transfer(const Transfer& t) {
    const StageView& s = view_.stages[static_cast<std::size_t>(t.stage)];
    const double refills = counts_.refills(t.access, s.walks) / std::max(1.0, t.instances);
    Level& level = levels_[s.walks];
    level.refills = std::max(level.refills, refills);
    const bool output = t.access == 0;
    if (t.elements_in > 0)
      level.in = std::max(
          level.in, move(t.from, t.to, t, refills * (output ? t.elements_in / std::max(t.elements_out, 1.0) : 1)));
    if (output && t.elements_out > 0) level.out = std::max(level.out, move(t.to, t.from, t, refills));
  }

  /// Adds the cycles; the latency.
  double move(MemoryId from, MemoryId to, const Transfer& t, double times) {
    const DType type = view_.kernel->tensors[access_of(view_.statement, t.access).tensor.index()].dtype;
    const Instruction* move = move_between(*view_.model, from, to, type);
    if (!move) return 0;
    const TileMove one = tile_move(view_, t.stage, *move);
    parts_["port " + (move->timing.port.empty() ? move->name : move->timing.port)] += times * one.cycles;
    return one.latency;
  }

  const NestView& view_;
  const TileCounts& counts_;
  std::map<std::string, double> parts_;
  std::map<int, Level> levels_;
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
  TileMove result;
  result.cycles = cycles_of_tile(move, tile, regular, *view.model);
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
