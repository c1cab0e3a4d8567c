// SPDX-License-Identifier: Apache-2.0
#include "driver/run_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/assembly/model_stream.h"
#include "backends/model_runner.h"
#include "driver/execute.h"
#include "driver/part_comparisons.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "support/stopwatch.h"

namespace isamap {

namespace {

class ModelRunner {
 public:
  ModelRunner(const Model& model, const CompiledModel& compiled, const HardwareModel& machine,
              const ModelRunOptions& options, ModelRun& run)
      : model_(model),
        compiled_(compiled),
        machine_(machine),
        options_(options),
        run_(run),
        place_(tensor_places(model.kernel)) {}

  void part_by_part() {
    const auto runner = make_runner(machine_);
    std::vector<const Program*> programs;
    for (const auto& compilation : compiled_.programs) programs.push_back(&*compilation->program);
    if (options_.jobs > 1) runner->prepare(programs, options_.jobs);
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p) {
      options_.progress(fmt::format("part {} of {}", p + 1, compiled_.parts.size()));
      if (!execute(p, *runner)) return;
      run_.seconds += run_.parts.back().seconds;
      run_.cycles += run_.parts.back().cycles;
    }
  }

  void whole() {
    run_.whole = true;
    options_.progress("weights are packed");
    const auto linked = link_model(model_, compiled_, run_.data, machine_);
    if (!linked) return ends(0, Exit::wrong_result, linked.diagnostics());
    if (is_command_stream(machine_))  // a model that exceeds the memory has no program
      if (const auto stream = model_stream(*linked, machine_); !stream)
        return ends(0, Exit::no_answer, stream.diagnostics());
    run_.arena_bound = linked->arena_bound;
    run_.blocks = linked->blocks;
    run_.weights_bytes = static_cast<std::int64_t>(linked->weights.size());
    std::vector<TensorData> inputs;
    for (const TensorId id : model_.inputs) inputs.push_back(run_.data[id.index()]);
    const auto traced = traced_arrays(*linked);
    options_.progress("the program is compiled and run");
    const Stopwatch watch;
    PartComparisons comparisons(compiled_.parts.size(), options_.jobs);
    const auto outcome =
        run_model_program(*linked, machine_, inputs, traced, {options_.min_seconds, options_.jobs, options_.alone},
                          [&](std::size_t p, const std::vector<std::vector<std::uint8_t>>& arrays) {
                            return begin_comparison(p, arrays, comparisons);
                          });
    judge(comparisons.finish());
    run_.seconds_running = watch.seconds();
    if (!outcome) return ends(0, Exit::wrong_result, outcome.diagnostics());
    run_.executed = outcome->executed;
    run_.seconds_compiling = outcome->compiling;
    run_.seconds_running -= outcome->compiling;
    run_.arena_bytes = outcome->arena_bytes;
    run_.text_bytes = outcome->text_bytes;
    run_.launches = outcome->launches;
    run_.counts = outcome->counts;
    if (!did_run(0, *outcome)) return;
    const bool timed = outcome->executed != ExecutionMode::emulated;  // an emulator's time says nothing of the machine
    run_.seconds = timed ? outcome->seconds : 0;
    run_.simulated = outcome->simulated;
    run_.cycles = outcome->simulated.cycles;
    for (std::size_t p = 0; p < run_.parts.size() && p < outcome->simulated_parts.size(); ++p) {
      run_.parts[p].simulated = outcome->simulated_parts[p];
      run_.parts[p].cycles = outcome->simulated_parts[p].cycles;
    }
    for (std::size_t p = 0; timed && p < run_.parts.size() && p < outcome->part_seconds.size(); ++p)
      run_.parts[p].seconds = outcome->part_seconds[p];
  }

 private:
  void ends(std::size_t p, Exit code, Diagnostics problems) {
    if (!run_.whole || p > 0 || run_.parts.size() > 0)
      for (Diagnostic& problem : problems) problem.message = compiled_.parts[p].name + ": " + problem.message;
    run_.code = code == Exit::ok ? Exit::wrong_result : code;
    run_.problems = std::move(problems);
  }

