// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fusion_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "hwdesc/model/program_language.h"
#include "scheduler/fuse_statements.h"
#include "support/threads.h"

namespace isamap {
namespace {

/// Do blocks share the memory of a processor and run in waves?
bool runs_blocks_in_waves(const HardwareModel& model) {
  return std::any_of(model.units().begin(), model.units().end(),
                     [](const Unit& unit) { return unit.queued && !unit.index.empty(); });
}

/// Key of the memory use of a block: its own tile, and the buffers in each memory.
std::string memory_use_key(const Nest& nest) {
  std::string key;
  bool own = true;
  for (const Line& line : nest.lines) {
    const auto* stage = std::get_if<Stage>(&line.is);
    if (const auto* loop = std::get_if<For>(&line.is); loop != nullptr && own)
      for (const TiledLoop& w : loop->loops) key += fmt::format("{} {} ", w.dim, w.tile);
    if (stage != nullptr) key += fmt::format("x{} ", stage->buffers), own = false;
  }
  return key;
}

/// Key of the registers of a nest: the tiles of its unrolled loops, of all others what they cover.
std::string register_tile_key(const Nest& nest) {
  std::map<std::string, std::int64_t> covered, tiles;
  for (const Line& line : nest.lines)
    if (const auto* loop = std::get_if<For>(&line.is))
      for (const TiledLoop& w : loop->loops) {
        if (loop->unroll && covered.contains(w.dim)) tiles[w.dim] = covered[w.dim] / std::max<std::int64_t>(w.tile, 1);
        covered[w.dim] = w.tile;
      }
  std::string key;
  for (const auto& [dim, tile] : tiles) key += fmt::format("{} {} ", dim, tile);
  return key;
}

double objective_of(const FusionTrials& trials, const Scheduled& one) {
  return value(sum_of(one.statement_costs), trials.options.objective);
}

bool lowers_as_a_whole(const FusionTrials& trials, const Scheduled& one) {
  return !has_errors(lower(one.schedule, trials.whole, trials.model, DoLines::trusted).diagnostics());
}

bool better(const FusionTrials& trials, const Scheduled& one, const Scheduled& best) {
  return objective_of(trials, one) < objective_of(trials, best) && lowers_as_a_whole(trials, one);
}

void replace(Scheduled& in, std::size_t s, const ScheduledStatement& by) {
  in.schedule.nests[s] = by.nest;
  in.statement_costs[s] = by.cost;
  in.mappings[s] = by.mapping;
}

/// Cost models of the threads that try fusions.
class FusionCosts {
 public:
  explicit FusionCosts(StatementCosts::ModelOf make) : make_(std::move(make)) {}

  std::unique_ptr<StatementCosts> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<StatementCosts>(make_, &known_);
    auto one = std::move(idle_.back());
    idle_.pop_back();
    return one;
  }
  void give(std::unique_ptr<StatementCosts> one) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

 private:
  const StatementCosts::ModelOf make_;
  KnownCosts known_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StatementCosts>> idle_;
};

/// Called by several threads. Without `lower` an estimate: lowering the kernel for each fusion takes most of the time.
void fuse(const FusionTrials& trials, FusionCosts& models, Scheduled& one, bool lower = true) {
  auto costs = models.take();
  const FusionInput input{trials.kernel, trials.whole,
                          trials.model,  trials.options.objective,
                          *costs,        [&](StatementId id) { return trials.mappings[id.index()]; },
                          lower};
  fuse_statements(input, one.schedule, one.statement_costs, one.mappings);
  models.give(std::move(costs));
}

template <typename Condition>
bool has_stage(const Nest& nest, const Condition& condition) {
  return std::any_of(nest.lines.begin(), nest.lines.end(), [&](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    return stage != nullptr && condition(*stage);
  });
}

bool reads_result_of(const Computation& statement, const Computation& producer) {
  return std::any_of(statement.reads.begin(), statement.reads.end(),
                     [&](const Access& read) { return read.tensor == producer.write.tensor; });
}

/// Can a consumer take a tile of the statement? Sums take one only inside of accelerators; strips of rows do not depend
/// on tiles.
bool has_consumer_of_tiles(const FusionTrials& trials, std::size_t s) {
  const std::vector<Computation>& statements = trials.kernel.statements;
  return std::any_of(statements.begin() + static_cast<std::ptrdiff_t>(s) + 1, statements.end(),
                     [&](const Computation& later) {
                       return reads_result_of(later, statements[s]) &&
                              (later.reduction == Reduction::assign || is_command_stream(trials.model));
                     });
}

/// Is the result of the statement fused, and, where registers limit that, does every consumer that it reaches through
/// fused ones take a tile from registers?
bool fusion_fits(const FusionTrials& trials, const Scheduled& found, std::size_t s) {
  if (!has_consumer_of_tiles(trials, s)) return true;
  const std::vector<Nest>& nests = found.schedule.nests;
  if (!has_stage(nests[s], [](const Stage& stage) { return !stage.then.empty(); })) return false;
  if (runs_blocks_in_waves(trials.model)) return true;
  const auto from_registers = [&](const Stage& stage) {
    const auto memory = trials.model.find_memory(stage.memory);
    return !stage.from.empty() && memory && trials.model.memory(*memory).is_register();
  };
  const std::vector<Computation>& statements = trials.kernel.statements;
  std::vector<std::size_t> chain{s};
  for (std::size_t t = s + 1; t < nests.size(); ++t) {
    const auto consumes = [&](std::size_t producer) { return reads_result_of(statements[t], statements[producer]); };
    if (statements[t].reduction != Reduction::assign || std::none_of(chain.begin(), chain.end(), consumes)) continue;
    if (!has_stage(nests[t], from_registers)) return false;
    chain.push_back(t);
  }
  return true;
}

/// A fusion with another tile of a producer.
struct OtherTile {
  Scheduled fused;
  double estimate = 0;
  bool tried = false;  ///< `fused` is complete; else its estimate was no better than the best so far
  bool done = false;
};

/// If fusion did not fit in memory, tries it with other tiles of a producer, as long as these alone cost less than the
/// best so far, and fused so too where everything lowers.
class OtherTiles {
 public:
  OtherTiles(const FusionTrials& trials, FusionCosts& costs, const std::vector<ScheduledStatement>& tiles,
             std::size_t statement)
      : trials_(trials), costs_(costs), tiles_(tiles), statement_(statement) {}

