// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/lower_pipelined.h"

#include <algorithm>

#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/circular_buffer.h"

namespace isamap {

std::vector<std::size_t> PipelineLowering::pipelined_stages(const For& f, std::size_t which, std::size_t at) const {
  std::vector<std::size_t> found;
  if (which + 1 != f.loops.size() || !f.unit.empty() || f.unroll || !has_async_moves()) return found;
  for (std::size_t l = at + 1; l < input_.nest->lines.size(); ++l) {
    const auto* s = std::get_if<Stage>(&input_.nest->lines[l].is);
    if (s == nullptr || s->ahead < 1 || s->buffers <= s->ahead || s->tensor == output().name) break;
    if (!found.empty() && s->ahead != stage_of(found[0]).ahead) break;
    found.push_back(l);
  }
  return found;
}

bool PipelineLowering::has_async_moves() const {
  const auto& objects = lowering_.model.async_objects();
  return std::any_of(objects.begin(), objects.end(),
                     [](const AsyncObject& o) { return o.kind == AsyncKind::groups || o.kind == AsyncKind::phases; });
}

struct PipelineLowering::PipelinedLoop {
  const std::vector<std::size_t>& stages;  ///< by line
  std::int64_t steps = 0, tile = 1;
  const std::string& dim;
  const AffineExpr& visit;
  const TileAt& tile_at;
  UnitId owner = {};             ///< of the scratchpad
  CircularBuffer circular = {};  ///< made with the first fills

