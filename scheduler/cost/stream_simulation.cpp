// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/stream_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "hwdesc/model/memory_time.h"
#include "hwdesc/model/stream_window.h"
#include "scheduler/cost/capacity.h"
#include "scheduler/cost/command_queue.h"
#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/data_dependences.h"
#include "scheduler/cost/first_values.h"
#include "scheduler/cost/tile_uses.h"
#include "scheduler/nest/instruction_timing.h"
#include "support/arithmetic.h"
#include "support/stop.h"

namespace isamap {

namespace {

constexpr double most_replayed = 20000;  ///< commands of one of the finalists of a search: some 20 ms

/// A box of points of the statement: first point and extent by dim.
struct PointBox {
  std::vector<std::int64_t> low, extent;
};

/// The values of a linear form over a box.
TouchedParts::Range values_of(const std::vector<std::int64_t>& factors, const PointBox& box) {
  TouchedParts::Range range{0, 1};
  for (std::size_t d = 0; d < factors.size(); ++d) {
    const std::int64_t first = factors[d] * box.low[d], last = first + factors[d] * (box.extent[d] - 1);
    range.low += std::min(first, last);
    range.high += std::max(first, last);
  }
  return range;
}

/// An axis of a tile: a coordinate, counted from where the tile begins.
struct TileAxis {
  AffineExpr form;
  std::vector<std::int64_t> factors;  ///< by dim of the statement
  std::int64_t replicas = 1;          ///< of a coordinate without such dims, `$j`: calls access all of them
};

/// The part of an axis that the points of a box access.
TouchedParts::Range part_of_axis(const TileAxis& axis, const PointBox& box) {
  TouchedParts::Range range = values_of(axis.factors, box);
  range.high += axis.replicas - 1;
  return range;
}

/// One of the buffers that the tiles of a stage rotate through.
struct TileBuffer {
  TouchedParts touched;
  std::vector<std::int64_t> begins;  ///< by axis: value of its form
};

/// A stage filled and drained by commands.
struct MovedStage {
  int stage = -1, parent = -1;  ///< parent: number of the moved stage that fills it; -1: home
  int flow = 0, access = 0;
  int place = 0;  ///< loops above its commands, also those that it does not use where its stage could not be moved
  const Instruction *in = nullptr, *out = nullptr, *clear = nullptr;
  bool starts_full = false;  ///< filled at the first visit too
  std::vector<TileAxis> axes;
  std::vector<TouchedParts::Axis> parts;
  bool apart = false;                                                    ///< short tiles have buffers of their own
  std::map<std::vector<std::int64_t>, std::vector<TileBuffer>> buffers;  ///< by extents below each loop above
  std::vector<TileBuffer>* current = nullptr;
  std::int64_t tiles = 0;  ///< tiles so far

