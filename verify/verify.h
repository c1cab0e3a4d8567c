// SPDX-License-Identifier: Apache-2.0
#pragma once
// Executes every instruction of a machine in isolation and compares it with its description.

#include <string>
#include <vector>

#include "isamap/backend.h"
#include "support/slow_operation.h"
#include "verify/instruction_check.h"
#include "verify/instruction_record.h"

namespace isamap {

struct VerifiedInstruction {
  enum class Verdict { equal, differs, not_isolated, failed };
  std::string name;
  Verdict verdict = Verdict::not_isolated;
  std::string why;           ///< not isolated, failed: the reason
  std::string seen_through;  ///< not isolated: an instruction that is equal and whose program uses it
  std::int64_t cases = 0;    ///< programs: extents, starts
  std::int64_t values = 0;   ///< results compared
  std::string bound;         ///< why compared within a bound; empty: bit for bit
  std::string what;          ///< differs: the case
  std::optional<InstructionDifference> difference;
};

struct Verification {
  ExecutionMode executed = ExecutionMode::unavailable;
  std::string simulator;         ///< name of an external simulator; empty: none
  double simulator_seconds = 0;  ///< its time limit
  std::string missing;           ///< the reason if nothing was executed
  std::string limit, environment;
  std::vector<VerifiedInstruction> instructions;
  std::int64_t programs = 0;  ///< compiled and run
};

struct VerifyOptions {
  std::string instruction;    ///< only this one
  std::int64_t samples = 64;  ///< vectors for each case
  std::uint64_t seed = 0;
  Runner* runner = nullptr;           ///< instead of this machine's own
  std::size_t at_once = 0;            ///< instructions of one program; 0: all, and fewer if that does not run
  Recording* record = nullptr;        ///< receives every executed case
  const Recording* replay = nullptr;  ///< its operands replace test vectors; its results are compared too
  Tell tell = {};                     ///< notices about slow operations
};

Verification verify_instructions(const HardwareModel& model, const VerifyOptions& options);

}  // namespace isamap
