// SPDX-License-Identifier: Apache-2.0
// A sweep over machines: every kernel on every combination of the listed parameters of one hardware file. A job is one
// kernel on one machine; together they are a table and, of two of its columns, the Pareto front.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/jobs/kinds.h"
#include "cli/json.h"
#include "cli/models.h"
#include "driver/suite.h"
#include "report/plot.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::json;
using Params = std::map<std::string, std::string>;

/// All combinations of "dim" -> "8,16", "spad" -> "64KiB,128KiB"; the last parameter runs fastest.
std::vector<Params> combinations(const Params& lists) {
  std::vector<Params> all{{}};
  for (const auto& [name, list] : lists) {
    std::vector<Params> more;
    for (const Params& before : all)
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        more.push_back(before);
        more.back()[name] = list.substr(at, end - at);
        at = end + 1;
      }
    all = std::move(more);
  }
  return all;
}

/// The layers of a file that are kernels, under the name of the file. False: there is none, which is reported.
bool add_layers(const LayerList& list, const std::string& path, std::vector<SuiteCase>& cases) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::vector<Layer> layers = products_of(list);
  const std::size_t before = cases.size();
  Diagnostic none =
      error_at({path, 0, 0}, "has no layer that is a kernel", "name a file with a product or a reduction");
  constexpr std::size_t most_reasons = 5;
  for (const Layer& layer : layers)
    if (layer.kernel)
      cases.push_back({path, layers.size() == 1 ? stem : stem + "." + layer.name, 1, *layer.kernel, {}});
    else if (none.notes.size() < most_reasons)
      none.notes.push_back(layer.name + ": " + layer.reason);
  const std::size_t added = cases.size() - before;
  if (added == 0) return fail(Exit::wrong_input, {none}), false;
  if (added < layers.size()) tell(fmt::format("plan: {}: {} of {} layers are kernels", path, added, layers.size()));
  return true;
}

/// Layers of kernel files, models and folders of them.
std::optional<std::vector<SuiteCase>> cases_of(const std::vector<std::string>& paths) {
  std::vector<SuiteCase> cases;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      auto suite = load_suite(path);
      Diagnostics problems = suite ? problems_of(*suite) : suite.diagnostics();
      if (!problems.empty()) return fail(Exit::wrong_input, problems), std::nullopt;
      for (SuiteCase& one : suite->cases) cases.push_back(std::move(one));
      continue;
    }
    Result<LayerList> layers = error("");
    if (is_onnx(path)) {
      layers = load_onnx(path);
    } else {
      const auto kernel = load_kernel(path);
      layers = kernel ? Result<LayerList>(as_model(*kernel)) : Result<LayerList>(kernel.diagnostics());
    }
    if (!layers) return fail(Exit::wrong_input, layers.diagnostics()), std::nullopt;
    if (!add_layers(*layers, path, cases)) return std::nullopt;
  }
  if (cases.empty()) {
    fail(Exit::wrong_input, "no kernel file or model is named or in the folders", "isamap plan sweep KERNEL..");
    return std::nullopt;
  }
  return cases;
}

/// Without --strategy, or with --strategy exact, the exact search is used where it applies.
Json json_of_request(const Options& options, const HardwareModel& model) {
  const ScheduleOptions schedule = suite_schedule_options(options);
  const bool only_exact = schedule.strategy == "exact";
  return {{"rule", static_cast<int>(options.map.rule)},
          {"objective", std::string(name(schedule_options(options, model).objective))},
          {"exact", only_exact || !options.strategy_given},
          {"evals", schedule.max_evaluations},
          {"strategy", only_exact ? ScheduleOptions{}.strategy : schedule.strategy},
          {"strategy_options", schedule.strategy_options},
          {"seed", options.seed}};
}

/// Plans of older programs state none.
Objective objective_of(const Json& options) {
  for (const Objective one : all_objectives)
    if (name(one) == options.value("objective", "")) return one;
  return Objective::cycles;
}

std::string text_of(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "as it is" : text;
}

/// Why a machine is left out: the first problem, with the parameters and how to see the others.
Diagnostic refusal(const Diagnostics& problems, const std::string& target, const Params& params) {
  Diagnostic first = problems.front();
  first.message = fmt::format("the machine with {} is left out: {}", text_of(params), first.message);
  std::string command = "isamap hw check " + target;
  for (const auto& [name, value] : params) command += fmt::format(" --set {}={}", name, value);
  if (problems.size() > 1)
    first.notes.push_back(fmt::format("and {}: `{}`", counted(problems.size() - 1, "more problem"), command));
  return first;
}