  /// The buffer of the next tile: they take turns in all tiles, whole and short.
  TileBuffer& next(const ResolvedNest& view, const std::vector<std::int64_t>& extents) {
    const auto [found, fresh] = buffers.try_emplace(apart ? extents : std::vector<std::int64_t>());
    current = &found->second;
    const int count = view.stages[static_cast<std::size_t>(stage)].stage.buffers;
    if (fresh)
      current->assign(static_cast<std::size_t>(std::max(1, count)),
                      {TouchedParts(parts), std::vector<std::int64_t>(axes.size(), 0)});
    ++tiles;
    return buffer();
  }
  TileBuffer& buffer() {
    return (*current)[static_cast<std::size_t>((tiles - 1) % static_cast<std::int64_t>(current->size()))];
  }
};

/// Greatest common divisor of the points along a coordinate covered by uses of the moves of a stage.
std::int64_t points_of_moves(const ResolvedNest& view, const MovedStage& s, const AffineExpr& form) {
  std::int64_t points = 0;
  const std::vector<std::int64_t> full = view.tiles(view.stages[static_cast<std::size_t>(s.stage)].loops);
  for (const Instruction* move : {s.in, s.out, s.clear})
    if (move != nullptr)
      for (const TileCoordinate& w : coordinates_of_move(view, s.stage, *move, full))
        if (w.form == form && w.points < w.extent) points = std::gcd(points, w.points);
  return points;
}

/// Axes of the tile of a stage, cut where inner loops, moves and calls begin and end.
void lay_out(const ResolvedNest& view, const std::vector<MovedStage>& stages, std::size_t number, MovedStage& s) {
  const StagedTile& stage = view.stages[static_cast<std::size_t>(s.stage)];
  const std::vector<std::int64_t> full = view.tiles(stage.loops);
  for (const TileCoordinate& coordinate : coordinates_of(view, s.stage, full)) {
    TileAxis axis{coordinate.form, {}, coordinate.replicates() ? coordinate.extent : 1};
    for (const Dim& dim : view.statement.domain.dims) axis.factors.push_back(coordinate.form.coefficient(dim.name));
    std::int64_t part = 0;
    for (std::size_t w = static_cast<std::size_t>(stage.loops); w < view.loops.size(); ++w)
      if (const auto d = static_cast<std::size_t>(view.loops[w].dim); view.loops[w].tile < full[d])
        part = std::gcd(part, axis.factors[d] * view.loops[w].tile);
    for (std::size_t other = 0; other < stages.size(); ++other)
      if (other == number || stages[other].parent == static_cast<int>(number))
        part = std::gcd(part, points_of_moves(view, stages[other], coordinate.form));
    s.parts.push_back({coordinate.extent, part == 0 ? coordinate.extent : std::abs(part)});
    s.axes.push_back(std::move(axis));
  }
}

/// The innermost loop above a stage of more than one step: what fills it is below all of these.
int place_of_stage(const ResolvedNest& view, const TileCounts& counts, int stage) {
  int place = 0;
  for (int w = 0; w < view.stages[static_cast<std::size_t>(stage)].loops; ++w)
    if (!view.loops[static_cast<std::size_t>(w)].unit.valid() && counts.trip(w) > 1) place = w + 1;
  return place;
}

/// The stages that commands fill or drain, parents first.
std::vector<MovedStage> moved_stages(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                     const NestFlow& flow) {
  std::vector<MovedStage> stages;
  for (const Transfer& t : traffic.transfers) {
    if (t.stage < 0 || t.from == t.to || (t.elements_in <= 0 && t.elements_out <= 0)) continue;
    const Tensor& tensor = view.kernel->tensors[access_of(view.statement, t.access).tensor.index()];
    MovedStage moved;
    moved.stage = t.stage;
    moved.access = t.access;
    for (std::size_t f = 0; f < flow.flows.size(); ++f)
      if (flow.flows[f].stage == t.stage) moved.flow = static_cast<int>(f);
    moved.place = place_of_stage(view, counts, t.stage);
    for (std::size_t other = 0; other < stages.size(); ++other)
      if (stages[other].stage == view.stages[static_cast<std::size_t>(t.stage)].parent)
        moved.parent = static_cast<int>(other);
    if (t.elements_in > 0) moved.in = move_for_tile(view, t.stage, {t.from, t.to, tensor.dtype});
    if (t.access == 0 && t.elements_out > 0) moved.out = move_for_tile(view, t.stage, {t.to, t.from, tensor.dtype});
    if (t.elements_out > 0) moved.clear = clear_for_tile(view, t.stage);
    moved.starts_full = t.access != 0 || starts_full(view);
    stages.push_back(std::move(moved));
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    lay_out(view, stages, s, stages[s]);
    stages[s].apart = short_tiles_are_apart(view, counts, stages[s].stage);
  }
  return stages;
}

/// A copy by the host: commands before it have ended when it is made, those after it start then.
struct HostCopy {
  int place = 0;  ///< loops above it
  bool in = false, out = false;
};

std::vector<HostCopy> host_copies_of(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  std::vector<HostCopy> copies;
  for (const Transfer& t : traffic.transfers) {
    if (t.stage < 0 || t.from != t.to) continue;
    HostCopy copy{place_of_stage(view, counts, t.stage), t.elements_in > 0, t.access == 0 && t.elements_out > 0};
    copies.push_back(copy);
  }
  return copies;
}

/// Region of a use of a move in the tile of a stage; `at`: its offset in the tile of `own`, the same stage or one
/// filled from it.
TouchedParts::Box part_of(MovedStage& s, MovedStage& own, const std::vector<TileCoordinate>& coordinates,
                          const std::vector<std::int64_t>& at, const PointBox& box) {
  TouchedParts::Box part;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    TouchedParts::Range range = part_of_axis(s.axes[i], box);
    for (std::size_t w = 0; w < coordinates.size(); ++w)
      for (std::size_t a = 0; a < own.axes.size(); ++a) {
        if (coordinates[w].form != s.axes[i].form || own.axes[a].form != coordinates[w].form) continue;
        range.low = own.buffer().begins[a] + at[w];
        range.high = own.buffer().begins[a] + std::min(coordinates[w].extent, at[w] + coordinates[w].points);
      }
    const std::int64_t begins = s.buffer().begins[i];
    part.push_back({range.low - begins, range.high - begins});
  }
  return part;
}

/// What a call with the points of a box accesses of the tile of a stage.
TouchedParts::Box part_of_call(MovedStage& s, const PointBox& box) {
  TouchedParts::Box part;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const TouchedParts::Range range = part_of_axis(s.axes[i], box);
    const std::int64_t begins = s.buffer().begins[i];
    part.push_back({range.low - begins, range.high - begins});
  }
  return part;
}

