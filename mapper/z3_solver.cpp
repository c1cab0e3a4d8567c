#include "mapper/z3_solver.h"

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
    z3::solver solver(context, "QF_LIA");
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
    // Running out of resources surfaces as an exception in some tactics: no answer either way.
  }
  ++statistics.unknown;
  return Truth::unknown;
}

/// The conditions of one rule on unit columns, over Booleans: "these operands", "dim d on slot s".
class BindingProblem {
 public:
  BindingProblem(const std::vector<Alignment>& alignments, Rule rule, std::uint64_t rlimit)
      : alignments_(alignments), rule_(rule), solver_(context_), slots_(slots_of(alignments[0], rule)) {
    bound(context_, solver_, rlimit);
    declare();
    for (std::size_t a = 0; a < alignments_.size(); ++a) constrain(a);
  }

  z3::check_result check(z3::expr_vector& assumptions) { return solver_.check(assumptions); }

  /// Assumptions that choose alignment a and ask for what its slots need.
  z3::expr_vector assume(std::size_t a) {
    z3::expr_vector assumptions(context_);
    assumptions.push_back(operands_[a]);
    for (const z3::expr& need : needs_[a]) assumptions.push_back(need);
    return assumptions;
  }

  Placement take() {
    const z3::model model = solver_.get_model();
    Placement placement(dims(), -1);
    z3::expr_vector differs(context_);
    for (std::size_t d = 0; d < dims(); ++d) {
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        const bool is_on = model.eval(on(d, s), true).is_true();
        if (is_on) placement[d] = static_cast<int>(s);
        differs.push_back(is_on ? !on(d, s) : on(d, s));
      }
    }
    block(differs);
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
  std::size_t dims() const { return alignments_[0].statement_uses.size(); }
  z3::expr on(std::size_t d, std::size_t s) const { return on_[d * slots_.size() + s]; }
  void block(const z3::expr_vector& differs) {
    solver_.add(differs.empty() ? context_.bool_val(false) : z3::mk_or(differs));
  }

  void declare() {
    for (std::size_t d = 0; d < dims(); ++d) {
      z3::expr_vector here(context_);
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        on_.push_back(context_.bool_const(("on." + std::to_string(d) + "." + std::to_string(s)).c_str()));
        here.push_back(on_.back());
      }
      if (!here.empty()) solver_.add(z3::atmost(here, 1));
      if (alignments_[0].computation().domain.dims[d].extent == 1)
        for (const z3::expr& e : here) solver_.add(!e);
    }
    for (std::size_t a = 0; a < alignments_.size(); ++a) {
      operands_.push_back(context_.bool_const(("operands." + std::to_string(a)).c_str()));
    }
  }

  /// For each operand: sound, without partial sums, and under `access` no input repeated.
  void constrain(std::size_t a) {
    const Alignment& alignment = alignments_[a];
    for (std::size_t d = 0; d < dims(); ++d) {
      for (std::size_t s = 0; s < slots_.size(); ++s) {
        for (int t = 0; t < alignment.operand_count(); ++t) {
          const bool element = (alignment.statement_uses[d] >> t & 1U) != 0, slot = (slots_[s].uses >> t & 1U) != 0;
          const bool sound = !element || slot;
          const bool whole = !(t == 0 || rule_ == Rule::access) || !slot || element;
          if (!sound || !whole) solver_.add(z3::implies(operands_[a], !on(d, s)));
        }
      }
    }
    needs_.emplace_back();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      needs_[a].push_back(context_.bool_const(("need." + std::to_string(a) + "." + std::to_string(s)).c_str()));
      solver_.add(z3::implies(needs_[a][s], filled(alignment, s)));
    }
  }

  z3::expr filled(const Alignment& alignment, std::size_t s) {
    if (rule_ == Rule::all) return context_.bool_val(true);
    z3::expr some = context_.bool_val(false), elsewhere = context_.bool_val(true);
    bool class_has_dims = false, stand_in = false;
    for (std::size_t d = 0; d < dims(); ++d) {
      const OperandSet used = alignment.statement_uses[d], outside = used & ~slots_[s].uses;
      if (alignment.computation().domain.dims[d].extent == 1) {
        stand_in = stand_in || used == slots_[s].uses;
        continue;
      }
      some = some || on(d, s);
      class_has_dims = class_has_dims || used == slots_[s].uses;
      if (outside != 0) continue;
      z3::expr_vector others(context_);
      for (std::size_t other = 0; other < slots_.size(); ++other)
        if (other != s) others.push_back(on(d, other));
      elsewhere = elsewhere && (others.empty() ? context_.bool_val(false) : z3::mk_or(others));
    }
    if (rule_ == Rule::access) return !class_has_dims && stand_in ? context_.bool_val(true) : some;
    return some || elsewhere;
  }

  const std::vector<Alignment>& alignments_;
  Rule rule_;
  z3::context context_;
  z3::solver solver_;
  std::vector<Slot> slots_;
  std::vector<z3::expr> on_, operands_;
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

SolvedPlacements place_by_solver(const std::vector<Alignment>& alignments, Rule rule, std::int64_t limit,
                                 std::uint64_t rlimit, SolverStatistics& statistics) {
  SolvedPlacements result;
  result.empty_slots.resize(alignments.size());
  if (alignments.empty()) return result;
  const Clock clock(statistics);
  try {
    BindingProblem problem(alignments, rule, rlimit);
    for (std::size_t a = 0; a < alignments.size(); ++a) {
      problem.begin();
      z3::expr_vector assumptions = problem.assume(a);
      std::int64_t found = 0;
      while (true) {
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
        if (found++ == limit) {
          result.limit_reached = true;
          break;
        }
        result.list.emplace_back(a, problem.take());
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
