// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "driver/symbolic/block_compile.h"
#include "driver/symbolic/grid_price.h"
#include "driver/symbolic/grid_versions.h"
#include "driver/symbolic/launch_compile.h"
#include "driver/symbolic/row_parts.h"
#include "driver/symbolic/shared_price.h"
#include "driver/symbolic/statement_loops.h"
#include "hwdesc/model/one_thread.h"
#include "hwdesc/model/program_language.h"
#include "ir/symbolic/facts.h"
#include "ir/symbolic/refusal.h"
#include "isamap/compile.h"
#include "isamap/scheduler.h"

namespace isamap {
namespace {

constexpr std::int64_t many_rows = 192;  // schedules for many rows are searched at no fewer
constexpr std::int64_t few_rows = 8;     // and those for few at so many

class SymbolicCompiler {
 public:
  SymbolicCompiler(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options, Rows rows)
      : kernel_(kernel), model_(model), options_(options), parts_(kernel, model, options, std::move(rows)) {}

  SymbolicCompilation run() {
    const std::int64_t most = Facts(kernel_.facts).interval(parts_.rows().count)->high;
    std::int64_t many = many_rows;
    for (const SymbolicSize& size : kernel_.facts.sizes)
      for (const std::int64_t likely : size.likely) {
        Bindings sizes = kernel_.at;
        sizes[size.name] = likely;
        many = std::max(many, evaluate(parts_.rows().count, sizes));
      }
    many = std::clamp<std::int64_t>(many, 1, std::max<std::int64_t>(most, 1));
    if (!options_.versions.empty()) {
      if (!written_versions()) return std::move(result_);
    } else {
      if (!version(many)) return std::move(result_);
      if (many > few_rows) add_few(many);
    }
    SymbolicProgram& program = *result_.program;
    program.rows = parts_.rows().count;
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
  bool fail(Exit code, const Diagnostics& problems) {
    result_.code = code;
    result_.problems = problems;
    result_.program.reset();
    return false;
  }

  /// Under a guard.
  std::int64_t largest_rows(const std::vector<SizeFact>& when) const {
    std::int64_t most = Facts(kernel_.facts).interval(parts_.rows().count)->high;
    for (const SizeFact& fact : when)
      if (const AffineExpr bound = fact.nonnegative + parts_.rows().count; bound.is_constant())
        most = std::min(most, bound.constant());
    return most;
  }

  SizeFact at_most(std::int64_t bound) const {
    return {fmt::format("{} <= {}", isamap::print(parts_.rows().count), bound),
            AffineExpr(bound) - parts_.rows().count,
            {}};
  }

  void start_program() {
    result_.program.emplace();
    for (const auto& [id, factor] : parts_.rows().factor) {
      const Tensor& tensor = kernel_.sample.tensors[id.index()];
      result_.program->step[id] = factor * strides_of(tensor)[0];
    }
  }

  /// Why the schedule of this version makes no program.
  Diagnostic no_parts(std::size_t v) const {
    const Schedule& schedule = options_.versions[v].schedules[0];
    const Kernel kernel = parts_.block(row_blocks[0]);
    Diagnostics problems = verify(schedule, kernel, model_);
    if (!has_errors(problems))
      if (const auto program = lower(schedule, kernel, model_); !program) problems = program.diagnostics();
    Diagnostic why =
        error_at(options_.versions[v].where,
                 refused_for_all_sizes(fmt::format("the schedule of version {} lowers for no block of rows", v + 1)));
    for (const Diagnostic& problem : problems) why.notes.push_back(problem.message);
    return why;
  }

  /// Those that calls of at most so many rows reach, if they serve all of them.
  static std::vector<RowPart> needed_of(std::vector<RowPart> parts, std::int64_t most) {
    std::vector<RowPart> needed = parts;
    std::erase_if(needed, [&](const RowPart& part) { return part.rows > std::max<std::int64_t>(most, 1); });
    const auto missing = uncovered_rows({{}, needed});
    return missing && *missing <= most ? std::move(parts) : std::move(needed);
  }

  /// The versions of a schedule file.
  bool written_versions() {
    start_program();
    for (std::size_t v = 0; v < options_.versions.size(); ++v) {
      const ScheduleVersion& written = options_.versions[v];
      Schedule schedule = written.schedules[0];
      const std::int64_t most = largest_rows(written.when);
      std::vector<RowPart> parts = parts_.walking(schedule);
      if (parts.empty()) parts = parts_.blocks(schedule, most);
      const auto& others = result_.program->versions;
      if (parts.empty() || (!others.empty() && !same_packing(parts, others[0].parts))) {
        if (parts_.packs()) {  // versions pack their constants in several ways: pack none
          parts_.pack_nothing();
          result_ = {};
          return written_versions();
        }
        return fail(Exit::wrong_input, {no_parts(v)});
      }
      std::vector<RowPart> needed = needed_of(parts, most);
      std::vector<RowPart> first = parts_.remainders_first(schedule, parts, most);
      result_.program->versions.push_back({written.when, std::move(needed), std::move(first)});
      result_.schedules.push_back(schedule);
      result_.found_at.push_back(0);
    }
    return true;
  }

  /// The version for any number of rows.
  bool version(std::int64_t rows) {
    Compilation compiled = compile(parts_.block(rows), model_, options_);
    if (!compiled.program) return fail(compiled.code, compiled.problems);
    Schedule schedule = compiled.scheduled->schedule;
    std::vector<RowPart> parts = parts_.walking_with_fewer_prefetches(schedule);
    const std::int64_t most = largest_rows({});
    const bool in_blocks = parts.empty();
    if (in_blocks) parts = parts_.blocks(schedule, most);
    if (parts.empty() && parts_.packs()) {  // blocks pack their constants in several ways: pack none
      parts_.pack_nothing();
      return version(rows);
    }
    if (parts.empty())
      return fail(Exit::limit, {error(refused_for_all_sizes("a block of rows has no schedule that lowers"),
                                      "bind sizes with --sizes")});
    start_program();
    std::vector<RowPart> first = parts_.remainders_first(schedule, parts, most);
    const bool searched_here = !in_blocks || schedule.nests == compiled.scheduled->schedule.nests;
    result_.found_at.push_back(searched_here ? rows : parts.front().rows);
    result_.program->versions.push_back({{}, needed_of(std::move(parts), most), std::move(first)});
    result_.schedules.push_back(std::move(schedule));
    return true;
  }

  /// A version for few rows, if its schedule is another one and the model says that it is better there.
  void add_few(std::int64_t many) {
    if (options_.hand_written || many <= 2 * few_rows) return;
    Compilation compiled = compile(parts_.block(few_rows), model_, options_);
    if (!compiled.program || compiled.scheduled->schedule.nests == result_.schedules[0].nests) return;
    const Schedule& few = compiled.scheduled->schedule;
    const std::int64_t bound = crossover(few, many);
    if (bound < 1) return;
    std::vector<RowPart> parts = parts_.walking(few);
    std::erase_if(parts, [&](const RowPart& part) { return part.rows > bound; });
    const auto missing = uncovered_rows({{}, parts});
    if (missing && *missing <= bound) return;
    if (parts.empty() || !same_packing(parts, result_.program->versions[0].parts)) return;
    result_.program->versions.insert(result_.program->versions.begin(), {{at_most(bound)}, std::move(parts)});
    result_.schedules.insert(result_.schedules.begin(), few);
    result_.found_at.insert(result_.found_at.begin(), few_rows);
  }

  /// The largest number of rows up to which the schedule for few is cheaper wherever the two were priced; 0: nowhere.
  std::int64_t crossover(const Schedule& few, std::int64_t many) const {
    std::int64_t bound = 0;
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(many, 32); ++rows) {
      const auto a = parts_.price(few, rows), b = parts_.price(result_.schedules[0], rows);
      if (!a || (b && *b <= *a)) {
        if (a && b && *b == *a) continue;
        break;
      }
      bound = rows;
    }
    return bound;
  }
  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  RowParts parts_;
  SymbolicCompilation result_;
};

SymbolicCompilation refused(const Diagnostic& why) {
  SymbolicCompilation result;
  result.code = Exit::no_answer;
  result.problems = {why};
  return result;
}

/// Plain loops, unless the user asks for a schedule or the kernel has none.
SymbolicCompilation loops_for(const SymbolicKernel& kernel, const HardwareModel& model, const CompileOptions& options,
                              const Diagnostic& why) {
  const bool is_cut = std::any_of(kernel.sample.statements.begin(), kernel.sample.statements.end(),
                                  [](const Computation& one) { return !one.domain.faces.empty(); });
  if (is_cut || options.hand_written || !options.versions.empty() || !kernel.sample.repeats.empty())
    return refused(why);
  return compile_plain_loops(kernel, model, options, why);
}

}  // namespace

SymbolicCompilation compile_symbolic(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options) {
  if (has_thread_blocks(model)) return compile_launches(kernel, model, options);
  if (!is_host_code(model))
    return refused(error(refused_for_all_sizes("those of '" + model.name + "' are no C++"), "bind sizes with --sizes"));
  if (std::any_of(model.symbols().begin(), model.symbols().end(),
                  [](const Symbol& s) { return !s.known_at_compile_time; }))
    return loops_for(kernel, model, options,
                     error(refused_for_all_sizes("'" + model.name + "' has sizes of its own at run time"),
                           "bind sizes with --sizes"));
  auto rows = rows_of(kernel);
  const bool by_statement = !options.versions.empty() && options.versions[0].schedules.size() > 1;
  if (!rows || by_statement) return compile_blocks(kernel, model, options);
  SymbolicCompilation compiled = SymbolicCompiler(kernel, model, options, std::move(*rows)).run();
  if (compiled.program || (!options.versions.empty() && kernel.sample.statements.size() > 1)) return compiled;
  // Rows without a schedule; or the file was written before sizes were bound, for a grid of blocks.
  SymbolicCompilation blocks = compile_blocks(kernel, model, options);
  return blocks.program ? blocks : compiled;
}

namespace {

std::optional<Cost> cost_at(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                            const CostModelFactory& costs) {
  if (has_errors(verify(schedule, kernel, model))) return std::nullopt;
  auto evaluation = evaluate(schedule, kernel, model, costs);
  return evaluation ? std::optional(std::move(evaluation->total)) : std::nullopt;
}

/// Each part takes the rows that those before it leave, one with loops all at once.
std::optional<Cost> cost_of_parts(const SymbolicProgram& program, const RowVersion& version, std::int64_t left,
                                  const HardwareModel& model, const CostModelFactory& costs) {
  const auto rows = rows_of(program.kernel);
  if (!rows) return std::nullopt;
  std::vector<Cost> all;
  for (const RowPart& part : version.parts) {
    const std::int64_t times = left / part.rows;
    if (times == 0) continue;
    left -= times * part.rows;
    const bool at_once = !part.loops.empty();
    const Kernel kernel = with_rows(program.kernel, *rows, at_once ? times * part.rows : part.rows);
    const auto schedule = parse_schedule(part.program.schedule_text, "part", kernel, model);
    auto cost = schedule ? cost_at(*schedule, kernel, model, costs) : std::nullopt;
    if (!cost) return std::nullopt;
    all.push_back(repeated(std::move(*cost), at_once ? 1 : times));
  }
  return sum_of(all);
}

}  // namespace

std::optional<Cost> predicted_at(const SymbolicCompilation& compiled, const HardwareModel& model, const Bindings& sizes,
                                 const CostModelFactory& costs) {
  const std::size_t version = version_at(*compiled.program, sizes);
  if (!compiled.program->grids.empty()) {
    const HardwareModel one = on_one_thread(model);
    auto blocks = costs_of_statements(*compiled.program, one, costs);
    auto cost = cost_on_threads(*compiled.program, version, sizes, blocks);
    return cost ? std::optional(std::move(*cost)) : std::nullopt;
  }
  const auto kernel = isamap::bind(compiled.program->kernel, sizes);
  if (!kernel) return std::nullopt;
  if (auto whole = cost_at(compiled.schedules[version], *kernel, model, costs)) return whole;
  return cost_of_parts(*compiled.program, compiled.program->versions[version], evaluate(compiled.program->rows, sizes),
                       model, costs);
}

}  // namespace isamap
