// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/symbolic_model_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/compare_outputs.h"
#include "driver/part_comparisons.h"
#include "driver/symbolic/link_symbolic_model.h"
#include "frontends/layers.h"
#include "support/stopwatch.h"

namespace isamap {
namespace {

class SizedRun {
 public:
  SizedRun(const CompiledSymbolicModelParts& compiled, const Model& model, std::vector<TensorData> data, ModelRun& run)
      : compiled_(compiled), model_(model), run_(run), place_(tensor_places(model.kernel)) {
    run_.data = std::move(data);
  }

  /// Results of a part against the interpreter, on what the parts before it left.
  bool begin_comparison(std::size_t p, const std::vector<std::vector<std::uint8_t>>& arrays,
                        PartComparisons& comparisons) {
    const SymbolicBands* const bands = bands_of(p);
    if (bands != nullptr && p + 1 < bands->first + bands->count) {
      run_.parts.emplace_back();
      return true;  // behind the last part
    }
    const std::vector<std::size_t> statements =
        bands ? statements_of(compiled_, *bands) : compiled_.parts[p].statements;
    const Kernel kernel =
        statements.size() == model_.kernel.statements.size() ? model_.kernel : cut(model_.kernel, statements, "part");
    std::vector<TensorData> before = tensors_of_part(kernel, place_, run_.data);
    std::vector<TensorData> found(before.size());
    const std::vector<TensorId> written = traced_tensors(kernel);
    for (std::size_t i = 0; i < written.size() && i < arrays.size(); ++i) {
      const std::size_t t = written[i].index();
      found[t] = {before[t].dtype, before[t].shape, arrays[i]};
      run_.data[place_.at(kernel.tensors[t].name)].bytes = arrays[i];
    }
    run_.parts.emplace_back();
    comparisons.add(p, kernel, std::move(before), std::move(found));
    return comparisons.all_equal();
  }

  /// The first part that differs is the one that is told, and the last one.
  void judge(const std::vector<std::optional<Comparison>>& results) {
    for (std::size_t p = 0; p < run_.parts.size(); ++p) {
      if (!results[p]) continue;
      run_.parts[p].max_error = results[p]->max_error;
      run_.max_error = std::max(run_.max_error, results[p]->max_error);
      if (results[p]->equal) continue;
      wrong(compiled_.parts[p].name + ": wrong: " + results[p]->first_difference);
      run_.parts.resize(p + 1);
    }
  }

  /// Outputs of the whole, where the model has other statements at these sizes.
  bool compare_outputs(const std::vector<std::vector<std::vector<std::uint8_t>>>& arrays) {
    std::vector<TensorData> expected = run_.data;
    interpret(model_.kernel, expected);
    for (std::size_t o = 0; o < model_.outputs.size(); ++o) {
      const std::size_t t = model_.outputs[o].index();
      if (!take_output(o, arrays, run_.data[t]))
        return wrong("output '" + model_.file_names.at(model_.outputs[o]) + "' has another size");
      if (!alike(expected[t], run_.data[t], model_.file_names.at(model_.outputs[o]))) return false;
    }
    run_.parts.resize(compiled_.parts.size());
    return true;
  }

 private:
  bool wrong(const std::string& why) {
    run_.code = Exit::wrong_result;
    run_.problems = {error(why)};
    return false;
  }

  /// The last call that writes output `o` left it so.
  bool take_output(std::size_t o, const std::vector<std::vector<std::vector<std::uint8_t>>>& arrays,
                   TensorData& into) const {
    for (std::size_t c = arrays.size(); c-- > 0;) {
      const SymbolicCall& call = compiled_.program.calls[c];
      for (std::size_t i = 0; i < call.results.size(); ++i) {
        if (call.results[i].place != ModelPlace{ModelPlace::In::output, static_cast<std::int64_t>(o)}) continue;
        if (arrays[c][i].size() != into.bytes.size()) return false;
        into.bytes = arrays[c][i];
        return true;
      }
    }
    return false;
  }

  /// The bands that a part is in; null: none.
  const SymbolicBands* bands_of(std::size_t p) const {
    for (const SymbolicBands& bands : compiled_.program.bands)
      if (p >= bands.first && p < bands.first + bands.count) return &bands;
    return nullptr;
  }

  bool alike(const TensorData& expected, const TensorData& found, const std::string& name) {
    const OutputDifference difference = isamap::compare_outputs(name, expected, found, tolerance_of(model_.kernel));
    run_.max_error = std::max(run_.max_error, difference.max_error);
    return difference.first.empty() || wrong("wrong: " + difference.first);
  }

  const CompiledSymbolicModelParts& compiled_;
  const Model& model_;
  ModelRun& run_;
  TensorPlaces place_;
};

bool has_statements_of(const Model& a, const Model& b) {
  return a.kernel.statements.size() == b.kernel.statements.size() &&
         std::equal(a.kernel.tensors.begin(), a.kernel.tensors.end(), b.kernel.tensors.begin(), b.kernel.tensors.end(),
                    [](const Tensor& x, const Tensor& y) {
                      return x.name == y.name && x.shape.size() == y.shape.size() && x.constant == y.constant;
                    });
}

}  // namespace

ModelRun run_symbolic_model(const CompiledSymbolicModelParts& compiled, SymbolicModelRunner& runner,
                            const SampledModel& sampled, ModelAtSizes at, const ModelRunOptions& options) {
  ModelRun run;
  run.whole = true;
  const Bindings& sizes = at.sizes;
  const Model& model = at.model;
  std::vector<TensorData>& data = at.data;
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs) inputs.push_back(data[id.index()]);
  bool by_parts = has_statements_of(model, sampled.models[0]);
  for (const auto& [name, value] : sizes) by_parts = by_parts && value > 1;
  const Model stored = by_parts ? in_order(model, compiled.plan.order) : model;
  if (by_parts) data = in_order(std::move(data), compiled.plan.order);
  begin_shared_outputs(stored.kernel, data);
  SizedRun checked(compiled, stored, std::move(data), run);
  std::vector<std::vector<std::vector<std::uint8_t>>> all;
  const Stopwatch watch;
  PartComparisons comparisons(compiled.parts.size(), options.jobs);
  const auto outcome = runner.run(sizes, inputs, options.min_seconds, [&](std::size_t p, const auto& arrays) {
    if (by_parts) return checked.begin_comparison(p, arrays, comparisons);
    all.push_back(arrays);
    return true;
  });
  checked.judge(comparisons.finish());
  if (!outcome) {
    run.code = Exit::wrong_result;
    run.problems = outcome.diagnostics();
    return run;
  }
  run.executed = outcome->executed;
  if (const auto why = why_not_run(*outcome)) {
    run.code = why->first;
    run.problems = {why->second};
    return run;
  }
  if (!by_parts && !checked.compare_outputs(all)) return run;
  run.seconds = outcome->seconds;
  run.seconds_compiling = outcome->compiling;
  run.seconds_running = watch.seconds() - outcome->compiling;
  run.arena_bytes = outcome->arena_bytes;
  run.text_bytes = outcome->text_bytes;
  run.weights_bytes = static_cast<std::int64_t>(compiled.program.weights.size());
  for (std::size_t p = 0; p < run.parts.size() && p < outcome->part_seconds.size(); ++p)
    run.parts[p].seconds = outcome->part_seconds[p];
  return run;
}

}  // namespace isamap
