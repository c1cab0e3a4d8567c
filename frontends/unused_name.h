// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of tensors and statements that a change of a model adds.

#include <set>
#include <string>

namespace isamap {

/// The first of NAME, NAME_1, NAME_2, .. that is not among the names; it is one of them then.
inline std::string unused_name(std::set<std::string>& names, const std::string& wanted) {
  std::string name = wanted;
  for (int n = 1; !names.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
  return name;
}

}  // namespace isamap
