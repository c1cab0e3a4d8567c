// SPDX-License-Identifier: Apache-2.0
#include "driver/run_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "driver/execute.h"
#include "frontends/layers.h"
#include "isamap/backend.h"

namespace isamap {

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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

/// Tensors that several parts write begin at the identity of the first writer, as in the interpreter.
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

class ModelRunner {
 public:
  ModelRunner(const Model& model, const HardwareModel& machine, const ModelRunOptions& options, ModelRun& run)
      : model_(model), machine_(machine), options_(options), run_(run), runner_(make_runner(machine)) {}

  /// False: the run ends here, for the reason in `run.problems`.
  bool part(const ModelPart& part) {
    const bool whole = part.count == model_.kernel.statements.size();
    const Kernel kernel = whole ? model_.kernel : cut(model_.kernel, part.first, part.count, "part");
    PartRun& made = run_.parts.emplace_back();
    describe(part, made);
    if (Diagnostics large = too_large_to_run(kernel); !large.empty()) return ends(Exit::limit, std::move(large));
    const auto [known, is_new] = compiled_.try_emplace(key_of(kernel), run_.parts.size() - 1, Compilation{});
    made.same_as = known->second.first;
    Compilation& compilation = known->second.second;
    if (is_new) {
      const auto start = Clock::now();
      compilation = compile(kernel, machine_, options_.compile);
      run_.seconds_searching += since(start);
      ++run_.distinct;
    }
    if (!compilation.program) return ends(compilation.code, compilation.problems);
    made.predicted_cycles = compilation.scheduled->cost.cycles;
    for (const Mapping& mapping : compilation.scheduled->mappings) made.mapped += mapping.instruction.valid() ? 1 : 0;
    return execute(kernel, *compilation.program, made);
  }

 private:
  void describe(const ModelPart& part, PartRun& made) const {
    made.statements = part.count;
    for (std::size_t s = part.first; s < part.first + part.count && s < model_.origins.size(); ++s)
      for (const std::string& node : model_.origins[s].nodes)
        if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) made.nodes.push_back(node);
    made.name = made.nodes.empty() ? model_.kernel.statements[part.first].name : made.nodes.front();
  }

  bool ends(Exit code, Diagnostics problems) {
    for (Diagnostic& problem : problems) problem.message = run_.parts.back().name + ": " + problem.message;
    run_.code = code == Exit::ok ? Exit::wrong_result : code;
    run_.problems = std::move(problems);
    return false;
  }

  /// Dims may be seen otherwise in a part (frontends/layers.h); the bytes are the same.
  std::vector<TensorData> taken(const Kernel& kernel) const {
    std::vector<TensorData> data;
    for (const Tensor& tensor : kernel.tensors) {
      data.push_back(run_.data[place_.at(tensor.name)]);
      data.back().shape = tensor.shape;
    }
    return data;
  }

  bool execute(const Kernel& kernel, const Program& program, PartRun& made) {
    if (place_.empty())
      for (std::size_t t = 0; t < model_.kernel.tensors.size(); ++t) place_[model_.kernel.tensors[t].name] = t;
    const auto start = Clock::now();
    std::vector<TensorData> found = taken(kernel), expected = found;
    const auto outcome = runner_->run(program, found, {}, options_.min_seconds);
    if (!outcome) return ends(Exit::wrong_result, outcome.diagnostics());
    run_.executed = outcome->executed;
    for (const auto& [reason, code] : {std::pair(outcome->missing, Exit::missing),
                                       {outcome->limit, Exit::limit},
                                       {outcome->environment, Exit::missing}})
      if (!reason.empty()) return ends(code, {error("not run: " + reason)});
    interpret(kernel, expected);
    const Comparison same = compare(kernel, expected, found);
    made.seconds = outcome->seconds;
    made.cycles = outcome->cycles;
    made.max_error = same.max_error;
    run_.seconds_running += since(start);
    if (!same.equal) return ends(Exit::wrong_result, {error("wrong: " + same.first_difference)});
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
      if (role_of(kernel, make_id<TensorId>(t)) != Role::output) continue;
      TensorData& of_model = run_.data[place_.at(kernel.tensors[t].name)];
      std::vector<std::int64_t> shape = of_model.shape;
      of_model = std::move(found[t]);
      of_model.shape = std::move(shape);
    }
    return true;
  }

  const Model& model_;
  const HardwareModel& machine_;
  const ModelRunOptions& options_;
  ModelRun& run_;
  std::unique_ptr<Runner> runner_;
  std::map<std::string, std::pair<std::size_t, Compilation>> compiled_;  ///< by canonical text: first part, program
  std::map<std::string, std::size_t> place_;                             ///< of a tensor of the model, by name
};

}  // namespace

std::vector<ModelPart> parts_of(const Kernel& kernel) {
  constexpr std::size_t most_statements = 12;
  const std::size_t all = kernel.statements.size();
  if (!kernel.repeats.empty()) return {{0, all}};
  std::vector<ModelPart> parts;
  for (std::size_t s = 0; s < all; ++s)
    if (s > 0 && parts.back().count < most_statements && continues(kernel, s))
      ++parts.back().count;
    else
      parts.push_back({s, 1});
  return parts;
}

ModelRun run_model(const Model& model, const HardwareModel& machine, std::vector<TensorData> data,
                   const ModelRunOptions& options) {
  ModelRun run;
  const Availability here = availability(machine);
  run.executed = here.how;
  if (here.how == ExecutionMode::unavailable) {
    run.code = Exit::missing;
    run.problems = {error("not run: " + here.why)};
    return run;
  }
  run.data = std::move(data);
  begin_shared_outputs(model.kernel, run.data);
  const std::vector<ModelPart> parts = parts_of(model.kernel);
  ModelRunner runner(model, machine, options, run);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    options.progress(fmt::format("part {} of {}, {} compiled", p + 1, parts.size(), run.distinct));
    if (!runner.part(parts[p])) return run;
    run.seconds += run.parts.back().seconds;
    run.cycles += run.parts.back().cycles;
    run.predicted_cycles += run.parts.back().predicted_cycles;
    run.max_error = std::max(run.max_error, run.parts.back().max_error);
  }
  return run;
}

}  // namespace isamap
