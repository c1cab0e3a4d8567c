// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/row_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "driver/symbolic/grid_versions.h"
#include "isamap/scheduler.h"
#include "program/cell_shares.h"
#include "program/row_loops.h"

namespace isamap {
namespace {

constexpr std::int64_t most_remainders = 32;     // bodies of code for the rows that a tile leaves
constexpr std::int64_t searched_remainders = 4;  // of them have schedules of their own, where the model says so
constexpr std::int64_t largest_tile = 4096;
constexpr std::int64_t lowered_steps = 32;  // of row loops when they are lowered: as many as compilers do not unroll

/// Tiles of rows in the schedule, the largest first.
std::vector<std::int64_t> tiles_of(const Schedule& schedule, const Rows& rows) {
  std::set<std::int64_t, std::greater<>> tiles;
  std::int64_t common = 1;
  for (std::size_t n = 0; n < schedule.nests.size(); ++n) {
    std::int64_t smallest = 0;
    for (const Line& line : schedule.nests[n].lines)
      if (const auto* loop = std::get_if<For>(&line.is))
        for (const TiledLoop& tiled : loop->loops)
          if (std::find(rows.dims.begin(), rows.dims.end(), tiled.dim) != rows.dims.end()) {
            tiles.insert(tiled.tile);
            smallest = smallest == 0 ? tiled.tile : std::min(smallest, tiled.tile);
          }
    if (smallest > 0) common = std::lcm(common, smallest);
  }
  tiles.insert(common);
  while (!tiles.empty() && *tiles.begin() > largest_tile) tiles.erase(tiles.begin());
  return {tiles.begin(), tiles.end()};
}

/// Removes the first one of the schedule; false: it has none.
bool drop_prefetch(Schedule& schedule) {
  for (Nest& nest : schedule.nests) {
    const auto prefetch = std::find_if(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
      const auto* stage = std::get_if<Stage>(&line.is);
      return stage != nullptr && stage->ahead > 0;
    });
    if (prefetch == nest.lines.end()) continue;
    nest.lines.erase(prefetch);
    return true;
  }
  return false;
}

/// Bytes that stay in the nearest cache; 0: the machine has none.
std::int64_t kept_nearest(const HardwareModel& model) {
  std::int64_t least = 0;
  for (const Memory& memory : model.memories())
    if (memory.kind == MemoryKind::cache && (least == 0 || memory.capacity < least)) least = memory.capacity;
  return static_cast<std::int64_t>(model.timing.usable * static_cast<double>(least));
}

/// Predicted cycles of so many rows in as large blocks as there are; `blocks` by rising rows.
double cycles_in(const auto& blocks, std::int64_t rows) {
  double cycles = 0;
  for (auto block = blocks.rbegin(); block != blocks.rend(); rows %= block->part.rows, ++block)
    cycles += block->cycles * static_cast<double>(rows / block->part.rows);
  return cycles;
}

/// The copies that are packed ahead of time.
std::vector<Buffer> packed(const Program& program) {
  std::vector<Buffer> buffers;
  for (const Buffer& buffer : program.buffers)
    if (buffer.ahead_of_time) {
      buffers.push_back(buffer);
      buffers.back().address = 0;
    }
  return buffers;
}

/// Loops named by their order: a program of one row has fewer in front of them than others.
class NumberedLoops {
 public:
  std::vector<Node> of(std::vector<Node> nodes) {
    for (Node& node : nodes) std::visit([&](auto& n) { visit(n); }, node.is);
    return nodes;
  }

 private:
  void rename(AffineExpr& e) const { e = substitute(e, names_); }
  void rename(Ref& ref) const {
    for (AffineExpr& e : ref.index) rename(e);
  }
  void visit(Loop& loop) {
    const std::string name = fmt::format("loop{}", loops_++);
    names_[loop.variable] = AffineExpr::dim(name);
    loop.variable = name;
    loop.body = of(std::move(loop.body));
  }
  void visit(Guard& guard) {
    for (AffineExpr& condition : guard.conditions) rename(condition);
    guard.then = of(std::move(guard.then));
    guard.otherwise = of(std::move(guard.otherwise));
  }
  void visit(Call& call) {
    for (Ref& ref : call.operands) rename(ref);
    for (Ref& ref : call.masks) rename(ref);
    rename(call.counter);
  }
  void visit(Element& element) {
    rename(element.write);
    for (Ref& ref : element.reads) rename(ref);
  }
  void visit(const Sync&) {}
  void visit(const Comment&) {}

  std::map<std::string, AffineExpr> names_;
  std::size_t loops_ = 0;
};

}  // namespace