/// Uses of a move for tiles of one size.
struct MoveUses {
  std::vector<TileCoordinate> coordinates;
  std::vector<std::int64_t> extents;          ///< of a use, along dims that cover no coordinate
  std::vector<std::vector<std::int64_t>> at;  ///< first points of each use
};

/// The ports of memories and links that a command keeps.
void keep_ports(const std::vector<SharedPortUse>& uses, const HardwareModel& model, CommandQueue& queue,
                TimedCommand& command) {
  for (const auto& [port, cycles] : uses)
    command.shared.emplace_back(queue.port(shared_port_name(port, model), 1), std::ceil(cycles));
}

/// The commands that move tiles.
class MoveCommands {
 public:
  MoveCommands(const ResolvedNest& view, CommandQueue& queue) : view_(view), model_(*view.model), queue_(queue) {}

  /// Of a tile of this size.
  const MoveUses& uses_of(const MovedStage& s, const Instruction& move, const std::vector<std::int64_t>& sizes) {
    const auto [found, fresh] = uses_.try_emplace({s.stage, &move, sizes});
    if (!fresh) return found->second;
    found->second = {coordinates_of_move(view_, s.stage, move, sizes), least_extents(move), {}};
    found->second.at = first_points(found->second.coordinates);
    return found->second;
  }

  /// A use from these first points on.
  TimedCommand timed(const MovedStage& s, const Instruction& move, const MoveUses& uses,
                     const std::vector<std::int64_t>& at) {
    std::vector<std::int64_t> extents = uses.extents;
    const DType type = view_.kernel->tensors[access_of(view_.statement, s.access).tensor.index()].dtype;
    double moved = static_cast<double>(bytes(type));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const TileCoordinate& w = uses.coordinates[i];
      const std::int64_t points = std::min(w.points, w.extent - at[i]);
      moved *= static_cast<double>(points);
      if (w.dim < 0) continue;
      std::int64_t& extent = extents[static_cast<std::size_t>(w.dim)];
      if (!move.ranges[static_cast<std::size_t>(w.dim)].fixed()) extent = std::max(extent, points);
    }
    TimedCommand command;
    const auto shared = shared_port_uses(move, extents, type, model_);
    command.interval = std::max(interval_of(move, extents, model_), transfer_cycles(shared, move, moved, model_));
    command.latency = result_latency(command.interval, latency_of(move, extents, model_), move, model_);
    keep_ports(shared, model_, queue_, command);
    return command;
  }

 private:
  const ResolvedNest& view_;
  const HardwareModel& model_;
  CommandQueue& queue_;
  std::map<std::tuple<int, const Instruction*, std::vector<std::int64_t>>, MoveUses> uses_;
};

/// Extents of the tile of a stage in a box: dims of loops that do not renew it are whole.
PointBox tile_box(const ResolvedNest& view, const MovedStage& s, PointBox box) {
  const std::vector<std::int64_t> most = view.tiles(view.stages[static_cast<std::size_t>(s.stage)].loops);
  for (std::size_t d = 0; d < most.size(); ++d) box.extent[d] = std::min(box.extent[d], most[d]);
  return box;
}

/// Of the commands so far.
struct Progress {
  double cycles = 0, commands = 0, compute = 0;
};

/// Steps of a loop: once pairs of them (tiles alternate between two buffers) take equal times and equal numbers of
/// commands, those that follow are skipped, but for the last pair and a short step. Not while commands before the loop
/// are at work: steps that wait for these may take equal times too.
class Repetitions {
 public:
  Repetitions(std::int64_t whole, const CommandQueue& queue) : whole_(whole), queue_(queue), first_(queue.next()) {}

