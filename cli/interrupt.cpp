// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace isamap::cli {
namespace {

std::atomic<bool> answers_interrupts{false}, has_result{false}, was_interrupted{false};

}  // namespace

void answer_interrupts() { answers_interrupts = true; }

void note_result() { has_result = true; }

bool continue_with_result() {
  note_result();
  return !was_interrupted;
}

bool interrupted() { return was_interrupted; }

bool only_interrupts(int signal) {
  return signal == SIGINT && answers_interrupts && has_result && !was_interrupted.exchange(true);
}

}  // namespace isamap::cli
