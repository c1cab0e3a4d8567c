// SPDX-License-Identifier: Apache-2.0
// Time of one estimate of the closed form: C[i,j] += A[i,k] * B[k,j] of 64 x 2048 x 2048, the nests of starting and
// random points. With the facts of earlier nests, as in a search, and without; and of resolving a nest alone.
//
//   ./dev bench estimate [hardware_models/x86_avx512.yaml]

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

std::vector<Nest> nests_of(const SearchSpace& space) {
  std::vector<Nest> nests;
  const auto add = [&](const Point& point) {
    if (auto nest = space.build(space.repair(point))) nests.push_back(std::move(*nest));
  };
  for (const Point& point : space.starts(8)) add(point);
  for (std::uint64_t seed = 0; seed < 40; ++seed) add(space.random(seed));
  return nests;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string models = ISAMAP_SOURCE_DIR "/hardware_models";
  const auto loaded = load_hardware(argc > 1 ? argv[1] : models + "/x86_avx512.yaml", {models});
  const auto kernel = kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=64,j=2048,k=2048", "");
  if (!loaded || !kernel) return fmt::print(stderr, "no such machine\n"), 1;
  const auto id = make_id<StatementId>(0);
  const auto mapped = enumerate_mappings(*kernel, loaded->model, MapOptions{});
  if (!mapped) return fmt::print(stderr, "{}", render(mapped.diagnostics())), 1;
  const SearchSpace space(*kernel, id, mapped->mappings, loaded->model, {});
  const std::vector<Nest> nests = nests_of(space);
  const auto facts = statement_facts(*kernel, id, loaded->model);
  const auto costs = make_cost_model_closed_form();
  std::vector<Candidate> alone, with_facts;
  for (const Nest& nest : nests) {
    alone.push_back({&*kernel, id, &loaded->model, nest});
    with_facts.push_back({&*kernel, id, &loaded->model, nest, facts});
  }
  int fit = 0;
  const auto estimate = [&](const std::vector<Candidate>& candidates) {
    fit = 0;
    for (const Candidate& candidate : candidates) fit += costs->estimate(candidate) ? 1 : 0;
  };
  const auto count = static_cast<double>(std::max<std::size_t>(nests.size(), 1));
  const double anew = least(20, [&] { estimate(alone); }) / count;
  const double known = least(200, [&] { estimate(with_facts); }) / count;
  const double resolving = least(200,
                                 [&] {
                                   for (const Nest& nest : nests) (void)static_cast<bool>(resolve(nest, *facts));
                                 }) /
                           count;
  fmt::print("{}: {} nests, {} fit; an estimate {:.1f} us (of it resolving {:.1f}), without facts {:.1f} us\n",
             loaded->model.name, nests.size(), fit, known, resolving, anew);
}
