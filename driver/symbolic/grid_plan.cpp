// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/grid_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/cpp/symbolic/block_unit.h"
#include "driver/symbolic/tiles_of_nests.h"
#include "isamap/scheduler.h"
#include "program/shared_copies.h"
#include "scheduler/nest/nest_of_all_dims.h"

namespace isamap {
namespace {

constexpr std::int64_t added_tiles[] = {64, 32, 16, 8};  // of dims without a loop
constexpr std::size_t most_other_schedules = 4;          // for blocks that none of a grid's own schedules lowers to

std::vector<Schedule> without_equal(const std::vector<Schedule>& schedules) {
  std::vector<Schedule> found;
  for (const Schedule& one : schedules)
    if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
  return found;
}

Schedule scalar_schedule(const GridShape& shape, Schedule schedule) {
  schedule.splits.clear();
  schedule.lanes.clear();
  schedule.nests = {nest_of_all_dims(shape.kernel.statements[0])};
  return schedule;
}

/// Without prefetches and chosen moves; `all`: without copies in addressed memories, too.
Schedule reduced(Schedule schedule, bool all, const HardwareModel& model) {
  for (Nest& nest : schedule.nests) {
    std::erase_if(nest.lines, [&](const Line& line) {
      const auto* stage = std::get_if<Stage>(&line.is);
      const auto memory = stage != nullptr ? model.find_memory(stage->memory) : std::nullopt;
      return stage != nullptr &&
             (stage->ahead > 0 || (all && memory && model.memory(*memory).kind != MemoryKind::register_file));
    });
    for (Line& line : nest.lines)
      if (auto* stage = std::get_if<Stage>(&line.is)) stage->via.clear();
  }
  return schedule;
}

/// With an outer loop over each symbolic parallel dim that has none, and no tiles that leave many remainders.
Schedule with_loops(const GridShape& shape, Schedule schedule, std::int64_t tile) {
  for (const GridAxis& axis : shape.axes)
    for (Nest& nest : schedule.nests) {
      for (Line& line : nest.lines)
        if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll)
          for (TiledLoop& tiled : loop->loops)
            if (tiled.dim == axis.dim && tiled.tile > 2 * tile) tiled.tile = tile;
      const bool has = std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& line) {
        const auto* loop = std::get_if<For>(&line.is);
        return loop != nullptr && !loop->unroll &&
               std::any_of(loop->loops.begin(), loop->loops.end(),
                           [&](const TiledLoop& tiled) { return tiled.dim == axis.dim; });
      });
      if (has || axis.reduced) continue;
      For loop;
      loop.loops = {{axis.dim, tile}};
      nest.lines.insert(nest.lines.begin(), Line{loop});
    }
  return schedule;
}

}  // namespace

PlannedGrid planned_grid(const GridShape& shape, const Schedule& schedule, const std::vector<Schedule>& all,
                         const HardwareModel& model) {
  const Schedule copies = reduced(schedule, false, model), plain = reduced(schedule, true, model);
  GridSchedules with{schedule, without_equal({plain, copies, schedule}), {}, scalar_schedule(shape, schedule)};
  for (const Schedule& other : all)
    if (other != schedule && with.others.size() < most_other_schedules)
      with.others.push_back(reduced(other, false, model));
  std::vector<GridSchedules> tried{with};
  const auto add = [&](const Schedule& main, const std::vector<Schedule>& remainders) {
    GridSchedules more{main, without_equal(remainders), with.others, with.scalar};
    if (std::none_of(tried.begin(), tried.end(), [&](const GridSchedules& one) {
          return one.main == more.main && one.remainders == more.remainders;
        }))
      tried.push_back(std::move(more));
  };
  add(copies, {plain, copies});
  add(plain, {plain});
  for (const std::int64_t tile : added_tiles)
    for (const Schedule& one : {copies, plain})
      if (const Schedule more = with_loops(shape, one, tile); more != one)
        add(more, {with_loops(shape, plain, tile), more});
  add(with.scalar, {});
  PlannedGrid found;
  found.grid.shape = shape;
  found.grid.schedule = schedule;
  found.next = std::move(tried);
  return found;
}

bool is_refused(const PlannedGrid& plan) { return plan.stage != GridStage::printable && plan.next.empty(); }

