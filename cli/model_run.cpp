// SPDX-License-Identifier: Apache-2.0
// run MODEL: the report of a model's parts and how they ran.

#include "cli/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "backends/cpp/function/team.h"
#include "cli/built_model.h"
#include "cli/json.h"
#include "cli/models.h"
#include "driver/run_model.h"
#include "hwdesc/model/program_language.h"
#include "isamap/interpret.h"
#include "planner/plan_file.h"
#include "planner/traffic.h"
#include "report/memory_counts.h"
#include "report/model_report.h"
#include "report/stream_report.h"

namespace isamap::cli {

nlohmann::ordered_json kept_json(const std::vector<ResidentTensor>& kept) {
  auto list = nlohmann::ordered_json::array();
  for (const ResidentTensor& one : kept)
    list.push_back({{"tensor", one.tensor}, {"memory", one.memory}, {"bytes", one.bytes}});
  return list;
}

nlohmann::ordered_json plan_json(const ModelPlan& plan) {
  nlohmann::ordered_json json = {{"cost", plan.cost}, {"bound", plan.bound}};
  if (plan.cost <= 0) json.clear();  // that of a file was not compared with others
  json["proved"] = plan.proved;
  json["bands"] = plan.bands.size();
  json["parts"] = bands_as_parts(plan).size();
  return json;
}

nlohmann::ordered_json part_json(const CompiledModel& compiled, std::size_t number) {
  const CompiledPart& part = compiled.parts[number];
  const CompiledBands* bands = bands_of(compiled, number);
  nlohmann::ordered_json json = {{"name", part.name},
                                 {"nodes", part.nodes},
                                 {"part", part_numbers(compiled.plan)[number]},
                                 {"statements", part.kernel.statements.size()},
                                 {"mapped", part.mapped},
                                 {"program", part.same_as},
                                 {"band_rows", bands != nullptr ? bands->group.by : 0},
                                 {"predicted_cycles", part.predicted_cycles}};
  if (part.launches) json["launches"] = *part.launches;
  return json;
}

std::optional<std::int64_t> launches_in(const CompiledModel& compiled) {
  std::int64_t sum = 0;
  for (const CompiledPart& part : compiled.parts) {
    if (!part.launches) return std::nullopt;
    sum += *part.launches;
  }
  return sum;
}
std::string launches_in_words(std::int64_t count) { return fmt::format("{} launch{}", count, count == 1 ? "" : "es"); }

namespace {

/// A model, its parts on a machine, and how they ran.
struct ModelReport {
  const Model& model;
  const HardwareModel& machine;
  const CompiledModel& compiled;
  const ModelRun& run;
  const Compared& compared;
  const std::optional<Compared>& imported;  ///< with --interpret: with the model as its file says it
  double importing = 0, planning = 0;
  std::int64_t activations = 0, operators = 0;  ///< bytes between parts, and with one statement a part
};

nlohmann::ordered_json json_of_parts(const CompiledModel& compiled, const ModelRun& run) {
  auto parts = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) {
    const PartRun ran = p < run.parts.size() ? run.parts[p] : PartRun{};
    parts.push_back(part_json(compiled, p));
    parts.back()["seconds"] = ran.seconds;
    parts.back()["max_error"] = ran.max_error;
  }
  return parts;
}

nlohmann::ordered_json json_of(const std::map<std::string, AccessedBytes>& memories) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [memory, bytes] : memories) json[memory] = {{"read", bytes.read}, {"written", bytes.written}};
  return json;
}

/// Adds what the simulator counted of a stream of commands, and what is left to the host.
void add_stream(nlohmann::ordered_json& json, const StreamFacts& facts, const ModelRun& run) {
  json["host_cycles"] = facts.simulated.host;
  json["predicted_host_cycles"] = facts.predicted.host;
  json["predicted_command_cycles"] = facts.predicted.commands;
  json["commands"] = run.simulated.commands;
  json["host_parts"] = facts.host_parts;
  json["memories"] = json_of(run.simulated.memories);
  json["link_bytes"] = run.simulated.link_bytes;
  auto ports = nlohmann::ordered_json::array();
  for (const PortUse& use : facts.ports)
    ports.push_back({{"unit", use.unit},
                     {"port", use.port},
                     {"count", use.count},
                     {"busy_cycles", use.busy},
                     {"utilisation", use.utilisation}});
  json["ports"] = std::move(ports);
  for (std::size_t p = 0; p < facts.parts.size(); ++p) {
    const PartFacts& part = facts.parts[p];
    auto& own = json["part_list"][p];
    own["executed_by"] = name(part.by);
    own["instructions"] = part.instructions;
    own["cycles"] = part.simulated.commands;
    own["host_cycles"] = part.simulated.host;
    own["predicted_host_cycles"] = part.predicted.host;
    if (p < run.parts.size()) {
      own["commands"] = run.parts[p].simulated.commands;
      own["memories"] = json_of(run.parts[p].simulated.memories);
      own["link_bytes"] = run.parts[p].simulated.link_bytes;
    }
    auto left = nlohmann::ordered_json::array();
    for (const ScalarCode& code : part.on_host)
      left.push_back({{"statement", code.statement}, {"reasons", code.reasons}});
    own["on_host"] = std::move(left);
    own["kept"] = kept_json(part.kept);
  }
}

