// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole compiler with its default search, for the first model with an instruction that fits and runs here.

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/cases.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"

namespace isamap::bench {

struct Ours {
  Kernel kernel;
  std::string target, schedule, compiler;
  LoadedKernel loaded;
  double compile_seconds = 0;  ///< compile time without the system's compiler
  double predicted_cycles = 0;
};

/// `--target`: this description and no other.
extern std::string only_target;

/// Models for these types whose programs run natively here, best first.
std::vector<HardwareModel> models_for(const std::string& types, int cores = 1);

/// Nothing: no model runs here. Any other failure ends the program with a message.
std::optional<Ours> ours(const CpuCase& what, int cores = 1);

/// Nests evaluated by the search, for measuring alternatives to its choice.
struct Seen {
  double predicted = 0;
  Schedule schedule;
};
/// `count` schedules of the case's statement, the search's choice first: half of them the next best ones, half spread
/// over those with up to twice the predicted cycles. Only those that lower to a program.
std::vector<Seen> candidates_of(const CpuCase& what, const HardwareModel& model, std::size_t count);

[[noreturn]] void stop(const std::string& why);

template <class T>
T value_or_stop(Result<T> result) {
  if (!result) stop(render(result.diagnostics()));
  return std::move(*result);
}

}  // namespace isamap::bench