/// Adds a job for each kernel on a machine, and returns their keys.
Json add_jobs(jobs::Plan& plan, const std::vector<SuiteCase>& cases, const std::string& target, const Params& params,
              const Json& request) {
  Json keys = Json::array();
  for (const SuiteCase& one : cases) {
    const std::string kernel = plan.add_text(print(*one.kernel));
    keys.push_back(plan.add(Json{{"verb", "sweep"},
                                 {"name", one.name + ", " + text_of(params)},
                                 {"texts", {kernel, target}},
                                 {"kernel", kernel},
                                 {"target", target},
                                 {"options", request},
                                 {"versions", Json::parse(versions_json())}}
                                .dump()));
  }
  return keys;
}

}  // namespace

std::optional<jobs::Plan> plan_sweep(const PlanRequest& request, Exit& code) {
  const Options& options = request.options;
  code = Exit::wrong_input;
  const auto cases = cases_of(options.files);
  if (!cases) return std::nullopt;
  if (refused_seconds(options, "searches")) return code = Exit::usage, std::nullopt;
  jobs::Plan plan;
  plan.verb = "sweep";
  Json kernels = Json::array(), machines = Json::array();
  for (const SuiteCase& one : *cases) {
    if (const auto wrong = no_utf8(one.name)) return fail(code, {*wrong}), std::nullopt;
    kernels.push_back(one.name);
  }
  std::size_t refused = 0, repeated = 0;
  std::set<std::string> targets;
  Diagnostics problems;
  for (const Params& params : combinations(options.params)) {
    const auto loaded = load_hardware(options.target, model_folders(), {params, false, {}, options.in_order});
    if (!loaded) {
      ++refused;
      remember(problems, {refusal(loaded.diagnostics(), options.target, params)});
      continue;
    }
    const std::string target = plan.add_text(loaded->resolved);
    if (!targets.insert(target).second) {  // a value that is listed twice, or written in two ways
      ++repeated;
      continue;
    }
    machines.push_back(
        {{"set", params}, {"jobs", add_jobs(plan, *cases, target, params, json_of_request(options, loaded->model))}});
  }
  if (!problems.empty()) fail(machines.empty() ? code : Exit::ok, problems);
  if (machines.empty()) return std::nullopt;
  if (refused > 0)
    tell(
        fmt::format("plan: {} of {} machines are refused and left out", refused, refused + repeated + machines.size()));
  if (repeated > 0) tell(fmt::format("plan: {} listed again and left out", counted(repeated, "machine")));
  plan.head = Json{
      {"target", std::filesystem::path(options.target).stem().string()},
      {"kernels", kernels},
      {"machines",
       machines}}.dump();
  return plan;
}

jobs::Outcome do_point(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  const Json& options = job.at("options");
  auto kernel = inputs.kernel(job.at("kernel").get<std::string>());
  if (!kernel) return not_done(Exit::wrong_input, kernel.diagnostics());
  const auto machine = inputs.machine(job.at("target").get<std::string>());
  if (!machine) return not_done(Exit::wrong_input, machine.diagnostics());
  MapOptions map;
  map.rule = static_cast<Rule>(options.at("rule").get<int>());
  ScheduleOptions schedule;
  schedule.objective = objective_of(options);
  schedule.max_evaluations = options.at("evals").get<std::int64_t>();
  schedule.strategy = options.at("strategy").get<std::string>();
  schedule.strategy_options = options.at("strategy_options").get<StrategyOptions>();
  schedule.seed = options.at("seed").get<std::uint64_t>();
  Suite suite;
  suite.cases.push_back({"", kernel->name, 1, std::move(*kernel), {}});
  std::optional<ExactLimits> exact;
  if (options.value("exact", false)) exact = ExactLimits{0, usual_nodes, 0};
  const SuiteAnswer answer = answers(suite, **machine, map, schedule, {}, exact).front();
  return {0,
          Json{{"mappings", answer.count()},
               {"programmable", answer.programmable_count()},
               {"utilisation", answer.utilisation},
               {"instruction", answer.instruction},
               {"cycles", answer.cycles},
               {"energy_pJ", answer.energy_pJ},
               {"bytes", answer.bytes},
               {"prediction", std::string(name(answer.prediction))},
               {"reasons", answer.reasons}}
              .dump(-1, ' ', false, Json::error_handler_t::replace),
          ""};
}

bool is_point(const Json& /*job*/, const Json& result) {
  for (const char* number : {"cycles", "energy_pJ", "bytes", "utilisation"}) result.at(number).get<double>();
  result.at("prediction").get<std::string>();
  return true;
}

