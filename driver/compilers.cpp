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

std::vector<Measured> TimesOfFastest::measure(const std::vector<Program>& programs, Runner& runner,
                                              const MeasureOptions& options, const HardwareModel& model,
                                              const FollowUp& wanted) {
  if (variants_ && variants_->programs == programs) return variants_->measured;
  const auto has_compilers = [&](const Program& program) { return by_compiler(program) != nullptr; };
  const bool compilers = wanted.compilers && std::none_of(programs.begin(), programs.end(), has_compilers);
  if (!compilers && !wanted.variants) return isamap::measure(programs, runner, options);
  std::vector<CompilerCommand> commands;  // the first is the runner's; then one for each of the first followers
  const MakeFollowers make = [&](std::size_t p) {
    std::vector<Follower> all;
    if (compilers) commands = compilers_for(model);
    for (std::size_t c = 1; c < commands.size(); ++c)
      all.push_back({programs[p], make_runner(made_by(model, commands[c]))});
    if (wanted.variants)
      for (Program& variant : wanted.variants(p))
        all.push_back({std::move(variant), make_runner(made_by_default(model))});
    return all;
  };
  Followed followed;
  std::vector<Measured> results = isamap::measure(programs, runner, options, make, followed);
  if (followed.of) keep(programs[*followed.of], results[*followed.of], followed, commands);
  return results;
}

void TimesOfFastest::keep(const Program& program, const Measured& own, const Followed& followed,
                          const std::vector<CompilerCommand>& commands) {
  const std::size_t others = commands.empty() ? 0 : commands.size() - 1;
  const auto rest = static_cast<std::ptrdiff_t>(others);
  if (!commands.empty() && own.compiler == listed(commands.front())) {
    std::vector<Measured> measured{own};
    measured.insert(measured.end(), followed.measured.begin(), followed.measured.begin() + rest);
    by_compiler_ = {program, commands, std::move(measured)};
  }
  if (followed.programs.size() == others) return;
  Variants variants{{program}, {own}};
  variants.programs.insert(variants.programs.end(), followed.programs.begin() + rest, followed.programs.end());
  variants.measured.insert(variants.measured.end(), followed.measured.begin() + rest, followed.measured.end());
  const auto is_timed = [](const Measured& one) { return one.correct() && one.value() > 0; };
  if (std::all_of(variants.measured.begin(), variants.measured.end(), is_timed)) variants_ = std::move(variants);
}

const TimesOfFastest::ByCompiler* TimesOfFastest::by_compiler(const Program& program) const {
  return by_compiler_ && by_compiler_->program == program ? &*by_compiler_ : nullptr;
}

CompilerTimer by_every_compiler(const MeasureOptions& options, const std::shared_ptr<TimesOfFastest>& times) {
  return [options, times](const Program& program, const HardwareModel& model) {
    const auto* known = times ? times->by_compiler(program) : nullptr;
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