  template <class Outcome>
  bool did_run(std::size_t p, const Outcome& outcome) {
    const auto why = why_not_run(outcome);
    if (why) ends(p, why->first, {why->second});
    return !why;
  }

  bool execute(std::size_t p, Runner& runner) {
    const Kernel& kernel = compiled_.parts[p].kernel;
    run_.parts.emplace_back();
    const Stopwatch watch;
    std::vector<TensorData> found = tensors_of_part(kernel, place_, run_.data);
    const Program& program = *compiled_.programs[compiled_.parts[p].program]->program;
    const auto outcome = runner.run(program, found, {}, options_.min_seconds);
    run_.seconds_running += watch.seconds();
    if (!outcome) {
      ends(p, Exit::wrong_result, outcome.diagnostics());
      return false;
    }
    run_.executed = outcome->executed;
    if (!did_run(p, *outcome)) return false;
    run_.parts.back().seconds = outcome->executed == ExecutionMode::emulated ? 0 : outcome->seconds;
    run_.parts.back().cycles = outcome->cycles;
    run_.counts.requests.insert(run_.counts.requests.end(), outcome->requests.begin(), outcome->requests.end());
    run_.counts.banks.insert(run_.counts.banks.end(), outcome->banks.begin(), outcome->banks.end());
    return agrees(p, kernel, std::move(found));
  }

  /// What this part wrote, read back from the whole program. The parts behind take it, right or wrong.
  bool begin_comparison(std::size_t p, const std::vector<std::vector<std::uint8_t>>& arrays,
                        PartComparisons& comparisons) {
    options_.progress(fmt::format("part {} of {} compared", p + 1, compiled_.parts.size()));
    run_.parts.emplace_back();
    if (!ends_here(p)) return true;
    const Kernel& kernel = compared_at(p);
    std::vector<TensorData> before = tensors_of_part(kernel, place_, run_.data);
    std::vector<TensorData> found(before.size());
    const std::vector<std::size_t> written = written_by(kernel);
    for (std::size_t i = 0; i < written.size(); ++i) {
      const TensorData& as = before[written[i]];
      found[written[i]] = {as.dtype, as.shape, arrays[i]};
      const std::size_t of_model = place_.at(kernel.tensors[written[i]].name);
      const bool first = begun_.insert(of_model).second;  // what it does not write yet is as it was before
      if (first && kernel.tensors[written[i]].inout &&
          begins_anywhere(model_, compiled_, machine_, make_id<TensorId>(of_model)))
        before[written[i]].bytes = arrays[i];
      run_.data[of_model].bytes = arrays[i];
    }
    comparisons.add(p, kernel, std::move(before), std::move(found));
    return comparisons.all_equal();
  }

  /// The first part that differs is the one that is told, and the last one.
  void judge(const std::vector<std::optional<Comparison>>& results) {
    for (std::size_t p = 0; p < run_.parts.size(); ++p)
      if (results[p] && !is_equal(p, *results[p])) run_.parts.resize(p + 1);
  }

  bool is_equal(std::size_t p, const Comparison& same) {
    run_.parts[p].max_error = same.max_error;
    run_.max_error = std::max(run_.max_error, same.max_error);
    if (!same.equal) ends(p, Exit::wrong_result, {error("wrong: " + same.first_difference)});
    return same.equal;
  }

