// SPDX-License-Identifier: Apache-2.0
// The exact search against an enumerator that knows nothing of bounds: every step count of every loop, every order,
// every choice of what is kept and doubled, on shrunk problems.

#include <fstream>
#include <functional>

#include "scheduler/schedule_exact.h"
#include "tests/scheduler/hierarchy_support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using hierarchy::Evaluated;
using hierarchy::LevelPoint;
using hierarchy::Problem;
using testing_support::formula;
using testing_support::hierarchy_problem;
using testing_support::kernel_yaml;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Space {
  bool dividing = false, keep_all = false, double_buffers = false;
  bool all_doubled = false;  ///< two buffers for every kept tile
};

class Enumerator {
 public:
  Enumerator(const Problem& problem, const Space& space, Objective objective)
      : problem_(problem), space_(space), objective_(objective) {}

  double best() {
    point_ = plain_point(problem_);
    for (int d = 0; d < problem_.dim_count(); ++d) chains_.push_back(chains_of(d));
    keep(0);
    return best_;
  }

 private:
  // Tiles of one dim below each loop, from the outside: level by level the loop in time, then the axes.
  using Chain = std::vector<std::int64_t>;

  std::vector<Chain> chains_of(int d) const {
    std::vector<Chain> found;
    std::vector<std::int64_t> steps;  // from the inside; the outermost loop takes what is left
    std::vector<std::pair<int, int>> slots;
    for (int l = problem_.level_count() - 1; l >= 0; --l) {
      if (l + 1 < problem_.level_count())
        for (int x = static_cast<int>(problem_.levels[at(l)].axes.size()) - 1; x >= 0; --x) slots.push_back({l, x});
      if (l > 0) slots.push_back({l, -1});
    }
    const std::int64_t extent = problem_.dims[at(d)].extent;
    const std::function<void(std::size_t, std::int64_t)> go = [&](std::size_t i, std::int64_t tile) {
      if (i == slots.size()) {
        Chain chain{tile};  // below the outermost loop
        std::int64_t inner = tile, parent = std::min(extent, tile);
        if (space_.dividing && extent % tile != 0) return;
        for (std::size_t s = slots.size(); s-- > 0;) {
          inner /= steps[s];
          if (ceil_div(parent, inner) != steps[s]) return;  // a step that nobody takes
          parent = std::min(parent, inner);
          chain.push_back(inner);
        }
        found.push_back(chain);
        return;
      }
      const auto [level, axis] = slots[i];
      const std::int64_t most = axis < 0 ? extent : problem_.levels[at(level)].axes[at(axis)].count;
      for (std::int64_t n = 1; n <= most && tile * n < 2 * extent * problem_.dim_count(); ++n) {
        if (n > 1 && axis >= 0)  // a dim lies on one axis of a level
          if (std::any_of(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(i), [&](const auto& s) {
                return s.first == level && s.second >= 0 && steps[at(static_cast<int>(&s - slots.data()))] > 1;
              }))
            break;
        steps.push_back(n);
        go(i + 1, tile * n);
        steps.pop_back();
      }
    };
    go(0, 1);
    return found;
  }

  void keep(int l) {
    if (l == problem_.level_count()) return doubled(0);
    const std::uint32_t all = (1U << problem_.operand_count()) - 1;
    const std::uint32_t must = space_.keep_all ? all : problem_.levels[at(l)].must_keep;
    for (std::uint32_t mask = 0; mask <= all; ++mask) {
      if ((mask & must) != must) continue;
      point_.levels[at(l)].keep = mask;
      keep(l + 1);
    }
  }

  void doubled(int l) {
    if (l == problem_.level_count()) return dim(0);
    if (space_.all_doubled) {
      point_.levels[at(l)].doubled = l > 0 ? point_.levels[at(l)].keep : 0;
      return doubled(l + 1);
    }
    for (std::uint32_t mask = 0; mask <= (space_.double_buffers && l > 0 ? point_.levels[at(l)].keep : 0); ++mask) {
      if ((mask & ~point_.levels[at(l)].keep) != 0) continue;
      point_.levels[at(l)].doubled = mask;
      doubled(l + 1);
    }
    point_.levels[at(l)].doubled = 0;
  }

  void dim(int d) {
    if (d == problem_.dim_count()) {
      if (evaluate(problem_, point_).fits) order(0);
      return;
    }
    for (const Chain& chain : chains_[at(d)]) {
      std::size_t i = 0;
      for (int l = 0; l < problem_.level_count(); ++l) {
        LevelPoint::At& level = point_.levels[at(l)];
        level.time[at(d)] = l + 1 < problem_.level_count() ? chain[i++] : 1;
        if (l + 1 < problem_.level_count())
          for (std::size_t x = 0; x < problem_.levels[at(l)].axes.size(); ++x) level.axis[x][at(d)] = chain[i++];
      }
      dim(d + 1);
    }
  }

