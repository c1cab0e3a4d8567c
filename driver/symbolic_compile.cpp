// SPDX-License-Identifier: Apache-2.0
#include "isamap/symbolic_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "driver/block_compile.h"
#include "driver/grid_price.h"
#include "driver/grid_versions.h"
#include "driver/launch_compile.h"
#include "hwdesc/model/program_language.h"
#include "ir/symbolic/facts.h"
#include "isamap/scheduler.h"
#include "program/row_loops.h"

namespace isamap {
namespace {

constexpr std::int64_t kManyRows = 192;     // schedules for many rows are searched at no fewer
constexpr std::int64_t kFewRows = 8;        // and those for few at so many
constexpr std::int64_t kMostRests = 32;     // bodies of code for the rows that a tile leaves
constexpr std::int64_t kSearchedRests = 4;  // of them have schedules of their own, where the model says so
constexpr std::int64_t kLargestTile = 4096;
constexpr std::int64_t kSteps = 32;            // of row loops when they are lowered: as many as compilers do not unroll
constexpr std::int64_t kSmallPass = 32 << 10;  // bytes that stay in the nearest cache
constexpr std::int64_t kBlocks[] = {64, 32, 16, 8};  // rows of a block where no loop of a program walks all rows

class SymbolicCompiler {
 public:
  SymbolicCompiler(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options, Rows rows)
      : kernel_(kernel), model_(model), options_(options), rows_(std::move(rows)) {}

  SymbolicCompilation run() {
    const std::int64_t most = Facts(kernel_.facts).interval(rows_.count)->high;
    std::int64_t many = kManyRows;
    for (const SymbolicSize& size : kernel_.facts.sizes)
      for (const std::int64_t likely : size.likely) {
        Bindings sizes = kernel_.at;
        sizes[size.name] = likely;
        many = std::max(many, evaluate(rows_.count, sizes));
      }
    many = std::clamp<std::int64_t>(many, 1, std::max<std::int64_t>(most, 1));
    if (!options_.versions.empty()) {
      if (!written_versions()) return std::move(result_);
    } else {
      if (!version(many)) return std::move(result_);
      if (many > kFewRows) add_few(many);
    }
    SymbolicProgram& program = *result_.program;
    program.rows = rows_.count;
    program.kernel = kernel_;
    for (const RowVersion& one : program.versions) {
      const auto missing = uncovered_rows(one);
      ISAMAP_CHECK(!missing || *missing > largest_rows(one.when),
                   fmt::format("the parts of a program serve no {} rows", missing.value_or(0)));
    }
    ISAMAP_CHECK(!uncovered_sizes(program), "the versions do not cover all sizes");
    return std::move(result_);
  }

 private:
  bool is_written() const { return options_.hand_written || !options_.versions.empty(); }

  Kernel block(std::int64_t rows) const {
    Kernel kernel = with_rows(kernel_, rows_, rows);
    if (unpacked_)
      for (Tensor& tensor : kernel.tensors) tensor.constant = false;
    return kernel;
  }

  bool fail(Exit code, const Diagnostics& problems) {
    result_.code = code;
    result_.problems = problems;
    result_.program.reset();
    return false;
  }

  /// Under a guard.
  std::int64_t largest_rows(const std::vector<SizeFact>& when) const {
    std::int64_t most = Facts(kernel_.facts).interval(rows_.count)->high;
    for (const SizeFact& fact : when)
      if (const AffineExpr bound = fact.nonnegative + rows_.count; bound.is_constant())
        most = std::min(most, bound.constant());
    return most;
  }

  SizeFact at_most(std::int64_t bound) const {
    return {fmt::format("{} <= {}", isamap::print(rows_.count), bound), AffineExpr(bound) - rows_.count, {}};
  }

  void start_program() {
    result_.program.emplace();
    for (const auto& [id, factor] : rows_.factor) {
      const Tensor& tensor = kernel_.sample.tensors[id.index()];
      result_.program->step[id] = factor * strides_of(tensor)[0];
    }
  }

