// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "cli/json.h"
#include "cli/model_files.h"
#include "driver/run_model.h"
#include "frontends/done_ahead.h"
#include "frontends/integer_products.h"
#include "frontends/layers.h"

namespace isamap::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : list + ",")
    if (c != ',')
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, ""));
  return words;
}

/// NAME=NUMBER,...; false: an error was reported.
template <class Number>
bool read_numbers(const std::string& flag, const std::string& list, std::map<std::string, Number>& into) {
  for (const std::string& word : words_of(list)) {
    const std::size_t equals = word.rfind('=');
    Number value{};
    const char* const end = word.data() + word.size();
    const char* const begin = equals == std::string::npos ? end : word.data() + equals + 1;
    const auto [stop, problem] = std::from_chars(begin, end, value);
    if (equals == 0 || begin == end || problem != std::errc() || stop != end) {
      fail(Exit::usage, fmt::format("{} {}: expected NAME=NUMBER", flag, word), flag + " batch=1,seq=128");
      return false;
    }
    into[word.substr(0, equals)] = value;
  }
  return true;
}

std::string text_of(const RefusedNode& refusal) {
  return fmt::format("{}: {}{}\n", refusal.node, refusal.reason, refusal.help.empty() ? "" : "; " + refusal.help);
}

std::string refusals_of(const Model& model) {
  std::string text;
  std::size_t behind = 0;
  for (const RefusedNode& refusal : model.refused)
    if (refusal.follows)
      ++behind;
    else
      text += text_of(refusal);
  if (behind > 0) text += fmt::format("{} more nodes read results of these\n", behind);
  return text;
}

nlohmann::ordered_json json_of(const std::vector<RefusedNode>& refused) {
  auto list = nlohmann::ordered_json::array();
  for (const RefusedNode& r : refused)
    list.push_back({{"node", r.node},
                    {"name", r.name},
                    {"op", r.op},
                    {"reason", r.reason},
                    {"help", r.help},
                    {"follows", r.follows}});
  return list;
}