/// A whole program of so many rows, and its predicted cycles.
struct RowParts::RowBlock {
  RowPart part;
  Schedule schedule;
  double cycles = std::numeric_limits<double>::infinity();
};

Kernel RowParts::block(std::int64_t rows) const {
  Kernel kernel = with_rows(kernel_, rows_, rows);
  if (!packs_)
    for (Tensor& tensor : kernel.tensors) tensor.constant = false;
  return kernel;
}

std::optional<double> RowParts::price(const Schedule& schedule, std::int64_t rows) const {
  const Kernel kernel = block(rows);
  if (has_errors(verify(schedule, kernel, model_))) return std::nullopt;
  const auto cost = evaluate(schedule, kernel, model_, options_.schedule.costs);
  return cost ? std::optional(cost->total.cycles) : std::nullopt;
}

std::optional<Program> RowParts::lowered(const Schedule& schedule, std::int64_t rows) const {
  const Kernel kernel = block(rows);
  if (has_errors(verify(schedule, kernel, model_))) return std::nullopt;
  auto program = lower(schedule, kernel, model_);
  if (!program || (options_.strict_float && !program->assumptions.empty())) return std::nullopt;
  program->sums_in_order = program->library_functions = options_.strict_float;
  return std::move(*program);
}

std::optional<RowPart> RowParts::with_row_loops(const Schedule& schedule, std::int64_t tile) const {
  auto program = lowered(schedule, lowered_steps * tile);
  if (!program) return std::nullopt;
  auto loops = row_loops(*program, model_, lowered_steps * tile, rows_.factor, tile);
  if (!loops) return std::nullopt;
  return RowPart{std::move(*program), tile, std::move(*loops)};
}

std::vector<RowPart> RowParts::walking(const Schedule& schedule) const {
  std::vector<RowPart> walk;
  for (const std::int64_t tile : tiles_of(schedule, rows_))
    if (auto part = with_row_loops(schedule, tile)) walk.push_back(std::move(*part));
  if (walk.empty() || walk.back().rows > most_remainders) return {};
  std::vector<RowPart> parts;
  parts.push_back(std::move(walk.front()));
  if (walk.size() > 1) parts.push_back(std::move(walk.back()));
  if (!add_remainders(schedule, parts)) return {};
  return same_packing(parts, parts) ? std::move(parts) : std::vector<RowPart>{};
}

std::vector<RowPart> RowParts::walking_with_fewer_prefetches(Schedule& schedule) const {
  std::vector<RowPart> parts = walking(schedule);
  Schedule fewer = schedule;
  while (parts.empty() && !is_written() && drop_prefetch(fewer)) parts = walking(fewer);
  if (parts.empty() || fewer == schedule) return parts;
  const auto spread = price(schedule, row_blocks[0]), plain = price(fewer, row_blocks[0]);
  auto whole = spread && plain && *spread < *plain ? lowered(schedule, row_blocks[0]) : std::nullopt;
  if (whole) {
    RowPart block{std::move(*whole), row_blocks[0], {}};
    if (same_packing({block}, parts)) parts.insert(parts.begin(), std::move(block));
  }
  schedule = std::move(fewer);
  return parts;
}

std::vector<RowPart> RowParts::remainders_first(const Schedule& schedule, const std::vector<RowPart>& parts,
                                                std::int64_t most) const {
  std::int64_t tile = 0;
  for (const RowPart& part : parts)
    if (!part.loops.empty()) tile = part.rows;
  std::vector<RowPart> made;
  for (std::int64_t remainder = 1; remainder < tile && tile < most && passes_cost(); ++remainder) {
    const std::int64_t rows = lowered_steps * tile + remainder;
    auto program = lowered(schedule, rows);
    auto moved =
        program ? remainder_first(std::move(*program), model_, rows, rows_.factor, tile, remainder) : std::nullopt;
    if (!moved) return {};
    made.push_back({std::move(moved->program), tile, std::move(moved->loops)});
  }
  return !made.empty() && same_packing(made, parts) ? std::move(made) : std::vector<RowPart>{};
}

bool RowParts::add_remainders(const Schedule& schedule, std::vector<RowPart>& parts) const {
  for (std::int64_t remainder = parts.back().rows - 1; remainder >= 1; --remainder) {
    auto program = lowered(schedule, remainder);
    if (!is_written() && (!program || remainder <= searched_remainders)) {
      Compilation own = searched(remainder);
      const auto now = price(schedule, remainder);
      if (!program)
        program = std::move(own.program);
      else if (own.program && own.scheduled->cost.cycles < now.value_or(0) &&
               same_packing({{*own.program, remainder, {}}}, parts))
        program = std::move(own.program);
    }
    if (!program) return false;
    parts.push_back({std::move(*program), remainder, {}});
  }
  return true;
}

