// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "scheduler/cost/learned_cost.h"
#include "scheduler/cost/regression.h"

namespace isamap {

namespace {

constexpr std::size_t enough = 4;      ///< observations before it corrects
constexpr double lambda = 1;           ///< ridge regularisation: with few observations near the closed form
constexpr double most_correction = 4;  ///< bound of |log correction|: a factor of 55

double log_of(double value) { return std::log2(std::max(value, 0.0) + 1); }

class Learned final : public CostModel {
 public:
  Learned(const std::vector<Lesson>& lessons, bool trees, std::uint64_t seed)
      : model_(trees && has_boosted_trees() ? make_boosted_trees(seed) : make_ridge(lambda)) {
    for (const Lesson& lesson : lessons)
      if (lesson.features.size() == nest_feature_names().size()) learn(lesson);
  }

  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);
    if (!cost || rows_.size() < enough) return cost;
    if (stale_) model_->fit(rows_, targets_);
    stale_ = false;
    const double correction = model_->predict(nest_features(candidate.nest, *cost));
    cost->cycles *= std::exp(std::clamp(correction, -most_correction, most_correction));
    return cost;
  }

  void observe(const Candidate& candidate, const Cost& measured) override {
    const auto predicted = closed_form_->estimate(candidate);
    if (!predicted || !(predicted->cycles > 0) || !(measured.cycles > 0)) return;
    learn({nest_features(candidate.nest, *predicted), measured.cycles / predicted->cycles});
  }

 private:
  void learn(const Lesson& lesson) {
    if (!(lesson.ratio > 0)) return;
    rows_.push_back(lesson.features);
    targets_.push_back(std::log(lesson.ratio));
    stale_ = true;
  }

  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
  std::unique_ptr<Regression> model_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> targets_;
  bool stale_ = false;
};

}  // namespace

const std::vector<std::string>& nest_feature_names() {
  static const std::vector<std::string> names{"log2 cycles",   "log2 scalar cycles",  "log2 bytes",      "log2 energy",
                                              "loops",         "unrolled loops",      "loops on units",  "stages",
                                              "packed stages", "log2 innermost tile", "bound by compute"};
  return names;
}

std::vector<double> nest_features(const Nest& nest, const Cost& predicted) {
  double loops = 0, unrolled = 0, units = 0, stages = 0, packed = 0, tile = 0;
  for (const Line& line : nest.lines) {
    if (const For* f = std::get_if<For>(&line.is)) {
      loops += static_cast<double>(f->loops.size());
      unrolled += f->unroll ? static_cast<double>(f->loops.size()) : 0;
      units += f->unit.empty() ? 0 : 1;
      if (f->unroll)
        for (const TiledLoop& loop : f->loops)
          tile += std::log2(static_cast<double>(std::max<std::int64_t>(loop.tile, 1)));
    } else if (const Stage* s = std::get_if<Stage>(&line.is)) {
      stages += 1;
      packed += s->layout.empty() ? 0 : 1;
    }
  }
  return {log_of(predicted.cycles),
          log_of(predicted.scalar_cycles),
          log_of(predicted.bytes),
          log_of(predicted.energy_pJ),
          loops,
          unrolled,
          units,
          stages,
          packed,
          tile,
          predicted.bound_by_calls ? 1.0 : 0.0};
}

std::unique_ptr<CostModel> make_cost_model_learned(const std::vector<Lesson>& lessons, bool trees, std::uint64_t seed) {
  return std::make_unique<Learned>(lessons, trees, seed);
}

}  // namespace isamap
