// SPDX-License-Identifier: Apache-2.0
// How long mapping takes. The claims: every example on every model below 50 ms; fifteen operators on two matrix units
// (bench/data/mma.yaml) under all three rules below 100 ms for each statement and instruction, and below 1 s together.

#include <fmt/format.h>

#include <algorithm>

#include "bench/matrix.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"

namespace isamap::bench {
namespace {

constexpr const char* operators[] = {"gemv",
                                     "gemm",
                                     "conv1d",
                                     "conv2d",
                                     "conv3d",
                                     "conv2d_transposed",
                                     "conv2d_grouped",
                                     "conv2d_dilated",
                                     "depthwise_multiplier",
                                     "conv2d_capsule",
                                     "conv2d_batch_weights",
                                     "linear_grouped",
                                     "mean",
                                     "variance",
                                     "scan"};
constexpr double limit_each = 0.1, limit_together = 1.0;

struct Spent {
  double together = 0, most = 0;
  std::string slowest;
};

/// "  84   0.31" : mappings and milliseconds, all statements together.
std::string cell(const Kernel& kernel, const HardwareModel& model, InstructionId id, Rule rule, Spent& spent) {
  const Instruction& instruction = model.instruction(id);
  MapOptions options;
  options.rule = rule;
  std::size_t mappings = 0;
  bool more = false;
  double seconds = 0;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    PairMappings found;
    const double one =
        best_of_three([&] { found = map_statement(kernel, make_id<StatementId>(s), instruction, id, options); });
    mappings += found.mappings.size();
    more = more || found.limit_reached;
    seconds += one;
    if (one > spent.most) spent.most = one, spent.slowest = kernel.name + " on " + instruction.name;
  }
  spent.together += seconds;
  return fmt::format("{:>6}{} {:8.2f}", mappings, more ? "+" : " ", 1e3 * seconds);
}

int time_operators() {
  const auto model = load_hardware(ISAMAP_SOURCE_DIR "/bench/data/mma.yaml", {});
  if (!model) return fmt::print("{}", render(model.diagnostics())), 1;
  Spent spent;
  fmt::print("\nfifteen operators: mappings and milliseconds under the rules access, full and all\n");
  for (std::size_t i = 0; i < model->model.instructions().size(); ++i) {
    const auto id = make_id<InstructionId>(i);
    if (!is_compute(model->model.instruction(id))) continue;
    for (const char* const name : operators) {
      const auto kernel = load_kernel(fmt::format("{}/examples/{}.yaml", ISAMAP_SOURCE_DIR, name));
      if (!kernel) return fmt::print("{}", render(kernel.diagnostics())), 1;
      fmt::print("{:<22} {:<13}", name, model->model.instruction(id).name);
      for (const Rule rule : {Rule::access, Rule::full, Rule::all})
        fmt::print(" {}", cell(*kernel, model->model, id, rule, spent));
      fmt::print("\n");
    }
  }
  fmt::print("together {:.0f} ms; the slowest statement {:.1f} ms: {}\n", 1e3 * spent.together, 1e3 * spent.most,
             spent.slowest);
  return spent.together < limit_together && spent.most < limit_each ? 0 : 1;
}

}  // namespace
}  // namespace isamap::bench

int main() {
  using namespace isamap;
  const int examples =
      bench::time_matrix("mapping", 0.05, [](const Kernel& kernel, const HardwareModel& model) -> std::string {
        const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
        return mapped ? fmt::format("{} mappings", mapped->mappings.size()) : render(mapped.diagnostics());
      });
  return std::max(examples, bench::time_operators());
}
