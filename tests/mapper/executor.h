#pragma once
// Runs a mapping call by call, as its definition says, and the statement as a plain nest. Written without the mapper's
// code: digits are read off a point by division, slots are index tuples, don't-care slots hold large garbage.

#include <map>
#include <string>
#include <vector>

#include "mapper/body_match.h"
#include "support/arithmetic.h"
#include "support/random.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {

using Tuple = std::vector<std::int64_t>;

struct Execution {
  std::string problem;                  ///< empty: equal to the plain nest
  std::int64_t calls = 0, garbage = 0;  ///< garbage: don't-care slots that were read
};

class Executor {
 public:
  Executor(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping, std::uint64_t seed)
      : kernel_(kernel),
        statement_(kernel.statements[0]),
        unit_(instruction.statement()),
        mapping_(mapping),
        seed_(seed),
        random_(seed) {}

  Execution run() {
    std::map<std::pair<Tuple, Tuple>, std::map<Tuple, Tuple>> calls;  // (loops, tiles) -> y -> x
    for_each(statement_.domain.dims, [&](const Tuple& x) { place(x, calls); });
    plain();
    for (const auto& [where, points] : calls)
      if (result_.problem.empty()) call(where.second, points);
    result_.calls = static_cast<std::int64_t>(calls.size());
    if (result_.problem.empty() && mapped_ != expected_) result_.problem = "wrong values";
    return result_;
  }

 private:
  template <class F>
  static void for_each(const std::vector<Dim>& dims, const F& f) {
    Tuple x(dims.size(), 0);
    for (const Dim& d : dims)
      if (d.extent == 0) return;
    while (true) {
      f(x);
      std::size_t d = dims.size();
      while (d-- > 0) {
        if (++x[d] < dims[d].extent) break;
        x[d] = 0;
      }
      if (d > dims.size()) return;
    }
  }
  static Tuple index_of(const Computation& c, int access, const Tuple& point) {
    Bindings values;
    for (std::size_t d = 0; d < point.size(); ++d) values[c.domain.dims[d].name] = point[d];
    Tuple index;
    for (const AffineExpr& e : access_of(c, access).index) index.push_back(evaluate(e, values));
    return index;
  }
  DType type_of_access(int access) const { return kernel_.tensors[access_of(statement_, access).tensor.index()].dtype; }
  Scalar scalar(DType type, double value) const { return convert({value, 0}, DType::f64, type, false); }

  /// An input element: any function of tensor and index will do, so no array and no shape is needed.
  Scalar element(int access, const Tuple& index) const {
    std::uint64_t mixed = seed_ + static_cast<std::uint64_t>(access_of(statement_, access).tensor.value) * 77;
    for (const std::int64_t i : index) mixed = Random(mixed ^ static_cast<std::uint64_t>(i + 1000)).next();
    return scalar(type_of_access(access),
                  static_cast<double>(mixed % 9) -
                      (is_integer(type_of_access(access)) && integer_min(type_of_access(access)) == 0 ? 0.0 : 4.0));
  }
  Scalar start() const { return identity(statement_.reduction, type_of_access(0)); }

  void plain() {
    for_each(statement_.domain.dims, [&](const Tuple& x) {
      std::vector<Scalar> reads;
      for (int a = 1; a < access_count(statement_); ++a) reads.push_back(element(a, index_of(statement_, a, x)));
      const Tuple at = index_of(statement_, 0, x);
      const Scalar old = expected_.count(at) > 0 ? expected_[at] : start();
      expected_[at] =
          combine(statement_.reduction, type_of_access(0), old, isamap::evaluate(statement_.body, reads.data()));
    });
  }