namespace {

/// What stands against the next stage; none: the grid has what it takes.
Diagnostics make_next_stage(PlannedGrid& plan, const GridShape& shape, LoweredBlocks& lowered,
                            const std::vector<Bindings>& sizes) {
  if (plan.stage == GridStage::lowered) return unprintable_blocks(plan.grid, lowered.model());
  auto grid = plan.stage == GridStage::planned ? expected_grid(shape, lowered, plan.next.front(), sizes)
                                               : build_grid(shape, lowered, plan.next.front());
  if (!grid) return grid.diagnostics();
  plan.grid = std::move(*grid);
  plan.text = text_of(plan.grid, lowered);
  return {};
}

}  // namespace

void advance(PlannedGrid& plan, const GridShape& shape, LoweredBlocks& lowered, const std::vector<Bindings>& sizes) {
  while (plan.stage != GridStage::printable && !is_refused(plan)) {
    const Diagnostics problems = make_next_stage(plan, shape, lowered, sizes);
    if (problems.empty()) {
      plan.stage = static_cast<GridStage>(static_cast<int>(plan.stage) + 1);
      return;
    }
    const bool has_instruction = !uses_no_instruction(plan.next.front().main);
    if (plan.why_not.empty()) plan.why_not = problems;
    plan.next.erase(plan.next.begin());
    plan.stage = GridStage::planned;
    if (has_instruction && !plan.next.empty() && uses_no_instruction(plan.next.front().main))
      plan.why_scalar = plan.why_not;
  }
}

void complete(PlannedGrid& plan, const GridShape& shape, LoweredBlocks& lowered) {
  while (plan.stage != GridStage::printable && !is_refused(plan)) advance(plan, shape, lowered, {});
}

Schedule with_early_copies(const GridShape& shape, Schedule schedule, const HardwareModel& model) {
  for (Nest& nest : schedule.nests) {
    std::vector<Line> early;
    std::erase_if(nest.lines, [&](const Line& line) {
      const auto* stage = std::get_if<Stage>(&line.is);
      if (stage == nullptr || stage->ahead > 0 || stage->slide || stage->buffers > 1 || stage->layout.empty())
        return false;
      const auto memory = model.find_memory(stage->memory);
      const auto& tensors = shape.kernel.tensors;
      const auto tensor =
          std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& one) { return one.name == stage->tensor; });
      if (!memory || model.memory(*memory).kind == MemoryKind::register_file || tensor == tensors.end()) return false;
      if (role_of(shape.kernel, make_id<TensorId>(static_cast<std::size_t>(tensor - tensors.begin()))) != Role::input)
        return false;
      early.push_back(line);
      return true;
    });
    nest.lines.insert(nest.lines.begin(), early.begin(), early.end());
  }
  return schedule;
}

Schedule with_kept_copies(const GridShape& shape, Schedule schedule) {
  const auto is_kept = [&](const Stage& stage) {
    const std::vector<Tensor>& tensors = shape.kernel.tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].name == stage.tensor) return stage.ahead_of_time && is_kept_constant(shape, make_id<TensorId>(t));
    return false;
  };
  for (Nest& nest : schedule.nests) {
    std::vector<Line> kept;
    std::erase_if(nest.lines, [&](const Line& line) {
      const auto* stage = std::get_if<Stage>(&line.is);
      if (stage == nullptr || !is_kept(*stage)) return false;
      kept.push_back(line);
      std::get<Stage>(kept.back().is).ahead_of_time = false;
      return true;
    });
    nest.lines.insert(nest.lines.begin(), kept.begin(), kept.end());
  }
  return schedule;
}

Schedule with_separate_lanes(const Schedule& schedule) {
  Schedule separate = schedule;
  for (const VectorizedReduction& lanes : schedule.lanes) {
    const std::string lane = lanes.dim + "_lane", suffix = "." + lane;
    for (Nest& nest : separate.nests)
      for (Line& line : nest.lines) {
        if (auto* loop = std::get_if<For>(&line.is))
          for (TiledLoop& tiled : loop->loops) {
            if (!tiled.dim.ends_with(suffix)) continue;
            if (tiled.tile % lanes.lanes != 0) return schedule;
            tiled.dim.resize(tiled.dim.size() - suffix.size());
            tiled.tile /= lanes.lanes;
          }
        auto* instruction = std::get_if<Do>(&line.is);
        if (instruction == nullptr) continue;
        for (auto& [dim, digits] : instruction->dims)
          if (digits.size() > 1 && digits.back().column == AffineExpr::dim(lane))
            digits.erase(digits.begin(), digits.end() - 1);
      }
  }
  return separate;
}

