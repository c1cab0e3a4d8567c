// SPDX-License-Identifier: Apache-2.0
// Whole models as programs: planned, compiled, run, emitted.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/cpp/model_unit.h"
#include "backends/model_runner.h"
#include "cli/json.h"
#include "cli/models.h"
#include "driver/plan_model.h"
#include "driver/run_model.h"
#include "mapper/instruction_tree.h"
#include "planner/plan_file.h"
#include "planner/traffic.h"
#include "report/model_report.h"
#include "support/stopwatch.h"

namespace isamap::cli {
namespace {

namespace fs = std::filesystem;

/// A model, its parts on a machine, and how they ran.
struct ModelReport {
  const Model& model;
  const HardwareModel& machine;
  const CompiledModel& compiled;
  const ModelRun& run;
  const Compared& compared;
  double importing = 0, planning = 0;
  std::int64_t activations = 0, operators = 0;  ///< bytes between parts, and with one statement a part
};

nlohmann::ordered_json json_of_parts(const CompiledModel& compiled, const ModelRun& run) {
  auto parts = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) {
    const CompiledPart& part = compiled.parts[p];
    const PartRun ran = p < run.parts.size() ? run.parts[p] : PartRun{};
    parts.push_back({{"name", part.name},
                     {"nodes", part.nodes},
                     {"statements", part.kernel.statements.size()},
                     {"mapped", part.mapped},
                     {"program", part.same_as},
                     {"predicted_cycles", part.predicted_cycles},
                     {"seconds", ran.seconds},
                     {"max_error", ran.max_error}});
  }
  return parts;
}

nlohmann::ordered_json json_of(const ModelPlan& plan) {
  return {{"cost", plan.cost}, {"bound", plan.bound}, {"proved", plan.proved}};
}

nlohmann::ordered_json json_of(const ModelReport& report) {
  const auto& [model, machine, compiled, run, compared, importing, planning, activations, operators] = report;
  return {{"schema_version", 1},
          {"model", model.kernel.name},
          {"target", machine.name},
          {"executed", name(run.executed)},
          {"correct", compared.correct},
          {"max_error", run.max_error},
          {"compared", compared.outputs},
          {"seconds", run.seconds},
          {"cycles", run.cycles},
          {"predicted_cycles", compiled.predicted_cycles},
          {"parts", compiled.parts.size()},
          {"distinct_parts", compiled.programs.size()},
          {"plan", json_of(compiled.plan)},
          {"whole", run.whole},
          {"arena_bytes", run.arena_bytes},
          {"arena_bound", run.arena_bound},
          {"weights_bytes", run.weights_bytes},
          {"activation_bytes", activations},
          {"activation_bytes_apart", operators},
          {"code_bytes", run.text_bytes},
          {"seconds_of",
           {{"import", importing},
            {"plan", planning},
            {"search", compiled.seconds},
            {"compile", run.seconds_compiling},
            {"run", run.seconds_running}}},
          {"versions", 1},
          {"recompiles", 0},
          {"part_list", json_of_parts(compiled, run)}};
}

/// The verdict, and the parts that take longest, or all of them.
std::string text_of(const ModelReport& report, bool all_parts) {
  const ModelRun& run = report.run;
  std::string text = fmt::format("executed {}{}, every part as the interpreter says", name(run.executed),
                                 run.whole ? " as one program" : " part by part");
  if (report.compared.outputs > 0) text += ", outputs " + verdict_of(report.compared);
  text += fmt::format("; largest error {:.3g}", run.max_error);
  if (run.seconds > 0) text += fmt::format("; {:.3g} s", run.seconds);
  if (run.cycles > 0) text += fmt::format("; {} cycles", run.cycles);
  text += fmt::format(" in {} parts, {} of them distinct; {:.0f} cycles predicted\n", report.compiled.parts.size(),
                      report.compiled.programs.size(), report.compiled.predicted_cycles);
  if (run.whole)
    text += fmt::format("  arena {} bytes ({} live at one time), weights {} bytes\n", run.arena_bytes, run.arena_bound,
                        run.weights_bytes);
  std::vector<std::size_t> longest(run.parts.size());
  std::iota(longest.begin(), longest.end(), std::size_t{0});
  const auto time = [&](std::size_t p) {
    return run.parts[p].seconds > 0 ? run.parts[p].seconds : static_cast<double>(run.parts[p].cycles);
  };
  std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) { return time(a) > time(b); });
  const std::size_t shown = all_parts ? longest.size() : std::min<std::size_t>(5, longest.size());
  for (std::size_t n = 0; n < shown; ++n) {
    const PartRun& ran = run.parts[longest[n]];
    const CompiledPart& part = report.compiled.parts[longest[n]];
    text += fmt::format("  {}: {}, {} of {} statements mapped, {:.0f} cycles predicted\n", part.name,
                        ran.seconds > 0 ? fmt::format("{:.3g} s", ran.seconds) : fmt::format("{} cycles", ran.cycles),
                        part.mapped, part.kernel.statements.size(), part.predicted_cycles);
  }
  return text;
}

