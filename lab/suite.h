// SPDX-License-Identifier: Apache-2.0
#pragma once
// A suite of the laboratory: search problems whose optimum is known (docs/laboratory.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapper.h"
#include "isamap/search.h"

namespace isamap::lab {

constexpr double equal_enough = 1e-9;  ///< relative tolerance of objectives: sums in another order

/// A search problem: one statement on one machine, with a space and an objective.
struct Instance {
  std::string name, group;   ///< group: "gemm", "conv": curves are shown for each
  Kernel kernel;             ///< of one step, where statements are repeated
  StatementId statement{0};  ///< the searched one; a kernel of several gives several instances
  std::shared_ptr<const HardwareModel> model;
  std::shared_ptr<const std::string> target_text;  ///< the hardware file, resolved
  MapResult mapped;                                ///< mappings of the statement
  Objective objective = Objective::edp;
  SpaceOptions space;
  double noise = 0;               ///< relative standard deviation of the noise told to strategies
  std::optional<double> optimum;  ///< of the space, under the closed form
  std::string proof;              ///< source of the proof; empty: best known
  SourceLocation where;           ///< in its file

  SearchSpace search_space() const { return SearchSpace(kernel, statement, mapped.mappings, *model, space); }
};

struct Suite {
  std::string name, about;
  std::vector<Instance> instances;
  Diagnostics warnings;  ///< of its kernels, each once
};

/// A suite file, a folder of suite files (merged), or the name of one in `suites`. Hardware files are resolved relative
/// to the suite, then in `models`. All problems of the files are reported.
Result<Suite> load_suite(const std::string& path, const std::vector<std::string>& suites,
                         const std::vector<std::string>& models);

}  // namespace isamap::lab
