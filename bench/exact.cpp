// SPDX-License-Identifier: Apache-2.0
// The exact search on the check architecture: evaluations a second, and processor seconds to a proof for GEMM and the
// convolutions of ResNet-50 (shapes as published: channels in, height in, channels out, kernel, stride).
// Claims: a million evaluations a second; a second for a GEMM, ten for a convolution.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "scheduler/search/exact/branch_and_bound.h"

namespace isamap {
namespace {

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

const std::vector<std::string> folders{ISAMAP_SOURCE_DIR "/hardware_models"};

const HardwareModel& check_machine() {
  static const LoadedHardware loaded = *load_hardware("a1", folders);
  return loaded.model;
}

/// A linear hierarchy of four memories, three of them buffers.
const HardwareModel& four_levels() {
  static const LoadedHardware loaded = *load_hardware(ISAMAP_SOURCE_DIR "/lab/suites/levels4.yaml", folders);
  return loaded.model;
}

hierarchy::Problem problem_of(const Kernel& kernel, const HardwareModel& machine = check_machine()) {
  const auto mapped = enumerate_mappings(kernel, machine, MapOptions{});
  return *hierarchy::problem_of(kernel, make_id<StatementId>(0), mapped->mappings.front(), machine);
}

Kernel gemm(int m, int n, int k) {
  return *kernel_from_formula("Z[m,n] += A[m,k] * B[k,n]", fmt::format("m={},n={},k={}", m, n, k), "A=s16,B=s16,Z=s16");
}

Kernel convolution(int c, int height, int k, int kernel, int stride) {
  const int pad = kernel / 2, out = (height + 2 * pad - kernel) / stride + 1;
  return *parse_kernel_yaml(
      fmt::format("kernel: conv\ndims: {{K: {}, C: {}, P: {}, Q: {}, R: {}, S: {}}}\ntensors:\n"
                  "  I: {{shape: [C, {}*P + R, {}*Q + S], dtype: s16}}\n"
                  "  F: {{shape: [K, C, R, S], dtype: s16}}\n  O: {{shape: [K, P, Q], dtype: s16}}\n"
                  "compute:\n  - O[k,p,q] += I[c,{}*p+r,{}*q+s] * F[k,c,r,s]\n",
                  k, c, out, out, kernel, kernel, stride, stride, stride, stride),
      "convolution.yaml");
}

void evaluations() {
  const hierarchy::Problem problem = problem_of(gemm(1024, 1024, 1024));
  hierarchy::ExactOptions options;
  options.dividing = options.keep_all = true;
  hierarchy::LevelPoint point = *search_exact(problem, options).best;
  constexpr int rounds = 1'000'000;
  double sum = 0;
  const double begin = now();
  for (int i = 0; i < rounds; ++i) {
    std::swap(point.levels[0].order[0], point.levels[0].order[1]);
    sum += evaluate(problem, point).energy_pJ;
  }
  fmt::print("{:.2f} million evaluations a second (mean energy {:.6g} pJ)\n", rounds / (now() - begin) / 1e6,
             sum / rounds);
}

struct Space {
  bool dividing = false, keep_all = false, double_buffered = false;
};

void prove(const std::string& what, const std::vector<Kernel>& kernels, Space space,
           const HardwareModel& machine = check_machine()) {
  std::vector<double> seconds;
  int certified = 0;
  double gap = 0;
  for (const Kernel& kernel : kernels) {
    hierarchy::ExactOptions options;
    options.dividing = space.dividing;
    options.keep_all = space.keep_all;
    options.double_buffered = space.double_buffered;
    const double begin = now();
    options.stop = [&](std::int64_t, double) { return now() - begin > 10; };
    const hierarchy::Exact found = search_exact(problem_of(kernel, machine), options);
    seconds.push_back(now() - begin);
    certified += found.finished ? 1 : 0;
    gap = std::max(gap, 1 - found.lower_bound / found.value);
  }
  std::sort(seconds.begin(), seconds.end());
  fmt::print("{:10} {:8} {:9} {:9} {:12} proved {} of {}, median {:.3f} s, slowest {:.3f} s, largest gap {:.2f} %\n",
             what, machine.name, space.dividing ? "dividing" : "tails", space.keep_all ? "keep-all" : "bypass",
             space.double_buffered ? "two buffers" : "", certified, kernels.size(), seconds[seconds.size() / 2],
             seconds.back(), 100 * gap);
}

}  // namespace
}  // namespace isamap

int main() {
  using namespace isamap;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // unbuffered output
  evaluations();
  std::vector<Kernel> products, convolutions;
  for (const int n : {64, 128, 256, 512, 1024, 2048, 4096}) products.push_back(gemm(n, n, n));
  for (const int n : {16, 32, 64, 128, 7000})
    for (const int m : {1760, 2048, 2560, 4096}) products.push_back(gemm(m, n, m));
  const int shapes[][5] = {{3, 224, 64, 7, 2},     {64, 56, 64, 1, 1},    {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},
                           {256, 56, 64, 1, 1},    {256, 56, 128, 1, 1},  {128, 56, 128, 3, 2},  {128, 28, 512, 1, 1},
                           {256, 56, 512, 1, 2},   {512, 28, 128, 1, 1},  {128, 28, 128, 3, 1},  {512, 28, 256, 1, 1},
                           {256, 28, 256, 3, 2},   {256, 14, 1024, 1, 1}, {512, 28, 1024, 1, 2}, {1024, 14, 256, 1, 1},
                           {256, 14, 256, 3, 1},   {1024, 14, 512, 1, 1}, {512, 14, 512, 3, 2},  {512, 7, 2048, 1, 1},
                           {1024, 14, 2048, 1, 2}, {2048, 7, 512, 1, 1},  {512, 7, 512, 3, 1}};
  for (const auto& s : shapes) convolutions.push_back(convolution(s[0], s[1], s[2], s[3], s[4]));
  for (const Space space : {Space{true, true}, Space{true, false}, Space{false, true}, Space{false, true, true},
                            Space{false, false}, Space{false, false, true}}) {
    prove("GEMM", products, space);
    prove("ResNet-50", convolutions, space);
  }
  prove("GEMM", products, {true, false}, four_levels());
  prove("ResNet-50", convolutions, {true, false}, four_levels());
}
