// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens for a machine whose queues run on their own: which command waits for which.
//
// A unit of `order: tokens` has a queue for each of its ports. Inside a queue results are as if in order; between
// queues nothing is ordered but by tokens. Looping the straight line of the program, a call that touches what an
// earlier call of another queue touches (one of them writing) has to wait for it: that call gives a token and this one
// takes it. What is already ordered by earlier tokens, directly or through other queues, needs none: every queue has a
// vector clock, the number of commands of each queue that are known to have ended (Fidge 1988, Mattern 1989).
//
// Tokens of one object are taken in the order in which they are given, and both ends are in order, so the n-th token
// taken is the n-th given.

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

/// A command that does nothing but pass tokens on, where no other can.
struct NoOp {
  const Instruction* instruction = nullptr;
  Tokens tokens;
};

struct CallTokens {
  std::vector<NoOp> before;
  Tokens tokens;
};

/// One entry for each call, in the order of loop_line; empty where no unit is ordered by tokens. An error names two
/// commands that nothing can order.
Result<std::vector<CallTokens>> plan_tokens(const Program& program, const HardwareModel& model);

/// 1 or 0 for `push[l2c]` and `pop[l2c]`; nothing for other references.
std::optional<std::int64_t> token_flag(const Reference& reference, const Tokens& tokens);

}  // namespace isamap
