// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace isamap::cli {
namespace {

std::atomic<bool> answers_interrupts{false}, has_something{false}, was_interrupted{false};

}  // namespace

void answer_interrupts() { answers_interrupts = true; }

bool go_on_with_something() {
  has_something = true;
  return !was_interrupted;
}

bool interrupted() { return was_interrupted; }

bool only_interrupts(int signal) {
  return signal == SIGINT && answers_interrupts && has_something && !was_interrupted.exchange(true);
}

}  // namespace isamap::cli
