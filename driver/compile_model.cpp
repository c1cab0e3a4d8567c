// SPDX-License-Identifier: Apache-2.0
#include "driver/compile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "driver/execute.h"
#include "frontends/layers.h"
#include "support/stopwatch.h"

namespace isamap {

namespace {

CompiledPart described(const Model& model, const Part& part) {
  CompiledPart made;
  for (const std::size_t s : part.statements) {
    if (s >= model.origins.size()) continue;
    for (const std::string& node : model.origins[s].nodes)
      if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) made.nodes.push_back(node);
  }
  const std::size_t first = part.statements.front();
  made.name = made.nodes.empty() ? model.kernel.statements[first].name : made.nodes.front();
  made.kernel = part.statements.size() == model.kernel.statements.size() ? model.kernel
                                                                         : cut(model.kernel, part.statements, "part");
  return made;
}

/// Statements that an instruction computes; schedules that were read have no mappings.
std::size_t instructions_in(const Schedule& schedule) {
  std::size_t count = 0;
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* compute = std::get_if<Do>(&line.is)) count += compute->instruction.empty() ? 0 : 1;
  return count;
}

}  // namespace

Model in_order(const Model& model, const Orders& orders) {
  Model stored = model;
  stored.kernel = in_order(model.kernel, orders);
  return stored;
}

std::vector<TensorData> in_order(std::vector<TensorData> data, const Orders& orders) {
  for (std::size_t t = 0; t < orders.size(); ++t) data[t] = in_order(data[t], orders[t]);
  return data;
}

void begin_shared_outputs(const Kernel& kernel, std::vector<TensorData>& data) {
  std::set<TensorId> seen;
  for (const Computation& statement : kernel.statements) {
    const TensorId id = statement.write.tensor;
    const Tensor& tensor = kernel.tensors[id.index()];
    if (!seen.insert(id).second || tensor.inout || writer_count(kernel, id) < 2) continue;
    const Scalar start = identity(statement.reduction, tensor.dtype);
    for (std::int64_t i = 0; i < data[id.index()].count(); ++i) data[id.index()].set(i, start);
  }
}

CompiledModel compile_model(const Model& model, ModelPlan plan, PartStore& store) {
  const Stopwatch watch;
  CompiledModel made;
  made.plan = std::move(plan);
  std::map<std::string, std::size_t> programs;  // by canonical text
  std::vector<std::size_t> first_of;            // by program: the part it is compiled for
  std::vector<Kernel> kernels;
  for (const Part& part : made.plan.parts) {
    CompiledPart& one = made.parts.emplace_back(described(model, part));
    const auto [known, is_new] = programs.try_emplace(key_of(one.kernel), first_of.size());
    if (is_new) first_of.push_back(made.parts.size() - 1);
    if (is_new) kernels.push_back(one.kernel);
    one.program = known->second;
    one.same_as = first_of[one.program];
  }
  store.add(kernels);
  for (const Kernel& kernel : kernels) made.programs.push_back(store.find(kernel));
  for (CompiledPart& part : made.parts) {
    const Compilation& compilation = *made.programs[part.program];
    if (!compilation.program) {
      if (made.code == Exit::ok) made.code = compilation.code == Exit::ok ? Exit::wrong_result : compilation.code;
      for (Diagnostic problem : compilation.problems) {
        problem.message = part.name + ": " + problem.message;
        made.problems.push_back(std::move(problem));
      }
      continue;
    }
    part.predicted_cycles = compilation.scheduled->cost.cycles;
    made.predicted_cycles += part.predicted_cycles;
    part.mapped = std::min(part.kernel.statements.size(), instructions_in(compilation.scheduled->schedule));
  }
  made.seconds = watch.seconds();
  return made;
}

}  // namespace isamap