std::string shapes_of(const Model& model) {
  std::string text;
  for (const TensorId id : model.outputs) {
    const Tensor& tensor = model.kernel.tensors[id.index()];
    text +=
        fmt::format("output {}: {}[{}]\n", model.file_names.at(id), name(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  return text;
}

std::string printed(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// A model that can be executed, and a value for each of its tensors.
struct Prepared {
  Model model;
  std::vector<TensorData> data;
  ModelFiles files;
};

/// Without copies between statements and what only constants need. Empty: what is wrong or refused is reported, and
/// `code` set.
std::optional<Prepared> prepare(const Options& options, Exit& code) {
  const auto model = load_model(options, code);
  if (!model) return std::nullopt;
  if (!model->refused.empty()) {
    fmt::print(stderr, "{}", refusals_of(*model));
    code = Exit::no_answer;
    if (options.json)
      deliver(options,
              printed({{"schema_version", 1}, {"model", model->kernel.name}, {"refused", json_of(model->refused)}}));
    return std::nullopt;
  }
  for (const std::string& note : model->notes) fmt::print(stderr, "note: {}\n", note);
  code = Exit::wrong_input;
  AheadOptions with;
  with.strict_float = options.strict_float || options.onnx.interpret;
  const auto integers = integer_products(composed(*model), with.strict_float);
  auto ahead = integers ? done_ahead(*integers, with) : integers;
  if (!ahead) {
    fail(code, ahead.diagnostics());
    return std::nullopt;
  }
  Prepared prepared{std::move(*ahead), {}, {}};
  if (const Diagnostics problems = verify(prepared.model.kernel); has_errors(problems)) {
    fail(code, problems);
    return std::nullopt;
  }
  auto files = load_model_files(options);
  if (!files) {
    fail(code, files.diagnostics());
    return std::nullopt;
  }
  prepared.files = std::move(*files);
  const auto inputs = inputs_of(prepared.model, prepared.files, options);
  auto data = inputs ? data_of(prepared.model, *inputs) : inputs;
  if (!data) {
    fail(code, data.diagnostics());
    return std::nullopt;
  }
  prepared.data = std::move(*data);
  return prepared;
}

/// A model, its parts on a machine, and how they ran.
struct ModelReport {
  const Model& model;
  const HardwareModel& machine;
  const CompiledModel& compiled;
  const ModelRun& run;
  const Compared& compared;
  double importing = 0;
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

nlohmann::ordered_json json_of(const Plan& plan) {
  return {{"cost", plan.cost}, {"bound", plan.bound}, {"proved", plan.proved}};
}

nlohmann::ordered_json json_of(const ModelReport& report) {
  const auto& [model, machine, compiled, run, compared, importing] = report;
  return {{"schema_version", 1},
          {"model", model.kernel.name},
          {"target", machine.name},
          {"executed", name(run.executed)},
          {"correct", compared.correct},
          {"max_error", run.max_error},
          {"compared", compared.outputs},
          {"seconds", run.seconds},
          {"cycles", run.cycles},
          {"predicted_cycles", compiled.plan.cost},
          {"parts", compiled.parts.size()},
          {"distinct_parts", compiled.programs.size()},
          {"plan", json_of(compiled.plan)},
          {"whole", run.whole},
          {"arena_bytes", run.arena_bytes},
          {"arena_bound", run.arena_bound},
          {"weights_bytes", run.weights_bytes},
          {"code_bytes", run.text_bytes},
          {"seconds_of",
           {{"import", importing},
            {"plan", 0},
            {"search", compiled.seconds},
            {"compile", run.seconds_compiling},
            {"run", run.seconds_running}}},
          {"versions", 1},
          {"recompiles", 0},
          {"part_list", json_of_parts(compiled, run)}};
}

/// The verdict, and the parts that take longest.
std::string text_of(const ModelReport& report) {
  const ModelRun& run = report.run;
  std::string text = fmt::format("executed {}{}, every part as the interpreter says", name(run.executed),
                                 run.whole ? " as one program" : " part by part");
  if (report.compared.outputs > 0) text += ", outputs " + verdict_of(report.compared);
  text += fmt::format("; largest error {:.3g}", run.max_error);
  if (run.seconds > 0) text += fmt::format("; {:.3g} s", run.seconds);
  if (run.cycles > 0) text += fmt::format("; {} cycles", run.cycles);
  text += fmt::format(" in {} parts, {} of them distinct; {:.0f} cycles predicted\n", report.compiled.parts.size(),
                      report.compiled.programs.size(), report.compiled.plan.cost);
  if (run.whole)
    text += fmt::format("  arena {} bytes ({} live at one time), weights {} bytes\n", run.arena_bytes, run.arena_bound,
                        run.weights_bytes);
  std::vector<std::size_t> longest(run.parts.size());
  std::iota(longest.begin(), longest.end(), std::size_t{0});
  const auto time = [&](std::size_t p) {
    return run.parts[p].seconds > 0 ? run.parts[p].seconds : static_cast<double>(run.parts[p].cycles);
  };
  std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) { return time(a) > time(b); });
  constexpr std::size_t shown = 5;
  for (std::size_t n = 0; n < std::min(shown, longest.size()); ++n) {
    const PartRun& ran = run.parts[longest[n]];
    const CompiledPart& part = report.compiled.parts[longest[n]];
    text += fmt::format("  {}: {}, {} of {} statements mapped, {:.0f} cycles predicted\n", part.name,
                        ran.seconds > 0 ? fmt::format("{:.3g} s", ran.seconds) : fmt::format("{} cycles", ran.cycles),
                        part.mapped, part.kernel.statements.size(), part.predicted_cycles);
  }
  return text;
}

}  // namespace

bool is_onnx(const std::string& path) { return path.size() > 5 && path.compare(path.size() - 5, 5, ".onnx") == 0; }

std::optional<Model> load_model(const Options& options, Exit& code) {
  ModelOptions with;
  with.seed = options.seed;
  with.until = words_of(options.onnx.until);
  with.constants = words_of(options.onnx.constants);
  code = Exit::usage;
  if (!read_numbers("--sizes", options.onnx.sizes, with.sizes) || !read_numbers("--fix", options.onnx.fix, with.fix))
    return std::nullopt;
  auto model = import_model(options.kernel_file, with);
  if (model) return std::move(*model);
  code = fail(onnx_supported() ? Exit::wrong_input : Exit::missing, model.diagnostics());
  if (options.json && code == Exit::missing) deliver(options, json_of_failure(code, model.diagnostics()));
  return std::nullopt;
}

Exit verb_import_onnx(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "the files are written to a folder", "-o FOLDER");
  Exit code = Exit::ok;
  const auto model = load_model(options, code);
  if (!model) return code;
  std::error_code problem;
  fs::create_directories(options.output, problem);
  if (problem)
    return fail(Exit::wrong_input, {error_at({options.output, 0, 0}, "cannot be made: " + problem.message())});
  const LayerList layers = layers_of(*model);
  for (const std::string& note : layers.notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print(stderr, "{}", refusals_of(*model));
  std::string written;
  for (const Layer& layer : layers.layers) {
    if (!layer.kernel) continue;
    const auto text = kernel_file(*layer.kernel);
    if (!text) {
      fmt::print(stderr, "note: {}: {}\n", layer.name, text.diagnostics().front().message);
      continue;
    }
    const std::string path = (fs::path(options.output) / (layer.name + ".yaml")).string();
    const std::string head = layer.node.empty() ? "" : fmt::format("# node '{}' of {}\n", layer.node, layers.name);
    if (const auto done = write_file(path, head + *text); !done) return fail(Exit::wrong_input, done.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  if (written.empty()) fail(Exit::no_answer, "no layer of the model multiplies and sums");
  return deliver(to_stdout, options.json ? json_of_texts({{"files", written}}) : written,
                 written.empty() ? Exit::no_answer : Exit::ok);
}

Exit explain_model(const Options& options) {
  Exit code = Exit::ok;
  const auto model = load_model(options, code);
  if (!model) return code;
  code = model->refused.empty() ? Exit::ok : Exit::no_answer;
  if (options.json) {
    const nlohmann::ordered_json json = {{"schema_version", 1},
                                         {"model", model->kernel.name},
                                         {"statements", model->kernel.statements.size()},
                                         {"refused", json_of(model->refused)},
                                         {"notes", model->notes}};
    return deliver(options, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", code);
  }
  std::string text = fmt::format("{}: {} statements\n", model->kernel.name, model->kernel.statements.size());
  for (const std::string& note : model->notes) text += "note: " + note + "\n";
  if (!model->refused.empty()) text += "cannot be compiled:\n" + refusals_of(*model);
  return deliver(options, text, code);
}

Exit interpret_model(const Options& options) {
  Exit code = Exit::ok;
  auto prepared = prepare(options, code);
  if (!prepared) return code;
  auto& [model, data, files] = *prepared;
  const auto start = std::chrono::steady_clock::now();
  interpret(model.kernel, data);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const auto saved = save_outputs(model, data, options); !saved)
    return fail(Exit::wrong_input, saved.diagnostics());
  const Compared compared = compare_with_files(model, data, files);
  code = compared.correct ? Exit::ok : Exit::wrong_result;
  const nlohmann::ordered_json json = {{"schema_version", 1},         {"model", model.kernel.name},
                                       {"executed", "interpreter"},   {"compared", compared.outputs},
                                       {"correct", compared.correct}, {"max_error", compared.max_error},
                                       {"seconds", seconds}};
  if (options.json) return deliver(options, printed(json), code);
  return deliver(options,
                 fmt::format("{}executed by the interpreter, {}; largest error {:.3g}; {:.3g} s\n", shapes_of(model),
                             verdict_of(compared), compared.max_error, seconds),
                 code);
}

Exit compile_and_run_model(const Options& options) {
  const auto machine = load_target(options);
  if (!machine) return Exit::wrong_input;
  Exit code = Exit::ok;
  const auto start = std::chrono::steady_clock::now();
  auto prepared = prepare(options, code);
  if (!prepared) return code;
  const double importing = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ModelCompileOptions with;
  with.compile.map = options.map;
  with.compile.strict_float = options.strict_float;
  with.compile.schedule = schedule_options(options, *machine);
  with.jobs = std::max(1u, std::thread::hardware_concurrency());
  Progress progress;
  with.progress = [&](const std::string& text) { progress(text); };
  Plan plan = chain_plan(prepared->model.kernel);
  if (getenv("LAST")) {
    const Kernel& k = prepared->model.kernel;
    plan.order.resize(k.tensors.size());
    for (std::size_t t = 0; t < k.tensors.size(); ++t)
      if (is_free(k, make_id<TensorId>(t)) && !k.tensors[t].constant && k.tensors[t].shape.size() == 4)
        plan.order[t] = {0, 2, 3, 1};
  }
  const Model model = in_order(prepared->model, plan.order);
  const auto failed = [&](Exit why, const Diagnostics& problems) {
    code = fail(why, problems);
    return options.json ? deliver(options, json_of_failure(code, problems), code) : code;
  };
  const CompiledModel compiled = compile_model(model, plan, *machine, with);
  if (compiled.code != Exit::ok) return failed(compiled.code, compiled.problems);
  const ModelRun run =
      run_model(model, compiled, *machine, in_order(std::move(prepared->data), plan.order), {0.5, with.progress});
  if (run.code != Exit::ok) return failed(run.code, run.problems);
  if (const auto saved = save_outputs(model, run.data, options); !saved)
    return failed(Exit::wrong_input, saved.diagnostics());
  const Compared compared = compare_with_files(model, run.data, prepared->files);
  code = compared.correct ? Exit::ok : Exit::wrong_result;
  const ModelReport report{model, *machine, compiled, run, compared, importing};
  if (options.json) return deliver(options, printed(json_of(report)), code);
  return deliver(options, shapes_of(model) + text_of(report), code);
}

}  // namespace isamap::cli
