#include "tests/mapping_oracle/certified.h"

#include <algorithm>

#include "mapper/certificate.h"
#include "mapper/z3_solver.h"
#include "tests/mapping_oracle/convert.h"

namespace isamap::oracle {
namespace {

/// Loops along one dim each: the outermost one of a dim floats when a column of several dims moves it.
template <class Loops>
std::vector<Turn> turns_of(const Loops& loops, const Mapping& mapping, std::size_t dims) {
  std::vector<Turn> turns;
  for (const auto& loop : loops) {
    const auto dim = static_cast<std::size_t>(loop.dim);
    const bool top = std::none_of(loops.begin(), loops.end(), [&](const auto& other) {
      return other.dim == loop.dim && other.stride > loop.stride;
    });
    const bool moved = std::any_of(mapping.digits.begin(), mapping.digits.end(), [&](const Digit& digit) {
      return digit.column[dim] != 0 &&
             std::count(digit.column.begin(), digit.column.end(), 0) + 1 < static_cast<long>(dims);
    });
    turns.push_back({Vec(dims, 0), loop.extent, top && moved});
    turns.back().step[dim] = loop.stride;
  }
  return turns;
}

template <class Printed>
Certificate certificate_of(const Pair& pair, const Printed& mutant, const Printed& original, std::vector<Turn>& turns) {
  const StatementId statement{0};
  const InstructionId instruction{0};
  const Mapping plain = mapping_of(mutant, pair.statement);
  if constexpr (requires { mutant.loops; }) {
    turns = plain.turns;
    return certify(align(pair.kernel, statement, pair.instruction, instruction, {mutant.operands, mutant.constant}),
                   mutant);
  } else {
    const auto before = align(pair.kernel, statement, pair.instruction, instruction, original.operands);
    const auto after = align(pair.kernel, statement, pair.instruction, instruction, mutant.operands);
    const auto loops = residual_loops(*exact_cover(before, *walkers_of(before, original.dims)));
    turns = turns_of(loops, plain, pair.statement.dims());
    return certify(after, mutant, loops);
  }
}

}  // namespace

Certified certified(const Pair& pair, const isamap::Mapping& mutant, const isamap::Mapping& original) {
  Certified result;
  SolverStatistics statistics;
  const Certificate certificate = certificate_of(pair, mutant, original, result.turns);
  const Truth truth = replay(certificate, 2'000'000, statistics, &result.failed);
  if (truth != Truth::unknown) result.proved = truth == Truth::yes;
  return result;
}

}  // namespace isamap::oracle