  /// Peels the digits of a point: per dim, smallest stride first; what is between and above them are loops.
  void place(const Tuple& x, std::map<std::pair<Tuple, Tuple>, std::map<Tuple, Tuple>>& calls) {
    Tuple counters(mapping_.dims.size(), 0), loops;
    for (std::size_t d = 0; d < x.size(); ++d) {
      std::vector<std::pair<std::int64_t, std::pair<std::size_t, std::size_t>>> strides;
      for (std::size_t m = 0; m < mapping_.dims.size(); ++m) {
        for (std::size_t l = 0; l < mapping_.dims[m].size(); ++l) {
          const std::int64_t s = mapping_.dims[m][l].column.coefficient(statement_.domain.dims[d].name);
          if (s != 0) strides.push_back({s, {m, l}});
        }
      }
      std::sort(strides.begin(), strides.end());
      std::int64_t rest = x[d], reached = 1;
      for (const auto& [stride, at] : strides) {
        loops.push_back(rest % (stride / reached));
        rest /= stride / reached;
        const Digit& digit = mapping_.dims[at.first][at.second];
        std::int64_t weight = 1;
        for (std::size_t l = at.second + 1; l < mapping_.dims[at.first].size(); ++l)
          weight *= mapping_.dims[at.first][l].extent;
        counters[at.first] += weight * (rest % digit.extent);
        rest /= digit.extent;
        reached = stride * digit.extent;
      }
      loops.push_back(rest);
    }
    Tuple tiles, y;
    for (std::size_t m = 0; m < counters.size(); ++m) {
      tiles.push_back(counters[m] / unit_.domain.dims[m].extent);
      y.push_back(counters[m] % unit_.domain.dims[m].extent);
    }
    loops.insert(loops.end(), tiles.begin(), tiles.end());
    if (!calls[{loops, tiles}].emplace(y, x).second) result_.problem = "two points in one place";
  }

  std::int64_t walked(std::size_t m) const {
    std::int64_t product = 1;
    for (const Digit& digit : mapping_.dims[m]) product *= digit.extent;
    return product;
  }

  /// Where the digits of y lead, from any point of the same call: loops contribute the same to both.
  Tuple point_of(const Tuple& tiles, const Tuple& y, const std::pair<const Tuple, Tuple>& known) const {
    Tuple x = known.second;
    for (std::size_t m = 0; m < y.size(); ++m) {
      const std::int64_t base = tiles[m] * unit_.domain.dims[m].extent;
      std::int64_t here = base + y[m], there = base + known.first[m];
      for (std::size_t l = mapping_.dims[m].size(); l-- > 0;) {
        const Digit& digit = mapping_.dims[m][l];
        for (std::size_t d = 0; d < x.size(); ++d) {
          x[d] +=
              digit.column.coefficient(statement_.domain.dims[d].name) * (here % digit.extent - there % digit.extent);
        }
        here /= digit.extent;
        there /= digit.extent;
      }
    }
    return x;
  }

  /// Reasons why y is padding, spelled as carriers spell them.
  std::vector<std::string> reasons(const Tuple& tiles, const Tuple& y, const std::map<Tuple, Tuple>& points) const {
    std::vector<std::string> found;
    for (std::size_t m = 0; m < y.size(); ++m) {
      if (tiles[m] * unit_.domain.dims[m].extent + y[m] >= walked(m))
        found.push_back("fill " + unit_.domain.dims[m].name);
    }
    if (!found.empty()) return found;
    const Tuple x = point_of(tiles, y, *points.begin());
    for (std::size_t d = 0; d < x.size(); ++d) {
      const Dim& dim = statement_.domain.dims[d];
      if (x[d] < 0) found.push_back(dim.name + ">=0");
      if (x[d] >= dim.extent) found.push_back(dim.name + "<=" + std::to_string(dim.extent - 1));
    }
    return found;
  }

