// SPDX-License-Identifier: Apache-2.0
#include "driver/compilers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "backends/cpp/compile.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "scheduler/measure.h"
#include "support/start_threads.h"
#include "support/threads.h"

namespace isamap {
namespace {

/// One runner per compiler.
class EachByItsOwn final : public Runner {
 public:
  EachByItsOwn(const std::vector<Program>& programs, const std::vector<HardwareModel>& models) : programs_(programs) {
    for (const HardwareModel& model : models) runners_.push_back(make_runner(model));
  }
  void prepare(const std::vector<const Program*>& programs, int jobs, const std::function<bool()>& stopped) override {
    for_each_in_parallel(programs.size(), jobs,
                         [&](std::size_t p) { runner_of(*programs[p]).prepare({programs[p]}, 1, stopped); });
  }
  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                         double min_seconds) override {
    return runner_of(program).run(program, data, limits, min_seconds);
  }

 private:
  Runner& runner_of(const Program& program) const {
    return *runners_[static_cast<std::size_t>(&program - programs_.data())];
  }

  const std::vector<Program>& programs_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

std::string listed(const CompilerCommand& command) { return fmt::format("{}", fmt::join(command, " ")); }

/// Those that have a time, by the commands; if all have, the fastest is remembered.
std::vector<lab::CompilerRecord> recorded(const Program& program, const HardwareModel& model,
                                          const std::vector<CompilerCommand>& commands,
                                          const std::vector<Measured>& measured) {
  std::vector<lab::CompilerRecord> found;
  std::vector<std::size_t> of;
  for (std::size_t c = 0; c < commands.size(); ++c) {
    if (!measured[c].correct() || !(measured[c].seconds > 0)) continue;
    found.push_back({listed(commands[c]), version_of(commands[c]), measured[c].seconds});
    of.push_back(c);
  }
  if (const auto* best = fastest(found); best != nullptr && commands.size() > 1 && found.size() == commands.size())
      // If the choice cannot be stored, the next run only repeats the timing.
      [[maybe_unused]]
    const auto kept = remember_compiler(program, model, commands[of[static_cast<std::size_t>(best - found.data())]]);
  return found;
}

std::vector<lab::CompilerRecord> timed(const Program& program, const HardwareModel& model, MeasureOptions options) {
  std::vector<HardwareModel> models;
  const auto commands = compilers_for(model);
  for (const CompilerCommand& command : commands) models.push_back(made_by(model, command));
  const std::vector<Program> programs(models.size(), program);
  EachByItsOwn runner(programs, models);
  options.make_another = [&] { return std::make_unique<EachByItsOwn>(programs, models); };
  return recorded(program, model, commands, measure(programs, runner, options));
}

}  // namespace

std::vector<Measured> CompilerTimes::measure(const std::vector<Program>& programs, Runner& runner,
                                             const MeasureOptions& options, const HardwareModel& model) {
  const auto is_known = [&](const Program& program) { return of(program) != nullptr; };
  if (std::any_of(programs.begin(), programs.end(), is_known)) return isamap::measure(programs, runner, options);
  std::vector<CompilerCommand> commands;
  const BuildRunners others = [&](const Program&) {
    commands = compilers_for(model);
    std::vector<std::unique_ptr<Runner>> runners;
    for (std::size_t c = 1; c < commands.size(); ++c) runners.push_back(make_runner(made_by(model, commands[c])));
    return runners;
  };
  OtherBuilds builds;
  std::vector<Measured> results = isamap::measure(programs, runner, options, others, builds);
  if (builds.of) keep(programs[*builds.of], results[*builds.of], std::move(builds.measured), commands);
  return results;
}

void CompilerTimes::keep(const Program& program, const Measured& own, std::vector<Measured> others,
                         const std::vector<CompilerCommand>& commands) {
  others.insert(others.begin(), own);
  std::vector<Measured> measured;
  for (const CompilerCommand& command : commands)
    for (const Measured& one : others)
      if (one.compiler == listed(command)) measured.push_back(one);
  if (measured.size() == commands.size()) known_ = {program, commands, std::move(measured)};
}

const CompilerTimes::Known* CompilerTimes::of(const Program& program) const {
  return known_ && known_->program == program ? &*known_ : nullptr;
}

CompilerTimer by_every_compiler(const MeasureOptions& options, const std::shared_ptr<CompilerTimes>& times) {
  return [options, times](const Program& program, const HardwareModel& model) {
    const auto* known = times ? times->of(program) : nullptr;
    return known != nullptr ? recorded(program, model, known->commands, known->measured)
                            : timed(program, model, options);
  };
}

HeadersAhead::HeadersAhead(const HardwareModel& model) : model_(model) {
  if (is_host_code(model_)) threads_ = start_threads(1, [this] { precompile_headers_ahead(model_); });
}

HeadersAhead::~HeadersAhead() {
  for (std::thread& thread : threads_) thread.join();
}

const lab::CompilerRecord* fastest(const std::vector<lab::CompilerRecord>& compilers) {
  const auto best = std::min_element(compilers.begin(), compilers.end(),
                                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return best == compilers.end() ? nullptr : &*best;
}

}  // namespace isamap
