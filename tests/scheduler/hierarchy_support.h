// SPDX-License-Identifier: Apache-2.0
#pragma once
// Problems of the per-memory form for tests: a kernel, a machine, its only mapping, and points drawn at random.

#include <algorithm>

#include "isamap/mapper.h"
#include "scheduler/cost/hierarchy/evaluate.h"
#include "scheduler/nest/resolved_nest.h"
#include "support/arithmetic.h"
#include "tests/scheduler/support.h"

namespace isamap::testing_support {

inline Kernel gemm(int m, int n, int k) {
  return formula("Z[m,n] += A[m,k] * B[k,n]",
                 "m=" + std::to_string(m) + ",n=" + std::to_string(n) + ",k=" + std::to_string(k), "A=s16,B=s16,Z=s16");
}

inline Kernel convolution(int k, int c, int p, int r, int stride) {
  const auto text = [](int n) { return std::to_string(n); };
  return kernel_yaml("kernel: conv\ndims: {K: " + text(k) + ", C: " + text(c) + ", P: " + text(p) + ", R: " + text(r) +
                     "}\ntensors:\n  I: {shape: [C, " + text(stride) +
                     "*P + R], dtype: s16}\n"
                     "  F: {shape: [K, C, R], dtype: s16}\n  O: {shape: [K, P], dtype: s16}\n"
                     "compute:\n  - O[k,p] += I[c," +
                     text(stride) + "*p+r] * F[k,c,r]\n");
}

inline std::string text_of(const Nest& nest) {
  std::string text;
  for (const Line& line : nest.lines) text += print(line) + "\n";
  return text;
}

struct HierarchyCase {
  Kernel kernel;
  HardwareModel model;
  Mapping mapping;
  hierarchy::Problem problem;
};

inline HierarchyCase hierarchy_problem(const Kernel& kernel, const std::string& machine_name) {
  HierarchyCase made;
  made.kernel = kernel;
  auto loaded = load_hardware(machine_name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models",
                                             std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data"});
  if (!loaded) {
    ADD_FAILURE() << render(loaded.diagnostics());
    return made;
  }
  made.model = loaded->model;
  auto mapped = enumerate_mappings(kernel, made.model, MapOptions{});
  if (!mapped || mapped->mappings.empty()) {
    ADD_FAILURE() << "nothing maps";
    return made;
  }
  made.mapping = mapped->mappings.front();
  auto problem = hierarchy::problem_of(made.kernel, made.mapping.statement, made.mapping, made.model);
  if (!problem)
    ADD_FAILURE() << render(problem.diagnostics());
  else
    made.problem = std::move(*problem);
  return made;
}

/// Any tiles (`dividing`: each divides the one around it), any order; loops on units as large as there is room.
inline hierarchy::LevelPoint random_point(const hierarchy::Problem& problem, Random& random, bool dividing) {
  hierarchy::LevelPoint point = hierarchy::plain_point(problem);
  const auto step = [&](std::int64_t tile, std::int64_t most) {  // a tile with at most `most` steps
    for (int tries = 0; tries < 20; ++tries) {
      const std::int64_t inner = random.between(1, tile);
      if (ceil_div(tile, inner) <= most && (!dividing || tile % inner == 0)) return inner;
    }
    return tile;
  };
  const int n = problem.dim_count();
  std::vector<std::int64_t> tile;
  for (const auto& dim : problem.dims) tile.push_back(dim.extent);
  for (int l = 0; l < problem.level_count(); ++l) {
    hierarchy::LevelPoint::At& level = point.levels[static_cast<std::size_t>(l)];
    const bool innermost = l + 1 == problem.level_count();
    for (int d = 0; d < n; ++d) {
      auto& t = tile[static_cast<std::size_t>(d)];
      if (innermost)
        t = 1;
      else if (random.between(0, 2) > 0)
        t = step(t, 1 << 20);
      level.time[static_cast<std::size_t>(d)] = t;
    }
    for (int i = n - 1; i > 0; --i)
      std::swap(level.order[static_cast<std::size_t>(i)], level.order[static_cast<std::size_t>(random.between(0, i))]);
    for (std::size_t x = 0; x < problem.levels[static_cast<std::size_t>(l)].axes.size(); ++x) {
      std::int64_t left = problem.levels[static_cast<std::size_t>(l)].axes[x].count;
      for (int i = 0; i < n; ++i) {
        const auto d = static_cast<std::size_t>((i + l + static_cast<int>(x)) % n);
        const std::int64_t before = tile[d];
        if (random.between(0, 1) == 0) tile[d] = step(before, left);
        left /= ceil_div(before, tile[d]);
        level.axis[x][d] = tile[d];
      }
      for (std::size_t d = 0; d < static_cast<std::size_t>(n); ++d) level.axis[x][d] = tile[d];
    }
    const auto all = static_cast<std::uint32_t>((1 << problem.operand_count()) - 1);
    level.keep =
        problem.levels[static_cast<std::size_t>(l)].must_keep | static_cast<std::uint32_t>(random.between(0, all));
    level.doubled = random.between(0, 3) == 0 ? level.keep & static_cast<std::uint32_t>(random.between(0, all)) : 0;
  }
  return point;
}

}  // namespace isamap::testing_support
