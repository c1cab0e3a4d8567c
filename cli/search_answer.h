// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results and output of `schedule` and `tune`, shared with `replay`.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_tune.h"
#include "cli/recorder.h"
#include "driver/compilers.h"
#include "isamap/program.h"
#include "scheduler/measure.h"

namespace isamap::cli {

struct SearchAnswer {
  std::string text;  ///< empty: none, and the reason was reported
  Exit code = Exit::ok;
};

/// `seconds`: replaces the clock in a replay.
SearchAnswer schedule_answer(const Options& options, Recorder& recorder, std::optional<double> seconds);

/// The programs of one statement's candidates.
struct MeasuredPrograms {
  std::int64_t statement = 0;
  bool last = false;                         ///< no statement follows
  const std::vector<std::int64_t>& numbers;  ///< of their trials
  const std::vector<Program>& programs;
  const HardwareModel& model;
  /// Of a candidate; it and they are measured next if it is the fastest. Empty: nothing is.
  std::function<std::vector<Program>(std::size_t)> variants = {};
};
using Measurer = std::function<std::vector<Measured>(const MeasuredPrograms&)>;
/// Measures by running them; of the last statement also what other compilers make of the fastest.
Measurer by_running(const MeasureOptions& options, const std::shared_ptr<TimesOfFastest>& times);
SearchAnswer tune_answer(const Options& options, Recorder& recorder, const Measurer& measurer,
                         const CompilerTimer& compilers, std::optional<double> seconds);

/// "seconds" of a printed JSON answer.
std::optional<double> seconds_of(const std::string& answer);

}  // namespace isamap::cli