  struct Skipped {
    std::int64_t steps = 0;
    double cycles = 0, compute = 0;
  };
  /// What to leave out before this step.
  Skipped before(std::int64_t step, const Progress& progress) {
    if (done_ || whole_ < least_steps) return {};
    marks_.push_back(progress);
    const std::size_t n = marks_.size();
    if (n < pairs * 2 + 1 || progress.commands - marks_.front().commands < least_commands) return {};
    const auto pair = [&](std::size_t i) {
      const Progress &later = marks_[n - 1 - 2 * i], &sooner = marks_[n - 3 - 2 * i];
      return Progress{later.cycles - sooner.cycles, later.commands - sooner.commands, later.compute - sooner.compute};
    };
    const Progress last = pair(0);
    for (std::size_t i = 1; i < pairs; ++i)
      if (std::abs(pair(i).cycles - last.cycles) > 1e-6 || pair(i).commands != last.commands) return {};
    const std::int64_t skipped = (whole_ - step - 2) / 2;
    if (last.cycles <= 0 || skipped <= 0 || !queue_.ended_before(first_)) return {};
    done_ = true;
    return {2 * skipped, last.cycles * static_cast<double>(skipped), last.compute * static_cast<double>(skipped)};
  }

 private:
  static constexpr std::int64_t least_steps = 10;
  static constexpr std::size_t pairs = 3;
  static constexpr double least_commands = 100;  ///< several windows: before, none may have been issued
  std::int64_t whole_;
  const CommandQueue& queue_;
  std::int64_t first_;           ///< the first command of the loop
  std::vector<Progress> marks_;  ///< before each step
  bool done_ = false;
};

class StreamSimulation {
 public:
  StreamSimulation(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, const NestFlow& flow,
                   const SimulationOptions& options)
      : view_(view),
        model_(*view.model),
        counts_(counts),
        flow_(flow),
        options_(options),
        stages_(moved_stages(view, counts, traffic, flow)),
        host_copies_(host_copies_of(view, counts, traffic)),
        queue_(stream_window(model_), orders_itself(model_),
               [this](const TimedCommand& c, double start, std::int64_t waited_for) { issued(c, start, waited_for); }) {
    result_.memories = traffic.memories;
    result_.busy.assign(flow.resources.size(), 0);
    result_.waited.assign(flow.flows.size(), 0);
    calls_from_ = view.loops.size();
    box_.low.assign(view.statement.domain.dims.size(), 0);
    for (const Dim& dim : view.statement.domain.dims) box_.extent.push_back(dim.extent);
    call_port_ = port(*view.instruction);
    has_deep_buffers_ =
        std::any_of(view.stages.begin(), view.stages.end(), [](const StagedTile& s) { return s.stage.buffers > 2; });
  }

  /// Were there too many commands?
  bool ended_early() const { return static_cast<double>(queue_.next()) > options_.max_commands; }

  SimulatedNest run() {
    const bool empty = std::any_of(box_.extent.begin(), box_.extent.end(), [](std::int64_t e) { return e <= 0; });
    if (!empty) below(0, true);
    queue_.flush();
    result_.cycles = std::max(end_, calls_end_) + skipped_;
    result_.drain = result_.cycles - calls_end_;
    return std::move(result_);
  }

 private:
  Progress progress() const { return {queue_.clock() + skipped_, static_cast<double>(queue_.next()), result_.compute}; }

  int port(const Instruction& instruction) {
    const std::string& name = port_name(instruction);
    const int number = queue_.port(name, ports_of(instruction, model_));
    resources_.resize(std::max(resources_.size(), static_cast<std::size_t>(number) + 1), -1);
    for (std::size_t r = 0; r < flow_.resources.size(); ++r)
      if (flow_.resources[r].port == name) resources_[static_cast<std::size_t>(number)] = static_cast<int>(r);
    return number;
  }

  /// Everything below the loops from `loop` on, in program order. `first`: no outer loop that the output does not use
  /// is past its first step.
  void below(std::size_t loop, bool first) {
    const int place = static_cast<int>(loop);
    const auto host_copies = [&](bool HostCopy::*kind) {
      for (const HostCopy& copy : host_copies_)
        if (copy.place == place && copy.*kind) queue_.wait_for_all();
    };
    host_copies(&HostCopy::in);
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (stages_[s].place == place) fill(s, first);
    if (loop == calls_from_)
      call();
    else
      steps(loop, first);
    for (std::size_t s = stages_.size(); s-- > 0;)
      if (stages_[s].place == place && stages_[s].out != nullptr) drain(s);
    host_copies(&HostCopy::out);
  }