Compilation RowParts::searched(std::int64_t rows) const {
  CompileOptions small = options_;
  small.schedule.max_evaluations = std::min<std::int64_t>(small.schedule.max_evaluations, 200);
  return compile(block(rows), model_, small);
}

/// By this schedule or, of blocks and few rows, by one that is searched for it and packs the same ahead of time,
/// whichever is cheaper; nothing: neither lowers.
std::optional<RowParts::RowBlock> RowParts::block_of(const Schedule& schedule, std::int64_t rows,
                                                     const std::vector<RowBlock>& others) const {
  std::optional<RowBlock> found;
  if (auto program = lowered(schedule, rows)) {
    found = RowBlock{{std::move(*program), rows, {}}, schedule};
    if (const auto cycles = price(schedule, rows)) found->cycles = *cycles;
  }
  const bool is_remainder = rows > searched_remainders && rows < *std::rbegin(row_blocks);
  if (is_written() || (found && is_remainder)) return found;
  Compilation own = searched(rows);
  const RowBlock* const like = found ? &*found : others.empty() ? nullptr : &others.front();
  if (own.program && (!found || own.scheduled->cost.cycles < found->cycles) &&
      (like == nullptr || same_packing({{*own.program, rows, {}}}, {like->part})))
    found =
        RowBlock{{std::move(*own.program), rows, {}}, std::move(own.scheduled->schedule), own.scheduled->cost.cycles};
  return found;
}

std::vector<RowPart> RowParts::blocks(Schedule& schedule, std::int64_t most) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(*std::rbegin(row_blocks)) - 1);
  std::iota(sizes.begin(), sizes.end(), 1);
  std::copy_if(std::rbegin(row_blocks), std::rend(row_blocks), std::back_inserter(sizes), [&](std::int64_t rows) {
    return rows == *std::begin(row_blocks) || rows == *std::rbegin(row_blocks) || passes_cost();
  });
  std::erase_if(sizes, [&](std::int64_t rows) { return rows > std::max<std::int64_t>(most, 1); });
  const double worthwhile = 1 - VersionOptions{}.worthwhile;
  const bool is_alone = kernel_.sample.statements.size() == 1;
  std::vector<RowBlock> made;
  for (const std::int64_t rows : sizes) {
    const auto cycles = price(schedule, rows);
    if (is_alone && rows > 1 && cycles && *cycles > worthwhile * cycles_in(made, rows)) continue;
    auto block = block_of(schedule, rows, made);
    if (!block && (rows == 1 || is_written())) return {};  // what is written is done, or refused
    if (block) made.push_back(std::move(*block));
  }
  std::vector<RowPart> parts;
  for (auto block = made.rbegin(); block != made.rend(); ++block) parts.push_back(std::move(block->part));
  if (!same_packing(parts, parts)) return {};
  schedule = std::move(made.back().schedule);
  return parts;
}

bool passes_take_time(const SymbolicKernel& kernel, const Rows& rows, const HardwareModel& model) {
  std::int64_t all = 0;
  for (std::size_t t = 0; t < kernel.sample.tensors.size(); ++t)
    if (!rows.factor.contains(make_id<TensorId>(t))) all += byte_count(kernel.sample.tensors[t]);
  return all > kept_nearest(model);
}

LongestShare longest_share(const RowVersion& version, std::int64_t rows) {
  const CellShares& shares = version.shares;
  if (shares.threads < 2 || rows < 1) return {rows, 0};
  const std::int64_t pieces = pieces_of(version, rows);
  const double cycles = shares.costs.front().cycles * static_cast<double>(rows);
  const std::int64_t count = shares_of(pieces, cycles, shares.threads, shares.start);
  if (count < 2) return {rows, 0};
  const std::int64_t tile = version.parts[first_remainder(version.parts) - 1].rows;
  return {std::min(rows, (pieces + count - 1) / count * tile), shares.start};
}

bool has_loops_on(const std::vector<Node>& nodes, const std::string& unit) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is))
      return loop->trip > 1 && (loop->unit == unit || has_loops_on(loop->body, unit));
    const auto* guard = std::get_if<Guard>(&node.is);
    return guard != nullptr && (has_loops_on(guard->then, unit) || has_loops_on(guard->otherwise, unit));
  });
}

bool same_packing(const std::vector<RowPart>& parts, const std::vector<RowPart>& others) {
  const RowPart& first = others.front();
  const std::vector<Node> code = NumberedLoops().of(first.program.prepack);
  return std::all_of(parts.begin(), parts.end(), [&](const RowPart& part) {
    return packed(part.program) == packed(first.program) && NumberedLoops().of(part.program.prepack) == code;
  });
}

}  // namespace isamap