  AffineExpr tile_number(const AffineExpr& step) const { return visit * steps + step; }  ///< since the kernel began
};

Result<Nodes> PipelineLowering::pipelined(const std::vector<std::size_t>& stage_lines, std::size_t at,
                                          std::int64_t steps, const std::string& dim, const AffineExpr& visit,
                                          const TileAt& tile_at) {
  const Stage& first = stage_of(stage_lines[0]);
  const UnitId owner = lowering_.model.memory(*lowering_.model.find_memory(first.memory)).per;
  PipelinedLoop pipeline{stage_lines, steps, tile_size(at, dim), dim, visit, tile_at, owner};
  const std::string variable = lowering_.variable(dim, steps);
  const AffineExpr number = AffineExpr::dim(variable);
  pipelined_lines_.insert(stage_lines.begin(), stage_lines.end());
  auto body = lines(at + 1, tile_at(number, pipeline.tile));
  if (!body) return body;
  Nodes nodes;
  for (std::int64_t step = 0; step < std::min<std::int64_t>(first.ahead, steps); ++step) {
    auto fill = fills(pipeline, AffineExpr(step));
    if (!fill) return fill;
    Nodes group = commits(*fill, lowering_.model);
    append(nodes, std::move(*fill));
    append(nodes, std::move(group));
  }
  auto loop = steps > first.ahead ? steady_state(pipeline, variable) : tile_ready(pipeline, nodes, 0, number);
  if (!loop) return loop;
  append(*loop, std::move(*body));
  if (!first.role.empty())
    loop->push_back(release_tile(pipeline.circular, pipeline.tile_number(number), consumer_unit(*this)));
  append(nodes, loop_around(variable, steps, false, std::move(*loop)));
  return nodes;
}

Result<Nodes> PipelineLowering::fills(PipelinedLoop& pipeline, const AffineExpr& step) {
  const Scope scope = pipeline.tile_at(step, pipeline.tile);
  Nodes nodes;
  for (const std::size_t l : pipeline.stages) {
    auto fill = refill(l, scope);
    if (!fill) return fill;
    append(nodes, std::move(*fill));
  }
  CircularBuffer& circular = pipeline.circular;
  if (circular.object.empty()) {
    auto made = make_circular_buffer(*this, pipeline.stages, pipeline.dim, nodes);
    if (!made) return made.diagnostics();
    circular = std::move(*made);
  }
  if (circular.object.empty()) return nodes;
  auto by_counter = complete_by_counter(std::move(nodes), circular, pipeline.tile_number(step), pipeline.owner,
                                        lowering_.program, lowering_.model);
  const Stage& first = stage_of(pipeline.stages[0]);
  if (!by_counter || first.role.empty()) return by_counter;
  Guard part;
  part.role = first.role;
  part.then = std::move(*by_counter);
  return Nodes{Node{std::move(part)}};
}

Nodes PipelineLowering::tile_ready(const PipelinedLoop& pipeline, const Nodes& fill, int pending,
                                   const AffineExpr& number) const {
  Nodes nodes = waits(fill, pending, lowering_.model);
  if (!pipeline.circular.object.empty())
    nodes.push_back(wait_for_tile(pipeline.circular, pipeline.tile_number(number), pipeline.owner));
  append(nodes, fences(pipeline.stages));
  if (stage_of(pipeline.stages[0]).role.empty()) append(nodes, barrier(pipeline.stages));
  return nodes;
}

Result<Nodes> PipelineLowering::steady_state(PipelinedLoop& pipeline, const std::string& variable) {
  const Stage& first = stage_of(pipeline.stages[0]);
  const AffineExpr number = AffineExpr::dim(variable);
  const Interval all = lowering_.ranges.at(variable);
  lowering_.ranges[variable].high = pipeline.steps - 1 - first.ahead;
  auto fill = fills(pipeline, number + first.ahead);
  lowering_.ranges[variable] = all;
  if (!fill) return fill;
  const bool roles = !first.role.empty();
  Nodes nodes;
  if (!roles) nodes = tile_ready(pipeline, *fill, first.ahead - 1, number);
  Nodes group = commits(*fill, lowering_.model);  // also if empty: waits count groups
  Guard guard;
  guard.conditions = {AffineExpr(pipeline.steps - 1 - first.ahead) - number};
  guard.then = std::move(*fill);
  nodes.push_back(Node{std::move(guard)});
  append(nodes, std::move(group));
  if (roles) append(nodes, tile_ready(pipeline, {}, 0, number));
  return nodes;
}

Nodes PipelineLowering::fences(const std::vector<std::size_t>& stages) const {
  Nodes nodes;
  for (const std::size_t l : stages) append(nodes, fence(stage_of(l)));
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Nodes PipelineLowering::barrier(const std::vector<std::size_t>& stage_lines) const {
  Sync sync;
  sync.unit = lowering_.model.memory(*lowering_.model.find_memory(stage_of(stage_lines[0]).memory)).per;
  return {Node{std::move(sync)}};
}

std::int64_t PipelineLowering::tile_size(std::size_t at, const std::string& dim) const {
  for (const TiledLoop& w : std::get<For>(input_.nest->lines[at].is).loops)
    if (w.dim == dim) return w.tile;
  return 1;
}

std::vector<std::size_t> PipelineLowering::prefetched_register_stages(const For& f, std::size_t which,
                                                                      std::size_t at) const {
  std::vector<std::size_t> found;
  if (which + 1 != f.loops.size() || !f.unit.empty() || !f.unroll) return found;
  for (std::size_t l = at + 1; l < input_.nest->lines.size(); ++l) {
    const auto* s = std::get_if<Stage>(&input_.nest->lines[l].is);
    if (s == nullptr || s->ahead < 1 || s->buffers <= s->ahead || s->tensor == output().name || !s->from.empty()) break;
    const auto memory = lowering_.model.find_memory(s->memory);
    if (!memory || !lowering_.model.memory(*memory).is_register()) break;
    found.push_back(l);
  }
  return found;
}

Result<Nodes> PipelineLowering::prefetch_registers(const std::vector<std::size_t>& stage_lines, std::size_t at,
                                                   const StepCounts& all, const TileAt& tile_at) {
  const auto scope_of = [&](std::int64_t step) {
    return tile_at(AffineExpr(step), step < all.full ? all.tile : all.tail);
  };
  const auto select_set = [&](std::int64_t step) {
    for (const std::size_t l : stage_lines)
      register_set_[l] = static_cast<std::size_t>(step < all.full ? step % stage_of(l).buffers : stage_of(l).buffers);
  };
  // Register sets are local to this execution of the loop; the last one is the tail's.
  for (const std::size_t l : stage_lines)
    registers_of_line_[l].assign(static_cast<std::size_t>(stage_of(l).buffers) + 1, {});
  pipelined_lines_.insert(stage_lines.begin(), stage_lines.end());
  Nodes nodes;
  const auto fetch = [&](std::int64_t step, std::size_t l) -> Diagnostics {
    if (step >= all.steps()) return {};
    select_set(step);
    auto fill = refill(l, scope_of(step));
    if (!fill) return fill.diagnostics();
    append(nodes, with_completion(std::move(*fill), lowering_.model));
    return {};
  };
  for (const std::size_t l : stage_lines)
    for (std::int64_t step = 0; step < stage_of(l).ahead; ++step)
      if (auto problems = fetch(step, l); has_errors(problems)) return problems;
  for (std::int64_t step = 0; step < all.steps(); ++step) {
    for (const std::size_t l : stage_lines)
      if (auto problems = fetch(step + stage_of(l).ahead, l); has_errors(problems)) return problems;
    select_set(step);
    auto body = lines(at + 1, scope_of(step));
    if (!body) return body;
    append(nodes, std::move(*body));
  }
  for (const std::size_t l : stage_lines) pipelined_lines_.erase(l), registers_of_line_.erase(l);
  return nodes;
}

}  // namespace isamap
