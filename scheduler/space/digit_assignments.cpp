// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/digit_assignments.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::size_t max_assignments = 64;

/// Instruction dims by the operands that use them.
std::vector<std::vector<std::size_t>> slots_of(const Computation& unit) {
  std::map<std::vector<bool>, std::vector<std::size_t>> slots;
  for (std::size_t m = 0; m < unit.domain.dims.size(); ++m) {
    std::vector<bool> users;
    for (int a = 0; a < access_count(unit); ++a) users.push_back(uses(access_of(unit, a), unit.domain.dims[m].name));
    slots[users].push_back(m);
  }
  std::vector<std::vector<std::size_t>> result;
  for (auto& [users, dims] : slots) result.push_back(std::move(dims));
  return result;
}

/// Is each subscript one dim? Then the assignment only affects layout.
bool is_projection(const Computation& unit) {
  for (int a = 0; a < access_count(unit); ++a)
    for (const AffineExpr& index : access_of(unit, a).index)
      if (!index.is_constant() && !index.as_dim()) return false;
  return true;
}

/// The whole dims of the digits of a slot: `c`, and `r` from r in one dim and 3*r in another. Nothing: some column
/// combines dims.
std::optional<std::vector<std::string>> looped_dims(const Mapping& mapping, const std::vector<std::size_t>& slot) {
  std::vector<std::string> dims;
  for (const std::size_t m : slot)
    for (const Digit& digit : mapping.dims[m]) {
      if (digit.column.terms().size() != 1 || digit.column.constant() != 0) return std::nullopt;
      const auto* dim = std::get_if<std::string>(&digit.column.terms().front().atom);
      if (!dim) return std::nullopt;
      if (std::find(dims.begin(), dims.end(), *dim) == dims.end()) dims.push_back(*dim);
    }
  return dims;
}

class DigitAssigner {
 public:
  DigitAssigner(const Mapping& mapping, const Computation& statement, const Instruction& instruction)
      : mapping_(mapping),
        statement_(statement),
        instruction_(instruction),
        slots_(slots_of(instruction.statement())) {}

  std::vector<Mapping> run() {
    std::set<std::string> seen;
    for (const auto& slot : slots_) {
      auto dims = looped_dims(mapping_, slot);
      if (!dims) return {mapping_};
      for (const std::string& dim : *dims)
        if (!seen.insert(dim).second) return {mapping_};  // tied: one digit on two slots
      std::sort(dims->begin(), dims->end(), [&](const std::string& a, const std::string& b) {
        return statement_.domain.find(a) < statement_.domain.find(b);
      });
      looped_.push_back(std::move(*dims));
    }
    Mapping empty = mapping_;
    for (auto& digits : empty.dims) digits.clear();
    assign(0, 0, empty);
    return std::move(found_);
  }

 private:
  void assign(std::size_t slot, std::size_t digit, const Mapping& so_far) {
    if (found_.size() >= max_assignments) return;
    if (slot == slots_.size()) {
      found_.push_back(so_far);
      found_.back().utilisation = utilisation(so_far);
      return;
    }
    if (digit == looped_[slot].size()) return assign(slot + 1, 0, so_far);
    const std::string& dim = looped_[slot][digit];
    const std::int64_t extent = statement_.domain.dims[static_cast<std::size_t>(statement_.domain.find(dim))].extent;
    for (const std::size_t m : slots_[slot]) {
      Mapping next = so_far;
      next.dims[m].push_back({AffineExpr::dim(dim), extent});
      assign(slot, digit + 1, next);
    }
  }

  /// Points of the statement over points of the calls.
  double utilisation(const Mapping& mapping) const {
    double used = 1;
    for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
      const std::int64_t holds = instruction_.ranges[m].max;
      const std::int64_t looped = std::max<std::int64_t>(1, digits_extent(mapping.dims[m]));
      used *= static_cast<double>(looped) / static_cast<double>(round_up(looped, holds));
    }
    return used;
  }

  const Mapping& mapping_;
  const Computation& statement_;
  const Instruction& instruction_;
  std::vector<std::vector<std::size_t>> slots_;
  std::vector<std::vector<std::string>> looped_;
  std::vector<Mapping> found_;
};

}  // namespace

std::vector<Mapping> digit_assignments(const Mapping& mapping, const Computation& statement,
                                       const Instruction& instruction) {
  const bool several = static_cast<std::size_t>(mapping.dims.size()) > slots_of(instruction.statement()).size();
  if (!several || !is_projection(instruction.statement()) || !mapping.rolled.empty()) return {mapping};
  return DigitAssigner(mapping, statement, instruction).run();
}

}  // namespace isamap
