// SPDX-License-Identifier: Apache-2.0
#include "cli/cost_choice.h"

#include "cli/common.h"
#include "isamap/backend.h"
#include "scheduler/cost/regression.h"
#include "scheduler/measure.h"
#include "scheduler/search/cost_names.h"

namespace isamap::cli {
namespace {

/// Owns the runner that its model uses.
class Measuring final : public CostModel {
 public:
  Measuring(const HardwareModel& machine, std::uint64_t seed, int jobs)
      : runner_(make_runner(made_by_default(machine))) {
    MeasureOptions options;
    options.seed = seed;
    options.jobs = jobs;
    model_ = make_cost_model_measured(*runner_, options);
  }
  Result<Cost> estimate(const Candidate& candidate) override { return model_->estimate(candidate); }

 private:
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<CostModel> model_;
};

}  // namespace

const std::vector<std::string>& cost_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = cost_model_names();
    all.insert(all.begin() + 3, {"measured", "learned"});  // built-in names take precedence
    return all;
  }();
  return names;
}

std::optional<CostModelFactory> cost_models(const Options& options, const HardwareModel& model, Exit& code,
                                            const std::vector<Lesson>& lessons) {
  if (options.cost == "learned")
    return CostModelFactory(
        [lessons, seed = options.seed] { return make_cost_model_learned(lessons, has_boosted_trees(), seed); });
  if (options.cost == "measured") {
    if (const std::string why = not_timed(model); !why.empty()) {
      code = fail(Exit::missing, "nothing can be measured: " + why);
      return std::nullopt;
    }
    return CostModelFactory([&model, seed = options.seed, jobs = options.schedule.jobs] {
      return std::make_unique<Measuring>(model, seed, jobs);
    });
  }
  auto named = cost_model_named(options.cost, options.cost_options);
  if (named) return std::move(*named);
  code = fail(Exit::wrong_input, named.diagnostics());
  return std::nullopt;
}

}  // namespace isamap::cli
