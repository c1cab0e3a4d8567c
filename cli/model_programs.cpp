// SPDX-License-Identifier: Apache-2.0
// Whole models as programs: planned, compiled, run, emitted, tuned.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "backends/assembly/model_stream.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_unit.h"
#include "backends/cpp/model/units_ahead.h"
#include "backends/model_runner.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/model_sizes.h"
#include "cli/models.h"
#include "driver/cheapest_fit.h"
#include "driver/fewer_launches.h"
#include "driver/plan/plan_model.h"
#include "driver/run_model.h"
#include "driver/stream_facts.h"
#include "driver/tune_model.h"
#include "hwdesc/model/program_language.h"
#include "planner/plan_file.h"
#include "planner/split_dims.h"
#include "planner/traffic.h"
#include "report/memory_counts.h"
#include "report/model_report.h"
#include "report/stream_report.h"
#include "support/stopwatch.h"
#include "support/yaml.h"

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
                     {"band_rows", bands_of(compiled, p) ? bands_of(compiled, p)->group.by : 0},
                     {"predicted_cycles", part.predicted_cycles},
                     {"seconds", ran.seconds},
                     {"max_error", ran.max_error}});
    if (part.launches) parts.back()["launches"] = *part.launches;
  }
  return parts;
}

nlohmann::ordered_json json_of(const std::map<std::string, AccessedBytes>& memories) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [memory, bytes] : memories) json[memory] = {{"read", bytes.read}, {"written", bytes.written}};
  return json;
}

nlohmann::ordered_json json_of(const std::vector<KeptTensor>& kept) {
  auto list = nlohmann::ordered_json::array();
  for (const KeptTensor& one : kept)
    list.push_back({{"tensor", one.tensor}, {"memory", one.memory}, {"bytes", one.bytes}});
  return list;
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
    own["kept"] = json_of(part.kept);
  }
}

nlohmann::ordered_json json_of(const ModelPlan& plan) {
  return {{"cost", plan.cost},
          {"bound", plan.bound},
          {"proved", plan.proved},
          {"bands", plan.bands.size()},
          {"parts", bands_as_parts(plan).size()}};
}

/// Kernels of one run.
std::optional<std::int64_t> launches_of(const CompiledModel& compiled) {
  std::int64_t sum = 0;
  for (const CompiledPart& part : compiled.parts) {
    if (!part.launches) return std::nullopt;
    sum += *part.launches;
  }
  return sum;
}
/// "1 part", "2 parts"
std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
std::string launches_in_words(std::int64_t count) { return fmt::format("{} launch{}", count, count == 1 ? "" : "es"); }

std::optional<std::int64_t> launches_of(const ModelReport& report) {
  return report.run.launches >= 0 ? report.run.launches : launches_of(report.compiled);
}

bool is_stream(const ModelReport& report) { return report.run.whole && is_command_stream(report.machine); }

nlohmann::ordered_json json_of(const ModelReport& report) {
  const auto& [model, machine, compiled, run, compared, importing, planning, activations, operators] = report;
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"model", model.kernel.name},
                                 {"target", machine.name},
                                 {"threads", threads_of(machine)},
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
  if (const auto launches = launches_of(report)) json["launches"] = *launches;
  add_counts(json, run.counts.requests, run.counts.banks);
  if (is_stream(report)) add_stream(json, stream_facts(compiled, run, machine), run);
  return json;
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
  std::size_t banded = 0;
  for (const BandGroup& group : report.compiled.plan.bands) banded += group.count;
  text += fmt::format(" in {}, {}{}; {:.0f} cycles predicted\n", counted(report.compiled.parts.size(), "part"),
                      banded > 0 ? fmt::format("{} of them in {} of bands, ", banded,
                                               counted(report.compiled.plan.bands.size(), "group"))
                                 : "",
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

/// Of each statement, while plans are compared.
constexpr std::int64_t evaluations_of_plans = 100;

/// All that a schedule depends on besides the part; `tuned`: but the options of the search.
std::string compiled_as(const Options& options, bool tuned = false) {
  const auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  if (!loaded || options.cost != "closed_form") return "";
  if (tuned) return fmt::format("\nstrict {}\n{}", options.strict_float, loaded->resolved);
  const ScheduleOptions schedule = schedule_options(options, loaded->model);
  std::string space = fmt::format("{} {}", options.map.instruction, static_cast<int>(options.map.rule));
  for (const auto& [word, flag] : space_words) space += schedule.space.*flag ? std::string(" ") + word : "";
  for (const auto& [key, value] : schedule.strategy_options) space += fmt::format(" {}={}", key, value);
  return fmt::format("\nsearch {} {} {} {} {} {} {}\n{}", schedule.strategy, schedule.seed, schedule.max_evaluations,
                     schedule.max_seconds, static_cast<int>(schedule.objective), options.strict_float, space,
                     loaded->resolved);
}

}  // namespace