  /// Why the schedule of this version makes no program.
  Diagnostic no_parts(std::size_t v) const {
    const Schedule& schedule = options_.versions[v].schedules[0];
    const Kernel kernel = block(kBlocks[0]);
    Diagnostics problems = verify(schedule, kernel, model_);
    if (!has_errors(problems))
      if (const auto program = lower(schedule, kernel, model_); !program) problems = program.diagnostics();
    Diagnostic why = error_at(
        options_.versions[v].where,
        fmt::format("no program for all sizes: the schedule of version {} lowers for no block of rows", v + 1));
    for (const Diagnostic& problem : problems) why.notes.push_back(problem.message);
    return why;
  }

  /// The versions of a schedule file.
  bool written_versions() {
    start_program();
    for (std::size_t v = 0; v < options_.versions.size(); ++v) {
      const ScheduleVersion& written = options_.versions[v];
      const Schedule& schedule = written.schedules[0];
      std::vector<RowPart> parts = parts_of(schedule);
      if (parts.empty()) parts = blocks_of(schedule);
      const auto& others = result_.program->versions;
      if (parts.empty() || (!others.empty() && !same_packing(parts, others[0].parts))) {
        if (!unpacked_) {  // versions pack their constants in several ways: pack none
          unpacked_ = true;
          result_ = {};
          return written_versions();
        }
        return fail(Exit::wrong_input, {no_parts(v)});
      }
      const std::int64_t most = largest_rows(written.when);
      std::vector<RowPart> needed = parts;
      std::erase_if(needed, [&](const RowPart& part) { return part.rows > std::max<std::int64_t>(most, 1); });
      const auto missing = uncovered_rows({{}, needed});
      result_.program->versions.push_back(
          {written.when, missing && *missing <= most ? parts : needed, rests_first(schedule, parts, most)});
      result_.schedules.push_back(schedule);
      result_.found_at.push_back(0);
    }
    return true;
  }

  /// The version for any number of rows.
  bool version(std::int64_t rows) {
    Compilation compiled = compile(block(rows), model_, options_);
    if (!compiled.program) return fail(compiled.code, compiled.problems);
    Schedule schedule = compiled.scheduled->schedule;
    std::vector<RowPart> parts = walking_parts(schedule);
    if (parts.empty()) parts = blocks_of(schedule);
    if (parts.empty() && !unpacked_) {  // blocks pack their constants in several ways: pack none
      unpacked_ = true;
      return version(rows);
    }
    if (parts.empty())
      return fail(Exit::limit, {error("no program for all sizes: a block of rows has no schedule that lowers",
                                      "bind sizes with --sizes")});
    start_program();
    std::vector<RowPart> first = rests_first(schedule, parts, largest_rows({}));
    result_.program->versions.push_back({{}, std::move(parts), std::move(first)});
    result_.schedules.push_back(schedule);
    result_.found_at.push_back(rows);
    return true;
  }

  /// A version for few rows, if its schedule is another one and the model says that it is better there.
  void add_few(std::int64_t many) {
    if (options_.hand_written || many <= 2 * kFewRows) return;
    Compilation compiled = compile(block(kFewRows), model_, options_);
    if (!compiled.program || compiled.scheduled->schedule.nests == result_.schedules[0].nests) return;
    const Schedule& few = compiled.scheduled->schedule;
    const std::int64_t bound = crossover(few, many);
    if (bound < 1) return;
    std::vector<RowPart> parts = parts_of(few);
    std::erase_if(parts, [&](const RowPart& part) { return part.rows > bound; });
    const auto missing = uncovered_rows({{}, parts});
    if (missing && *missing <= bound) return;
    if (parts.empty() || !same_packing(parts, result_.program->versions[0].parts)) return;
    result_.program->versions.insert(result_.program->versions.begin(), {{at_most(bound)}, std::move(parts)});
    result_.schedules.insert(result_.schedules.begin(), few);
    result_.found_at.insert(result_.found_at.begin(), kFewRows);
  }

