// How long mapping takes: every example on every model, the slowest first. The claim: below 50 ms each.

#include <fmt/format.h>

#include "bench/matrix.h"

int main() {
  using namespace isamap;
  return bench::time_matrix("mapping", 0.05, [](const Kernel& kernel, const HardwareModel& model) -> std::string {
    const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
    return mapped ? fmt::format("{} mappings", mapped->mappings.size()) : render(mapped.diagnostics());
  });
}
