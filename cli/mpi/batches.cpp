// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/batches.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>

#include "isamap/compile.h"
#include "scheduler/search/executor.h"
#include "support/hash.h"

namespace isamap::cli {
namespace {

/// What a search compares of an evaluation; the rest is found again for the few points that become the best.
struct KnownCost {
  double cycles = 0, scalar_cycles = 0, energy_pJ = 0, bytes = 0;
  std::int32_t known = 0;     ///< evaluated, with a cost or without
  std::int32_t has_cost = 0;  ///< otherwise the point is illegal: others find out why by themselves
  std::int32_t has_nest = 0;
  std::int32_t unused = 0;
};

KnownCost known_cost(const PointResult& at) {
  KnownCost known;
  known.known = 1;
  known.has_nest = at.nest ? 1 : 0;
  if (!at.cost) return known;
  known.has_cost = 1;
  known.cycles = at.cost->cycles;
  known.scalar_cycles = at.cost->scalar_cycles;
  known.energy_pJ = at.cost->energy_pJ;
  known.bytes = at.cost->bytes;
  return known;
}

std::uint64_t hash_of(const std::vector<Point>& batch) {
  std::uint64_t hash = fnv1a_start;
  for (const Point& point : batch) hash = fnv1a(point.choice, hash);
  return hash;
}

class RankExecutor final : public Executor {
 public:
  RankExecutor(std::unique_ptr<Executor> here, const CostModelFactory& costs, bool with_nests)
      : here_(std::move(here)), costs_(costs), with_nests_(with_nests) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  std::vector<PointResult> submit(std::vector<Point> batch, const std::function<bool()>& go_on) override {
    refuse_different(batch);
    const auto ranks = static_cast<std::size_t>(ranks_), mine = static_cast<std::size_t>(rank_);
    std::vector<Point> share;
    for (std::size_t i = mine; i < batch.size(); i += ranks) share.push_back(batch[i]);
    std::vector<PointResult> own;
    on_all_ranks([&] { own = here_->submit(share, go_on); });
    const std::size_t each = (batch.size() + ranks - 1) / ranks;
    std::vector<KnownCost> sent(each), all(each * ranks);
    for (std::size_t i = 0; i < own.size(); ++i) sent[i] = known_cost(own[i]);
    const int bytes = static_cast<int>(each * sizeof(KnownCost));
    MPI_Allgather(sent.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<PointResult> results;
    on_all_ranks([&] {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const KnownCost& known = all[(i % ranks) * each + i / ranks];
        if (known.known == 0) break;
        results.push_back(i % ranks == mine ? std::move(own[i / ranks]) : from_elsewhere(std::move(batch[i]), known));
      }
    });
    return results;
  }

  /// Only ranks that do not know the point evaluate it, so the others would wait for one that fails.
  void complete(PointResult& at) override {
    const std::string failure = failure_of([&] { here_->complete(at); });
    if (!failure.empty()) end_all(failure, rank_);
  }

  bool refine(PointResult& at) override {
    bool finer = false;
    const std::string failure = failure_of([&] { finer = here_->refine(at); });
    if (!failure.empty()) end_all(failure, rank_);
    return finer;
  }

 private:
  /// What a cost model says or throws; empty: it works.
  std::string failure_of(const std::function<void()>& work) const {
    try {
      work();
    } catch (const std::exception& failure) {
      return fmt::format("error: {}\n", failure.what());
    }
    const Diagnostics problems = costs_.problems();
    return has_errors(problems) ? render(problems) : "";
  }

  /// A cost model that fails on one rank ends the search on all: rank 0 says why.
  void on_all_ranks(const std::function<void()>& work) const {
    std::string failure = failure_of(work);
    const int own = failure.empty() ? ranks_ : rank_;
    int first = ranks_;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks_) return;
    auto size = static_cast<int>(failure.size());
    MPI_Bcast(&size, 1, MPI_INT, first, MPI_COMM_WORLD);
    failure.resize(static_cast<std::size_t>(size));
    MPI_Bcast(failure.data(), size, MPI_CHAR, first, MPI_COMM_WORLD);
    if (rank_ == 0) end_all(failure, first);
    MPI_Barrier(MPI_COMM_WORLD);  // which rank 0 does not reach
  }

  void end_all(const std::string& failure, int rank) const {
    std::fprintf(stderr, "%s  note: on rank %d of %d, so that the search cannot go on\n", failure.c_str(), rank,
                 ranks_);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::limit));
  }

  void refuse_different(const std::vector<Point>& batch) const {
    const std::array<std::uint64_t, 2> own{hash_of(batch), ~hash_of(batch)};
    std::array<std::uint64_t, 2> most{};
    MPI_Allreduce(own.data(), most.data(), 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != ~most[1])
      throw std::runtime_error("ranks search differently: a strategy must depend on its seed only");
  }

  PointResult from_elsewhere(Point point, const KnownCost& known) {
    PointResult at;
    at.point = std::move(point);
    if (known.has_cost == 0 || with_nests_) {
      here_->complete(at);
      return at;
    }
    at.cost.emplace();
    at.cost->cycles = known.cycles;
    at.cost->scalar_cycles = known.scalar_cycles;
    at.cost->energy_pJ = known.energy_pJ;
    at.cost->bytes = known.bytes;
    at.elsewhere = known.has_nest != 0;
    return at;
  }

  std::unique_ptr<Executor> here_;
  const CostModelFactory& costs_;
  const bool with_nests_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace

ExecutorFactory executor_of_ranks() {
  return [](const SearchSpace& space, const CostModelFactory& costs,
            bool with_nests) -> Result<std::unique_ptr<Executor>> {
    auto here = make_thread_executor(space, costs, std::make_shared<Workers>(1), with_nests);
    if (!here) return here.diagnostics();
    return std::unique_ptr<Executor>(std::make_unique<RankExecutor>(std::move(*here), costs, with_nests));
  };
}

}  // namespace isamap::cli
