// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/expand_loops.h"
#include "backends/cpp/function/declarations.h"
#include "backends/cpp/function/hoist_guards.h"
#include "backends/cpp/function/lane_loops.h"
#include "backends/cpp/function/row_copies.h"
#include "backends/cpp/function/scatter_loops.h"
#include "backends/cpp/function/scatter_printer.h"
#include "backends/cpp/function/statement_printer.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/function/thread_values.h"
#include "backends/cpp/function/tile_copies.h"
#include "backends/cpp/text/helpers.h"
#include "hwdesc/model/compiler_limits.h"
#include "ir/operand_use.h"

namespace isamap {
namespace {

constexpr std::int64_t max_statements = 200'000;

/// What a parallel loop declares is private to each of its iterations: the next item that uses it declares its own.
void end_with(std::size_t loop, const std::vector<Item>& items, const std::set<int>& fresh,
              std::map<std::size_t, std::set<int>>& starts) {
  for (const int variable : fresh)
    for (std::size_t next = loop + 1; next < items.size(); ++next)
      if (items[next].variables.contains(variable)) {
        starts[next].insert(variable);
        break;
      }
}

/// Names of nested loops with their trips, outermost first, as the number of an iteration: "k0 * 2 + p1".
std::string number_of(const std::vector<std::pair<std::string, std::string>>& digits) {
  std::string number;
  for (const auto& [name, trip] : digits)
    number = number.empty() ? name
                            : fmt::format("{} * {} + {}", digits.size() > 2 ? "(" + number + ")" : number, trip, name);
  return number;
}

/// The loop over the iterations of a member of a team: consecutive ones, so that copies of what the blocks of other
/// loops write or read are mostly of its own.
std::string share_text(const std::string& name, const std::string& trip) {
  return fmt::format(
      "long {0} = {1} * {2}.number / {2}.members, {0}_end = {1} * ({2}.number + 1) / {2}.members; {0} < {0}_end", name,
      trip, member_name);
}

/// Is this iteration of nested loops one of another member?
std::string of_another(const std::vector<std::pair<std::string, std::string>>& digits) {
  std::string total;
  for (const auto& [name, trip] : digits) total += (total.empty() ? "" : " * ") + trip;
  return fmt::format("({0}) * {1}.members / ({2}) != {1}.number", number_of(digits), member_name, total);
}

/// The declaration and the condition of a loop over the steps of a range; `row`: its row.
std::string range_text(const StepRange& range, const std::string& name, const std::string& row,
                       const std::string& trip) {
  const std::string at = fmt::format("({} + {})", range.first, row), left = fmt::format("{} - {}", range.size, at);
  const auto rounded_up = [&](const std::string& rows) {
    return range.step == 1 ? rows : fmt::format("({} + {}) / {}", rows, range.step - 1, range.step);
  };
  return fmt::format("long {0} = {1} < 0 ? {2} : 0, {0}_end = {3} < {4} ? {3} : {4}; {0} < {0}_end", name, at,
                     rounded_up("-" + at), rounded_up(left), trip);
}

std::string trip_text(const RuntimeNumbers* numbers, const Loop& loop) {
  if (numbers != nullptr)
    if (const auto found = numbers->trips.find(loop.variable); found != numbers->trips.end()) return found->second;
  return std::to_string(loop.trip);
}

/// The declaration and the condition of a loop.
std::string steps_text(const PrintedFunction& function, const PlaceText& places, const Loop& loop,
                       const std::string& name) {
  if (function.numbers != nullptr)
    if (const auto found = function.numbers->ranges.find(loop.variable); found != function.numbers->ranges.end())
      return range_text(found->second, name, places.index(found->second.row), trip_text(function.numbers, loop));
  return fmt::format("{0} {1} = 0; {1} < {2}", function.dialect != nullptr ? function.dialect->loop_number : "long",
                     name, trip_text(function.numbers, loop));
}

/// A loop around one that writes an element several times at a distance, as packing for lanes that share it does. GCC
/// 12 vectorizes such nests with loads that reach beyond the last element: of two by two elements, eight times each, by
/// 8 bytes (-O3, AVX2).
bool is_around_replicas(const Loop& loop) {
  const Loop* inner = loop.body.size() == 1 ? std::get_if<Loop>(&loop.body.front().is) : nullptr;
  if (inner == nullptr || inner->body.size() != 1) return false;
  const auto* element = std::get_if<Element>(&inner->body.front().is);
  if (element == nullptr || element->reads.size() != 1 || element->write.index.empty()) return false;
  const auto uses = [&](const AffineExpr& e) { return e.names().contains(inner->variable); };
  const Ref &read = element->reads.front(), &write = element->write;
  return std::none_of(read.index.begin(), read.index.end(), uses) && !uses(write.index.back()) &&
         std::any_of(write.index.begin(), write.index.end(), uses);
}

/// An innermost loop over few terms of sums in registers, which suffice when it is unrolled (register_hints.h).
/// Compilers leave it rolled where addresses have strides of the call: depthwise convolutions took up to 8 % longer.
bool is_worth_unrolling(const RuntimeNumbers* numbers, const Loop& loop, const Item& item, const RegisterHints& hints,
                        const HardwareModel& model) {
  if (numbers == nullptr || numbers->trips.contains(loop.variable) || numbers->ranges.contains(loop.variable) ||
      !loop.unit.empty() || loop.trip > steps_unrolled_by_compilers || hints.rolled.contains(&item) ||
      loop.trip * static_cast<std::int64_t>(item.body.size()) > calls_unrolled_by_compilers)
    return false;
  bool sums = false;
  for (const Item& one : item.body) {
    const auto* call = std::get_if<Call>(&one.node->is);
    if (call == nullptr) return false;
    const auto& index = call->operands[0].index;
    sums = sums || (updates(model.instruction(call->instruction), *call) &&
                    std::none_of(index.begin(), index.end(),
                                 [&](const AffineExpr& e) { return e.names().contains(loop.variable); }));
  }
  return sums;
}

/// Blocks, loops and guards of a function.
class Printer {
 public:
  /// `team`: executed by all members of a team (backends/cpp/function/team.h).
  Printer(const PrintedFunction& function, bool team)
      : function_(function), model_(function.model), dialect_(function.dialect), team_(team) {}

