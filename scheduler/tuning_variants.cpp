// SPDX-License-Identifier: Apache-2.0
#include "scheduler/tuning_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "ir/verify/recurrence.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/scheduled_kernel.h"

namespace isamap {
namespace {

bool is_prefetch_line(const Line& line, const HardwareModel& model) {
  const auto* stage = std::get_if<Stage>(&line.is);
  const auto memory = stage == nullptr || stage->ahead < 1 ? std::nullopt : model.find_memory(stage->memory);
  return memory && model.memory(*memory).kind == MemoryKind::cache;
}

/// Every prefetch with its distance changed; 0: removed.
TuningVariant with_distance(const Nest& nest, const HardwareModel& model, const std::function<int(int)>& changed) {
  TuningVariant made;
  for (const Line& line : nest.lines) {
    if (!is_prefetch_line(line, model)) {
      made.nest.lines.push_back(line);
      continue;
    }
    Stage stage = std::get<Stage>(line.is);
    stage.ahead = changed(stage.ahead);
    made.what += made.what.empty() ? "" : ", ";
    made.what += stage.ahead == 0 ? fmt::format("{} not prefetched", stage.tensor)
                                  : fmt::format("{} prefetched {} steps ahead", stage.tensor, stage.ahead);
    if (stage.ahead > 0) made.nest.lines.push_back(Line{std::move(stage)});
  }
  return made;
}

/// The tile of each dim around a line.
std::map<std::string, std::int64_t> tiles_above(const Nest& nest, std::size_t line, const Computation& statement) {
  std::map<std::string, std::int64_t> tiles;
  for (const Dim& dim : statement.domain.dims) tiles[dim.name] = dim.extent;
  for (std::size_t l = 0; l < line; ++l)
    if (const auto* loop = std::get_if<For>(&nest.lines[l].is))
      for (const TiledLoop& w : loop->loops) tiles[w.dim] = std::min(tiles[w.dim], w.tile);
  return tiles;
}

}  // namespace

std::vector<TuningVariant> tuning_variants(const Schedule& schedule, std::size_t statement, const Kernel& kernel,
                                           const HardwareModel& model) {
  const Nest& nest = schedule.nests[statement];
  const Kernel laned = scheduled_kernel_of(one_step_of(kernel), schedule);
  std::vector<TuningVariant> made;
  const auto add = [&](TuningVariant variation) {
    if (variation.nest == nest) return;
    Schedule with = schedule;
    with.nests[statement] = variation.nest;
    if (lower(with, kernel, model)) made.push_back(std::move(variation));
  };
  if (std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& l) { return is_prefetch_line(l, model); })) {
    add(with_distance(nest, model, [](int ahead) { return (ahead + 1) / 2; }));
    add(with_distance(nest, model, [](int ahead) { return 2 * ahead; }));
    add(with_distance(nest, model, [](int) { return 0; }));
  }
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    const auto* loop = std::get_if<For>(&nest.lines[l].is);
    if (loop == nullptr || loop->loops.size() != 1 || loop->tail != Tail::none || loop->unroll || !loop->unit.empty())
      continue;
    const TiledLoop& w = loop->loops.front();
    const auto tiles = tiles_above(nest, l, laned.statements[statement]);
    const auto around = tiles.find(w.dim);  // dims fused by a mapping are left alone
    if (around == tiles.end() || around->second <= w.tile || around->second % w.tile == 0) continue;
    TuningVariant whole{fmt::format("tail of {} masked", w.dim), nest};
    std::get<For>(whole.nest.lines[l].is).tail = Tail::pad;
    add(std::move(whole));
  }
  return made;
}

}  // namespace isamap
