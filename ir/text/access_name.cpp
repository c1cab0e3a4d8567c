// SPDX-License-Identifier: Apache-2.0
#include "ir/text/access_name.h"

#include <algorithm>

namespace isamap {

std::string access_name(const std::vector<Tensor>& tensors, const Computation& statement, int access) {
  const TensorId tensor = access_of(statement, access).tensor;
  const std::string& name = tensors[tensor.index()].name;
  if (access == 0 || tensor == statement.write.tensor) return name;
  const auto before = std::count_if(statement.reads.begin(), statement.reads.begin() + (access - 1),
                                    [&](const Access& read) { return read.tensor == tensor; });
  return before == 0 ? name : name + "." + std::to_string(before + 1);
}

bool holds(const Stage& stage, const std::vector<Tensor>& tensors, const Computation& statement, int access) {
  if (!stage.from.empty()) return tensors[access_of(statement, access).tensor.index()].name == stage.tensor;
  return access_name(tensors, statement, access) == stage.tensor;
}

std::string tile_name(const Stage& stage) {
  std::string name = stage.tensor;
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + stage.memory;
}

}  // namespace isamap