  void function(const std::vector<Item>& items) {
    if (team_) thread_values_ = thread_values(items, model_);
    statements_.state().function(items, [&] { block(items); });
  }
  FunctionBody body() { return {out_.text, statements_.state().attributes()}; }

  void block(const std::vector<Item>& items) {
    statements_.state().block(items, [&] { print(items); });
  }
  void print(const std::vector<Item>& items) {
    const std::set<int> pointers_before = statements_.pointers(), variables_before = declared_variables_;
    statements_.declare_pointers(items);
    auto starts = starting_variables(items, declared_variables_, model_);
    const bool divides = team_ && !divided_;
    bool alone = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto found = starts.find(i);
      const std::set<int> fresh = found == starts.end() ? std::set<int>{} : found->second;
      declared_variables_.insert(fresh.begin(), fresh.end());
      take_part(items[i], fresh);
      const bool declared = divides && divide(items[i], fresh, alone);
      if (divides) divided_ = alone;
      if (is_threads(items[i], model_) && !divided_) end_with(i, items, fresh, starts);
      opened_ = opened_by(items, i);
      statements_.state().before_item(i);
      std::visit([&](const auto& n) { print(n, items[i], condition_.empty() && !declared ? fresh : std::set<int>{}); },
                 items[i].node->is);
    }
    all_take_part();
    if (divides) divided_ = false;
    if (alone) join(alone, true);
    statements_.pointers() = pointers_before;
    declared_variables_ = variables_before;
  }

 private:
  void line(const std::string& s) { out_.line(s); }

  // Participating threads ---------------------------------------------------------------------------------------------

  /// Consecutive statements of the same threads share one condition.
  void take_part(const Item& item, const std::set<int>& fresh) {
    if (dialect_ == nullptr) return;
    std::string condition;
    if (const auto* call = std::get_if<Call>(&item.node->is)) {
      const Instruction& instruction = model_.instruction(call->instruction);
      condition = dialect_->chosen(around_, instruction.unit, instruction.issue_one);
    } else if (const auto* element = std::get_if<Element>(&item.node->is)) {
      condition = dialect_->chosen(around_, element->unit, false);
    } else if (const auto* sync = std::get_if<Sync>(&item.node->is)) {
      condition = dialect_->syncs(around_, *sync);
    }
    if (condition != condition_ || !fresh.empty()) all_take_part();
    if (condition.empty() || condition == condition_) return;
    statements_.declare(fresh);
    line("if (" + condition + ") {");
    ++out_.depth;
    condition_ = condition;
  }
  void all_take_part() {
    if (condition_.empty()) return;
    --out_.depth;
    line("}");
    condition_.clear();
  }

  // Members of a team -------------------------------------------------------------------------------------------------

