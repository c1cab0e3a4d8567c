// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measured schedules for the parts of a model that take most of its time.
//
// 1. The whole program runs; parts are ranked by their time in it.
// 2. For each distinct part, from the longest: the most promising candidates of its largest statement become whole
//    schedules of the part, which are compiled, compared with the interpreter and timed alone, interleaved; then
//    variants of the fastest that the cost model cannot rank (scheduler/tuning_variants.h).
// 3. The whole program runs again. Alone caches are warm, in the program they are not: parts that did not get faster
//    there keep their schedule.

#include <functional>
#include <string>
#include <vector>

#include "driver/run_model.h"

namespace isamap {

struct TuneModelOptions {
  CompileOptions compile;                                ///< of the candidates
  std::size_t measured = 12;                             ///< candidates of each part
  double share = 0.9;                                    ///< parts are tuned until they take this share of the time
  std::size_t most_parts = 16;                           ///< distinct ones, at most
  double min_seconds = 0.5;                              ///< of each run of the whole
  double less = 0.01;                                    ///< a tuned part is kept if it takes this share less time
  std::uint64_t seed = 0;                                ///< of the data that candidates are checked with
  int jobs = 1;                                          ///< candidates compiled side by side; timing is alone
  std::function<std::shared_ptr<void>()> alone = {};     ///< held during timings, as in MeasureOptions
  std::function<bool()> stopped = [] { return false; };  ///< true: what is measured so far is enough
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct TunedPart {
  std::size_t program = 0;                   ///< in CompiledModel::programs
  std::string name;                          ///< of the first part with this program
  Kernel kernel;                             ///< of that part
  std::size_t calls = 0;                     ///< parts with this program
  std::size_t candidates = 0;                ///< that were timed
  double before = 0, after = 0;              ///< seconds of all calls, in the whole program
  double alone_before = 0, alone_after = 0;  ///< of one call, alone
  bool kept = false;
};

struct TunedModel {
  std::vector<TunedPart> parts;  ///< the longest first
  double before = 0, after = 0;  ///< seconds of the whole
  CompiledModel compiled;        ///< with the schedules that were kept
  Exit code = Exit::ok;
  Diagnostics problems;
};

/// `compiled` must have programs. A machine without a clock is an error; so is a part that is wrong.
TunedModel tune_model(const Model& model, const CompiledModel& compiled, const HardwareModel& machine,
                      const std::vector<TensorData>& data, const TuneModelOptions& options);

}  // namespace isamap