/// All that a schedule depends on besides the part.
std::string compiled_as(const Options& options) {
  const auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  if (!loaded || options.cost != "closed_form") return "";
  const ScheduleOptions schedule = schedule_options(options, loaded->model);
  return fmt::format("\nsearch {} {} {} {} {}\n{}", schedule.strategy, schedule.seed, schedule.max_evaluations,
                     static_cast<int>(schedule.objective), options.strict_float, loaded->resolved);
}

/// A model with its machine, plan and compiled parts. Empty: the problem is reported and `code` set.
struct Built {
  HardwareModel machine;
  Prepared prepared;  ///< stored in the orders of the plan
  Kernel imported;    ///< with the orders of the file, which plans speak of
  CompiledModel compiled;
  double importing = 0, planning = 0;
};

/// Of each statement, while plans are compared.
constexpr std::int64_t evaluations_of_plans = 100;

class Builder {
 public:
  /// `printed`: refuse machines for which no model is printed, before anything is planned.
  Builder(const Options& options, Exit& code, bool printed = false)
      : options_(options), code_(code), printed_(printed) {}

  std::optional<Built> build() {
    auto machine = load_target(options_);
    code_ = Exit::wrong_input;
    if (!machine) return std::nullopt;
    if (printed_ && !prints_models(*machine)) {
      code_ = fail(Exit::no_answer,
                   fmt::format("models are printed for machines whose programs are C++; those of '{}' run part by part",
                               machine->name),
                   "isamap import onnx writes the layers as kernels, which emit prints");
      return std::nullopt;
    }
    code_ = Exit::ok;
    Stopwatch watch;
    auto prepared = prepare(options_, code_, [&](const Computation& statement, const std::vector<Tensor>& tensors) {
      return cheapest_tree(statement, tensors, *machine).has_value();
    });
    if (!prepared) return std::nullopt;
    code_ = Exit::ok;
    Built built{std::move(*machine), std::move(*prepared), {}, {}, watch.seconds(), 0};
    built.imported = built.prepared.model.kernel;
    PartStoreOptions with;
    with.compile.map = options_.map;
    with.compile.strict_float = options_.strict_float;
    with.compile.schedule = schedule_options(options_, built.machine);
    with.jobs = static_cast<std::size_t>(options_.schedule.jobs);
    with.compiled_as = compiled_as(options_);
    with.progress = [&](const std::string& text) { progress_(text); };
    PartStore store(built.machine, with);
    PartStoreOptions drafts = with;
    drafts.compile.schedule.max_evaluations = std::min(evaluations_of_plans, with.compile.schedule.max_evaluations);
    if (!drafts.compiled_as.empty())
      drafts.compiled_as += fmt::format("evaluations {}\n", drafts.compile.schedule.max_evaluations);
    PartStore draft(built.machine, drafts);
    watch = Stopwatch();
    auto plan = planned(built.prepared.model, draft);
    if (!plan) return reported(Exit::wrong_input, plan.diagnostics());
    built.planning = watch.seconds();
    built.prepared.model = in_order(built.prepared.model, plan->order);
    built.prepared.data = in_order(std::move(built.prepared.data), plan->order);
    built.compiled = compile_model(built.prepared.model, std::move(*plan), store);
    if (built.compiled.code != Exit::ok) return reported(built.compiled.code, built.compiled.problems);
    return built;
  }

  Progress& progress() { return progress_; }

 private:
  Result<ModelPlan> planned(const Model& model, PartStore& store) const {
    if (!options_.onnx.plan.empty()) return load_plan(options_.onnx.plan, model.kernel);
    PlanOptions with;
    with.seed = options_.seed;
    return plan_model(model, store, with);
  }

  std::optional<Built> reported(Exit why, const Diagnostics& problems) {
    code_ = fail(why, problems);
    if (options_.json) deliver(options_, json_of_failure(code_, problems), code_);
    return std::nullopt;
  }

  const Options& options_;
  Exit& code_;
  const bool printed_;
  Progress progress_;
};

nlohmann::ordered_json json_of(const std::vector<Port>& ports) {
  auto list = nlohmann::ordered_json::array();
  for (const Port& port : ports)
    list.push_back({{"name", port.name},
                    {"dtype", std::string(name(port.dtype))},
                    {"shape", port.shape},
                    {"bytes", port.bytes()}});
  return list;
}

