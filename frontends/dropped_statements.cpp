// SPDX-License-Identifier: Apache-2.0
#include "frontends/dropped_statements.h"

#include <algorithm>

namespace isamap {

void keep_tensors(const std::vector<bool>& used, Kernel& kernel, const TensorUses& uses) {
  std::vector<TensorId> renumbered(used.size());
  std::vector<Tensor> kept;
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) continue;
    renumbered[t] = make_id<TensorId>(kept.size());
    kept.push_back(std::move(kernel.tensors[t]));
  }
  kernel.tensors = std::move(kept);
  const auto renumber = [&](TensorId& id) { id = renumbered[id.index()]; };
  for (Computation& statement : kernel.statements) {
    renumber(statement.write.tensor);
    for (Access& read : statement.reads) renumber(read.tensor);
  }
  std::erase_if(uses.weights, [&](const Weight& weight) { return !used[weight.tensor.index()]; });
  for (Weight& weight : uses.weights) renumber(weight.tensor);
  for (auto* list : {&uses.inputs, &uses.outputs})
    for (TensorId& id : *list) renumber(id);
  std::map<TensorId, std::string> names;
  for (auto& [id, name] : uses.names)
    if (used[id.index()]) names[renumbered[id.index()]] = name;
  uses.names = std::move(names);
}

void drop_statements(Model& model, const std::vector<bool>& gone) {
  Kernel& kernel = model.kernel;
  std::vector<bool> used(kernel.tensors.size(), false);
  std::vector<std::size_t> number(gone.size() + 1, 0);
  std::vector<Computation> statements;
  std::vector<Origin> origins;
  for (std::size_t s = 0; s < gone.size(); ++s) {
    number[s + 1] = number[s] + (gone[s] ? 0 : 1);
    if (gone[s]) continue;
    Computation& statement = kernel.statements[s];
    for (int a = 0; a < access_count(statement); ++a) used[access_of(statement, a).tensor.index()] = true;
    statements.push_back(std::move(statement));
    origins.push_back(std::move(model.origins[s]));
  }
  kernel.statements = std::move(statements);
  model.origins = std::move(origins);
  for (Repeat& repeat : kernel.repeats) repeat.first = number[repeat.first];
  for (const auto* list : {&model.inputs, &model.outputs})
    for (const TensorId id : *list) used[id.index()] = true;
  keep_tensors(used, kernel, {model.weights, model.inputs, model.outputs, model.file_names});
}

void take_origin(Model& model, std::size_t from, std::size_t into) {
  std::vector<std::string> nodes = model.origins[from].nodes;
  for (const std::string& node : model.origins[into].nodes)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  model.origins[into].nodes = std::move(nodes);
}

}  // namespace isamap