namespace {

/// Is a dim in a loop over tiles, or in the lanes of an instruction?
bool has_tiles(const std::vector<Line>& lines, const std::string& dim) {
  const auto names = [&](const Digit& digit) { return digit.column.names().contains(dim); };
  const auto is_tiled = [&](const TiledLoop& tiled) { return tiled.dim == dim; };
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    if (const auto* loop = std::get_if<For>(&line.is))
      return !loop->unroll && std::any_of(loop->loops.begin(), loop->loops.end(), is_tiled);
    const auto* instruction = std::get_if<Do>(&line.is);
    return instruction != nullptr &&
           std::any_of(instruction->dims.begin(), instruction->dims.end(), [&](const auto& digits) {
             return std::any_of(digits.second.begin(), digits.second.end(), names);
           });
  });
}

}  // namespace

Schedule with_unit_loops(const GridShape& shape, Schedule schedule) {
  for (auto axis = shape.axes.rbegin(); axis != shape.axes.rend(); ++axis)
    for (Nest& nest : schedule.nests) {
      const bool is_walked = std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& line) {
        const auto* loop = std::get_if<For>(&line.is);
        const auto* instruction = std::get_if<Do>(&line.is);
        const auto names = [&](const Digit& digit) { return digit.column.names().contains(axis->dim); };
        return (loop != nullptr && std::any_of(loop->loops.begin(), loop->loops.end(),
                                               [&](const TiledLoop& tiled) { return tiled.dim == axis->dim; })) ||
               (instruction != nullptr &&
                std::any_of(instruction->dims.begin(), instruction->dims.end(),
                            [&](const auto& dim) { return std::any_of(dim.second.begin(), dim.second.end(), names); }));
      });
      if (is_walked || axis->reduced || !schedule.lanes.empty()) continue;
      For loop;
      loop.loops = {{axis->dim, 1}};
      nest.lines.insert(nest.lines.begin(), Line{loop});
    }
  return schedule;
}

Schedule with_tiles_as_found(const GridShape& shape, Schedule schedule, const std::vector<std::int64_t>& counts,
                             const HardwareModel& model) {
  if (schedule.lanes.empty()) return schedule;
  const auto is_in_registers = [&](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    const auto memory = stage != nullptr ? model.find_memory(stage->memory) : std::nullopt;
    return memory && model.memory(*memory).kind == MemoryKind::register_file;
  };
  for (std::size_t a = 0; a < shape.axes.size(); ++a)
    for (Nest& nest : schedule.nests) {
      std::vector<Line>& lines = nest.lines;
      if (shape.axes[a].reduced || has_tiles(lines, shape.axes[a].dim)) continue;
      For loop;
      loop.loops = {{shape.axes[a].dim, counts[a]}};
      lines.insert(std::find_if(lines.begin(), lines.end(), is_in_registers), Line{loop});
    }
  return schedule;
}

Schedule with_inner_outputs(const GridShape& shape, Schedule schedule, const HardwareModel& model) {
  const Computation& statement = shape.kernel.statements[0];
  const std::string& output = shape.kernel.tensors[statement.write.tensor.index()].name;
  const auto is_stage = [&](const Line& line, bool in_registers) {
    const auto* stage = std::get_if<Stage>(&line.is);
    const auto memory = stage != nullptr && stage->tensor == output ? model.find_memory(stage->memory) : std::nullopt;
    return memory && (model.memory(*memory).kind == MemoryKind::register_file) == in_registers;
  };
  for (Nest& nest : schedule.nests) {
    std::vector<Line>& lines = nest.lines;
    const auto is_tile = [&](const Line& line) { return is_stage(line, true); };
    if (std::none_of(lines.begin(), lines.end(), is_tile)) continue;
    std::vector<Line> copies;
    std::erase_if(lines, [&](const Line& line) {
      if (!is_stage(line, false) || std::get<Stage>(line.is).layout.empty()) return false;
      copies.push_back(line);
      return true;
    });
    lines.insert(std::find_if(lines.begin(), lines.end(), is_tile), copies.begin(), copies.end());
  }
  return schedule;
}