/// Of the entries of `part_list`. Programs are more where a band has fewer rows than the others.
std::size_t distinct_parts(const CompiledModel& compiled) {
  std::set<std::size_t> programs;
  for (const CompiledPart& part : compiled.parts) programs.insert(part.same_as);
  return programs.size();
}

std::optional<std::int64_t> launches_of(const ModelReport& report) {
  return report.run.launches >= 0 ? report.run.launches : launches_in(report.compiled);
}

bool is_stream(const ModelReport& report) { return report.run.whole && is_command_stream(report.machine); }

nlohmann::ordered_json json_of(const ModelReport& report) {
  const auto& [model, machine, compiled, run, compared, imported, importing, planning, activations, operators] = report;
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"model", model.kernel.name},
                                 {"target", machine.name},
                                 {"threads", threads_of(machine)},
                                 {"executed", name(run.executed)},
                                 {"correct", compared.correct && (!imported || imported->correct)},
                                 {"max_error", run.max_error},
                                 {"compared", compared.outputs},
                                 {"seconds", run.seconds},
                                 {"cycles", run.cycles},
                                 {"predicted_cycles", compiled.predicted_cycles},
                                 {"parts", bands_as_parts(compiled.plan).size()},
                                 {"distinct_parts", distinct_parts(compiled)},
                                 {"programs", compiled.programs.size()},
                                 {"plan", plan_json(compiled.plan)},
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
  if (imported)
    json["imported"] = {
        {"compared", imported->outputs}, {"correct", imported->correct}, {"max_error", imported->max_error}};
  if (const auto launches = launches_of(report)) json["launches"] = *launches;
  add_counts(json, run.counts.requests, run.counts.banks);
  if (is_stream(report)) add_stream(json, stream_facts(compiled, run, machine), run);
  return json;
}

std::string verdict_of_import(const Compared& compared) {
  return compared.outputs > 0 ? "as the operators of the file say " + verdict_of(compared)
                              : "not compared with the operators of the file: a rounding of inputs and weights changes "
                                "them too much";
}

/// The verdict, and the parts that take longest, or all of them.
std::string text_of(const ModelReport& report, bool all_parts) {
  const ModelRun& run = report.run;
  std::string text = fmt::format("executed {}{}, every part as the interpreter says", name(run.executed),
                                 run.whole ? " as one program" : " part by part");
  if (report.compared.outputs > 0) text += ", outputs " + verdict_of(report.compared);
  if (report.imported) text += ", outputs " + verdict_of_import(*report.imported);
  text += fmt::format("; largest error {:.3g}", run.max_error);
  if (run.seconds > 0) text += fmt::format("; {:.3g} s", run.seconds);
  if (run.cycles > 0) text += fmt::format("; {} cycles", run.cycles);
  const std::size_t bands = report.compiled.plan.bands.size();
  text += fmt::format(" in {}, {}{}; {:.0f} cycles predicted\n",
                      counted(bands_as_parts(report.compiled.plan).size(), "part"),
                      bands > 0 ? fmt::format("{} of them in bands, ", bands) : "",
                      counted(report.compiled.programs.size(), "distinct program"), report.compiled.predicted_cycles);
  if (const auto launches = launches_of(report)) text += fmt::format("  {}\n", launches_in_words(*launches));
  if (run.whole)
    text += fmt::format("  arena {} bytes ({} live at one time), weights {} bytes\n", run.arena_bytes, run.arena_bound,
                        run.weights_bytes);
  if (is_stream(report)) {
    const StreamFacts facts = stream_facts(report.compiled, run, report.machine);
    return text + stream_text({facts, report.compiled, run}, all_parts);
  }
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
                        ran.seconds > 0  ? fmt::format("{:.3g} s", ran.seconds)
                        : ran.cycles > 0 ? fmt::format("{} cycles", ran.cycles)
                                         : "not timed",
                        part.mapped, part.kernel.statements.size(), part.predicted_cycles);
  }
  return text + text_of_counts(run.counts.requests, run.counts.banks);
}

