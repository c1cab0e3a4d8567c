// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions whose term counts at one place: a scatter, as a statement that writes every element.
//
//   L[i,j] max= select(J[u,j] == value(i), value(u), -2147483648)      for all i, u, j
//
// is, for all u, j:  i = J[u,j];  if 0 <= i < extent:  L[i,j] = max(L[i,j], u).
//
// At other places the neutral element of the operator is combined with what is there, which changes nothing: of sums of
// floats it is -0.0, and 0 only where no element is -0.0 (-0.0 + 0.0 is 0.0). So the loop over
// i has one iteration that matters, and an equality to solve for it (a degenerate loop: Bastoul, "Code generation in
// the polyhedral model is easier than you think", PACT 2004). What is written stays a box of elements, whatever the
// positions are, and those that are outside hit nothing. The updates of an element come in the order of the other
// dims. (Futhark's reduce_by_index: Henriksen et al., "Compositional deep learning / generalized histograms", SC 2020.)

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isamap/kernel.h"
#include "isamap/program.h"
#include "isamap/symbolic.h"

namespace isamap {

/// A loop or dim with its extent; -1: known when the program runs.
using NamedExtent = std::pair<std::string, std::int64_t>;

/// `place == offset + digits` selects one value of each digit: they are those of place - offset in the mixed radix of
/// the extents, of which the last one has the weight 1.
struct Scatter {
  ScalarExpr place;                 ///< an integer that no digit changes
  std::vector<int> operands;        ///< of the body that it needs, in order; subscripts that reads compute, too
  AffineExpr offset;                ///< in other names
  std::vector<NamedExtent> digits;  ///< outermost first; only the first may have an unknown extent
  ScalarExpr term;                  ///< what is combined there
  std::set<std::string> fixed;      ///< names that place and offset depend on

  bool has(const std::string& name) const;
  std::int64_t weight(std::size_t digit) const;  ///< product of the extents of those behind it
};

/// Do sums of the tensor begin with 0 in their only statement? Then no element is ever -0.0: neither 0.0 + x nor x - x
/// is.
bool begins_with_zero(const Kernel& kernel, TensorId tensor);

/// Of an element statement below these loops; nothing: it is none.
std::optional<Scatter> scatter_of(const Element& element, const std::vector<NamedExtent>& loops,
                                  const Program& program);
/// Of a statement over its dims. `from_zero`: as begins_with_zero.
std::optional<Scatter> scatter_of(const Computation& statement, bool from_zero = true);
/// Of a statement over symbolic sizes; names are those of symbolic_dim.
std::optional<Scatter> scatter_of(const SymbolicKernel& kernel, std::size_t statement);

/// Which dims of a statement the digits are: sets them to the place of an update.
class ScatterPlace {
 public:
  ScatterPlace(const Scatter& scatter, const Computation& statement);

  bool has(std::size_t dim) const;
  /// False: the place is outside. `point`: by dim.
  bool go_to(std::int64_t place, std::vector<std::int64_t>& point) const;
  void leave(std::vector<std::int64_t>& point) const;  ///< digits become 0

 private:
  struct Digit {
    std::size_t dim = 0;
    std::int64_t weight = 1, extent = 1;
  };
  CompiledAffine offset_;
  std::vector<Digit> digits_;
  std::int64_t count_ = 1;
};

/// Where only places that are hit are visited, because all points are too many; nothing: they are few, or the statement
/// is no scatter. Tests compare programs with what all points say.
std::optional<Scatter> large_scatter(const Computation& statement, bool from_zero = true);
/// Points that are visited then.
double visited_points(const Kernel& kernel);

}  // namespace isamap