  /// Outside of parallel loops one member executes (`alone`), and the others wait for it; values in registers that the
  /// loops use, such as masks, are set by all. True: `fresh` are declared.
  bool divide(const Item& item, const std::set<int>& fresh, bool& alone) {
    if (std::holds_alternative<Comment>(item.node->is)) return false;
    const bool all = has_threads(item, model_) || sets_one_of(item, thread_values_);
    if (alone && (all || !fresh.empty())) join(alone, all);
    if (all || alone) return false;
    statements_.declare(fresh);
    line(fmt::format("if ({}.number == 0) {{", member_name));
    ++out_.depth;
    return alone = true;
  }
  void join(bool& alone, bool wait) {
    --out_.depth;
    line("}");
    if (wait) line(wait_for_all);
    alone = false;
  }

  /// Reads the instance index, unless the body does not depend on it.
  void print_instances(const Loop& loop, const Item& item, const Dialect::Number& number) {
    const std::string name = open_.names[loop.variable] = function_.names.unique(loop.variable);
    line(number.opening(loop.unit, dialect_->loop_number));
    const std::size_t at = out_.text.size();
    open_.ranges[loop.variable] = {0, loop.trip - 1};
    nested(item.body);
    if (says(out_.text.substr(at), name)) {
      const std::string body = out_.text.substr(at);
      out_.text.resize(at);
      line(fmt::format("  const long {} = {};", name, number.text));
      out_.text += body;
    }
    open_.ranges.erase(loop.variable);
    function_.names.release(name);
    line("}");
  }

  // Loops and guards --------------------------------------------------------------------------------------------------

  void print(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    if (dialect_ == nullptr || loop.unit.empty()) return print_steps(loop, item, fresh);
    statements_.declare(fresh);
    around_.push_back(&loop);
    const auto number = dialect_->number(around_);
    if (number) print_instances(loop, item, *number);
    around_.pop_back();
    if (!number) print_steps(loop, item, {});
  }
  void print_steps(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    const auto body = [&] { nested(item.body); };
    if (dialect_ == nullptr && (scatters_.print(loop, item, fresh, body) || lanes_.print(loop, item, fresh, body)))
      return;
    if (const auto row = row_copy(loop, item, function_, statements_.places(), open_)) return line(*row);
    const auto unit = model_.find_unit(loop.unit);
    const std::string threads = unit && !divided_ ? model_.unit(*unit).threads.loop : "";
    if (!threads.empty() && team_) return print_share(loop, item, fresh);
    if (threads.empty()) {
      statements_.declare(fresh);
      statements_.state().before_loop(item.body);
    }
    const std::string name = open_.names[loop.variable] = function_.names.unique(loop.variable);
    if (!threads.empty()) line(threads);
    statements_.forget_before(item);
    if (dialect_ != nullptr && !dialect_->before_loop.empty()) line(dialect_->before_loop);
    if (dialect_ == nullptr && is_worth_unrolling(function_.numbers, loop, item, function_.hints, model_))
      line(fmt::format("#pragma GCC unroll {}", loop.trip));
    line(fmt::format("for ({1}; ++{0}) {{{2}", name, steps_text(function_, statements_.places(), loop, name),
                     loop.unit.empty() ? ""
                                       : fmt::format("  // instances of {}, {}", loop.unit,
                                                     threads.empty() ? "one after another" : "side by side")));
    open_.ranges[loop.variable] = {0, loop.trip - 1};
    in_unit_ += loop.unit.empty() ? 0 : 1;
    ++out_.depth;
    if (!threads.empty()) statements_.declare(fresh);  // private to each thread
    --out_.depth;
    if (function_.hints.rolled.contains(&item))  // unknown index: the steps are not distinguishable
      line(fmt::format(
          "  __asm__ volatile(\"\" : \"+r\"({}) : : \"memory\");  // step by step: no room to keep what is read",
          name));
    if (dialect_ == nullptr && is_around_replicas(loop))
      line("  __asm__ volatile(\"\");  // one element after another");
    if (threads.empty()) {
      nested(item.body);
    } else {
      divided_ = true;  // a loop on threads inside is executed by each
      in_thread(item.body);
      divided_ = false;
    }
    in_unit_ -= loop.unit.empty() ? 0 : 1;
    open_.ranges.erase(loop.variable);
    function_.names.release(name);
    line("}");
  }
  /// A loop whose iterations the members divide. Several that enclose nothing but each other are divided as one.
  void print_share(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    const std::string name = open_.names[loop.variable] = function_.names.unique(loop.variable);
    const bool outermost = digits_.empty(), inner = item.body.size() == 1 && is_threads(item.body.front(), model_);
    const std::string trip = trip_text(function_.numbers, loop);
    digits_.emplace_back(name, trip.find(' ') == std::string::npos ? trip : "(" + trip + ")");
    const std::string steps = inner || !outermost ? fmt::format("long {0} = 0; {0} < {1}", name, trip)
                                                  : share_text(name, digits_.back().second);
    line(fmt::format("for ({}; ++{}) {{  // instances of {}", steps, name, loop.unit));
    open_.ranges[loop.variable] = {0, loop.trip - 1};
    if (!inner && !outermost) line("  if (" + of_another(digits_) + ") continue;");
    ++in_unit_;
    ++out_.depth;
    statements_.declare(fresh);  // private to each thread
    --out_.depth;
    if (inner) {
      nested(item.body);
    } else {
      divided_ = true;
      in_thread(item.body);
      divided_ = false;
    }
    --in_unit_;
    digits_.pop_back();
    open_.ranges.erase(loop.variable);
    function_.names.release(name);
    line("}");
    if (outermost) line(wait_for_all);
  }
  void in_thread(const std::vector<Item>& items) {
    ++out_.depth;
    statements_.state().thread(items, [&] { block(items); });
    --out_.depth;
  }
  void nested(const std::vector<Item>& items) {
    ++out_.depth;
    block(items);
    --out_.depth;
  }

