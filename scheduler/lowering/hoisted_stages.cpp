// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/hoisted_stages.h"

#include <algorithm>
#include <map>

#include "hwdesc/model/program_language.h"
#include "scheduler/nest/out_of_bounds.h"

namespace isamap {
namespace {

/// By line of a stage that moves: the number of loops above it then.
using NewPlaces = std::map<std::size_t, int>;

/// Is it a copy of an input in an addressed memory that is made at its place? A register would be held for longer, a
/// prefetch or one of several buffers belongs to its loop, and calls of a copy that is skipped need none.
bool is_plain_copy(const StagedTile& tile, const Nest& nest, const ResolvedNest& view) {
  const Stage& s = tile.stage;
  const Memory& memory = view.model->memory(tile.memory);
  const Tensor& tensor = view.kernel->tensors[access_of(view.statement, tile.access).tensor.index()];
  const bool of_several_reads = std::count_if(view.stages.begin(), view.stages.end(),
                                              [&](const StagedTile& other) { return other.line == tile.line; }) > 1;
  return tile.access > 0 && !of_several_reads && !memory.is_register() && memory.kind != MemoryKind::cache &&
         s.buffers == 1 && s.ahead == 0 && !s.ahead_of_time && !s.slide && s.role.empty() && s.from.empty() &&
         s.then.empty() && !skips(nest, tensor);
}

/// The loops above a copy without those around it that leave its tile as it is, down to `outermost`: loops that
/// distribute it over units, or sum over them, keep it.
int loops_of_copy(const StagedTile& tile, int outermost, const ResolvedNest& view) {
  const AccessFacts& held = view.facts->accesses[static_cast<std::size_t>(tile.access)];
  int loops = tile.loops;
  while (loops > outermost) {
    const LoopLevel& w = view.loops[static_cast<std::size_t>(loops - 1)];
    if (w.unit.valid() || w.combine.valid() || w.orders_all_loops() || held.uses[static_cast<std::size_t>(w.dim)])
      break;
    --loops;
  }
  return loops;
}

/// Of programs in a language, whose resolved nest has stages where they are written: their copies are counted once for
/// each tile, wherever they stand.
NewPlaces places_of_copies(const Nest& nest, const ResolvedNest& view) {
  NewPlaces places;
  std::vector<int> loops;  // by stage
  int fused = 0;           // loops above the last tile that another statement makes
  for (const StagedTile& tile : view.stages) {
    const int parent = tile.parent < 0 ? 0 : loops[static_cast<std::size_t>(tile.parent)];
    loops.push_back(is_plain_copy(tile, nest, view) ? loops_of_copy(tile, std::max(parent, fused), view) : tile.loops);
    if (!tile.stage.from.empty()) fused = std::max(fused, tile.loops);
    if (loops.back() < tile.loops) places[static_cast<std::size_t>(tile.line)] = loops.back();
  }
  return places;
}

/// Of command streams, whose resolved nest has them moved.
NewPlaces new_places(const Nest& nest, const ResolvedNest& view) {
  std::vector<int> above;  // by line, as it is written
  int loops = 0;
  for (const Line& line : nest.lines) {
    above.push_back(loops);
    if (const auto* f = std::get_if<For>(&line.is)) loops += static_cast<int>(f->loops.size());
  }
  NewPlaces places;
  for (const StagedTile& tile : view.stages) {
    const auto line = static_cast<std::size_t>(tile.line);
    if (tile.loops < above[line]) places[line] = std::max(places[line], tile.loops);
  }
  return places;
}

}  // namespace

Nest hoist_stages(const Nest& nest, const Kernel& kernel, StatementId statement, const HardwareModel& model) {
  const auto view = resolve(nest, kernel, statement, model);
  if (!view) return nest;
  const NewPlaces places = is_command_stream(model) ? new_places(nest, *view) : places_of_copies(nest, *view);
  if (places.empty()) return nest;
  Nest hoisted;
  int loops = 0;
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    const Line& line = nest.lines[l];
    const auto* f = std::get_if<For>(&line.is);
    if (f == nullptr) {
      if (!places.contains(l)) hoisted.lines.push_back(line);
      continue;
    }
    For part = *f;
    part.loops.clear();
    for (const TiledLoop& loop : f->loops) {  // a stage may move between two loops of one line
      const auto here = [&](const auto& place) { return place.second == loops; };
      if (std::any_of(places.begin(), places.end(), here) && !part.loops.empty()) {
        hoisted.lines.push_back({part, line.where});
        part.loops.clear();
      }
      for (const auto& [stage, place] : places)
        if (place == loops) hoisted.lines.push_back(nest.lines[stage]);
      part.loops.push_back(loop);
      ++loops;
    }
    hoisted.lines.push_back({part, line.where});
  }
  return hoisted;
}

}  // namespace isamap
