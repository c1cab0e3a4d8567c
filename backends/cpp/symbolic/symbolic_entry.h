// SPDX-License-Identifier: Apache-2.0
#pragma once
// What entries with sizes as arguments have in common.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/translation_unit.h"
#include "isamap/hardware.h"
#include "isamap/symbolic.h"

namespace isamap {

/// Of a constant whose copies are kept from call to call.
struct KeptNames {
  std::string is_kept;  ///< "B_kept": whether they are those of the call before
  std::string last;     ///< "B_last": the array and the sizes of that call
  bool shared = false;  ///< the share, too
};

/// What an entry calls its arguments and intermediate tensors.
struct EntryNames {
  std::map<TensorId, std::string> pointers;
  std::map<std::string, std::string> sizes;  ///< by size
  std::map<BufferId, std::string> packed;    ///< by buffer of the arguments that is packed ahead of time
  std::map<TensorId, KeptNames> kept = {};
  std::map<TensorId, KeptNames> kept_shares = {};  ///< of the copies of a thread, where cells are distributed
  std::set<int> shared_axes = {};                  ///< of a grid: a thread has positions `beginA` to `endA` of axis A
  std::string copied = {};                         ///< condition of padded copies: "if (..)"
  std::string packings = {};                     ///< counts calls of NAME_pack; empty: copies of constants are not kept
  std::vector<std::string> edge_functions = {};  ///< of positions at edges, at most one a grid
  std::string edges = {};                        ///< calls the function of the grids at edges: "NAME_edges1(..);"
  std::vector<std::string> loops = {};           ///< by statement: the function of its plain loops
  std::string once = {};                         ///< condition of what is done for the first strip only: "if (..)"
  bool team = false;  ///< all members of a team execute the entry (backends/cpp/function/team.h)
};

/// `a*M + b` with divisions that round down; `names`: of the arguments, by size.
std::string size_text(const AffineExpr& e, const std::map<std::string, std::string>& names);

/// `4 * (H) * (W + 1)`.
std::string product_text(const SizeProduct& product, const std::map<std::string, std::string>& names);
/// The positions of an axis.
std::string extent_text(const GridAxis& axis, const std::map<std::string, std::string>& names);

/// Statements that return 1 with a line on stderr where a size breaks a fact.
std::string size_checks(const std::string& entry, const SizeFacts& facts,
                        const std::map<std::string, std::string>& names);

/// "\nneeds C++17: ..", for the first comment; empty: it needs nothing. `team`: of a model, which has its threads.
std::string flags_line(const HardwareModel& model, bool team);

/// "const float* __restrict A, float* __restrict C"
std::string parameter_list(const std::vector<EntryArgument>& arguments);

/// Functions that these texts call.
extern const char* const symbolic_helpers;

}  // namespace isamap
