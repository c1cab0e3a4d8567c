// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens between the queues of a decoupled machine: which command waits for which.
//
// A unit of `order: tokens` has one queue per port. A queue executes in order; only tokens order different queues. Over
// the straight-line program, a call with a dependence on an earlier call of another queue must wait for it: that call
// gives a token and this one takes it. Dependences already implied by earlier tokens, directly or through other queues,
// need none: every queue has a vector clock, the number of commands of each queue known to have ended (Fidge 1988,
// Mattern 1989).
//
// Tokens of one object form a FIFO and both ends are in order, so the n-th token taken is the n-th given.

#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// Completion objects by name: taken before a command, given after it.
struct Tokens {
  std::vector<std::string> pop, push;
};

/// A no-op command that only forwards tokens.
struct NoOp {
  const Instruction* instruction = nullptr;
  Tokens tokens;
};

struct CallTokens {
  std::vector<NoOp> before;
  Tokens tokens;
};

/// One entry per call, in the order of loop_line; empty where no unit is ordered by tokens. The error names two
/// commands that no tokens can order.
Result<std::vector<CallTokens>> plan_tokens(const Program& program, const HardwareModel& model);

/// 1 or 0 for `push[l2c]` and `pop[l2c]`; nothing for other references.
std::optional<std::int64_t> token_flag(const Reference& reference, const Tokens& tokens);

}  // namespace isamap