  void print(const Guard& guard, const Item& item, const std::set<int>& fresh) {
    statements_.declare(fresh);
    std::string conditions;
    for (const AffineExpr& condition : guard.conditions)
      conditions += (conditions.empty() ? "" : " && ") + statements_.places().index(condition) + " >= 0";
    line("if (" + (item.body.empty() ? "!(" + conditions + ")" : conditions) + ") {");
    const bool two = !item.body.empty() && !item.otherwise.empty();
    statements_.state().either([&] { nested(item.body.empty() ? item.otherwise : item.body); },
                               [&] {
                                 if (!two) return;
                                 line("} else {");
                                 nested(item.otherwise);
                               });
    line("}");
  }

  void print(const Call& call, const Item& item, const std::set<int>& fresh) { statements_.call(call, item, fresh); }
  void print(const Element& element, const Item& item, const std::set<int>& fresh) {
    statements_.element(scatters_.inside(element), item, fresh);
  }
  void print(const Sync& sync, const Item&, const std::set<int>&) { statements_.sync(sync, opened_, in_unit_ > 0); }
  void print(const Comment& comment, const Item&, const std::set<int>&) { statements_.comment(comment); }

  const PrintedFunction& function_;
  const HardwareModel& model_;
  const Dialect* dialect_;
  bool team_;
  OpenLoops open_;
  TextLines out_;
  StatementPrinter statements_{function_, open_, out_};
  ScatterPrinter scatters_{function_, open_, out_, statements_};
  LanePrinter lanes_{function_, open_, out_, statements_};
  std::vector<const Loop*> around_;  ///< with a dialect: open loops on units
  std::set<int> opened_;             ///< variables opened by a statement and written by later calls
  std::string condition_;            ///< open condition of the block
  std::set<int> declared_variables_;
  int in_unit_ = 0;
  std::set<int> thread_values_;  ///< variables of parallel loops, outside of which they may be set
  bool divided_ = false;         ///< of a team: one member executes this, or each its iterations
  std::vector<std::pair<std::string, std::string>> digits_;  ///< open loops that a team divides, and their trips
};

}  // namespace

Result<FunctionBody> print_body(const std::vector<Node>& nodes, const BodyContext& context, Names names) {
  const auto& [program, model, buffers, constant, elements, dialect, numbers, team, overlapping] = context;
  auto expanded = expand(nodes, model, max_statements);
  if (!expanded) return expanded.diagnostics();
  if (dialect == nullptr) *expanded = scatter_loops_inward(hoist_guards(std::move(*expanded)), program, numbers);
  if (dialect == nullptr && numbers == nullptr) *expanded = tile_copies(std::move(*expanded));
  Places places;
  places.buffers = buffers;
  Diagnostics diagnostics;
  const auto items = find_places(*expanded, {program, model, dialect != nullptr, names, diagnostics, numbers}, places);
  if (has_errors(diagnostics)) return diagnostics;
  PrintedFunction function{program, model,    dialect,     constant,    numbers, places,
                           names,   elements, diagnostics, overlapping, {}};
  if (dialect == nullptr) function.hints = register_hints(items, places, program, model);
  Printer printer(function, team);
  printer.function(items);
  if (has_errors(diagnostics)) return diagnostics;
  return printer.body();
}

}  // namespace isamap
