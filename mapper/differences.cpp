#include "mapper/differences.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace isamap {
namespace {

/// Walkers that share an instruction dim or a row: differences of one group say nothing about those of another.
std::vector<std::vector<std::size_t>> groups_of(const std::vector<Walker>& walkers,
                                                const std::vector<IntVector>& given) {
  std::vector<std::size_t> group(walkers.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto join = [&](std::size_t a, std::size_t b) {
    std::replace(group.begin(), group.end(), std::size_t{group[a]}, std::size_t{group[b]});
  };
  for (std::size_t a = 0; a < walkers.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool together =
          std::any_of(given.begin(), given.end(), [&](const IntVector& row) { return row[a] != 0 && row[b] != 0; });
      if (together || (walkers[a].dims() & walkers[b].dims()) != 0) join(a, b);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t g = 0; g < walkers.size(); ++g) {
    std::vector<std::size_t> members;
    for (std::size_t w = 0; w < walkers.size(); ++w)
      if (group[w] == g && walkers[w].extent > 1) members.push_back(w);
    if (!members.empty()) groups.push_back(std::move(members));
  }
  return groups;
}

/// Depth first over the differences of one group of walkers.
class Differences {
 public:
  Differences(const Alignment& alignment, const std::vector<Walker>& walkers, const std::vector<IntVector>& given,
              const std::vector<IntVector>& wanted)
      : alignment_(alignment), walkers_(walkers), given_(given), wanted_(wanted), steps_(walkers.size(), 0) {}

  Truth ask(const std::vector<std::size_t>& group) {
    group_ = &group;
    truth_ = Truth::yes;
    visit(0);
    return truth_;
  }

 private:
  static constexpr std::int64_t kMaxVisits = 200'000;

  /// Can the rest of the group still bring the two counters of each dim into one call?
  bool in_one_call(std::size_t decided) const {
    for (std::size_t m = 0; m < alignment_.unit_uses.size(); ++m) {
      std::int64_t moved = 0, rest = 0;
      for (std::size_t i = 0; i < group_->size(); ++i) {
        const Walker& w = walkers_[(*group_)[i]];
        const Walker::Place* place = w.on(static_cast<int>(m));
        if (place == nullptr) continue;
        if (i < decided)
          moved += place->weight * steps_[(*group_)[i]];
        else
          rest += place->weight * (w.extent - 1);
      }
      if (std::abs(moved) - rest >= unit_extent(alignment_, static_cast<int>(m))) return false;
    }
    return true;
  }

  bool still(const std::vector<IntVector>& rows) const {
    return std::all_of(rows.begin(), rows.end(), [&](const IntVector& row) {
      std::int64_t sum = 0;
      for (const std::size_t w : *group_) sum += row[w] * steps_[w];
      return sum == 0;
    });
  }

  /// Digits `sign * steps` where that is positive, else 0, in the first call and turn: a point of the domain?
  bool active(std::int64_t sign) const {
    const IterationDomain& domain = alignment_.computation().domain;
    const auto digit = [&](std::size_t w) { return std::max<std::int64_t>(sign * steps_[w], 0); };
    for (std::size_t m = 0; m < alignment_.unit_uses.size(); ++m) {
      std::int64_t counter = 0;
      for (const std::size_t w : *group_)
        if (const Walker::Place* place = walkers_[w].on(static_cast<int>(m))) counter += place->weight * digit(w);
      if (counter >= unit_extent(alignment_, static_cast<int>(m))) return false;
    }
    std::vector<std::string> names;
    std::vector<std::int64_t> x(domain.dims.size(), 0);
    for (std::size_t d = 0; d < x.size(); ++d) {
      names.push_back(domain.dims[d].name);
      for (const std::size_t w : *group_) x[d] += walkers_[w].column[d] * digit(w);
      if (x[d] < 0 || x[d] >= domain.dims[d].extent) return false;
    }
    return std::all_of(domain.faces.begin(), domain.faces.end(),
                       [&](const AffineExpr& face) { return CompiledAffine(face, names)(x.data()) >= 0; });
  }

  void visit(std::size_t i) {
    if (truth_ == Truth::no || !in_one_call(i)) return;
    if (++visits_ > kMaxVisits) {
      truth_ = Truth::unknown;
      return;
    }
    if (i == group_->size()) {
      if (!still(given_) || still(wanted_)) return;
      truth_ = active(1) && active(-1) ? Truth::no : Truth::unknown;
      return;
    }
    const std::size_t w = (*group_)[i];
    for (std::int64_t step = 1 - walkers_[w].extent; step < walkers_[w].extent && visits_ <= kMaxVisits; ++step) {
      steps_[w] = step;
      visit(i + 1);
    }
    steps_[w] = 0;
  }

  const Alignment& alignment_;
  const std::vector<Walker>& walkers_;
  const std::vector<IntVector>&given_, &wanted_;
  const std::vector<std::size_t>* group_ = nullptr;
  std::vector<std::int64_t> steps_;
  std::int64_t visits_ = 0;
  Truth truth_ = Truth::yes;
};

}  // namespace

Truth told_by_differences(const Alignment& alignment, const std::vector<Walker>& walkers,
                          const std::vector<IntVector>& given, const std::vector<IntVector>& wanted) {
  Differences differences(alignment, walkers, given, wanted);
  Truth truth = Truth::yes;
  for (const std::vector<std::size_t>& group : groups_of(walkers, given)) {
    const Truth one = differences.ask(group);
    if (one == Truth::no) return Truth::no;
    if (one == Truth::unknown) truth = Truth::unknown;
  }
  return truth;
}

}  // namespace isamap