namespace {

bool is_parallel_axis(const GridShape& shape, const std::string& dim) {
  return std::any_of(shape.axes.begin(), shape.axes.end(),
                     [&](const GridAxis& axis) { return axis.dim == dim && !axis.reduced; });
}

/// Unrolled loops over single positions of these dims become one along `row`, unless there is one.
void unroll_along(const std::string& row, const std::set<std::string>& across, std::vector<Line>& lines) {
  const auto unrolled = [](Line& line) {
    auto* loop = std::get_if<For>(&line.is);
    return loop != nullptr && loop->unroll && loop->loops.size() == 1 ? &loop->loops[0] : nullptr;
  };
  bool has_row = std::any_of(lines.begin(), lines.end(), [&](Line& line) {
    const TiledLoop* loop = unrolled(line);
    return loop != nullptr && loop->dim == row;
  });
  std::erase_if(lines, [&](Line& line) {
    TiledLoop* loop = unrolled(line);
    if (loop == nullptr || !across.contains(loop->dim)) return false;
    if (std::exchange(has_row, true)) return true;
    *loop = {row, 1};
    return false;
  });
}

}  // namespace

std::optional<Schedule> with_larger_tile(const GridShape& shape, const Schedule& schedule, const HardwareModel& model) {
  Schedule larger = schedule;
  TiledLoop* innermost = nullptr;
  for (Line& line : larger.nests[0].lines)
    if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll)
      for (const GridAxis& axis : shape.axes)
        if (loop->loops.size() == 1 && loop->loops[0].dim == axis.dim && !axis.reduced) innermost = &loop->loops[0];
  if (innermost == nullptr) return std::nullopt;
  const Kernel kernel = block_kernel(shape, likely_counts(shape), false);
  const std::int64_t tile = innermost->tile;
  for (innermost->tile = 2 * tile; innermost->tile > tile; --innermost->tile)
    if (!has_errors(verify(larger, kernel, model))) return larger;
  return std::nullopt;
}

std::optional<Schedule> with_row_tile(const GridShape& shape, const Schedule& schedule, const HardwareModel& model) {
  const std::vector<AffineExpr>& written = shape.kernel.statements[0].write.index;
  const auto row = written.empty() ? std::nullopt : written.back().as_dim();
  if (!row || !is_parallel_axis(shape, *row)) return std::nullopt;
  Schedule rows = schedule;
  std::vector<Line>& lines = rows.nests[0].lines;
  std::map<std::string, TiledLoop*> innermost;
  TiledLoop* last = nullptr;
  for (Line& line : lines)
    if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && !loop->unroll && loop->loops.size() == 1)
      if (is_parallel_axis(shape, loop->loops[0].dim)) last = innermost[loop->loops[0].dim] = &loop->loops[0];
  if (!innermost.contains(*row)) return std::nullopt;
  TiledLoop& along = *innermost[*row];
  std::set<std::string> across;
  for (auto& [dim, loop] : innermost) {
    if (dim == *row || loop->tile == 1) continue;
    along.tile *= std::exchange(loop->tile, 1);
    across.insert(dim);
  }
  if (across.empty()) return std::nullopt;
  if (last != &along) std::swap(*last, along);
  unroll_along(*row, across, lines);
  const Kernel kernel = block_kernel(shape, likely_counts(shape), false);
  return has_errors(verify(rows, kernel, model)) ? std::nullopt : std::optional(std::move(rows));
}

std::vector<Schedule> schedules_to_plan(const GridShape& shape, const Schedule& found, const HardwareModel& model) {
  const Schedule walked = with_unit_loops(shape, with_separate_lanes(found));
  const Schedule schedule = with_common_tiles(shape, with_vector_tiles(shape, walked), model);
  const Schedule inner = with_inner_outputs(shape, schedule, model);
  const Schedule early = with_early_copies(shape, inner, model);
  std::vector<Schedule> planned{schedule, with_early_copies(shape, schedule, model), inner, early,
                                reduced(schedule, true, model)};
  if (inner == schedule) return planned;
  std::vector<Schedule> tiled{inner, early};
  for (const Schedule& one : {inner, early})
    if (auto rows = with_row_tile(shape, one, model)) {
      planned.push_back(*rows);
      tiled.push_back(std::move(*rows));
    }
  for (const Schedule& one : tiled)
    if (auto larger = with_larger_tile(shape, one, model)) planned.push_back(std::move(*larger));
  return planned;
}

bool uses_no_instruction(const Schedule& schedule) {
  return std::all_of(schedule.nests.begin(), schedule.nests.end(), [](const Nest& nest) {
    return std::all_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
      const auto* instruction = std::get_if<Do>(&line.is);
      return instruction == nullptr || instruction->instruction.empty();
    });
  });
}

}  // namespace isamap
