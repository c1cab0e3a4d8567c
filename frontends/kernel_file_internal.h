// SPDX-License-Identifier: Apache-2.0
#pragma once
// State of a kernel file while it is read, shared by the files that read it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "isamap/symbolic.h"
#include "support/yaml.h"

namespace isamap {

inline constexpr std::size_t max_kernel_entries = 65536;  ///< dims, tensors or statements in one file

struct KernelFile {
  Kernel kernel;
  std::map<std::string, std::int64_t> extents;  ///< of iterators: `where` and lower-case dims
  std::map<std::string, SourceLocation> extent_where;
  std::string step;                                    ///< the iterator of the enclosing `repeat`
  std::set<std::string> broken_sizes, broken_tensors;  ///< reported already
  KernelPlaces places;
  std::vector<std::string> texts;  ///< of the statements
  std::set<std::string> statement_names;
  Bindings given;                           ///< values of symbolic sizes
  SizeFacts declared;                       ///< of all sizes with facts, those with given values too
  std::map<std::string, AffineExpr> exact;  ///< of sizes and extents that depend on symbolic ones
  SymbolicKernel symbolic;
  yaml::Source source;
  Diagnostics diagnostics;

  void report(const SourceLocation& where, std::string message, std::string hint = "") {
    diagnostics.push_back(error_at(where, std::move(message), std::move(hint)));
  }
};

/// Is the node a map of at most `max_kernel_entries` entries? Reports otherwise.
bool is_map(KernelFile& file, const yaml::Node& node, const std::string& what, const std::string& hint);
/// Reports a name that is no identifier.
void check_name(KernelFile& file, const SourceLocation& where, const std::string& what, const std::string& name);
/// The value of `P + R - 1`, not negative, and as an expression over symbolic sizes. Problems are reported, those of
/// broken sizes only once.
std::optional<std::int64_t> read_size(KernelFile& file, const yaml::Node& node, const std::string& what,
                                      AffineExpr* exact = nullptr);
/// The map of tensors.
void read_tensors(KernelFile& file, const yaml::Node* node);

}  // namespace isamap