/// NAME.json of an emitted model.
nlohmann::ordered_json json_of(const Built& built, const ModelProgram& program, const ModelUnit& unit) {
  auto parts = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < built.compiled.parts.size(); ++p) {
    const CompiledPart& part = built.compiled.parts[p];
    parts.push_back({{"name", part.name},
                     {"nodes", part.nodes},
                     {"statements", part.kernel.statements.size()},
                     {"program", part.program},
                     {"predicted_cycles", part.predicted_cycles}});
  }
  return {{"schema_version", 1},
          {"model", unit.name},
          {"target", built.machine.name},
          {"inputs", json_of(program.inputs)},
          {"outputs", json_of(program.outputs)},
          {"arena_bytes", program.arena_bytes},
          {"arena_bound", program.arena_bound},
          {"weights_bytes", program.weights.size()},
          {"code_bytes", unit.text.size()},
          {"predicted_cycles", built.compiled.predicted_cycles},
          {"plan", print(built.compiled.plan, built.imported, built.machine.name)},
          {"part_list", parts}};
}

}  // namespace

Exit compile_and_run_model(const Options& options) {
  Exit code = Exit::ok;
  Builder builder(options, code);
  auto built = builder.build();
  if (!built) return code;
  const Model& model = built->prepared.model;
  const ModelRun run = run_model(model, built->compiled, built->machine, std::move(built->prepared.data),
                                 {0.5, [&](const std::string& text) { builder.progress()(text); }});
  if (run.code != Exit::ok) {
    code = fail(run.code, run.problems);
    return options.json ? deliver(options, json_of_failure(code, run.problems), code) : code;
  }
  if (const auto saved = save_outputs(model, run.data, options); !saved)
    return fail(Exit::wrong_input, saved.diagnostics());
  const Compared compared = compare_with_files(model, run.data, built->prepared.files);
  code = compared.correct ? Exit::ok : Exit::wrong_result;
  const std::int64_t activations = activation_bytes(model.kernel, built->compiled.plan.parts),
                     operators = activation_bytes(model.kernel, apart(model.kernel));
  if (!options.report.empty()) {
    const ModelPage page{model.kernel.name,
                         built->machine.name,
                         built->compiled,
                         run,
                         print(built->compiled.plan, built->imported, built->machine.name),
                         activations,
                         operators};
    if (const auto written = write_file(options.report, html_report(page)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  }
  const ModelReport report{model,           built->machine, built->compiled, run, compared, built->importing,
                           built->planning, activations,    operators};
  if (options.json) return deliver(options, printed(json_of(report)), code);
  return deliver(options, shapes_of(model) + text_of(report, options.onnx.profile), code);
}

Exit emit_model(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "a model is written as several files", "-o FOLDER");
  Exit code = Exit::ok;
  const auto built = Builder(options, code, true).build();
  if (!built) return code;
  const auto program = link_model(built->prepared.model, built->compiled, built->prepared.data, built->machine);
  if (!program) return fail(Exit::no_answer, program.diagnostics());
  const auto unit = print_model(*program, built->machine);
  if (!unit) return fail(Exit::no_answer, unit.diagnostics());
  std::error_code problem;
  fs::create_directories(options.output, problem);
  if (problem)
    return fail(Exit::wrong_input, {error_at({options.output, 0, 0}, "cannot be made: " + problem.message())});
  const nlohmann::ordered_json json = json_of(*built, *program, *unit);
  std::string written;
  for (const auto& [extension, text] : {std::pair<std::string, std::string>(".h", unit->header),
                                        {".cpp", unit->text},
                                        {".weights", weights_file(*program)},
                                        {".json", json.dump(1) + "\n"}}) {
    const std::string path = (fs::path(options.output) / (unit->name + extension)).string();
    if (const auto done = write_file(path, text); !done) return fail(Exit::wrong_input, done.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  return deliver(to_stdout, options.json ? printed(json) : written);
}

Exit explain_plan(const Options& options, std::string& text, nlohmann::ordered_json& json) {
  Exit code = Exit::ok;
  const auto built = Builder(options, code).build();
  if (!built) return code;
  const ModelPlan& plan = built->compiled.plan;
  const std::string plan_text = print(plan, built->imported, built->machine.name);
  text += plan_text + fmt::format(
                          "# {:.0f} cycles predicted, {:.0f} when plans were compared; no plan of the "
                          "candidates took less than {:.0f} there{}\n",
                          built->compiled.predicted_cycles, plan.cost, plan.bound, plan.proved ? ": proved" : "");
  for (const std::string& priced : plan.orders_priced) text += "# orders: " + priced + "\n";
  auto refused = nlohmann::ordered_json::array();
  for (const RefusedJoin& join : plan.refused) {
    text += fmt::format("# {} and {} are not joined: {}\n", join.one, join.other, join.reason);
    refused.push_back({{"one", join.one}, {"other", join.other}, {"reason", join.reason}});
  }
  json["plan"] = json_of(plan);
  json["plan_text"] = plan_text;
  json["orders_priced"] = plan.orders_priced;
  json["not_joined"] = std::move(refused);
  return code;
}

}  // namespace isamap::cli
