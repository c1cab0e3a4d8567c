// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a model is cut into parts that are compiled apart, and how the tensors between them are stored.

#include <string>
#include <vector>

#include "isamap/kernel.h"
#include "isamap/result.h"

namespace isamap {

/// Statements that are compiled together, ascending; fused where their schedule does.
struct Part {
  std::vector<std::size_t> statements;
  bool operator==(const Part&) const = default;
};

/// Consecutive parts that run in a loop over bands of rows (planner/bands.h).
struct BandGroup {
  std::size_t first = 0, count = 0;  ///< parts
  std::int64_t by = 0;               ///< rows of the last of them in a band
  std::string along = {};            ///< rows are points of this dim of its first statement; empty: outermost stored
  bool operator==(const BandGroup&) const = default;
};

/// A join of two parts that the search considered and left out.
struct RefusedJoin {
  std::string one, other;  ///< the statement that writes, the one that reads
  std::string reason;
  double lost = 0;  ///< cycles more than apart, where it can be priced
};

/// Parts that could run in bands but do not.
struct RefusedBand {
  std::string first, last;  ///< statements: the first one of the first part, the last one of the last
  std::string reason;
  double lost = 0;  ///< cycles more than one after another, where it can be priced
};

struct ModelPlan {
  std::vector<Part> parts;              ///< in order of execution
  std::vector<BandGroup> bands;         ///< ascending, disjoint
  std::vector<std::vector<int>> order;  ///< by tensor: its axes, outermost first; empty: as in the file
  double cost = 0;                      ///< cycles of all parts, each priced for itself
  double bound = 0;                     ///< no plan of the space costs less
  bool proved = false;                  ///< cost == bound
  std::vector<RefusedJoin> refused;
  std::vector<RefusedBand> bands_refused;
  std::vector<std::string> orders_priced;  ///< "rank 4, axis 1 innermost: 36675043 cycles"
};

/// How many statements write the tensor.
std::size_t writer_count(const Kernel& kernel, TensorId tensor);

/// Is it a cut of this kernel: every statement in one part, parts in an order in which everything that is read was
/// written, no statement apart from the others of its recurrence, bands of parts that can run so? Says which statement
/// is not, and why.
Diagnostics verify(const ModelPlan& plan, const Kernel& kernel);
/// The same but for bands.
Diagnostics verify_parts(const ModelPlan& plan, const Kernel& kernel);
/// Why the parts of group `number` cannot run in bands; the parts are right.
Diagnostics verify_bands(const ModelPlan& plan, const Kernel& kernel, std::size_t number);

/// By statement: those that must run before it: what it reads was written there, what it overwrites was read there,
/// and writers of one tensor stay in order.
std::vector<std::vector<std::size_t>> predecessors(const Kernel& kernel);

}  // namespace isamap
