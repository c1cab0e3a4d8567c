// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of a lowered program that are arguments of its function: trips, strides, extents, lengths of local arrays.
//
// A product of a stride and a loop variable is no affine expression; inside the printer it is one name, `S*i`.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// The steps of a loop in which `first + row + step * n` is in [0, size): names of arguments, and an expression over
/// loops around it.
struct StepRange {
  std::string first, size;
  AffineExpr row;
  std::int64_t step = 1;
};

/// An extent of calls: `count`, or as many of its positions as there are from `first` on, 0 to `most`.
struct RuntimeExtent {
  std::string count;
  AffineExpr first = {};  ///< over loops around the call
  std::int64_t most = 0;  ///< 0: `count`
  bool some = false;      ///< one is left at least
};

struct RuntimeNumbers {
  std::vector<std::string> parameters;                       ///< names of `long` arguments, after the pointers
  std::vector<std::string> definitions;                      ///< statements at the start of the function
  std::map<std::string, std::string> trips;                  ///< by loop variable
  std::map<std::string, StepRange> ranges = {};              ///< of loops that skip steps, by loop variable
  std::map<std::int32_t, std::vector<std::string>> strides;  ///< by buffer and axis; empty: the program's number
  std::map<std::int64_t, RuntimeExtent> extents;             ///< by extent of calls in the program
  /// Extents of arguments, by buffer and axis; calls skip what they would write behind those that are no numbers.
  std::map<std::int32_t, std::vector<AffineExpr>> edges = {};
  std::map<std::int32_t, std::string> lengths;  ///< elements of local arrays, by buffer
  std::vector<std::string> arrays;              ///< names of `GrowingArray&` arguments, the last ones
  std::map<std::int32_t, std::string> places;   ///< addresses of local arrays that lie in one of these
  /// Local arrays that the caller has filled, by the argument whose pointer it passes for each.
  std::map<std::int32_t, std::int32_t> passed = {};
  /// Arguments for buffers that were packed ahead of time, between `parameters` and `arrays`: "const float* F_packed".
  std::vector<std::string> constants;
  std::map<std::int32_t, std::string> constant_names;  ///< by buffer
  /// Register buffers whose values the compiler must not load again (backends/cpp/symbolic/shared_loads.h).
  std::set<std::int32_t> pinned = {};
};

/// The loop variable of a product, or the name itself.
inline std::string variable_of(const std::string& name) {
  const std::size_t star = name.find('*');
  return star == std::string::npos ? name : name.substr(star + 1);
}

}  // namespace isamap