PartStoreOptions part_options(const Options& options, const HardwareModel& machine) {
  PartStoreOptions with;
  with.compile.map = options.map;
  with.compile.strict_float = options.strict_float;
  with.compile.schedule = schedule_options(options, machine);
  with.jobs = static_cast<std::size_t>(options.schedule.jobs);
  with.compiled_as = compiled_as(options);
  if (!with.compiled_as.empty()) with.compiled_as += fmt::format("\nbetween runs {}\n", machine.timing.between_runs);
  with.tuned_as = compiled_as(options, true);
  return with;
}

bool has_plan(const Options& options) { return !options.onnx.plan.empty() && options.onnx.plan != "search"; }

PartStoreOptions draft_options(PartStoreOptions with) {
  with.tuned_as.clear();  // the plan is the same before and after
  with.compile.schedule.max_evaluations = std::min(evaluations_of_plans, with.compile.schedule.max_evaluations);
  if (!with.compiled_as.empty())
    with.compiled_as += fmt::format("evaluations {}\n", with.compile.schedule.max_evaluations);
  return with;
}

namespace {

PlanOptions plan_options(const Options& options) {
  PlanOptions search;
  search.seed = options.seed;
  search.band_gain = options.onnx.band_gain / 100;
  return search;
}

/// Words of a plan file, without its comments.
std::set<std::string> words_of_plan(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  bool comment = false;
  for (const char c : text + "\n") {
    comment = c != '\n' && (comment || c == '#');
    if (!comment && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

/// Of the sums that could begin with their biases those that do not in the plan of a file, by name: it has the
/// statement `conv`, and not `conv_begins`.
std::set<std::string> biases_behind_in(const std::string& plan_file, const std::vector<std::string>& sums) {
  const auto text = yaml::read_text_file(plan_file);
  std::set<std::string> behind;
  if (!text) return behind;
  const std::set<std::string> said = words_of_plan(*text);
  for (const std::string& sum : sums)
    if (!said.contains(copy_of_bias(sum))) behind.insert(sum);
  return behind;
}

}  // namespace

Result<ModelPlan> plan_of(const Options& options, const Model& model, PartStore& draft) {
  if (has_plan(options)) return load_plan(options.onnx.plan, model.kernel, draft.machine().name);
  return with_orders_for_launches(model, plan_model(model, draft, plan_options(options)), draft);
}

namespace {

/// A model with its machine, plan and compiled parts. Empty: the problem is reported and `code` set.
struct Built {
  HardwareModel machine;
  Prepared prepared;  ///< stored in the orders of the plan
  Kernel imported;    ///< with the orders of the file, which plans speak of
  CompiledModel compiled;
  double importing = 0, planning = 0;
};

class Builder {
 public:
  /// `printed`: is a model printed for this machine? Others are refused before anything is planned.
  using Possible = bool (*)(const HardwareModel&);
  Builder(const Options& options, Exit& code, Possible printed = nullptr)
      : options_(options), code_(code), printed_(printed) {}

  /// `runs`: the program will be compiled here, so parts are while others are searched.
  std::optional<Built> build(bool runs = false) {
    if (!set_threads(options_, code_)) return std::nullopt;
    machine_ = load_target(options_);
    code_ = Exit::wrong_input;
    if (!machine_) return std::nullopt;
    if (printed_ != nullptr && !printed_(*machine_)) {
      code_ = fail(Exit::no_answer,
                   fmt::format("models are tuned for machines whose programs are C++; those of '{}' are not timed",
                               machine_->name),
                   "isamap import onnx writes the layers as kernels, which emit prints");
      return std::nullopt;
    }
    code_ = Exit::ok;
    Stopwatch watch;
    double fitting = 0;
    auto prepared = prepare(options_, code_, &*machine_, [&](const Model& imported) {
      const Stopwatch fit;
      Model model = fitted(imported);
      fitting = fit.seconds();
      return model;
    });
    if (!prepared) return std::nullopt;
    if (const auto large = exceeds_memory(prepared->model, *machine_); large && is_command_stream(*machine_))
      return reported(Exit::no_answer, {*large});
    code_ = Exit::ok;
    Built built{*machine_, std::move(*prepared), {}, {}, watch.seconds() - fitting, fitting};
    if (Kernel& kernel = built.prepared.model.kernel; prints_bands(built.machine))
      kernel = with_split_dims(std::move(kernel));
    built.imported = built.prepared.model.kernel;
    built.machine.timing.between_runs = machine_->timing.between_runs;
    PartStore store(built.machine, store_options());
    watch = Stopwatch();
    auto plan = plan_of(options_, built.prepared.model, draft());
    if (!plan) return reported(Exit::wrong_input, plan.diagnostics());
    built.planning += watch.seconds();
    built.prepared.model = in_order(built.prepared.model, plan->order);
    built.prepared.data = in_order(std::move(built.prepared.data), plan->order);
    if (!has_plan(options_)) *plan = with_fewer_launches(built.prepared.model, std::move(*plan), store);
    built.compiled = compile_model(built.prepared.model, std::move(*plan), store,
                                   runs ? compiled_ahead(built.prepared.model.kernel.name) : ProgramReader{});
    if (built.compiled.code != Exit::ok) return reported(built.compiled.code, built.compiled.problems);
    return built;
  }

  Progress& progress() { return progress_; }

 private:
  PartStoreOptions store_options() {
    PartStoreOptions with = part_options(options_, *machine_);
    with.progress = [this](const std::string& text) { progress_(text); };
    return with;
  }

  ProgramReader compiled_ahead(const std::string& model) const {
    if (!is_host_code(*machine_) || availability(*machine_).how == ExecutionMode::unavailable) return {};
    const auto units = std::make_shared<UnitsAhead>(*machine_, model);
    return [units](std::size_t number, const Program& program, const std::set<BufferId>& overlapping) {
      units->add(number, program, overlapping);
    };
  }

  /// One for the fit and the plan, so that no part is priced twice.
  PartStore& draft() {
    if (!draft_) draft_.emplace(*machine_, draft_options(store_options()));
    return *draft_;
  }

  /// A plan of a file says where biases are added; otherwise the prices of plans do.
  Model fitted(const Model& imported) {
    machine_->timing.between_runs = total_bytes(imported.kernel);  // before a draft prices parts with it
    BiasOptions with{options_.strict_float, {}};
    Model in_front = fitted_to(imported, *machine_, with);
    const std::vector<std::string> sums = sums_with_biases_first(in_front.kernel);
    if (!is_command_stream(*machine_) || sums.empty() || exceeds_memory(in_front, *machine_)) return in_front;
    if (!has_plan(options_)) return cheapest_fit(imported, draft(), plan_options(options_), with.strict_float);
    with.biases_behind = biases_behind_in(options_.onnx.plan, sums);
    return fitted_to(imported, *machine_, with);
  }

  std::optional<Built> reported(Exit why, const Diagnostics& problems) {
    code_ = fail(why, problems);
    if (options_.json) deliver(options_, json_of_failure(code_, problems), code_);
    return std::nullopt;
  }

  Options options_;
  Exit& code_;
  const Possible printed_;
  Progress progress_;
  std::optional<HardwareModel> machine_;
  std::optional<PartStore> draft_;  ///< of machine_
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

/// Where the ports and blocks of a stream of commands lie in the outermost memory: bytes from its start.
void add_places(nlohmann::ordered_json& json, const ModelProgram& program) {
  const StreamPlaces places = stream_places(program);
  for (std::size_t i = 0; i < places.inputs.size(); ++i) json["inputs"][i]["at"] = places.inputs[i];
  for (std::size_t o = 0; o < places.outputs.size(); ++o) json["outputs"][o]["at"] = places.outputs[o];
  json["weights_at"] = places.weights;
  json["arena_at"] = places.arena;
  json["memory_bytes"] = places.bytes;
  auto blocks = nlohmann::ordered_json::array();
  for (const ArenaBlock& block : program.blocks)
    if (block.bytes > 0)
      blocks.push_back({{"name", block.name},
                        {"at", places.arena + block.at},
                        {"bytes", block.bytes},
                        {"first_part", block.first},
                        {"last_part", block.last}});
  json["blocks"] = std::move(blocks);
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
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"model", unit.name},
                                 {"target", built.machine.name},
                                 {"threads", threads_of(built.machine)},
                                 {"inputs", json_of(program.inputs)},
                                 {"outputs", json_of(program.outputs)},
                                 {"arena_bytes", unit.arena_bytes},
                                 {"arena_bound", program.arena_bound},
                                 {"weights_bytes", program.weights.size()},
                                 {"code_bytes", unit.text.size()},
                                 {"predicted_cycles", built.compiled.predicted_cycles},
                                 {"plan", print(built.compiled.plan, built.imported, built.machine.name)},
                                 {"part_list", parts}};
  if (unit.launches >= 0) json["launches"] = unit.launches;
  if (is_command_stream(built.machine)) add_places(json, program);
  return json;
}

}  // namespace

// The number is a parameter of the hardware file, which says which.
bool set_threads(Options& options, Exit& code) {
  const std::int64_t asked = options.onnx.threads;
  if (asked == 0) return true;
  const auto machine = load_target(options);
  code = Exit::wrong_input;
  if (!machine) return false;
  const auto& units = machine->units();
  const auto unit = std::find_if(units.begin(), units.end(), [](const Unit& u) { return !u.threads.param.empty(); });
  if (unit == units.end()) {
    if (asked == 1) return true;
    code = fail(Exit::usage,
                is_host_code(*machine)
                    ? fmt::format("--threads {}: '{}' describes no threads", asked, machine->name)
                    : fmt::format("--threads {}: programs in C++ have threads; those of '{}' are {}", asked,
                                  machine->name, find_language(machine->program.language)->title),
                "a unit with 'threads' and its 'param' (hwdesc/README.md)");
    return false;
  }
  const Threads& threads = unit->threads;
  if (threads.most > 0 && asked > threads.most) {
    code = fail(Exit::usage, fmt::format("--threads {}: '{}' has at most {}", asked, machine->name, threads.most),
                fmt::format("fewer, or raise 'most' of the threads of {}", unit->name));
    return false;
  }
  const auto [given, is_new] = options.params.emplace(threads.param, std::to_string(asked));
  if (is_new || given->second == std::to_string(asked)) return true;
  code = fail(Exit::usage,
              fmt::format("--threads {} and --set {}={} contradict each other", asked, threads.param, given->second),
              "give one of them");
  return false;
}

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
  code = compared.correct ? Exit::ok : Exit::wrong_result;
  const ModelReport report{model,           built->machine, built->compiled, run, compared, built->importing,
                           built->planning, activations,    operators};
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

Exit emit_model(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "a model is written as several files", "-o FOLDER");
  Exit code = Exit::ok;
  if (const auto sizes = model_sizes(options, code)) return emit_model_sizes(options, *sizes);
  if (code != Exit::ok) return code;
  const auto built = Builder(options, code, prints_models).build();
  if (!built) return code;
  const auto program = link_model(built->prepared.model, built->compiled, built->prepared.data, built->machine);
  if (!program) return fail(Exit::no_answer, program.diagnostics());
  const auto unit = print_whole_model(*program, built->machine);
  if (!unit) return fail(Exit::no_answer, unit.diagnostics());
  const nlohmann::ordered_json json = json_of(*built, *program, *unit);
  return deliver_model(options, *unit, weights_file(*program), json);
}

Exit deliver_model(const Options& options, const ModelUnit& unit, const std::string& weights,
                   const nlohmann::ordered_json& json) {
  std::error_code problem;
  fs::create_directories(options.output, problem);
  if (problem)
    return fail(Exit::wrong_input, {error_at({options.output, 0, 0}, "cannot be made: " + problem.message())});
  std::string written;
  std::vector<std::pair<std::string, std::string>> files;
  if (!unit.header.empty()) files.emplace_back(unit.name + ".h", unit.header);
  files.insert(files.end(), {{unit.name + unit.extension, unit.text},
                             {unit.name + ".weights", weights},
                             {unit.name + ".json", json.dump(1) + "\n"}});
  files.insert(files.end(), unit.others.begin(), unit.others.end());
  for (const auto& [file, text] : files) {
    const std::string path = (fs::path(options.output) / file).string();
    if (const auto done = write_file(path, text); !done) return fail(Exit::wrong_input, done.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  return deliver(to_stdout, options.json ? printed(json) : written);
}

namespace {

nlohmann::ordered_json json_of(const TunedModel& tuned) {
  auto parts = nlohmann::ordered_json::array();
  for (const TunedPart& part : tuned.parts)
    parts.push_back({{"name", part.name},
                     {"calls", part.calls},
                     {"candidates", part.candidates},
                     {"seconds_before", part.before},
                     {"seconds", part.after},
                     {"kept", part.kept}});
  return parts;
}

std::string text_of(const TunedModel& tuned) {
  std::string text;
  for (const TunedPart& part : tuned.parts)
    text += fmt::format("{}{}: {:.4g} us before, {:.4g} us with the fastest of {} candidates; {}\n", part.name,
                        part.calls > 1 ? fmt::format(" and {} more", part.calls - 1) : "", part.before * 1e6,
                        part.after * 1e6, part.candidates, part.kept ? "kept" : "as before");
  return text + fmt::format("the whole: {:.4g} ms before, {:.4g} ms after; run and emit take these schedules\n",
                            tuned.before * 1e3, tuned.after * 1e3);
}

}  // namespace

Exit tune_model(const Options& options) {
  Exit code = Exit::ok;
  Builder builder(options, code, is_host_code);
  const auto built = builder.build(true);
  if (!built) return code;
  if (const std::string why = not_timed(built->machine); !why.empty())
    return fail(Exit::missing, "nothing can be measured: " + why);
  const PartStoreOptions store = part_options(options, built->machine);
  if (!has_cache() || store.tuned_as.empty())
    return fail(Exit::missing, "the schedules that are found are kept in the cache of programs, and there is none",
                "unset ISAMAP_CACHE, or name a folder in it");
  answer_interrupts();
  note_result();
  TuneModelOptions with;
  with.compile = store.compile;
  with.measured = static_cast<std::size_t>(options.lab.measured);
  with.seed = options.seed;
  with.jobs = options.schedule.jobs;
  with.stopped = interrupted;
  with.progress = [&](const std::string& text) { builder.progress()(text); };
  const TunedModel tuned =
      isamap::tune_model(built->prepared.model, built->compiled, built->machine, built->prepared.data, with);
  if (tuned.code != Exit::ok) {
    code = fail(tuned.code, tuned.problems);
    return options.json ? deliver(options, json_of_failure(code, tuned.problems), code) : code;
  }
  const PartStore kept(built->machine, store);
  for (const TunedPart& part : tuned.parts)
    if (part.kept) kept.keep_tuned(part.kernel, tuned.compiled.programs[part.program]->scheduled->schedule);
  const nlohmann::ordered_json json = {{"schema_version", 1},
                                       {"model", built->prepared.model.kernel.name},
                                       {"target", built->machine.name},
                                       {"threads", threads_of(built->machine)},
                                       {"seconds_before", tuned.before},
                                       {"seconds", tuned.after},
                                       {"stopped", interrupted()},
                                       {"part_list", json_of(tuned)}};
  return deliver(options, options.json ? printed(json) : text_of(tuned));
}

namespace {

/// What commands execute of each part, and what is left to the host.
void explain_parts(const Built& built, std::string& text, nlohmann::ordered_json& json) {
  const std::vector<PartFacts> facts = part_facts(built.compiled, built.machine);
  auto list = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < facts.size(); ++p) {
    const CompiledPart& part = built.compiled.parts[p];
    text +=
        fmt::format("# {}: {:.0f} cycles of commands{}, {:.0f} of the host\n", part.name, facts[p].predicted.commands,
                    facts[p].instructions.empty() ? "" : fmt::format(" ({})", fmt::join(facts[p].instructions, ", ")),
                    facts[p].predicted.host);
    auto left = nlohmann::ordered_json::array();
    for (const ScalarCode& code : facts[p].on_host) {
      left.push_back({{"statement", code.statement}, {"reasons", code.reasons}});
      if (part.same_as == p)
        text += fmt::format("#   {} on the host{}\n", code.statement,
                            code.reasons.empty() ? "" : ": " + code.reasons.front());
    }
    for (const KeptTensor& kept : facts[p].kept)
      if (part.same_as == p)
        text += fmt::format("#   {} stays in {}, {} bytes at a time\n", kept.tensor, kept.memory, kept.bytes);
    list.push_back({{"name", part.name},
                    {"executed_by", name(facts[p].by)},
                    {"instructions", facts[p].instructions},
                    {"predicted_cycles", facts[p].predicted.commands},
                    {"predicted_host_cycles", facts[p].predicted.host},
                    {"kept", json_of(facts[p].kept)},
                    {"on_host", std::move(left)}});
  }
  json["part_list"] = std::move(list);
}

}  // namespace

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
  const Kernel& kernel = built->prepared.model.kernel;
  const std::size_t parts = bands_as_parts(plan).size();
  const std::int64_t activations = activation_bytes(kernel, bands_as_parts(plan)),
                     operators = activation_bytes(kernel, operators_of(built->prepared.model));
  text += fmt::format(
      "# {}, a group of bands counted once; {} bytes of activations between them, {:.2f} of those "
      "of one operator a part\n",
      counted(parts, "part"), activations, static_cast<double>(activations) / static_cast<double>(operators));
  json["activation_bytes"] = activations;
  json["activation_bytes_apart"] = operators;
  if (const auto launches = launches_of(built->compiled)) {
    text += fmt::format("# {} of kernels in {} part{}\n", launches_in_words(*launches), plan.parts.size(),
                        plan.parts.size() == 1 ? "" : "s");
    json["launches"] = *launches;
  }
  for (const std::string& priced : plan.orders_priced) text += "# orders: " + priced + "\n";
  if (is_command_stream(built->machine)) explain_parts(*built, text, json);
  auto refused = nlohmann::ordered_json::array();
  for (const RefusedJoin& join : plan.refused) {
    text += fmt::format("# {} and {} are not joined: {}\n", join.one, join.other, join.reason);
    refused.push_back({{"one", join.one}, {"other", join.other}, {"reason", join.reason}});
  }
  auto not_banded = nlohmann::ordered_json::array();
  for (const RefusedBand& band : plan.bands_refused) {
    text += fmt::format("# {} to {} are in no bands: {}\n", band.first, band.last, band.reason);
    not_banded.push_back({{"first", band.first}, {"last", band.last}, {"reason", band.reason}});
  }
  json["plan"] = json_of(plan);
  json["plan_text"] = plan_text;
  json["orders_priced"] = plan.orders_priced;
  json["not_joined"] = std::move(refused);
  json["not_banded"] = std::move(not_banded);
  return code;
}

}  // namespace isamap::cli