  /// The largest number of rows up to which the schedule for few is cheaper wherever the two were priced; 0: nowhere.
  std::int64_t crossover(const Schedule& few, std::int64_t many) const {
    std::int64_t bound = 0;
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(many, 32); ++rows) {
      const auto a = price(few, rows), b = price(result_.schedules[0], rows);
      if (!a || (b && *b <= *a)) {
        if (a && b && *b == *a) continue;
        break;
      }
      bound = rows;
    }
    return bound;
  }
  std::optional<double> price(const Schedule& schedule, std::int64_t rows) const {
    const Kernel kernel = block(rows);
    if (has_errors(verify(schedule, kernel, model_))) return std::nullopt;
    const auto cost = evaluate(schedule, kernel, model_, options_.schedule.costs);
    return cost ? std::optional(cost->total.cycles) : std::nullopt;
  }

  /// Tiles of rows in the schedule, the largest first.
  std::vector<std::int64_t> tiles_of(const Schedule& schedule) const {
    std::set<std::int64_t, std::greater<>> tiles;
    std::int64_t common = 1;
    for (std::size_t n = 0; n < schedule.nests.size(); ++n) {
      std::int64_t smallest = 0;
      for (const Line& line : schedule.nests[n].lines)
        if (const auto* loop = std::get_if<For>(&line.is))
          for (const TiledLoop& tiled : loop->loops)
            if (std::find(rows_.dims.begin(), rows_.dims.end(), tiled.dim) != rows_.dims.end()) {
              tiles.insert(tiled.tile);
              smallest = smallest == 0 ? tiled.tile : std::min(smallest, tiled.tile);
            }
      if (smallest > 0) common = std::lcm(common, smallest);
    }
    tiles.insert(common);
    while (!tiles.empty() && *tiles.begin() > kLargestTile) tiles.erase(tiles.begin());
    return {tiles.begin(), tiles.end()};
  }

  std::optional<Program> lowered(const Schedule& schedule, std::int64_t rows) const {
    const Kernel kernel = block(rows);
    if (has_errors(verify(schedule, kernel, model_))) return std::nullopt;
    auto program = lower(schedule, kernel, model_);
    if (!program || (options_.strict_float && !program->assumptions.empty())) return std::nullopt;
    program->sums_in_order = program->library_functions = options_.strict_float;
    return std::move(*program);
  }

  std::optional<RowPart> with_row_loops(const Schedule& schedule, std::int64_t tile) const {
    auto program = lowered(schedule, kSteps * tile);
    if (!program) return std::nullopt;
    auto loops = row_loops(*program, model_, kSteps * tile, rows_.factor, tile);
    if (!loops) return std::nullopt;
    return RowPart{std::move(*program), tile, std::move(*loops)};
  }

  /// Parts whose loops walk all rows, the largest and the smallest tile of the schedule, then one for each rest. Empty:
  /// the schedule has no such loops, or leaves too many rests.
  std::vector<RowPart> parts_of(const Schedule& schedule) const {
    std::vector<RowPart> walking;
    for (const std::int64_t tile : tiles_of(schedule))
      if (auto part = with_row_loops(schedule, tile)) walking.push_back(std::move(*part));
    if (walking.empty() || walking.back().rows > kMostRests) return {};
    std::vector<RowPart> parts;
    parts.push_back(std::move(walking.front()));
    if (walking.size() > 1) parts.push_back(std::move(walking.back()));
    if (!add_rests(schedule, parts)) return {};
    return same_packing(parts, parts) ? std::move(parts) : std::vector<RowPart>{};
  }