  /// Parts in bands run in turns: all of them are compared after the last one.
  bool ends_here(std::size_t p) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    return bands == nullptr || p + 1 == bands->group.first + bands->group.count;
  }
  const Kernel& compared_at(std::size_t p) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    return bands ? bands->kernel : compiled_.parts[p].kernel;
  }

  /// Compares with the interpreter, and keeps what was found for the parts behind.
  bool agrees(std::size_t p, const Kernel& kernel, std::vector<TensorData> found) {
    std::vector<TensorData> expected = tensors_of_part(kernel, place_, run_.data);
    interpret(kernel, expected);
    if (!is_equal(p, compare(kernel, expected, found))) return false;
    for (const std::size_t t : written_by(kernel)) {
      TensorData& of_model = run_.data[place_.at(kernel.tensors[t].name)];
      std::vector<std::int64_t> shape = of_model.shape;
      of_model = std::move(found[t]);
      of_model.shape = std::move(shape);
    }
    return true;
  }

  static std::vector<std::size_t> written_by(const Kernel& kernel) {
    std::vector<std::size_t> written;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
      if (role_of(kernel, make_id<TensorId>(t)) == Role::output) written.push_back(t);
    return written;
  }

  /// Where a part, or one of those that run in turns with it, writes a tensor.
  ModelPlace written_at(const ModelProgram& linked, std::size_t p, const std::string& tensor) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    if (bands == nullptr)
      return place_written(linked, linked.calls[p], compiled_.parts[p].kernel, tensor).value_or(ModelPlace{});
    const auto first = static_cast<std::size_t>(bands - compiled_.bands.data());
    for (const ModelBandLoop& loop : linked.bands[first].loops)
      for (const ModelBandStep& step : loop.steps) {
        const auto* call = std::get_if<PartCall>(&step.is);
        for (std::size_t k = 0; k < bands->programs.size() && call != nullptr; ++k)
          if (bands->programs[k] == call->program && bands->group.first + bands->schedule.kernels[k].part == step.call)
            if (auto place = place_written(linked, *call, bands->kernels[k], tensor)) return *place;
      }
    return {};
  }

  /// The start of the tensor, if this call of the kernel writes rows of it.
  static std::optional<ModelPlace> place_written(const ModelProgram& linked, const PartCall& call, const Kernel& kernel,
                                                 const std::string& tensor) {
    const auto& buffers = linked.programs[call.program].buffers;
    for (std::size_t b = 0; b < buffers.size(); ++b)
      if (buffers[b].role == BufferRole::argument && !buffers[b].ahead_of_time &&
          kernel.tensors[buffers[b].tensor.index()].name == tensor &&
          role_of(kernel, buffers[b].tensor) == Role::output) {
        ModelPlace place = call.arguments[b];
        place.offset = place.step = 0;
        return place;
      }
    return std::nullopt;
  }

  std::vector<std::vector<TracedArray>> traced_arrays(const ModelProgram& linked) const {
    std::vector<std::vector<TracedArray>> traced(linked.calls.size());
    for (std::size_t p = 0; p < traced.size(); ++p) {
      if (!ends_here(p)) continue;
      const Kernel& kernel = compared_at(p);
      for (const std::size_t t : written_by(kernel))
        traced[p].push_back({written_at(linked, p, kernel.tensors[t].name), byte_count(kernel.tensors[t])});
    }
    return traced;
  }

  const Model& model_;
  const CompiledModel& compiled_;
  const HardwareModel& machine_;
  const ModelRunOptions& options_;
  ModelRun& run_;
  TensorPlaces place_;
  std::set<std::size_t> begun_ = {};  ///< tensors that parts wrote
};

}  // namespace

ModelRun run_model(const Model& model, const CompiledModel& compiled, const HardwareModel& machine,
                   std::vector<TensorData> data, const ModelRunOptions& options) {
  ModelRun run;
  const Availability here = availability(machine);
  run.executed = here.how;
  if (here.how == ExecutionMode::unavailable) {
    run.code = Exit::missing;
    run.problems = {error("not run: " + here.why)};
    return run;
  }
  if (!compiled.bands.empty() && !prints_bands(machine)) {
    run.code = Exit::no_answer;
    run.problems = {error(fmt::format("bands are for machines whose programs are C++; the parts of '{}' run one after "
                                      "another",
                                      machine.name),
                          "remove `bands` from the plan")};
    return run;
  }
  for (const CompiledPart& part : compiled.parts)
    if (Diagnostics large = too_large_to_run(part.kernel); !large.empty()) {
      run.code = Exit::limit;
      run.problems = std::move(large);
      for (Diagnostic& problem : run.problems) problem.message = part.name + ": " + problem.message;
      return run;
    }
  run.data = std::move(data);
  begin_shared_outputs(model.kernel, run.data);
  ModelRunner runner(model, compiled, machine, options, run);
  if (runs_models_whole(machine))
    runner.whole();
  else
    runner.part_by_part();
  return run;
}

}  // namespace isamap
