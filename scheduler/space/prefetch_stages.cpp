// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/prefetch_stages.h"

#include <utility>
#include <variant>
#include <vector>

#include "ir/text/access_name.h"
#include "scheduler/space/prefetch_distance.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

bool is_reduction(const CpuTemplate& form, const std::string& dim) {
  const auto d = static_cast<std::size_t>(form.statement->domain.find(dim));
  return form.statement->domain.dims[d].kind == DimKind::reduction;
}

std::int64_t bytes_in_tile(const CpuTemplate& form, const Access& access, const DimTiles& tiles) {
  std::int64_t bytes = isamap::bytes(form.kernel->tensors[access.tensor.index()].dtype);
  for (const auto& [dim, tile] : tiles)
    if (uses(access, dim)) bytes *= tile;
  return bytes;
}

/// How often the loops in the first lines, innermost first, re-read the same elements of an input.
void count_passes(const CpuTemplate& form, int a, const Nest& nest, std::size_t lines, InnermostLoop& innermost) {
  const Access& access = access_of(*form.statement, a);
  struct Around {
    bool used;
    std::int64_t steps, bytes;  ///< of the tile of the input below it
  };
  std::vector<Around> loops;
  DimTiles tiles;
  for (const Dim& dim : form.statement->domain.dims) tiles[dim.name] = dim.extent;
  for (std::size_t l = 0; l < lines; ++l)
    if (const auto* loop = std::get_if<For>(&nest.lines[l].is))
      for (const TiledLoop& w : loop->loops) {
        const std::int64_t steps = ceil_div(tiles[w.dim], w.tile);
        tiles[w.dim] = w.tile;
        if (steps > 1) loops.push_back({uses(access, w.dim), steps, bytes_in_tile(form, access, tiles)});
      }
  innermost.tile_bytes = bytes_in_tile(form, access, tiles);
  for (; !loops.empty() && !loops.back().used; loops.pop_back()) innermost.passes *= loops.back().steps;
  for (; !loops.empty() && innermost.reread_bytes == 0; loops.pop_back())
    if (!loops.back().used) innermost.reread_bytes = loops.back().bytes;
}

/// The layout of a packed copy above.
std::vector<LayoutDigit> packed_layout(const Nest& nest, const std::string& tensor) {
  for (const Line& line : nest.lines)
    if (const auto* stage = std::get_if<Stage>(&line.is); stage != nullptr && stage->tensor == tensor)
      return stage->layout;
  return {};
}

/// A prefetch of the next tile right below the loops that pass over this one again, which end the first lines.
/// `outermost`: of the reduction loops.
void add_spread_prefetch(const CpuTemplate& form, int a, std::size_t lines, const InnermostLoop& outermost,
                         Nest& nest) {
  const Access& access = access_of(*form.statement, a);
  const std::string tensor = access_name(form.kernel->tensors, *form.statement, a);
  TilePasses over;
  std::size_t below = 0;
  bool on_unit = true;
  DimTiles tiles;
  for (const Dim& dim : form.statement->domain.dims) tiles[dim.name] = dim.extent;
  for (std::size_t l = 0; l < lines; ++l) {
    const auto* loop = std::get_if<For>(&nest.lines[l].is);
    if (loop == nullptr || loop->loops.size() != 1) continue;
    const TiledLoop& w = loop->loops.front();
    const std::int64_t steps = ceil_div(tiles[w.dim], w.tile);
    tiles[w.dim] = w.tile;
    if (uses(access, w.dim)) {
      over = {w.dim, w.tile, bytes_in_tile(form, access, tiles)};
      on_unit = !loop->unit.empty();
    } else {
      on_unit = on_unit || !loop->unit.empty();
      over.passes *= steps;
      below = l + 1;
    }
  }
  if (on_unit || over.passes < 2 || !uses(access, outermost.dim)) return;
  over.steps = outermost.steps;
  over.inside = outermost.inside;
  over.layout = packed_layout(nest, tensor);
  const auto prefetch = choose_spread_prefetch(form, a, over);
  if (!prefetch) return;
  Stage stage;
  stage.tensor = tensor;
  stage.memory = prefetch->cache;
  stage.ahead = prefetch->ahead;
  nest.lines.insert(nest.lines.begin() + static_cast<std::ptrdiff_t>(below), Line{stage});
}

}  // namespace

void add_prefetch_stages(const CpuTemplate& form, const DimTiles& tile_before, Nest& nest) {
  std::vector<std::pair<std::size_t, InnermostLoop>> around;  // by line, the innermost first
  for (std::size_t l = nest.lines.size(); l-- > 0;) {
    const auto* line = std::get_if<For>(&nest.lines[l].is);
    if (line == nullptr || line->loops.size() != 1 || !is_reduction(form, line->loops.front().dim)) break;
    const TiledLoop& w = line->loops.front();
    around.emplace_back(l, InnermostLoop{w.dim, ceil_div(tile_before.at(w.dim), w.tile)});
    if (around.size() > 1) around.back().second.inside = around[around.size() - 2].second.steps_with_inside();
  }
  std::map<std::size_t, std::vector<Stage>> below;
  for (int a = 1; a < access_count(*form.statement); ++a)
    for (auto& [line, loop] : around) {
      InnermostLoop of = loop;
      count_passes(form, a, nest, line, of);
      const auto prefetch = uses(access_of(*form.statement, a), of.dim) ? choose_prefetch(form, a, of) : std::nullopt;
      if (!prefetch) continue;
      Stage stage;
      stage.tensor = access_name(form.kernel->tensors, *form.statement, a);
      stage.memory = prefetch->cache;
      stage.ahead = prefetch->ahead;
      below[line].push_back(std::move(stage));
      break;
    }
  for (auto at = below.rbegin(); at != below.rend(); ++at)
    for (std::size_t s = 0; s < at->second.size(); ++s)
      nest.lines.insert(nest.lines.begin() + static_cast<std::ptrdiff_t>(at->first + 1 + s), {at->second[s]});
  if (around.empty()) return;
  for (int a = 1; a < access_count(*form.statement); ++a)
    add_spread_prefetch(form, a, around.back().first, around.back().second, nest);
}

}  // namespace isamap
