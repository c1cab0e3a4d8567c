// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/hoisted_stages.h"

#include <algorithm>
#include <map>

#include "hwdesc/model/program_language.h"

namespace isamap {
namespace {

/// By line of a stage that moves: the number of loops above it then.
using NewPlaces = std::map<std::size_t, int>;

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
  if (!is_command_stream(model)) return nest;
  const auto view = resolve(nest, kernel, statement, model);
  if (!view) return nest;
  const NewPlaces places = new_places(nest, *view);
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