  void steps(std::size_t loop, bool first) {
    const LoopLevel& w = view_.loops[loop];
    const auto d = static_cast<std::size_t>(w.dim);
    const std::int64_t low = box_.low[d], extent = box_.extent[d];
    const std::int64_t steps = w.unit.valid() ? 1 : ceil_div(extent, w.tile);
    Repetitions repetitions(extent / w.tile, queue_);
    for (std::int64_t step = 0; step < steps; ++step) {
      if (step % 64 == 0) leave_if_asked();
      if (options_.skips_repetitions && !has_deep_buffers_) {
        const auto skipped = repetitions.before(step, progress());
        step += skipped.steps;
        skipped_ += skipped.cycles;
        result_.compute += skipped.compute;
      }
      if (static_cast<double>(queue_.next()) > options_.max_commands) return;
      box_.low[d] = low + step * w.tile;
      box_.extent[d] = std::min(w.tile, extent - step * w.tile);
      path_.push_back(box_.extent[d]);
      below(loop + 1, first && (step == 0 || counts_.uses_loop(0, static_cast<int>(loop))));
      path_.pop_back();
    }
    box_.low[d] = low;
    box_.extent[d] = extent;
  }

  void fill(std::size_t at, bool first) {
    MovedStage& s = stages_[at];
    TileBuffer& place = s.next(view_, path_);
    for (std::size_t i = 0; i < s.axes.size(); ++i) place.begins[i] = values_of(s.axes[i].factors, box_).low;
    if (s.in != nullptr && (s.starts_full || !first)) move(s, *s.in, false);
    if (s.clear != nullptr && first) move(s, *s.clear, false);
  }
  void drain(std::size_t at) { move(stages_[at], *stages_[at].out, true); }

  /// Uses of a move for the current tile.
  void move(MovedStage& s, const Instruction& move, bool out) {
    const PointBox box = tile_box(view_, s, box_);
    const MoveUses& uses = moves_.uses_of(s, move, box.extent);
    const std::vector<TileCoordinate>& coordinates = uses.coordinates;
    const int on = port(move);
    std::size_t use = 0;
    for (const std::vector<std::int64_t>& at : uses.at) {
      before_.clear();
      TimedCommand command = moves_.timed(s, move, uses, at);
      command.port = on;
      command.flow = s.flow;
      command.out = out;
      command.tile = s.tiles - 1;
      touch(s, part_of(s, s, coordinates, at, box), !out);
      if (s.parent >= 0 && &move != s.clear) {  // which reads nothing outside
        MovedStage& parent = stages_[static_cast<std::size_t>(s.parent)];
        touch(parent, part_of(parent, s, coordinates, at, box), out);
      } else if (s.access == 0 && &move != s.clear) {
        at_home(s, use, out);
      }
      flow_of_.push_back(s.flow);
      queue_.add(command, before_, -1);
      ++use;
    }
  }

  void touch(MovedStage& s, const TouchedParts::Box& part, bool write) {
    s.buffer().touched.touch(part, write, queue_.next(), ended_, before_);
  }

  /// Partial sums: a spilled tile is reloaded after its stores, use by use.
  void at_home(MovedStage& s, std::size_t use, bool out) {
    std::vector<std::int64_t>& stored = stored_[{s.stage, s.buffer().begins}];
    if (out) {
      if (use == 0) stored.clear();
      stored.push_back(queue_.next());
    } else if (!stored.empty()) {
      before_.push_back(stored[std::min(use, stored.size() - 1)]);
    }
  }

