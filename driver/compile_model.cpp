// SPDX-License-Identifier: Apache-2.0
#include "driver/compile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "driver/execute.h"
#include "frontends/layers.h"
#include "support/stopwatch.h"
#include "support/threads.h"

namespace isamap {

namespace {

std::size_t writers_of(const Kernel& kernel, TensorId tensor) {
  return static_cast<std::size_t>(std::count_if(kernel.statements.begin(), kernel.statements.end(),
                                                [&](const Computation& s) { return s.write.tensor == tensor; }));
}

/// Element-wise on what the statement before it wrote: every point of its own element, as many as were written.
bool continues(const Kernel& kernel, std::size_t s) {
  const Computation& statement = kernel.statements[s];
  const TensorId before = kernel.statements[s - 1].write.tensor;
  const bool reads = std::any_of(statement.reads.begin(), statement.reads.end(),
                                 [&](const Access& read) { return read.tensor == before; });
  const bool reduces = statement.reduction != Reduction::assign ||
                       std::any_of(statement.domain.dims.begin(), statement.domain.dims.end(),
                                   [](const Dim& d) { return d.kind == DimKind::reduction; });
  const auto elements = [&](TensorId id) { return element_count(kernel.tensors[id.index()]); };
  return reads && !reduces && statement.write.tensor != before &&
         elements(before) == elements(statement.write.tensor) && writers_of(kernel, before) == 1 &&
         writers_of(kernel, statement.write.tensor) == 1;
}

/// The part with names that do not depend on its place in the model: equal parts print the same text.
std::string key_of(Kernel part) {
  part.name = "part";
  for (std::size_t t = 0; t < part.tensors.size(); ++t) part.tensors[t].name = fmt::format("t{}", t);
  for (std::size_t s = 0; s < part.statements.size(); ++s) part.statements[s].name = fmt::format("s{}", s);
  return print(part);
}

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

/// Work that several threads take one by one.
template <class Work>
void in_turn(std::size_t count, std::size_t jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  side_by_side(std::max<std::size_t>(1, std::min(jobs, count)), [&](std::size_t) {
    for (std::size_t i; (i = next++) < count;) work(i);
  });
}

}  // namespace

Plan chain_plan(const Kernel& kernel) {
  constexpr std::size_t most_statements = 12;
  Plan plan;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const bool joins = s > 0 && (!kernel.repeats.empty() ||
                                 (plan.parts.back().statements.size() < most_statements && continues(kernel, s)));
    if (!joins) plan.parts.emplace_back();
    plan.parts.back().statements.push_back(s);
  }
  return plan;
}

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
    if (!seen.insert(id).second || tensor.inout || writers_of(kernel, id) < 2) continue;
    const Scalar start = identity(statement.reduction, tensor.dtype);
    for (std::int64_t i = 0; i < data[id.index()].count(); ++i) data[id.index()].set(i, start);
  }
}

CompiledModel compile_model(const Model& model, Plan plan, const HardwareModel& machine,
                            const ModelCompileOptions& options) {
  const Stopwatch watch;
  CompiledModel made;
  made.plan = std::move(plan);
  std::map<std::string, std::size_t> programs;  // by canonical text
  std::vector<std::size_t> first_of;            // by program: the part it is compiled for
  for (const Part& part : made.plan.parts) {
    CompiledPart& one = made.parts.emplace_back(described(model, part));
    const auto [known, is_new] = programs.try_emplace(key_of(one.kernel), first_of.size());
    if (is_new) first_of.push_back(made.parts.size() - 1);
    one.program = known->second;
    one.same_as = first_of[one.program];
  }
  made.programs.resize(first_of.size());
  std::mutex lock;
  std::size_t done = 0;
  in_turn(first_of.size(), options.jobs, [&](std::size_t p) {
    const Kernel& kernel = made.parts[first_of[p]].kernel;
    made.programs[p] = compile(kernel, machine, options.compile);
    const std::lock_guard<std::mutex> held(lock);
    options.progress(fmt::format("{} of {} programs compiled", ++done, first_of.size()));
  });
  for (CompiledPart& part : made.parts) {
    const Compilation& compilation = made.programs[part.program];
    if (!compilation.program) {
      made.code = compilation.code == Exit::ok ? Exit::wrong_result : compilation.code;
      made.problems = compilation.problems;
      for (Diagnostic& problem : made.problems) problem.message = part.name + ": " + problem.message;
      break;
    }
    part.predicted_cycles = compilation.scheduled->cost.cycles;
    made.plan.cost += part.predicted_cycles;
    for (const Mapping& mapping : compilation.scheduled->mappings) part.mapped += mapping.instruction.valid() ? 1 : 0;
  }
  made.seconds = watch.seconds();
  return made;
}

}  // namespace isamap
