// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/certified.h"

#include "mapper/proof/certificate.h"
#include "mapper/proof/z3_solver.h"
#include "tests/mapping_oracle/convert.h"

namespace isamap::oracle {
Certified certified(const Pair& pair, const isamap::Mapping& mapping) {
  Certified result;
  result.turns = mapping_of(mapping, pair.statement).turns;
  const Alignment alignment =
      align(pair.kernel, StatementId{0}, pair.instruction, InstructionId{0}, {mapping.operands, mapping.constant});
  SolverStatistics statistics;
  const Truth truth = replay(certify(alignment, mapping), 2'000'000, statistics, &result.failed);
  if (truth != Truth::unknown) result.proved = truth == Truth::yes;
  return result;
}

}  // namespace isamap::oracle