  /// Whoever completes the next tile in order accepts, so the result is that of one worker: the best only becomes
  /// cheaper, so what is too costly for a worker ahead of the order is too costly in order as well.
  void try_all(const Scheduled& apart, Scheduled& best) {
    best_ = &best, least_ = objective_of(trials_, best);
    const auto too_costly = [&](const ScheduledStatement& one) { return cost_of(one) >= least_; };
    const auto end = std::find_if(tiles_.begin(), tiles_.end(), too_costly);
    all_.resize(static_cast<std::size_t>(end - tiles_.begin()));
    for_each_in_parallel(trials_.workers, all_.size(), [&](std::size_t i) {
      if (cost_of(tiles_[i]) < least_) try_one(i, apart);
      accept_up_to(i);
    });
  }

 private:
  double cost_of(const ScheduledStatement& one) const { return value(one.cost, trials_.options.objective); }

  void try_one(std::size_t i, const Scheduled& apart) {
    OtherTile& other = all_[i];
    other.fused = apart;
    replace(other.fused, statement_, tiles_[i]);
    Scheduled estimate = other.fused;
    fuse(trials_, costs_, estimate, false);
    other.estimate = objective_of(trials_, estimate);
    if (other.estimate >= least_) return;
    fuse(trials_, costs_, other.fused);
    other.tried = true;
  }

  void accept_up_to(std::size_t i) {
    const std::lock_guard lock(mutex_);
    all_[i].done = true;
    for (; accepted_ < all_.size() && all_[accepted_].done; ++accepted_) {
      OtherTile& other = all_[accepted_];
      ended_ = ended_ || cost_of(tiles_[accepted_]) >= least_;
      if (!ended_ && other.tried && other.estimate < least_ && better(trials_, other.fused, *best_)) {
        *best_ = std::move(other.fused);
        least_ = objective_of(trials_, *best_);
      }
      other.fused = {};
    }
  }

  const FusionTrials& trials_;
  FusionCosts& costs_;
  const std::vector<ScheduledStatement>& tiles_;  ///< by cost
  const std::size_t statement_;
  std::vector<OtherTile> all_;
  std::mutex mutex_;          ///< of what follows
  std::size_t accepted_ = 0;  ///< the next one in order
  bool ended_ = false;
  Scheduled* best_ = nullptr;
  std::atomic<double> least_ = 0;  ///< objective of the best; read without the mutex
};

}  // namespace

bool fuses_dims(const Mapping& mapping) {
  return std::any_of(mapping.dims.begin(), mapping.dims.end(), [](const std::vector<Digit>& digits) {
    return !digits.empty() && (digits.size() > 1 || !digits.front().column.as_dim());
  });
}

std::string fusion_key(const Nest& nest, const HardwareModel& model) {
  return runs_blocks_in_waves(model) ? memory_use_key(nest) : register_tile_key(nest);
}

void try_fusions(const FusionTrials& trials, const std::vector<FusionAlternatives>& kept, Scheduled& found) {
  const Scheduled apart = found;
  FusionCosts costs(trials.model_of);
  // Fusion needs plain dims: nests whose lanes run over fused dims are tried with the best that do not in their place.
  std::vector<Scheduled> starts{apart};
  if (std::any_of(kept.begin(), kept.end(),
                  [](const FusionAlternatives& one) { return one.unfused_dims.has_value(); })) {
    starts.push_back(apart);
    for (std::size_t s = 0; s < kept.size(); ++s)
      if (kept[s].unfused_dims) replace(starts.back(), s, *kept[s].unfused_dims);
  }
  for_each_in_parallel(trials.workers, starts.size(), [&](std::size_t i) { fuse(trials, costs, starts[i]); });
  found = std::move(starts.front());
  for (std::size_t s = 0; s < kept.size(); ++s)
    if (!fusion_fits(trials, found, s)) OtherTiles(trials, costs, kept[s].other_tiles, s).try_all(apart, found);
  if (starts.size() > 1 && better(trials, starts[1], found)) found = std::move(starts[1]);
}

}  // namespace isamap