  void order(int l) {
    if (l + 1 == problem_.level_count()) {
      const Evaluated cost = evaluate(problem_, point_);
      const double value = objective_ == Objective::cycles   ? cost.cycles
                           : objective_ == Objective::energy ? cost.energy_pJ
                                                             : cost.edp();
      best_ = std::min(best_, value);
      return;
    }
    std::vector<std::uint8_t> loops, rest;
    for (int d = 0; d < problem_.dim_count(); ++d) {
      std::int64_t around = problem_.dims[at(d)].extent;
      if (l > 0) {
        const LevelPoint::At& outer = point_.levels[at(l - 1)];
        const std::size_t axes = problem_.levels[at(l - 1)].axes.size();
        around = std::min(around, axes == 0 ? outer.time[at(d)] : outer.axis[axes - 1][at(d)]);
      }
      (point_.levels[at(l)].time[at(d)] < around ? loops : rest).push_back(static_cast<std::uint8_t>(d));
    }
    do {
      auto& order_here = point_.levels[at(l)].order;
      std::copy(rest.begin(), rest.end(), order_here.begin());
      std::copy(loops.begin(), loops.end(), order_here.begin() + static_cast<std::ptrdiff_t>(rest.size()));
      order(l + 1);
    } while (std::next_permutation(loops.begin(), loops.end()));
  }

  const Problem& problem_;
  Space space_;
  Objective objective_;
  LevelPoint point_;
  std::vector<std::vector<Chain>> chains_;
  double best_ = std::numeric_limits<double>::infinity();
};

/// A machine of three (or four) memories with little room and drawn costs.
void shrink(Problem& problem, Random& random) {
  for (auto& level : problem.levels) {
    level.word = 1;
    level.read_energy = static_cast<double>(random.between(1, 60));
    level.write_energy = static_cast<double>(random.between(1, 60));
    level.read_bandwidth = static_cast<double>(random.between(0, 6));
    level.write_bandwidth = static_cast<double>(random.between(0, 6));
    for (auto& axis : level.axes) axis.count = random.between(1, 3);
  }
  problem.levels.front().capacity = 0;
  double room = static_cast<double>(random.between(3, 9));
  for (std::size_t l = problem.levels.size(); l-- > 1;) {
    problem.levels[l].capacity = 2 * room;
    room += static_cast<double>(random.between(0, 16));
  }
}

void expect_optimal(Problem problem, std::uint64_t seed, const Space& space) {
  Random random(seed);
  shrink(problem, random);
  const auto objective = static_cast<Objective>(random.between(0, 2));
  const double best = Enumerator(problem, space, objective).best();
  hierarchy::ExactOptions options;
  options.objective = objective;
  options.dividing = space.dividing;
  options.keep_all = space.keep_all;
  options.double_buffered = space.all_doubled;
  const hierarchy::Exact found = search_exact(problem, options);
  ASSERT_TRUE(found.finished);
  ASSERT_EQ(found.best.has_value(), best < std::numeric_limits<double>::infinity()) << "seed " << seed;
  if (!found.best) return;
  EXPECT_NEAR(found.value, best, best * 1e-11)
      << "seed " << seed << " objective " << static_cast<int>(objective) << " dims " << problem.dims[0].extent << " "
      << problem.dims[1].extent << " " << problem.dims[2].extent;
  EXPECT_LE(found.lower_bound, found.value);
  EXPECT_GE(found.lower_bound, found.value * (1 - 1e-11));
}

Problem gemm(std::uint64_t seed, const std::string& machine, int most) {
  Random random(seed);
  const auto n = [&] { return std::to_string(random.between(1, most)); };
  return hierarchy_problem(
             formula("Z[m,n] += A[m,k] * B[k,n]", "m=" + n() + ",n=" + n() + ",k=" + n(), "A=s16,B=s16,Z=s16"), machine)
      .problem;
}

Problem window(std::uint64_t seed, int most) {
  Random random(seed);
  const auto n = [&](int low) { return std::to_string(random.between(low, most)); };
  const std::string stride = std::to_string(random.between(1, 2));
  return hierarchy_problem(
             kernel_yaml("kernel: conv\ndims: {K: " + std::to_string(random.between(1, 2)) + ", P: " + n(2) +
                         ", R: " + std::to_string(random.between(2, 3)) + "}\ntensors:\n  I: {shape: [" + stride +
                         "*P + R], dtype: s16}\n"
                         "  F: {shape: [K, R], dtype: s16}\n  O: {shape: [K, P], dtype: s16}\n"
                         "compute:\n  - O[k,p] += I[" +
                         stride + "*p+r] * F[k,r]\n"),
             "a1")
      .problem;
}

TEST(Exact, DividingTilesKeptEverywhere) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) expect_optimal(gemm(seed, "a1", 8), seed, {true, true, false});
}

TEST(Exact, TailsKeptEverywhere) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) expect_optimal(gemm(seed, "a1", 5), seed, {false, true, false});
}

TEST(Exact, BypassAndTwoBuffers) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    expect_optimal(gemm(seed, "a1", 4), seed, {seed % 2 == 0, false, seed % 4 == 0});
}

