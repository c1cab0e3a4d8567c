// SPDX-License-Identifier: Apache-2.0
#include "cli/built_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "backends/cpp/model/precompiled_units.h"
#include "backends/model_runner.h"
#include "cli/json.h"
#include "cli/models.h"
#include "cli/sources_version.h"
#include "driver/bias_placement.h"
#include "driver/fit_model.h"
#include "driver/intermediate_precision.h"
#include "driver/launch_fusion.h"
#include "driver/plan/plan_model.h"
#include "frontends/f32_intermediates.h"
#include "frontends/prefix_reductions.h"
#include "hwdesc/model/program_language.h"
#include "planner/plan_file.h"
#include "planner/split_dims.h"
#include "support/stopwatch.h"
#include "support/yaml.h"

namespace isamap::cli {
namespace {

/// Of each statement, while plans are compared.
constexpr std::int64_t evaluations_of_plans = 100;

/// All that a schedule depends on besides the part, other sources of this program among it; `tuned`: but the options of
/// the search, and the sources.
std::string compiled_as(const Options& options, bool tuned = false) {
  const auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  if (!loaded || options.cost != "closed_form") return "";
  if (tuned) return fmt::format("\nstrict {}\n{}", options.strict_float, loaded->resolved);
  const ScheduleOptions schedule = schedule_options(options, loaded->model);
  std::string space = fmt::format("{} {}", options.map.instruction, static_cast<int>(options.map.rule));
  for (const auto& [word, flag] : space_words) space += schedule.space.*flag ? std::string(" ") + word : "";
  for (const auto& [key, value] : schedule.strategy_options) space += fmt::format(" {}={}", key, value);
  return fmt::format("\nsearch of {}: {} {} {} {} {} {} {}\n{}", sources_version, schedule.strategy, schedule.seed,
                     schedule.max_evaluations, schedule.max_seconds, static_cast<int>(schedule.objective),
                     options.strict_float, space, loaded->resolved);
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
  if (!options.onnx.band_gain) return search;
  search.band_gain = *options.onnx.band_gain / 100;
  search.plan_ties = 0;  // no group that saves less
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

std::optional<Built> Builder::build(bool runs) {
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
  if (!has_plan(options_)) *plan = fuse_launches(built.prepared.model, std::move(*plan), store);
  built.compiled = compile_model(built.prepared.model, std::move(*plan), store,
                                 runs ? compiled_ahead(built.prepared.model.kernel.name) : ProgramReader{});
  if (built.compiled.code != Exit::ok) return reported(built.compiled.code, built.compiled.problems);
  return built;
}

PartStoreOptions Builder::store_options() {
  PartStoreOptions with = part_options(options_, *machine_);
  with.progress = [this](const std::string& text) { progress_(text); };
  return with;
}

ProgramReader Builder::compiled_ahead(const std::string& model) const {
  if (!is_host_code(*machine_) || availability(*machine_).how == ExecutionMode::unavailable) return {};
  const auto units = std::make_shared<UnitsAhead>(*machine_, model);
  return [units](std::size_t number, const Program& program, const std::set<BufferId>& overlapping) {
    units->add(number, program, overlapping);
  };
}

/// One for the fit and the plan, so that no part is priced twice.
PartStore& Builder::draft() {
  if (!draft_) draft_.emplace(*machine_, draft_options(store_options()));
  return *draft_;
}

/// A plan of a file says where biases are added; otherwise the prices of plans do.
Model Builder::fitted(const Model& model) {
  const PrefixOptions prefixes{options_.strict_float, is_host_code(*machine_)};
  const Model reduced = prefix_reductions(model, prefixes);
  Model imported = with_widened_operands(reduced, *machine_);
  machine_->timing.between_runs = total_bytes(imported.kernel);  // before a draft prices parts with it
  if (!options_.strict_float && has_half_intermediates(reduced))
    imported = cheapest_intermediates(reduced, draft(), plan_options(options_));
  BiasOptions with{options_.strict_float, {}};
  Model in_front = fitted_to(imported, *machine_, with);
  const std::vector<std::string> sums = sums_with_biases_first(in_front.kernel);
  if (!is_command_stream(*machine_) || sums.empty() || exceeds_memory(in_front, *machine_)) return in_front;
  if (!has_plan(options_)) return place_biases(imported, draft(), plan_options(options_), with.strict_float);
  with.biases_behind = biases_behind_in(options_.onnx.plan, sums);
  return fitted_to(imported, *machine_, with);
}

std::optional<Built> Builder::reported(Exit why, const Diagnostics& problems) {
  code_ = fail(why, problems);
  if (options_.json) deliver(options_, json_of_failure(code_, problems), code_);
  return std::nullopt;
}

}  // namespace isamap::cli
