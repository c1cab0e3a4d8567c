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
      : kernel_(kernel), model_(model), options_(options), parts_(kernel, model, options, rows) {
    if (thread_count(model) < 2) return;
    one_thread_ = on_one_thread(model);
    alone_.emplace(kernel, *one_thread_, options, std::move(rows));
  }

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
      FoundVersion found{{written.when, std::move(needed), std::move(first)}, schedule, 0};
      share_rows(found, row_blocks[0]);
      result_.program->versions.push_back(std::move(found.version));
      result_.schedules.push_back(std::move(found.schedule));
      result_.found_at.push_back(0);
    }
    return true;
  }

  /// A version without guard, its schedule, and the rows that it was searched at.
  struct FoundVersion {
    RowVersion version;
    Schedule schedule;
    std::int64_t found_at = 0;
  };

  /// By a search on the machine of `parts`; nothing: there is none, which is the result.
  std::optional<FoundVersion> found_version(RowParts& parts, std::int64_t rows) {
    Compilation compiled = compile(parts.block(rows), parts.machine(), options_);
    if (!compiled.program) return fail(compiled.code, compiled.problems), std::nullopt;
    FoundVersion found;
    found.schedule = compiled.scheduled->schedule;
    std::vector<RowPart> list = parts.walking_with_fewer_prefetches(found.schedule);
    const std::int64_t most = largest_rows({});
    const bool in_blocks = list.empty();
    if (in_blocks) list = parts.blocks(found.schedule, most);
    if (list.empty() && parts.packs()) {  // blocks pack their constants in several ways: pack none
      parts.pack_nothing();
      return found_version(parts, rows);
    }
    if (list.empty())
      return fail(Exit::limit, {error(refused_for_all_sizes("a block of rows has no schedule that lowers"),
                                      "bind sizes with --sizes")}),
             std::nullopt;
    found.version.remainder_first = parts.remainders_first(found.schedule, list, most);
    const bool searched_here = !in_blocks || found.schedule.nests == compiled.scheduled->schedule.nests;
    found.found_at = searched_here ? rows : list.front().rows;
    found.version.parts = needed_of(std::move(list), most);
    share_rows(found, rows);
    return found;
  }

  /// Where no loop inside of its tiles is distributed, the rows are.
  void share_rows(FoundVersion& found, std::int64_t rows) const {
    const auto unit = threads_of_programs(model_);
    if (!unit || has_loops_on(main_part(found.version).program.body, model_.unit(*unit).name)) return;
    const auto cycles = parts_.price(found.schedule, rows);
    if (!cycles || rows < 1) return;
    CellShares& shares = found.version.shares;
    shares.threads = thread_count(model_);
    shares.start = model_.unit(*unit).threads.start;
    shares.costs = {
        {std::stod(fmt::format("{:.3g}", *cycles / static_cast<double>(rows))), {1, {parts_.rows().count}}}};
  }

  /// Predicted cycles of so many rows, those of the longest share.
  std::optional<double> price(const Schedule& schedule, const RowVersion& version, std::int64_t rows) const {
    const LongestShare share = longest_share(version, rows);
    const auto cycles = parts_.price(schedule, share.rows);
    return cycles ? std::optional(*cycles + share.start) : std::nullopt;
  }

  /// The version for any number of rows. On several threads there are two: loops inside of its tiles are distributed
  /// over them, as over columns, or its rows are. A loop over rows that is distributed inside has no trip that may be
  /// any number.
  bool version(std::int64_t rows) {
    auto found = found_version(parts_, rows);
    if (alone_) {
      auto other = found_version(*alone_, rows);
      const auto now = found ? price(found->schedule, found->version, rows) : std::nullopt;
      const auto then = other ? price(other->schedule, other->version, rows) : std::nullopt;
      if (!found || (then && (!now || *then < *now))) found = std::move(other);
    }
    if (!found) return false;
    result_ = {};
    start_program();
    result_.found_at.push_back(found->found_at);
    result_.program->versions.push_back(std::move(found->version));
    result_.schedules.push_back(std::move(found->schedule));
    return true;
  }

  /// A version for few rows, if its schedule is another one and the model says that it is better there.
  void add_few(std::int64_t many) {
    if (options_.hand_written || many <= 2 * few_rows || add_few(parts_, many)) return;
    if (alone_) add_few(*alone_, many);
  }
  bool add_few(const RowParts& parts, std::int64_t many) {
    Compilation compiled = compile(parts.block(few_rows), parts.machine(), options_);
    if (!compiled.program || compiled.scheduled->schedule.nests == result_.schedules[0].nests) return false;
    FoundVersion few{{}, compiled.scheduled->schedule, few_rows};
    few.version.parts = parts.walking(few.schedule);
    if (few.version.parts.empty()) return false;
    share_rows(few, few_rows);
    const std::int64_t bound = crossover(few, many);
    if (bound < 1) return false;
    std::erase_if(few.version.parts, [&](const RowPart& part) { return part.rows > bound; });
    const auto missing = uncovered_rows(few.version);
    if (missing && *missing <= bound) return false;
    SymbolicProgram& program = *result_.program;
    if (few.version.parts.empty() || !same_packing(few.version.parts, program.versions[0].parts)) return false;
    few.version.when = {at_most(bound)};
    program.versions.insert(program.versions.begin(), std::move(few.version));
    result_.schedules.insert(result_.schedules.begin(), std::move(few.schedule));
    result_.found_at.insert(result_.found_at.begin(), few_rows);
    return true;
  }

  /// The largest number of rows up to which the schedule for few is cheaper wherever the two were priced; 0: nowhere.
  std::int64_t crossover(const FoundVersion& few, std::int64_t many) const {
    std::int64_t bound = 0;
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(many, 32); ++rows) {
      const auto a = price(few.schedule, few.version, rows);
      const auto b = price(result_.schedules[0], result_.program->versions[0], rows);
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
  std::optional<HardwareModel> one_thread_;  ///< of a machine with several
  std::optional<RowParts> alone_;            ///< by schedules of it
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
  const RowVersion& chosen = compiled.program->versions[version];
  const std::int64_t rows = evaluate(compiled.program->rows, sizes);
  const LongestShare share = longest_share(chosen, rows);
  std::optional<Cost> cost;
  if (share.rows == rows) cost = cost_at(compiled.schedules[version], *kernel, model, costs);
  if (!cost) cost = cost_of_parts(*compiled.program, chosen, share.rows, model, costs);
  if (cost) cost->cycles += share.start;
  return cost;
}

}  // namespace isamap