TEST(Exact, TwoBuffersForEveryTile) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    expect_optimal(gemm(seed, "a1", 5), 500 + seed, {seed % 2 == 0, seed % 3 == 0, false, true});
}

TEST(Exact, TailsAndBypass) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    expect_optimal(gemm(seed, "a1", 5), 1000 + seed, {false, false, false});
}

TEST(Exact, WindowsThatSlide) {
  for (std::uint64_t seed = 0; seed < 160; ++seed)
    expect_optimal(window(seed, 7), seed, {seed % 3 == 0, seed % 2 == 0, false});
}

TEST(Exact, FourLevelsWithUnitsAtTwo) {
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    expect_optimal(gemm(seed, "row4", seed % 5 == 0 ? 2 : 4), seed, {seed % 2 == 0, seed % 5 != 0, false});
}

/// The published optima of the check architecture: tiles that divide, everything kept.
TEST(Exact, PublishedOptima) {
  const std::tuple<std::string, double, double> known[] = {{"m=64,n=64,k=64", 3858432, 1024},
                                                           {"m=1024,n=1024,k=1024", 8452571136, 4194304},
                                                           {"m=512,n=512,k=64", 148144128, 65536}};
  for (const auto& [size, energy, cycles] : known) {
    const Problem problem =
        hierarchy_problem(formula("Z[m,n] += A[m,k] * B[k,n]", size, "A=s16,B=s16,Z=s16"), "a1").problem;
    hierarchy::ExactOptions options;
    options.dividing = options.keep_all = true;
    const hierarchy::Exact found = search_exact(problem, options);
    ASSERT_TRUE(found.best) << size;
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.cost.energy_pJ, energy) << size;
    EXPECT_EQ(found.cost.cycles, cycles) << size;
    EXPECT_NEAR(found.lower_bound, energy * cycles, energy * cycles * 1e-11);
  }
}

Result<ExactSchedule> exactly(const Kernel& kernel, const HardwareModel& model, const ScheduleOptions& options,
                              bool* proved) {
  const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  if (!mapped) return mapped.diagnostics();
  EXPECT_TRUE(exact_search_refusal(kernel, *mapped, model).empty());
  return schedule_exactly(kernel, *mapped, model, options, {}, proved);
}

/// The text in steps is read back as the nest in tiles.
TEST(Exact, PrintsTheViewOfMemories) {
  const HardwareModel model = testing_support::machine("a1");
  for (const char* size : {"m=64,n=64,k=64", "m=127,n=131,k=113", "m=17,n=1,k=300"}) {
    const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", size, "A=s16,B=s16,Z=s16");
    bool proved = false;
    const auto found = exactly(kernel, model, {}, &proved);
    ASSERT_TRUE(found) << size;
    EXPECT_TRUE(found->certified);
    const auto read = parse_schedule(found->text, "best.yaml", kernel, model);
    ASSERT_TRUE(read) << found->text << render(read.diagnostics());
    const auto cost = testing_support::cost_of(*read, kernel, model);
    ASSERT_TRUE(cost);
    EXPECT_EQ(cost->edp(), found->scheduled.cost.edp()) << found->text;
  }
}

TEST(Exact, SaysWhichTilesExcludeEachOther) {
  std::ifstream file(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/a1.yaml");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  text.replace(text.find("512B"), 4, "4B");  // the register file: two words, three are needed
  const std::string path = scratch("small.yaml");
  std::ofstream(path) << text;
  const auto model = load_hardware(path, {});
  ASSERT_TRUE(model);
  bool proved = false;
  const auto found =
      exactly(formula("Z[m,n] += A[m,k] * B[k,n]", "m=4,n=4,k=4", "A=s16,B=s16,Z=s16"), model->model, {}, &proved);
  ASSERT_FALSE(found);
  EXPECT_TRUE(proved);
  ScheduleOptions two;
  two.space.double_buffered = true;
  text.replace(text.find("4B,"), 2, "10B");  // room for one buffer of each, not for two
  std::ofstream(path) << text;
  const auto roomier = load_hardware(path, {});
  ASSERT_TRUE(roomier);
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=4,n=4,k=4", "A=s16,B=s16,Z=s16");
  EXPECT_TRUE(exactly(kernel, roomier->model, {}, &proved));
  const auto none = exactly(kernel, roomier->model, two, &proved);
  ASSERT_FALSE(none);
  EXPECT_TRUE(proved);
  EXPECT_NE(render(none.diagnostics())
                .find("memory RF: 12 bytes needed, 10 available (tile of Z with 1 element in two "
                      "buffers, 4 bytes;"),
            std::string::npos)
      << render(none.diagnostics());
  EXPECT_NE(render(found.diagnostics())
                .find("memory RF: 6 bytes needed, 4 available (tile of Z with 1 element, 2 bytes; tile of A with 1 "
                      "element, 2 bytes; tile of B with 1 element, 2 bytes)"),
            std::string::npos)
      << render(found.diagnostics());
}

}  // namespace
}  // namespace isamap