  /// By the schedule or, if it is searched, without its outermost prefetches: one that is spread over the steps of a
  /// loop over rows is other code for each number of steps. Blocks of many rows keep them where the model says so.
  std::vector<RowPart> walking_parts(Schedule& schedule) const {
    std::vector<RowPart> parts = parts_of(schedule);
    Schedule fewer = schedule;
    while (parts.empty() && !is_written() && drop_prefetch(fewer)) parts = parts_of(fewer);
    if (parts.empty() || fewer == schedule) return parts;
    auto whole = lowered(schedule, kBlocks[0]);
    if (whole && price(schedule, kBlocks[0]) < price(fewer, kBlocks[0])) {
      RowPart block{std::move(*whole), kBlocks[0], {}};
      if (same_packing({block}, parts)) parts.insert(parts.begin(), std::move(block));
    }
    schedule = std::move(fewer);
    return parts;
  }
  /// The first one of the schedule; false: it has none.
  static bool drop_prefetch(Schedule& schedule) {
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

  /// Do the tensors without rows exceed the nearest cache, so that a second pass over them takes time?
  bool passes_cost() const {
    std::int64_t all = 0;
    for (std::size_t t = 0; t < kernel_.sample.tensors.size(); ++t) {
      const Tensor& tensor = kernel_.sample.tensors[t];
      if (!rows_.factor.contains(make_id<TensorId>(t))) all += byte_count(tensor);
    }
    return all > kSmallPass;
  }

  /// For each rest of the smallest tile; none: of some rest there is no such program.
  std::vector<RowPart> rests_first(const Schedule& schedule, const std::vector<RowPart>& parts,
                                   std::int64_t most) const {
    std::int64_t tile = 0;
    for (const RowPart& part : parts)
      if (!part.loops.empty()) tile = part.rows;
    std::vector<RowPart> made;
    for (std::int64_t rest = 1; rest < tile && tile < most && passes_cost(); ++rest) {
      const std::int64_t rows = kSteps * tile + rest;
      auto program = lowered(schedule, rows);
      auto moved = program ? rest_first(std::move(*program), model_, rows, rows_.factor, tile, rest) : std::nullopt;
      if (!moved) return {};
      made.push_back({std::move(moved->program), tile, std::move(moved->loops)});
    }
    return !made.empty() && same_packing(made, parts) ? std::move(made) : std::vector<RowPart>{};
  }

  bool add_rests(const Schedule& schedule, std::vector<RowPart>& parts) const {
    for (std::int64_t rest = parts.back().rows - 1; rest >= 1; --rest) {
      auto program = lowered(schedule, rest);
      if (!is_written() && (!program || rest <= kSearchedRests)) {
        Compilation own = searched(rest);
        const auto now = price(schedule, rest);
        if (!program)
          program = std::move(own.program);
        else if (own.program && own.scheduled->cost.cycles < now.value_or(0) &&
                 same_packing({{*own.program, rest, {}}}, parts))
          program = std::move(own.program);
      }
      if (!program) return false;
      parts.push_back({std::move(*program), rest, {}});
    }
    return true;
  }

  Compilation searched(std::int64_t rows) const {
    CompileOptions small = options_;
    small.schedule.max_evaluations = std::min<std::int64_t>(small.schedule.max_evaluations, 200);
    return compile(block(rows), model_, small);
  }

  /// A whole program of so many rows, and its predicted cycles.
  struct RowBlock {
    RowPart part;
    double cycles = std::numeric_limits<double>::infinity();
  };

  /// By this schedule or, of blocks and few rows, by one that is searched for it and packs the same ahead of time,
  /// whichever is cheaper; nothing: neither lowers.
  std::optional<RowBlock> block_of(const Schedule& schedule, std::int64_t rows,
                                   const std::vector<RowBlock>& others) const {
    std::optional<RowBlock> found;
    if (auto program = lowered(schedule, rows)) {
      found = RowBlock{{std::move(*program), rows, {}}};
      if (const auto cycles = price(schedule, rows)) found->cycles = *cycles;
    }
    const bool is_rest = rows > kSearchedRests && rows < *std::rbegin(kBlocks);
    if (is_written() || (found && is_rest)) return found;
    Compilation own = searched(rows);
    const RowBlock* const like = found ? &*found : others.empty() ? nullptr : &others.front();
    if (own.program && (!found || own.scheduled->cost.cycles < found->cycles) &&
        (like == nullptr || same_packing({{*own.program, rows, {}}}, {like->part})))
      found = RowBlock{{std::move(*own.program), rows, {}}, own.scheduled->cost.cycles};
    return found;
  }

  /// Predicted cycles of so many rows in as large blocks as there are; `blocks` by rising rows.
  static double cycles_in(const std::vector<RowBlock>& blocks, std::int64_t rows) {
    double cycles = 0;
    for (auto block = blocks.rbegin(); block != blocks.rend(); rows %= block->part.rows, ++block)
      cycles += block->cycles * static_cast<double>(rows / block->part.rows);
    return cycles;
  }

  /// Whole programs of blocks, where no loop walks all rows: each statement of a block runs before the next block.
  /// Blocks of one row serve any number of them; larger ones are made where the model says that a row is cheaper there.
  /// It does not price the latency between statements, which several rows hide: several statements have all blocks.
  /// Blocks between the largest and the smallest are made where each pass takes time.
  std::vector<RowPart> blocks_of(const Schedule& schedule) const {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(*std::rbegin(kBlocks)) - 1);
    std::iota(sizes.begin(), sizes.end(), 1);
    std::copy_if(std::rbegin(kBlocks), std::rend(kBlocks), std::back_inserter(sizes), [&](std::int64_t rows) {
      return rows == *std::begin(kBlocks) || rows == *std::rbegin(kBlocks) || passes_cost();
    });
    const double worthwhile = 1 - VersionOptions{}.worthwhile;
    const bool is_alone = kernel_.sample.statements.size() == 1;
    std::vector<RowBlock> blocks;
    for (const std::int64_t rows : sizes) {
      const auto cycles = price(schedule, rows);
      if (is_alone && rows > 1 && cycles && *cycles > worthwhile * cycles_in(blocks, rows)) continue;
      auto block = block_of(schedule, rows, blocks);
      if (!block && (rows == 1 || is_written())) return {};  // what is written is done, or refused
      if (block) blocks.push_back(std::move(*block));
    }
    std::vector<RowPart> parts;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) parts.push_back(std::move(block->part));
    return same_packing(parts, parts) ? std::move(parts) : std::vector<RowPart>{};
  }

