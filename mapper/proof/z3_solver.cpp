// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/z3_solver.h"

#include <z3++.h>

#include <algorithm>
#include <chrono>

namespace isamap {
namespace {

class Clock {
 public:
  explicit Clock(SolverStatistics& statistics) : statistics_(statistics), start_(std::chrono::steady_clock::now()) {}
  ~Clock() { statistics_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  SolverStatistics& statistics_;
  std::chrono::steady_clock::time_point start_;
};

void bound(z3::context& context, z3::solver& solver, std::uint64_t rlimit) {
  z3::params params(context);
  params.set("rlimit", static_cast<unsigned>(std::min<std::uint64_t>(rlimit, 4'000'000'000U)));
  params.set("random_seed", 0U);
  solver.set(params);
}

Truth ask(const Question& question, std::uint64_t rlimit, SolverStatistics& statistics) {
  ++statistics.queries;
  try {
    z3::context context;
    z3::solver solver(context, question.logic.c_str());
    bound(context, solver, rlimit);
    solver.from_string(question.text.c_str());
    switch (solver.check()) {
      case z3::unsat:
        return Truth::yes;
      case z3::sat:
        return Truth::no;
      case z3::unknown:
        break;
    }
  } catch (const z3::exception&) {
    // Some tactics throw when resources run out: the result is unknown.
  }
  ++statistics.unknown;
  return Truth::unknown;
}

/// The conditions of one rule over Booleans: "these operands", "this direction at this home".
class BindingProblem {
 public:
  BindingProblem(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices, Rule rule,
                 std::uint64_t rlimit)
      : alignments_(alignments), choices_(choices), rule_(rule), solver_(context_) {
    bound(context_, solver_, rlimit);
    declare();
    for (std::size_t a = 0; a < alignments_.size(); ++a) constrain(a);
  }

  z3::check_result check(z3::expr_vector& assumptions) { return solver_.check(assumptions); }

  /// Assumptions that choose alignment a and state the needs of its slots.
  z3::expr_vector assume(std::size_t a) {
    z3::expr_vector assumptions(context_);
    assumptions.push_back(operands_[a]);
    for (const z3::expr& need : needs_[a]) assumptions.push_back(need);
    return assumptions;
  }

  Placement take(std::size_t a) {
    const z3::model model = solver_.get_model();
    const std::vector<Direction>& directions = choices_[a].directions;
    Placement placement(directions.size(), -1);
    z3::expr_vector differs(context_);
    for (const Variable& v : variables_) {
      const bool is_on = model.eval(v.on, true).is_true();
      differs.push_back(is_on ? !v.on : v.on);
      if (!is_on) continue;
      const auto d = std::find_if(directions.begin(), directions.end(),
                                  [&](const Direction& direction) { return direction.column == v.column; });
      const auto home = std::find(d->homes.begin(), d->homes.end(), v.home);
      placement[static_cast<std::size_t>(d - directions.begin())] = static_cast<int>(home - d->homes.begin());
    }
    solver_.add(differs.empty() ? context_.bool_val(false) : z3::mk_or(differs));
    return placement;
  }

  /// Slots whose need is in the unsat core.
  std::vector<int> core_slots(std::size_t a) {
    std::vector<int> slots;
    const z3::expr_vector core = solver_.unsat_core();
    for (std::size_t s = 0; s < needs_[a].size(); ++s) {
      for (unsigned i = 0; i < core.size(); ++i) {
        if (z3::eq(core[static_cast<int>(i)], needs_[a][s])) slots.push_back(static_cast<int>(s));
      }
    }
    return slots;
  }

  void begin() { solver_.push(); }
  void end() { solver_.pop(); }

 private:
  struct Variable {
    IntVector column;
    int unit;
    Home home;
    z3::expr on;
  };

  const std::vector<Slot>& slots() const { return choices_[0].slots; }  // of the instruction, equal for all alignments
  static bool fills(const Home& home, std::size_t s) { return (home.slots() >> s & 1U) != 0; }

  void add_variable(const Direction& direction, const Home& home) {
    const bool known = std::any_of(variables_.begin(), variables_.end(),
                                   [&](const Variable& v) { return v.column == direction.column && v.home == home; });
    if (known) return;
    const std::string name = "on." + std::to_string(variables_.size());
    variables_.push_back({direction.column, direction.unit, home, context_.bool_const(name.c_str())});
  }

  void declare() {
    for (std::size_t a = 0; a < alignments_.size(); ++a) {
      operands_.push_back(context_.bool_const(("operands." + std::to_string(a)).c_str()));
      for (const Direction& direction : choices_[a].directions) {
        for (std::size_t s = 0; s < slots().size() && direction.unit >= 0; ++s)
          add_variable(direction, {static_cast<int>(s), 0, false});
        for (const Home& home : direction.homes) add_variable(direction, home);
      }
    }
    for (const Variable& v : variables_) {
      z3::expr_vector same_direction(context_), ties(context_), partials(context_);
      for (const Variable& other : variables_) {
        if (other.column == v.column) same_direction.push_back(other.on);
        if (other.home.tied != 0) ties.push_back(other.on);
        if (other.home.partial && other.home.slot == v.home.slot) partials.push_back(other.on);
      }
      solver_.add(z3::atmost(same_direction, 1));
      if (v.home.tied != 0) solver_.add(z3::atmost(ties, static_cast<unsigned>(choices_[0].max_ties)));
      if (v.home.partial) solver_.add(z3::atmost(partials, 1));
    }
  }

  /// A unit direction on one slot, for each operand: sound, without partial sums, and under `access` no input repeated.
  bool allowed_unit(const Alignment& alignment, const Variable& v) const {
    const OperandSet used = alignment.statement_uses[static_cast<std::size_t>(v.unit)];
    const OperandSet slot_uses = slots()[static_cast<std::size_t>(v.home.slot)].uses;
    for (int t = 0; t < alignment.operand_count(); ++t) {
      const bool element = (used >> t & 1U) != 0, slot = (slot_uses >> t & 1U) != 0;
      const bool sound = !element || slot;
      const bool whole = !(t == 0 || rule_ == Rule::access) || !slot || element;
      if (!sound || !whole) return false;
    }
    return true;
  }
  /// Combinations and ties: the Graver directions of this alignment.
  bool allowed_other(std::size_t a, const Variable& v) const {
    for (const Direction& direction : choices_[a].directions) {
      if (direction.column == v.column)
        return std::find(direction.homes.begin(), direction.homes.end(), v.home) != direction.homes.end();
    }
    return false;
  }

  void constrain(std::size_t a) {
    for (const Variable& v : variables_) {
      const bool plain = v.unit >= 0 && v.home.tied == 0 && !v.home.partial;
      if (!(plain ? allowed_unit(alignments_[a], v) : allowed_other(a, v)))
        solver_.add(z3::implies(operands_[a], !v.on));
    }
    needs_.emplace_back();
    for (std::size_t s = 0; s < slots().size(); ++s) {
      needs_[a].push_back(context_.bool_const(("need." + std::to_string(a) + "." + std::to_string(s)).c_str()));
      solver_.add(z3::implies(needs_[a][s], filled(alignments_[a], s)));
    }
  }

  z3::expr filled(const Alignment& alignment, std::size_t s) {
    if (rule_ == Rule::all) return context_.bool_val(true);
    z3::expr some = context_.bool_val(false), elsewhere = context_.bool_val(true);
    for (const Variable& v : variables_)
      if (fills(v.home, s)) some = some || v.on;
    bool class_has_dims = false, one_point_dim = false;
    for (std::size_t d = 0; d < alignment.statement_uses.size(); ++d) {
      const OperandSet used = alignment.statement_uses[d], outside = used & ~slots()[s].uses;
      if (alignment.computation().domain.dims[d].extent == 1) {
        one_point_dim = one_point_dim || used == slots()[s].uses;
        continue;
      }
      class_has_dims = class_has_dims || used == slots()[s].uses;
      if (outside != 0) continue;
      z3::expr_vector others(context_);
      for (const Variable& v : variables_)
        if (v.unit == static_cast<int>(d) && !fills(v.home, s)) others.push_back(v.on);
      elsewhere = elsewhere && (others.empty() ? context_.bool_val(false) : z3::mk_or(others));
    }
    if (rule_ == Rule::access) return !class_has_dims && one_point_dim ? context_.bool_val(true) : some;
    return some || elsewhere;
  }

  const std::vector<Alignment>& alignments_;
  const std::vector<Choices>& choices_;
  Rule rule_;
  z3::context context_;
  z3::solver solver_;
  std::vector<Variable> variables_;
  std::vector<z3::expr> operands_;
  std::vector<std::vector<z3::expr>> needs_;
};

}  // namespace

Truth replay(const Certificate& certificate, std::uint64_t rlimit, SolverStatistics& statistics, std::string* failed) {
  const Clock clock(statistics);
  Truth truth = Truth::yes;
  for (const Question& question : certificate.questions) {
    const Truth answer = ask(question, rlimit, statistics);
    if (answer != Truth::yes && failed != nullptr) *failed = question.name;
    if (answer == Truth::no) return Truth::no;
    if (answer == Truth::unknown) truth = Truth::unknown;
  }
  return truth;
}

SolvedPlacements place_by_solver(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                                 const PlacementLimits& limits, SolverStatistics& statistics) {
  SolvedPlacements result;
  result.empty_slots.resize(alignments.size());
  if (alignments.empty()) return result;
  const Clock clock(statistics);
  try {
    BindingProblem problem(alignments, choices, limits.rule, limits.rlimit);
    for (std::size_t a = 0; a < alignments.size() && !result.stopped; ++a) {
      problem.begin();
      z3::expr_vector assumptions = problem.assume(a);
      std::int64_t found = 0;
      while (true) {
        result.stopped = !limits.go_on();
        if (result.stopped) break;
        ++statistics.queries;
        const z3::check_result answer = problem.check(assumptions);
        if (answer == z3::unknown) {
          ++statistics.unknown;
          result.limit_reached = true;
          break;
        }
        if (answer == z3::unsat) {
          if (found == 0) result.empty_slots[a] = problem.core_slots(a);
          break;
        }
        if (found++ == limits.most) {
          result.limit_reached = true;
          break;
        }
        result.list.emplace_back(a, problem.take(a));
      }
      problem.end();
    }
  } catch (const z3::exception&) {
    ++statistics.unknown;
    result.limit_reached = true;
  }
  return result;
}

}  // namespace isamap
