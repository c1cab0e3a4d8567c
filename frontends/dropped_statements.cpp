// SPDX-License-Identifier: Apache-2.0
#include "frontends/dropped_statements.h"

#include <algorithm>

namespace isamap {
namespace {

void keep_tensors(Model& model, const std::vector<bool>& used) {
  std::vector<TensorId> renumbered(used.size());
  std::vector<Tensor> kept;
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (!used[t]) continue;
    renumbered[t] = make_id<TensorId>(kept.size());
    kept.push_back(std::move(model.kernel.tensors[t]));
  }
  model.kernel.tensors = std::move(kept);
  const auto renumber = [&](TensorId& id) { id = renumbered[id.index()]; };
  for (Computation& statement : model.kernel.statements) {
    renumber(statement.write.tensor);
    for (Access& read : statement.reads) renumber(read.tensor);
  }
  std::erase_if(model.weights, [&](const Weight& weight) { return !used[weight.tensor.index()]; });
  for (Weight& weight : model.weights) renumber(weight.tensor);
  for (auto* list : {&model.inputs, &model.outputs})
    for (TensorId& id : *list) renumber(id);
  std::map<TensorId, std::string> names;
  for (auto& [id, name] : model.file_names)
    if (used[id.index()]) names[renumbered[id.index()]] = name;
  model.file_names = std::move(names);
}

}  // namespace

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
  keep_tensors(model, used);
}

void take_origin(Model& model, std::size_t from, std::size_t into) {
  std::vector<std::string> nodes = model.origins[from].nodes;
  for (const std::string& node : model.origins[into].nodes)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  model.origins[into].nodes = std::move(nodes);
}

}  // namespace isamap
