// SPDX-License-Identifier: Apache-2.0
#include "driver/extract_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>

#include "ir/verify/recurrence.h"
#include "isamap/backend.h"
#include "mapper/match/instruction_tree.h"
#include "support/stop.h"
#include "support/threads.h"

namespace isamap {
namespace {

std::map<std::string, std::vector<std::int64_t>> tiles_of(const Nest& nest) {
  std::map<std::string, std::vector<std::int64_t>> tiles;
  for (const Line& line : nest.lines)
    if (const For* loops = std::get_if<For>(&line.is))
      for (const TiledLoop& loop : loops->loops) tiles[loop.dim].push_back(loop.tile);
  return tiles;
}

/// The mapping of the schedule: the enumerated one with the instruction and digits of the `do` line.
std::optional<Mapping> chosen(const Compilation& compiled) {
  const auto& mappings = compiled.scheduled->mappings;
  if (mappings.empty() || !mappings.front().instruction.valid()) return std::nullopt;
  return mappings.front();
}

void run_layer(LayerResult& layer, const Program& program, const HardwareModel& model, const ExtractOptions& options) {
  const Diagnostics too_large = too_large_to_run(layer.kernel);
  auto checked = too_large.empty() ? run_and_compare(program, model, options.seed, 0.05, {false, options.tell})
                                   : Result<Checked>(too_large);
  if (!checked) {
    layer.code = too_large.empty() ? Exit::wrong_result : Exit::limit;
    layer.reasons.push_back("not run: " + render(checked.diagnostics()));
    return;
  }
  layer.checked = *checked;
  layer.code = exit_of(*checked);
  if (const std::string why = why_not_run(*checked); !why.empty()) {
    layer.reasons.push_back("not run: " + why);
  } else if (!checked->correct) {
    layer.reasons.push_back("wrong result: " + checked->first_difference);
  }
}

/// The worse of two codes: a wrong result is worse than other failures, and any failure is worse than ok.
Exit worse(Exit a, Exit b) {
  const auto weight = [](Exit code) {
    switch (code) {
      case Exit::ok:
        return 0;
      case Exit::missing:
        return 1;
      case Exit::limit:
        return 2;
      default:
        return 3;
    }
  };
  return weight(b) > weight(a) ? b : a;
}

LayerResult not_a_kernel(const Layer& layer) {
  LayerResult result;
  result.name = layer.name;
  result.op = layer.op;
  result.reasons = {layer.reason};
  return result;
}

/// Nothing maps, no schedule exists, or none was found within the limits.
bool unanswered(Exit code) { return code == Exit::no_answer || code == Exit::limit; }

}  // namespace

std::string identity_of(const Kernel& kernel) {
  Kernel anonymous = kernel;
  anonymous.name = "_";
  return print(anonymous);
}

std::vector<Layer> products_of(const LayerList& model) {
  std::vector<Layer> layers = model.layers;
  for (Layer& layer : layers) {
    if (!layer.kernel || layer.kernel->statements.size() == 1) continue;
    layer.kernel = as_model(*layer.kernel).layers.front().kernel;
    layer.kernel->name = layer.name;
  }
  return layers;
}

namespace {

struct CompiledLayer {
  LayerResult layer;
  std::optional<Program> program;
};

CompiledLayer compiled_layer(const std::string& name, const std::string& op, const Kernel& kernel,
                             const HardwareModel& model, const ExtractOptions& options) {
  CompiledLayer made;
  LayerResult& layer = made.layer;
  layer.name = name;
  layer.op = op;
  layer.kernel = kernel;
  layer.matmul = extracted_matmul(kernel, make_id<StatementId>(0));
  CompileOptions with = options.compile;
  with.all_sizes = options.run;
  Compilation compiled = compile(kernel, model, with);
  layer.mappings = compiled.mapped.mappings.size();
  layer.mapped = layer.mappings > 0;
  if (!layer.mapped) layer.reasons = rejection_reasons(compiled.mapped, make_id<StatementId>(0), model);
  for (const ScalarCode& code : scalar_code(compiled, kernel, model))  // maps, but scalar code is cheaper
    if (layer.mapped)
      for (const std::string& reason : code.reasons) layer.reasons.push_back("scalar code: " + reason);
  if (compiled.scheduled) {
    layer.schedule = compiled.scheduled->schedule;
    layer.mapping = chosen(compiled);
    layer.cost = compiled.scheduled->cost;
    if (!layer.schedule.nests.empty()) layer.tiles = tiles_of(layer.schedule.nests.front());
    if (layer.mapping) layer.instruction = instruction_of(*layer.mapping, model).name;
  }
  if (!compiled.program) {
    layer.code = layer.mapped ? compiled.code : Exit::ok;
    if (compiled.code != Exit::no_answer || layer.mapped) layer.reasons.push_back(render(compiled.problems));
    return made;
  }
  made.program = std::move(compiled.program);
  return made;
}

/// Distinct layers, in order; `of`: of each layer of the model, the place of its kernel among them.
struct DistinctLayers {
  std::vector<const Layer*> layers;
  std::vector<std::size_t> of;
};
DistinctLayers distinct_layers(const std::vector<Layer>& all) {
  DistinctLayers found;
  std::map<std::string, std::size_t> known;
  for (const Layer& layer : all) {
    found.of.push_back(found.layers.size());
    if (!layer.kernel) continue;
    const auto [same, first_time] = known.emplace(identity_of(*layer.kernel), found.layers.size());
    if (first_time) found.layers.push_back(&layer);
    found.of.back() = same->second;
  }
  return found;
}

CompiledLayer left_out(const Layer& layer) {
  CompiledLayer made;
  made.layer.name = layer.name;
  made.layer.op = layer.op;
  made.layer.kernel = *layer.kernel;
  made.layer.matmul = extracted_matmul(*layer.kernel, make_id<StatementId>(0));
  made.layer.code = Exit::limit;
  made.layer.reasons = {"not compiled: interrupted before"};
  return made;
}

/// After Ctrl-C a layer that is being compiled has a moment to end with its best so far.
class Moment {
 public:
  explicit Moment(const std::function<bool()>& stopped) : stopped_(stopped) {}
  bool over() {
    if (!stopped_ || !stopped_()) return false;
    const auto now = Clock::now().time_since_epoch().count();
    Clock::rep first = 0;
    if (stopped_at_.compare_exchange_strong(first, now)) return false;
    return Clock::duration(now - first) > std::chrono::milliseconds(100);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool()>& stopped_;
  std::atomic<Clock::rep> stopped_at_{0};  ///< 0: not yet
};

std::vector<CompiledLayer> compiled_layers(const std::vector<const Layer*>& layers, const HardwareModel& model,
                                           ExtractOptions options) {
  const auto workers = std::make_shared<Workers>(options.compile.schedule.jobs);
  options.compile.schedule.workers = workers;  // the search of the last layer has all of them
  std::mutex mutex;
  Moment moment(options.stopped);
  const std::function<bool()> leaves = [&] { return moment.over(); };
  return for_each_in_parallel(*workers, layers.size(), [&](std::size_t l) {
    const Layer& layer = *layers[l];
    if (options.stopped && options.stopped()) return left_out(layer);
    if (options.progress) {
      const std::lock_guard lock(mutex);
      options.progress(fmt::format("layer {} of {}: {}", l + 1, layers.size(), layer.name));
    }
    try {
      const StopWhen scope(leaves);
      return compiled_layer(layer.name, layer.op, *layer.kernel, model, options);
    } catch (const EndedEarly&) {
      return left_out(layer);
    }
  });
}

/// Side by side what needs no clock, then one after another.
void run_layers(std::vector<CompiledLayer>& layers, const HardwareModel& model, const ExtractOptions& options) {
  std::vector<const Program*> programs;
  for (const CompiledLayer& one : layers)
    if (one.program && too_large_to_run(one.layer.kernel).empty()) programs.push_back(&*one.program);
  if (options.compile.schedule.jobs > 1)
    make_runner(model)->prepare(programs, options.compile.schedule.jobs, options.stopped);
  for (CompiledLayer& one : layers) {
    if (!one.program) continue;
    const auto stopped = [&] { return options.stopped && options.stopped(); };
    if (!stopped()) {
      LayerResult ran = one.layer;
      try {
        const StopWhen scope(options.stopped);
        run_layer(ran, *one.program, model, options);
        if (!stopped()) one.layer = std::move(ran);  // else it was killed
      } catch (const EndedEarly&) {
      }
    }
    if (stopped() && !one.layer.checked) {
      one.layer.code = Exit::limit;
      one.layer.reasons.push_back("not run: interrupted before");
    }
  }
}

}  // namespace

LayerResult compile_layer(const std::string& name, const std::string& op, const Kernel& kernel,
                          const HardwareModel& model, const ExtractOptions& options) {
  CompiledLayer made = compiled_layer(name, op, kernel, model, options);
  if (options.run && made.program) run_layer(made.layer, *made.program, model, options);
  return std::move(made.layer);
}

Extraction extract(const LayerList& layers, const HardwareModel& model, const ExtractOptions& options) {
  Extraction extraction;
  extraction.model = layers.name;
  extraction.target = model.name;
  extraction.notes = layers.notes;
  const std::vector<Layer>& flat = layers.layers;
  const DistinctLayers distinct = distinct_layers(flat);
  std::vector<CompiledLayer> compiled = compiled_layers(distinct.layers, model, options);
  if (options.run) run_layers(compiled, model, options);
  for (std::size_t l = 0; l < flat.size(); ++l) {
    const Layer& layer = flat[l];
    if (!layer.kernel) {
      extraction.layers.push_back(not_a_kernel(layer));
      continue;
    }
    extraction.layers.push_back(compiled[distinct.of[l]].layer);
    if (distinct.layers[distinct.of[l]] != &layer) {
      LayerResult& again = extraction.layers.back();
      again.same_as = again.name;
      again.name = layer.name;
      again.op = layer.op;
    }
    extraction.layers.back().notes = layer.notes;
    // A layer without an answer has reasons; the other layers are still reported.
    const Exit code = extraction.layers.back().code;
    if (!unanswered(code)) extraction.code = worse(extraction.code, code);
  }
  const bool any = std::any_of(extraction.layers.begin(), extraction.layers.end(),
                               [](const auto& l) { return l.mapped && !unanswered(l.code); });
  const bool cut = std::any_of(extraction.layers.begin(), extraction.layers.end(),
                               [](const auto& l) { return l.code == Exit::limit; });
  if (!any) extraction.code = cut ? Exit::limit : Exit::no_answer;
  if (options.stopped && options.stopped()) extraction.code = worse(extraction.code, Exit::limit);
  return extraction;
}

LayerList as_model(const Kernel& whole) {
  const Kernel kernel = one_step_of(whole);  // of a recurrence one step is a layer
  LayerList model;
  model.name = kernel.name;
  std::set<std::string> written;
  for (const Computation& statement : kernel.statements) {
    Kernel one;
    one.name = kernel.statements.size() == 1 ? kernel.name : kernel.name + "_" + statement.name;
    one.sizes = kernel.sizes;
    one.where = kernel.where;
    std::map<TensorId, TensorId> renumbered;
    const auto take = [&](Access& access) {
      const auto [place, is_new] = renumbered.emplace(access.tensor, make_id<TensorId>(one.tensors.size()));
      if (is_new) {
        Tensor tensor = kernel.tensors[access.tensor.index()];
        if (access.tensor != statement.write.tensor) tensor.inout = tensor.output = false;  // an input of the layer
        one.tensors.push_back(std::move(tensor));
      }
      access.tensor = place->second;
    };
    Computation alone = statement;
    for (Access& access : alone.reads) take(access);
    take(alone.write);
    Tensor& result = one.tensors[alone.write.tensor.index()];
    // A later statement accumulates onto the result of an earlier one, which becomes an input.
    if (written.count(result.name) && statement.reduction != Reduction::assign) result.inout = true;
    written.insert(result.name);
    one.statements.push_back(std::move(alone));
    const std::string layer_name = kernel.statements.size() == 1 ? kernel.name : statement.name;
    Layer layer;
    layer.name = layer_name;
    layer.op = kernel.name;
    layer.kernel = std::move(one);
    model.layers.push_back(std::move(layer));
  }
  return model;
}

}  // namespace isamap
