// SPDX-License-Identifier: Apache-2.0
// Speed of the cost models: estimates per second, from the lines of a nest to its cost, on one core. Claim: ten
// thousand simulations a second on small problems.

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "isamap/cost_model.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "isamap/search.h"

namespace isamap {
namespace {

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Problem {
  std::string name, dims, levels;
};

const std::vector<Problem> problems{
    {"gemm 16^3, one buffer", "m=16,n=16,k=16",
     "  - {memory: DRAM, loops: [k 2]}\n  - {memory: GLB, spatial: [m 8 x, n 8 y]}\n"
     "  - {memory: RF, loops: [k 8, m 2, n 2]}\n"},
    {"gemm 16^3, two buffers", "m=16,n=16,k=16",
     "  - {memory: DRAM, loops: [k 4]}\n  - {memory: GLB, spatial: [m 8 x, n 8 y], buffers: {A: 2, B: 2}}\n"
     "  - {memory: RF, loops: [k 4, m 2, n 2], buffers: {A: 2, B: 2}}\n"},
    {"gemm 32^3, two buffers", "m=32,n=32,k=32",
     "  - {memory: DRAM, loops: [n 2, k 4]}\n  - {memory: GLB, spatial: [m 8 x, n 16 y], buffers: {A: 2, B: 2}}\n"
     "  - {memory: RF, loops: [k 8, m 4], buffers: {A: 2, B: 2}}\n"},
    {"gemm 13x17x11, tails", "m=13,n=17,k=11",
     "  - {memory: DRAM, loops: [n 3, k 2]}\n  - {memory: GLB, spatial: [m 13 x, n 6 y]}\n"
     "  - {memory: RF, loops: [k 6]}\n"},
    {"gemm 64^3, the record by hand", "m=64,n=64,k=64",
     "  - {memory: DRAM, loops: [n 2, k 4]}\n  - {memory: GLB, loops: [m 2, n 4], spatial: [m 8 x, n 2 y, k 8 y]}\n"
     "  - {memory: RF, loops: [m 4, n 4, k 2]}\n"},
    {"gemm 1024^3, the optimum", "m=1024,n=1024,k=1024",
     "  - {memory: DRAM, loops: [n 4, m 8, k 1024]}\n  - {memory: GLB, spatial: [m 16 x, n 16 y]}\n"
     "  - {memory: RF, loops: [m 8, n 16]}\n"}};

int measure(const HardwareModel& model) {
  using Make = std::unique_ptr<CostModel> (*)();
  const std::pair<const char*, Make> models[] = {{"closed_form", make_cost_model_closed_form},
                                                 {"latency", make_cost_model_latency},
                                                 {"simulator", make_cost_model_simulator}};
  for (const Problem& p : problems) {
    const auto kernel = kernel_from_formula("Z[m,n] += A[m,k] * B[k,n]", p.dims, "A=s16,B=s16,Z=s16");
    if (!kernel) return 1;
    const auto schedule = parse_schedule("schedule: s\nlevels:\n" + p.levels, "s.yaml", *kernel, model);
    if (!schedule) {
      fmt::print(stderr, "{}\n", render(schedule.diagnostics()));
      return 1;
    }
    fmt::print("{:32}", p.name);
    for (const auto& [name, make] : models) {
      const auto costs = make();
      const Candidate candidate{&*kernel, make_id<StatementId>(0), &model, schedule->nests.front()};
      int rounds = 0;
      double cycles = 0;
      const double begin = now();
      while (now() - begin < 0.5) {
        const auto cost = costs->estimate(candidate);
        if (!cost) return 1;
        cycles = cost->cycles;
        ++rounds;
      }
      fmt::print("  {} {:8.0f}/s, {:.0f} cycles", name, rounds / (now() - begin), cycles);
    }
    fmt::print("\n");
  }
  return 0;
}

}  // namespace
}  // namespace isamap

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto loaded = isamap::load_hardware("a1", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  return loaded ? isamap::measure(loaded->model) : 1;
}