/// Reals one or two units in the last place away, upwards and downwards in turn.
void nudge(TensorData& data) {
  if (!is_float(data.dtype)) return;
  const double unit = std::exp2(1 - format_of(data.dtype).precision);
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const double value = data.get(i).real, near = value * (i % 2 == 0 ? 1 + unit : 1 - unit);
    if (std::abs(near) <= largest_finite(data.dtype)) data.set(i, {near, 0});
  }
}

/// The outputs as the interpreter computes them from the operators of the file, before any statement was composed,
/// merged, done ahead or planned. `nudged`: from inputs and weights that are a rounding away.
Result<ModelFiles> as_imported(const Model& model, const std::vector<TensorData>& inputs, bool nudged) {
  auto data = data_of(model, inputs);
  if (!data) return data.diagnostics();
  if (nudged) {
    for (const TensorId id : model.inputs) nudge((*data)[id.index()]);
    for (const Weight& weight : model.weights) nudge((*data)[weight.tensor.index()]);
  }
  interpret(model.kernel, *data);
  ModelFiles result;
  for (const TensorId id : model.outputs)
    result.outputs.push_back({model.file_names.at(id), std::move((*data)[id.index()])});
  return result;
}

/// How the outputs differ from those; nothing: it is not asked, or `code` is set. None is compared where a rounding of
/// inputs and weights changes them as much: weights that are drawn make such models.
std::optional<Compared> compare_with_import(const Options& options, const Model& model, const ModelRun& run,
                                            Exit& code) {
  const auto imported = load_model(options, code);
  if (!imported) return std::nullopt;
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs) inputs.push_back(run.data[id.index()]);
  const auto expected = as_imported(*imported, inputs, false);
  if (!expected) {
    code = fail(Exit::wrong_input, expected.diagnostics());
    return std::nullopt;
  }
  const Compared compared = compare_with_files(model, run.data, *expected);
  if (compared.correct) return compared;
  std::vector<TensorData> others = run.data;
  const auto nudged = as_imported(*imported, inputs, true);
  for (std::size_t o = 0; nudged && o < model.outputs.size(); ++o)
    others[model.outputs[o].index()] = nudged->outputs[o].data;
  return compare_with_files(model, others, *expected).correct ? compared : Compared{};
}

}  // namespace

std::optional<ModelAnswer> run_model_once(const Options& options, Exit& code) {
  Builder builder(options, code);
  auto built = builder.build(true);
  if (!built) return std::nullopt;
  const Model& model = built->prepared.model;
  const ModelRun run =
      run_model(model, built->compiled, built->machine, std::move(built->prepared.data),
                {0.5, [&](const std::string& text) { builder.progress()(text); }, options.schedule.jobs});
  if (run.code != Exit::ok) {
    code = fail(run.code, run.problems);
    if (options.json) deliver(options, json_of_failure(code, run.problems), code);
    return std::nullopt;
  }
  code = Exit::wrong_input;
  if (const auto saved = save_outputs(model, run.data, options); !saved) {
    fail(code, saved.diagnostics());
    return std::nullopt;
  }
  const Compared compared = compare_with_files(model, run.data, built->prepared.files);
  std::optional<Compared> imported;
  if (options.onnx.interpret) {
    builder.progress()("interpreting the model as its file says it, to compare");
    imported = compare_with_import(options, model, run, code);
    if (!imported) return std::nullopt;
  }
  const std::int64_t activations = activation_bytes(model.kernel, bands_as_parts(built->compiled.plan)),
                     operators = activation_bytes(model.kernel, operators_of(model));
  if (!options.report.empty()) {
    const ModelPage page{model.kernel.name,
                         built->machine,
                         built->compiled,
                         run,
                         print(built->compiled.plan, built->imported, built->machine.name),
                         activations,
                         operators};
    if (const auto written = write_file(options.report, html_report(page)); !written) {
      fail(code, written.diagnostics());
      return std::nullopt;
    }
  }
  code = compared.correct && (!imported || imported->correct) ? Exit::ok : Exit::wrong_result;
  const ModelReport report{model,    built->machine,   built->compiled, run,         compared,
                           imported, built->importing, built->planning, activations, operators};
  return ModelAnswer{json_of(report), shapes_of(model) + text_of(report, options.onnx.profile)};
}

Exit compile_and_run_model(const Options& given) {
  Exit code = Exit::ok;
  const auto options = with_sizes_of_inputs(given, code);
  if (!options) return code;
  if (const auto sizes = model_sizes(*options, code)) return run_model_sizes(*options, *sizes);
  if (code != Exit::ok) return code;
  const auto answer = run_model_once(*options, code);
  if (!answer) return code;
  return deliver(*options, options->json ? printed(answer->json) : answer->text, code);
}

}  // namespace isamap::cli