  void call(const Tuple& tiles, const std::map<Tuple, Tuple>& points) {
    const int operands = access_count(unit_);
    std::vector<std::map<Tuple, Tuple>> live(static_cast<std::size_t>(operands));  // slot -> element
    std::map<Tuple, Tuple> home;                                                   // output element -> slot
    for (const auto& [y, x] : points) {
      for (int t = 0; t < operands; ++t) {
        const Tuple slot = index_of(unit_, t, y),
                    at = index_of(statement_, mapping_.operands[static_cast<std::size_t>(t)], x);
        if (live[static_cast<std::size_t>(t)].emplace(slot, at).first->second != at)
          result_.problem = "one slot, two elements";
        if (t == 0 && home.emplace(at, slot).first->second != slot) result_.problem = "one element, two slots";
      }
    }
    std::vector<std::map<Tuple, Scalar>> slots(static_cast<std::size_t>(operands));
    for (std::size_t t = 0; t < slots.size(); ++t) {
      for (const auto& [slot, at] : live[t])
        slots[t][slot] = t == 0 ? old_value(at) : element(mapping_.operands[t], at);
    }
    const auto kill_sets = kills(unit_);
    for_each(unit_.domain.dims, [&](const Tuple& y) {
      if (points.count(y) > 0) return;
      const auto why = reasons(tiles, y, points);
      if (why.empty()) {
        result_.problem = "padding without a reason";
        return;
      }
      for (const std::string& reason : why) neutralise(reason, y, live, slots, kill_sets);
    });
    for_each(unit_.domain.dims, [&](const Tuple& y) {
      std::vector<Scalar> reads;
      for (int t = 1; t < operands; ++t)
        reads.push_back(slot_value(slots[static_cast<std::size_t>(t)], t, index_of(unit_, t, y)));
      const Tuple slot = index_of(unit_, 0, y);
      const Scalar old = slot_value(slots[0], 0, slot);
      slots[0][slot] = combine(unit_.reduction, type_of_access(0), old, isamap::evaluate(unit_.body, reads.data()));
    });
    for (const auto& [slot, at] : live[0]) mapped_[at] = slots[0][slot];
  }

  void neutralise(const std::string& reason, const Tuple& y, const std::vector<std::map<Tuple, Tuple>>& live,
                  std::vector<std::map<Tuple, Scalar>>& slots, const std::vector<Kill>& kill_sets) {
    std::vector<int> operands;
    for (const Carrier& carrier : mapping_.carriers) {
      if (carrier.reason != reason) continue;
      for (std::size_t t = 0; t < mapping_.operands.size(); ++t)
        if (mapping_.operands[t] == carrier.access) {
          operands.push_back(static_cast<int>(t));
          break;
        }
    }
    if (operands.empty()) {
      result_.problem = "no carrier for " + reason;
      return;
    }
    for (const int t : operands) {
      const Tuple slot = index_of(unit_, t, y);
      if (live[static_cast<std::size_t>(t)].count(slot) > 0) {
        result_.problem = "the carrier of " + reason + " has a live slot there";
        return;
      }
      if (t == 0) continue;  // not stored
      for (const Kill& kill : kill_sets) {
        if (kill.size() != operands.size()) continue;
        for (const auto& [read, value] : kill) {
          if (read + 1 == t) slots[static_cast<std::size_t>(t)][slot] = scalar(unit_type(t), value);
        }
      }
    }
  }

  DType unit_type(int t) const { return type_of_access(mapping_.operands[static_cast<std::size_t>(t)]); }
  Scalar old_value(const Tuple& at) {
    const auto found = mapped_.find(at);
    return found == mapped_.end() ? start() : found->second;
  }
  Scalar slot_value(std::map<Tuple, Scalar>& slots, int t, const Tuple& slot) {
    const auto found = slots.find(slot);
    if (found != slots.end()) return found->second;
    ++result_.garbage;
    return slots[slot] = scalar(unit_type(t), static_cast<double>(random_.between(50, 120)));
  }

  const Kernel& kernel_;
  const Computation& statement_;
  const Computation& unit_;
  const Mapping& mapping_;
  std::uint64_t seed_;
  Random random_;
  std::map<Tuple, Scalar> expected_, mapped_;
  Execution result_;
};

}  // namespace isamap::testing