namespace {

/// One machine of a sweep, summed over the kernels.
struct Machine {
  Params params;
  bool whole = true;  ///< every kernel has cycles
  std::size_t kernels = 0;
  std::size_t scalar = 0;  ///< of them: scalar code
  /// cycles, energy (0: the machine states none), bytes, utilisation of the best mapping (the least; 0: of a kernel
  /// it is not known, or the kernel is scalar code)
  std::map<std::string, double> values;
  bool front = false;
};

Result<Machine> machine_of(const Json& given, JobInputs& inputs) {
  Machine machine;
  machine.params = given.at("set").get<Params>();
  machine.kernels = given.at("jobs").size();
  double utilisation = std::numeric_limits<double>::infinity();
  for (const Json& key : given.at("jobs")) {
    const jobs::Known* known = inputs.store().find(key.get<std::string>());
    if (!known || known->ok.empty()) {
      machine.whole = false;
      continue;
    }
    const auto text = inputs.result(key.get<std::string>());
    if (!text) return text.diagnostics();
    const Json result = Json::parse(*text);
    machine.whole = machine.whole && result.at("prediction") != "none";
    for (const auto& [column, field] : {std::pair("cycles", "cycles"), {"energy", "energy_pJ"}, {"bytes", "bytes"}})
      machine.values[column] += result.at(field).get<double>();
    const bool scalar = result.at("prediction") == name(Prediction::scalar);
    machine.scalar += scalar ? 1 : 0;
    utilisation = std::min(utilisation, scalar ? 0 : result.at("utilisation").get<double>());
  }
  machine.values["utilisation"] = std::isfinite(utilisation) ? utilisation : 0;
  return machine;
}

/// "64KiB" -> 65536: numbers of parameters with the usual suffixes; nothing: it is no number.
std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  const std::string unit = end;
  for (const auto& [prefix, factor] : {std::pair("Ki", 1024.0), {"Mi", 1048576.0}, {"Gi", 1073741824.0}})
    if (unit.starts_with(prefix)) return value * factor;
  return value;
}

/// An axis: a column, a parameter, or a product of them ("dim*dim", "4*spad").
std::optional<double> value_of(const Machine& machine, const std::string& axis) {
  double product = 1;
  for (std::size_t at = 0; at <= axis.size();) {
    const std::size_t end = std::min(axis.find('*', at), axis.size());
    const std::string factor = axis.substr(at, end - at);
    at = end + 1;
    const auto value = machine.values.find(factor);
    const auto param = machine.params.find(factor);
    const auto number = param != machine.params.end() ? number_in(param->second) : number_in(factor);
    if (value == machine.values.end() && !number) return std::nullopt;
    product *= value != machine.values.end() ? value->second : *number;
  }
  return product;
}

/// Marks the machines that no other one beats in one axis without losing in the other; less is better.
void mark_front(std::vector<Machine>& machines, const std::string& x, const std::string& y) {
  std::vector<std::pair<std::pair<double, double>, std::size_t>> points;
  for (std::size_t m = 0; m < machines.size(); ++m)
    if (machines[m].whole) points.push_back({{*value_of(machines[m], x), *value_of(machines[m], y)}, m});
  std::sort(points.begin(), points.end());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < points.size(); ++p) {
    const bool equal = p > 0 && points[p].first == points[p - 1].first;
    machines[points[p].second].front =
        points[p].first.second < least || (equal && machines[points[p - 1].second].front);
    least = std::min(least, points[p].first.second);
  }
}

struct Axes {
  std::string x, y;
};

bool states_energy(const std::vector<Machine>& machines) {
  return std::any_of(machines.begin(), machines.end(), [](const Machine& m) {
    const auto energy = m.values.find("energy");
    return energy != m.values.end() && energy->second > 0;
  });
}

/// "cycles,energy"; by default cycles against energy where the machines state energies, else against the first
/// parameter that is a number.
std::optional<Axes> axes_of(const std::string& given, const std::vector<Machine>& machines) {
  Axes axes{"cycles", "bytes"};
  if (!given.empty()) {
    const std::size_t comma = std::min(given.find(','), given.size());
    axes = {given.substr(0, comma), comma < given.size() ? given.substr(comma + 1) : ""};
  } else if (states_energy(machines)) {
    axes.y = "energy";
  } else {
    for (const auto& [name, value] : machines.front().params)
      if (number_in(value)) {
        axes.y = name;
        break;
      }
  }
  const bool has_results =
      std::any_of(machines.begin(), machines.end(), [](const Machine& m) { return !m.values.empty(); });
  for (const std::string& axis : {axes.x, axes.y})
    if (("*" + axis + "*").find("*energy*") != std::string::npos && has_results && !states_energy(machines)) {
      fail(Exit::usage, fmt::format("--axes '{},{}': the results have no energies", axes.x, axes.y),
           "--axes cycles,bytes, or `energy` of memories, links and instructions in the hardware file");
      return std::nullopt;
    }
  Machine any = machines.front();
  for (const char* column : {"cycles", "energy", "bytes"}) any.values.emplace(column, 0);
  if (value_of(any, axes.x) && value_of(any, axes.y)) return axes;
  std::string known = "cycles, energy, bytes, utilisation";
  for (const auto& [name, value] : any.params) known += ", " + name;
  fail(Exit::usage, fmt::format("--axes '{},{}' names something that a sweep has not", axes.x, axes.y),
       "two of: " + known + ", or products: --axes cycles,dim*dim");
  return std::nullopt;
}