  /// The copies that are packed ahead of time.
  static std::vector<Buffer> packed(const Program& program) {
    std::vector<Buffer> buffers;
    for (const Buffer& buffer : program.buffers)
      if (buffer.ahead_of_time) {
        buffers.push_back(buffer);
        buffers.back().address = 0;
      }
    return buffers;
  }
  static bool same_packing(const std::vector<RowPart>& parts, const std::vector<RowPart>& others) {
    const RowPart& first = others.front();
    return std::all_of(parts.begin(), parts.end(), [&](const RowPart& part) {
      return packed(part.program) == packed(first.program) && part.program.prepack == first.program.prepack;
    });
  }

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  Rows rows_;
  bool unpacked_ = false;
  SymbolicCompilation result_;
};

SymbolicCompilation refused(const Diagnostic& why) {
  SymbolicCompilation result;
  result.code = Exit::no_answer;
  result.problems = {why};
  return result;
}

}  // namespace

SymbolicCompilation compile_symbolic(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options) {
  if (has_thread_blocks(model)) return compile_launches(kernel, model, options);
  if (!is_host_code(model))
    return refused(error(fmt::format("no program for all sizes: those of '{}' are no C++", model.name),
                         "bind sizes with --sizes"));
  if (std::any_of(model.symbols().begin(), model.symbols().end(),
                  [](const Symbol& s) { return !s.known_at_compile_time; }))
    return refused(error(fmt::format("no program for all sizes: '{}' has sizes of its own at run time", model.name),
                         "bind sizes with --sizes"));
  auto rows = rows_of(kernel);
  if (!rows) return compile_blocks(kernel, model, options);
  return SymbolicCompiler(kernel, model, options, std::move(*rows)).run();
}

std::optional<Cost> predicted_at(const SymbolicCompilation& compiled, const HardwareModel& model, const Bindings& sizes,
                                 const CostModelFactory& costs) {
  if (!compiled.program->grids.empty()) {
    const std::size_t statements = compiled.program->kernel.sample.statements.size();
    std::vector<Cost> all;
    for (std::size_t s = 0; s < statements; ++s) {
      auto cost =
          cost_of(compiled.program->grids[version_at(*compiled.program, sizes) * statements + s], model, costs, sizes);
      if (!cost) return std::nullopt;
      all.push_back(std::move(*cost));
    }
    return sum_of(all);
  }
  const auto kernel = isamap::bind(compiled.program->kernel, sizes);
  if (!kernel) return std::nullopt;
  const Schedule& schedule = compiled.schedules[version_at(*compiled.program, sizes)];
  if (has_errors(verify(schedule, *kernel, model))) return std::nullopt;
  auto evaluation = evaluate(schedule, *kernel, model, costs);
  return evaluation ? std::optional(std::move(evaluation->total)) : std::nullopt;
}

}  // namespace isamap