  void call() {
    before_.clear();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      MovedStage& moved = stages_[s];
      if (view_.innermost[static_cast<std::size_t>(moved.access)] != moved.stage) continue;
      touch(moved, part_of_call(moved, box_), moved.access == 0);
    }
    const auto [found, fresh] = call_times_.try_emplace(box_.extent);
    if (fresh) {
      const std::vector<std::int64_t> extents = padded_extents(view_, box_.extent);
      found->second.interval = command_interval(*view_.instruction, extents, model_);
      found->second.latency = command_latency(*view_.instruction, extents, model_);
      found->second.port = call_port_;
      const DType type = view_.kernel->tensors[view_.statement.write.tensor.index()].dtype;
      keep_ports(held_ports(shared_port_uses(*view_.instruction, extents, type, model_), *view_.instruction), model_,
                 queue_, found->second);
    }
    TimedCommand command = found->second;
    command.tile = calls_++;
    // Calls that change state keep their order.
    const std::int64_t number = queue_.next();
    flow_of_.push_back(-1);
    queue_.add(command, before_, view_.instruction->sets.empty() ? -1 : last_call_);
    last_call_ = number;
  }

  void issued(const TimedCommand& command, double start, std::int64_t waited_for) {
    const double end = start + std::max(command.interval, command.latency);
    end_ = std::max(end_, end);
    ++result_.events;
    const int resource = resources_[static_cast<std::size_t>(command.port)];
    if (resource >= 0) result_.busy[static_cast<std::size_t>(resource)] += command.interval;
    if (command.flow < 0) return call_issued(command, start, end, waited_for);
    slice({BusySlice::Track::transfer, 0, command.flow, command.out, command.tile, start, end});
    if (resource >= 0)
      slice({BusySlice::Track::resource, resource, command.flow, command.out, command.tile, start,
             start + command.interval});
  }

  void call_issued(const TimedCommand& command, double start, double end, std::int64_t waited_for) {
    slice({BusySlice::Track::calls, 0, 0, false, command.tile, start, start + command.interval});
    if (result_.blocks++ == 0)
      result_.fill = start;
    else if (start > call_free_ && waited_for >= 0)
      if (const int flow = flow_of_[static_cast<std::size_t>(waited_for)]; flow >= 0)
        result_.waited[static_cast<std::size_t>(flow)] += start - call_free_;
    result_.compute += command.interval / ports_of(*view_.instruction, model_);
    call_free_ = start + command.interval;
    calls_end_ = std::max(calls_end_, end);
  }

  void slice(const BusySlice& slice) {
    if (options_.slices == 0 || slice.end <= slice.begin) return;
    if (result_.slices.size() < options_.slices)
      result_.slices.push_back(slice);
    else
      result_.all_slices = false;
  }

  const ResolvedNest& view_;
  const HardwareModel& model_;
  const TileCounts& counts_;
  const NestFlow& flow_;
  const SimulationOptions& options_;
  std::vector<MovedStage> stages_;
  std::vector<HostCopy> host_copies_;
  CommandQueue queue_;
  const std::function<double(std::int64_t)> ended_ = [this](std::int64_t command) { return queue_.ended(command); };
  std::vector<int> resources_;  ///< by port: of the flow, or -1
  std::vector<int> flow_of_;    ///< by command
  MoveCommands moves_{view_, queue_};
  std::map<std::vector<std::int64_t>, TimedCommand> call_times_;  ///< by extents
  std::map<std::pair<int, std::vector<std::int64_t>>, std::vector<std::int64_t>> stored_;
  std::vector<std::int64_t> before_;
  PointBox box_;
  std::vector<std::int64_t> path_;  ///< extents of their dims below each loop so far
  std::size_t calls_from_ = 0;
  int call_port_ = 0;
  std::int64_t calls_ = 0, last_call_ = -1;
  bool has_deep_buffers_ = false;  ///< tiles do not repeat after two steps
  double skipped_ = 0;             ///< cycles of the steps that are not simulated
  double end_ = 0, call_free_ = 0, calls_end_ = 0;
  SimulatedNest result_;
};

}  // namespace

Result<SimulatedNest> simulate_stream(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                      const NestFlow& flow, const SimulationOptions& options) {
  const double calls = counts.steps(static_cast<int>(view.loops.size()));
  const auto too_many = [&] {
    return error(fmt::format("{:.0f} calls; the commands of at most {:.0f} are simulated", calls, options.max_commands),
                 "smaller sizes, or --cost latency, which takes a formula");
  };
  if (calls > options.max_commands && !options.skips_repetitions) return too_many();
  StreamSimulation simulation(view, counts, traffic, flow, options);
  SimulatedNest simulated = simulation.run();
  if (simulation.ended_early()) return too_many();
  return simulated;
}

std::optional<SimulatedNest> replayed_stream(const ResolvedNest& view, const TileCounts& counts,
                                             const Traffic& traffic) {
  SimulationOptions options;
  options.skips_repetitions = true;
  options.max_commands = most_replayed;
  auto simulated = simulate_stream(view, counts, traffic, flow_of(view, counts, traffic), options);
  return simulated ? std::optional(std::move(*simulated)) : std::nullopt;
}

Result<SimulatedNest> simulate(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                               const NestFlow& flow, const SimulationOptions& options) {
  return is_stream(view) ? simulate_stream(view, counts, traffic, flow, options)
                         : simulate_nest(view, counts, traffic, flow, options);
}

}  // namespace isamap