std::vector<std::vector<std::string>> rows_of(const std::vector<Machine>& machines, bool all) {
  std::vector<std::vector<std::string>> rows{{}};
  for (const auto& [name, value] : machines.front().params) rows.front().push_back(name);
  for (const char* column : {"cycles", "energy_pJ", "bytes", "least utilisation", "scalar", "front"})
    rows.front().emplace_back(column);
  for (const Machine& m : machines) {
    if (!all && !m.front) continue;
    rows.emplace_back();
    for (const auto& [name, value] : m.params) rows.back().push_back(value);
    for (const char* column : {"cycles", "energy", "bytes", "utilisation"}) {
      const auto value = m.values.find(column);
      const bool known = m.whole && value != m.values.end() && value->second > 0;
      rows.back().push_back(known ? fmt::format("{:g}", value->second) : "-");
    }
    rows.back().push_back(m.scalar > 0 ? fmt::format("{} of {}", m.scalar, m.kernels) : "");
    rows.back().emplace_back(m.front ? "*" : "");
  }
  return rows;
}

std::string figure_of(const std::vector<Machine>& machines, const Axes& axes, const std::string& caption) {
  Series rest{"machines", 0, {}, {}, false, true, {}}, front{"Pareto front", 1, {}, {}, false, true, {}};
  Series line{"", 1, {}, {}, true, false, {}};
  double low[2] = {1e300, 1e300}, high[2] = {0, 0};
  std::vector<std::pair<double, double>> steps;
  for (const Machine& m : machines) {
    if (!m.whole) continue;
    const std::pair<double, double> at(*value_of(m, axes.x), *value_of(m, axes.y));
    Series& series = m.front ? front : rest;
    series.points.push_back(at);
    series.labels.push_back(text_of(m.params));
    if (m.front) steps.push_back(at);
    low[0] = std::min(low[0], at.first), high[0] = std::max(high[0], at.first);
    low[1] = std::min(low[1], at.second), high[1] = std::max(high[1], at.second);
  }
  std::sort(steps.begin(), steps.end());
  line.points = steps;
  const auto axis = [&](const std::string& label, int which) {
    const bool logarithmic = low[which] > 0 && high[which] > 20 * low[which];
    const double margin = logarithmic ? 1.2 : 0;
    const double width = std::max(high[which] - low[which], 1e-9 * std::abs(high[which]) + 1e-12);
    return logarithmic ? PlotAxis{label, true, low[which] / margin, high[which] * margin}
                       : PlotAxis{label, false, low[which] - 0.05 * width, high[which] + 0.05 * width};
  };
  return line_figure({rest, line, front}, axis(axes.x, 0), axis(axes.y, 1), caption);
}

}  // namespace

Exit results_of_sweep(const RecordedPlan& recorded) {
  const Json head = Json::parse(recorded.plan.head);
  JobInputs inputs(recorded.store);
  std::vector<Machine> machines;
  for (const Json& given : head.at("machines")) {
    auto machine = machine_of(given, inputs);
    if (!machine) return fail(Exit::wrong_input, machine.diagnostics());
    machines.push_back(std::move(*machine));
  }
  const auto axes = axes_of(recorded.axes, machines);
  if (!axes) return Exit::usage;
  mark_front(machines, axes->x, axes->y);
  constexpr std::size_t most_rows = 40;
  const bool all = machines.size() <= most_rows || recorded.options.json;
  const auto rows = rows_of(machines, all);
  if (!recorded.options.report.empty()) {
    const std::string figure =
        figure_of(machines, *axes,
                  fmt::format("{}: {} machines, {} kernels", head.at("target").get<std::string>(), machines.size(),
                              head.at("kernels").size()));
    const std::size_t begin = figure.find("<svg"), end = figure.find("</svg>") + 6;
    const auto written = write_file(recorded.options.report, figure.substr(begin, end - begin) + "\n");
    if (!written) return fail(Exit::wrong_input, written.diagnostics());
  }
  const auto front = std::count_if(machines.begin(), machines.end(), [](const Machine& m) { return m.front; });
  const std::string text =
      table(rows) + fmt::format("\n{} of {} machines are on the front of {} and {}{}\n", front, machines.size(),
                                axes->x, axes->y, all ? "" : "; --json lists all machines");
  return deliver(recorded.options, recorded.options.json ? json_of_rows("machines", rows, {"scalar", "front"}) : text,
                 tell_missing(recorded));
}

}  // namespace isamap::cli
