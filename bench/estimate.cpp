// SPDX-License-Identifier: Apache-2.0
// Time of one estimate of the closed form, microseconds of the processor: products, windows, sums and copies on
// processors, thread blocks and command streams. The nests of starting and random points, estimated again, as a search
// mostly sees lines and tiles that it has seen before; other random nests, each for the first time, with the facts of
// those; of the first, resolving a nest alone, and an estimate without facts of earlier nests.
//
//   ./dev bench estimate

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/resolved_nest.h"

namespace {

using namespace isamap;

double now_us() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

/// Microseconds of the processor for one run, the least of several.
double least(int runs, const std::function<void()>& run) {
  double best = 1e18;
  for (int r = 0; r < runs; ++r) {
    const double begin = now_us();
    run();
    best = std::min(best, now_us() - begin);
  }
  return best;
}

using Nests = std::vector<Nest>;

void add_random(const SearchSpace& space, std::uint64_t from, std::uint64_t to, Nests& nests) {
  for (std::uint64_t seed = from; seed < to; ++seed)
    if (auto nest = space.build(space.repair(space.random(seed)))) nests.push_back(std::move(*nest));
}

Nests nests_of(const SearchSpace& space) {
  Nests nests;
  for (const Point& point : space.starts(8))
    if (auto nest = space.build(space.repair(point))) nests.push_back(std::move(*nest));
  add_random(space, 0, 40, nests);
  return nests;
}

struct Pair {
  std::string model, kernel;
};

const std::vector<Pair> pairs{
    {"x86_avx512", "product"},   {"x86_avx2", "product"},      {"arm_neon", "product"},
    {"x86_avx512", "conv2d"},    {"x86_avx512", "depthwise"},  {"x86_avx2", "conv2d_nhwc"},
    {"x86_avx2", "max_pool"},    {"x86_avx512", "mean"},       {"x86_avx512_vnni", "gemm_u8s8s32"},
    {"nvidia_sm80", "gemm_f16"}, {"nvidia_sm90a", "gemm_f16"}, {"npu16", "gemm_s8"},
    {"npu16", "conv2d_s8"},      {"outer16", "conv2d"},        {"systolic16", "gemm_s8"},
};

Result<Kernel> kernel_of(const std::string& name) {
  if (name == "product") return kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=64,j=2048,k=2048", "");
  return load_kernel(ISAMAP_SOURCE_DIR "/examples/" + name + ".yaml");
}

/// Microseconds of one estimate.
struct Times {
  double again = 0, first = 0, resolving = 0, alone = 0;
};

Times times_of(const Kernel& kernel, StatementId id, const HardwareModel& model, const Nests& nests,
               const Nests& others) {
  const auto facts = statement_facts(kernel, id, model);
  const auto costs = make_cost_model_closed_form();
  const auto estimate_all = [&](const Nests& some, int runs, const std::shared_ptr<StatementFacts>& known) {
    std::vector<Candidate> candidates;
    for (const Nest& nest : some) candidates.push_back({&kernel, id, &model, nest, known});
    const double all = least(runs, [&] {
      for (const Candidate& candidate : candidates) (void)static_cast<bool>(costs->estimate(candidate));
    });
    return all / static_cast<double>(some.size());
  };
  Times times;
  times.again = estimate_all(nests, 100, facts);
  times.first = estimate_all(others, 1, facts);
  times.alone = estimate_all(nests, 5, nullptr);
  times.resolving = least(100,
                          [&] {
                            for (const Nest& nest : nests) (void)static_cast<bool>(resolve(nest, *facts));
                          }) /
                    static_cast<double>(nests.size());
  return times;
}

bool measure(const Pair& pair) {
  const std::string models = ISAMAP_SOURCE_DIR "/hardware_models";
  const auto loaded = load_hardware(pair.model, {models});
  const auto kernel = kernel_of(pair.kernel);
  if (!loaded || !kernel) return fmt::print(stderr, "no {} or {}\n", pair.model, pair.kernel), false;
  const auto mapped = enumerate_mappings(*kernel, loaded->model, MapOptions{});
  if (!mapped) return fmt::print(stderr, "{}", render(mapped.diagnostics())), false;
  const auto id = make_id<StatementId>(0);
  std::vector<Mapping> mappings;
  for (const Mapping& mapping : mapped->mappings)
    if (mapping.statement == id) mappings.push_back(mapping);
  const SearchSpace space(*kernel, id, mappings, loaded->model, {});
  const Nests nests = nests_of(space);
  Nests others;
  add_random(space, 1000, 1400, others);
  if (nests.empty() || others.empty()) return fmt::print(stderr, "{} has no nests\n", pair.kernel), false;
  const Times times = times_of(*kernel, id, loaded->model, nests, others);
  fmt::print("{:<16} {:<12} {:5d} {:9.1f} {:9.1f} {:9.1f} {:9.1f}\n", pair.model, pair.kernel, nests.size(),
             times.again, times.first, times.resolving, times.alone);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:<16} {:<12} {:>5} {:>9} {:>9} {:>9} {:>9}\n", "machine", "kernel", "nests", "again", "first",
             "resolving", "no facts");
  const std::vector<Pair> named = argc == 3 ? std::vector<Pair>{{argv[1], argv[2]}} : pairs;
  return std::all_of(named.begin(), named.end(), measure) ? 0 : 1;
}
