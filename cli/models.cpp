// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/common/process.h"
#include "backends/model_runner.h"
#include "backends/simulator/model_simulation.h"
#include "cli/json.h"
#include "cli/model_files.h"
#include "cli/model_sizes.h"
#include "driver/execute.h"
#include "driver/fit_model.h"
#include "frontends/done_ahead.h"
#include "frontends/integer_products.h"
#include "frontends/layers.h"
#include "hwdesc/model/program_language.h"
#include "isamap/program_on_machine.h"

namespace isamap::cli {

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

namespace {

namespace fs = std::filesystem;

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
    const auto [known, is_new] = into.emplace(word.substr(0, equals), value);
    if (is_new || known->second == value) continue;
    fail(Exit::usage, fmt::format("{} states '{}' twice: {} and {}", flag, known->first, known->second, value),
         "give one of them");
    return false;
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

/// Without copies between its statements and what only constants need; products of bytes as the machine has them.
Result<Model> executable(const Options& options, const Model& model, const HardwareModel* machine) {
  AheadOptions with;
  with.strict_float = options.strict_float || (options.onnx.interpret && machine == nullptr);
  if (machine == nullptr) return done_ahead(composed(model), with);
  const auto integers = integer_products(composed(model), with.strict_float, bytes_multiplied_by(*machine));
  return integers ? done_ahead(*integers, with) : integers;
}

/// What the options say of the import, but for sizes. False: an error was reported.
bool read_model_options(const Options& options, ModelOptions& with) {
  with.seed = options.seed;
  with.of_all_sizes = options.onnx.of_all_sizes;
  with.of_sizes = options.onnx.of_sizes;
  with.until = words_of(options.onnx.until);
  if (!options.onnx.until.empty() && with.until.empty()) {
    fail(Exit::usage, "--until names no value", "--until NAME,...");
    return false;
  }
  with.constants = words_of(options.onnx.constants);
  if (!with.constants.empty() && !options.onnx.inputs.empty()) {
    const auto files = load_model_files(options);
    if (!files) return fail(Exit::wrong_input, files.diagnostics()), false;
    with.values = files->constants;
  }
  return read_numbers("--fix", options.onnx.fix, with.fix);
}

}  // namespace

Result<Model> imported_at(const Options& options, const Bindings& sizes) {
  ModelOptions with;
  if (!read_model_options(options, with)) return error("the options of the import are wrong");
  with.sizes = sizes;
  return import_model(options.kernel_file, with);
}

Result<Model> model_at(const Options& options, const Bindings& sizes, const HardwareModel* machine) {
  const auto model = imported_at(options, sizes);
  if (!model) return model;
  Diagnostics problems;
  for (const RefusedNode& refusal : model->refused)
    if (!refusal.follows) problems.push_back(error(fmt::format("{}: {}", refusal.node, refusal.reason), refusal.help));
  if (!problems.empty()) return problems;
  auto made = executable(options, *model, machine);
  if (made)
    if (const Diagnostics wrong = verify(made->kernel); has_errors(wrong)) return wrong;
  return made;
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

namespace {

/// Is all that stands against it that the command line gives some sizes no value?
bool only_lacks_sizes(const Model& model) {
  return std::all_of(model.refused.begin(), model.refused.end(),
                     [](const RefusedNode& one) { return one.follows || one.lacks_sizes; });
}

}  // namespace

std::optional<Prepared> prepare(const Options& options, Exit& code, const HardwareModel* machine, const Fit& fit) {
  const auto model = load_model(options, code);
  if (!model) return std::nullopt;
  if (!model->refused.empty()) {
    fmt::print(stderr, "{}", refusals_of(*model));
    code = only_lacks_sizes(*model) ? Exit::wrong_input : Exit::no_answer;
    if (options.json)
      deliver(options,
              printed({{"schema_version", 1}, {"model", model->kernel.name}, {"refused", json_of(model->refused)}}));
    return std::nullopt;
  }
  for (const std::string& note : model->notes) fmt::print(stderr, "note: {}\n", note);
  if (model->outputs.empty()) {
    code = fail(Exit::wrong_input, {error_at({options.kernel_file, 0, 0}, "the model has no outputs",
                                             "--until NAME,... says which values are wanted")});
    return std::nullopt;
  }
  if (options.onnx.outputs.ends_with(".npy") && model->outputs.size() > 1) {  // before anything is compiled
    code = fail(Exit::usage,
                fmt::format("--outputs {}: a .npy file holds one array, and the model has {} outputs",
                            options.onnx.outputs, model->outputs.size()),
                "name it .npz, or --until NAME");
    return std::nullopt;
  }
  if (const Diagnostics large = too_large_to_hold(model->kernel); !large.empty()) {
    code = fail(Exit::limit, large);
    return std::nullopt;
  }
  code = Exit::wrong_input;
  auto ahead = executable(options, *model, machine);
  if (!ahead) {
    fail(code, ahead.diagnostics());
    return std::nullopt;
  }
  const std::size_t told = ahead->notes.size();
  if (fit) ahead = fit(*ahead);
  for (std::size_t n = told; n < ahead->notes.size(); ++n) fmt::print(stderr, "note: {}\n", ahead->notes[n]);
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

bool is_onnx(const std::string& path) { return path.size() > 5 && path.compare(path.size() - 5, 5, ".onnx") == 0; }

bool is_model(const Options& options) {
  return options.compute.empty() && !options.kernel_file.empty() &&
         (is_onnx(options.kernel_file) || (!options.onnx.plan.empty() && !is_stream_file(options.kernel_file)));
}

bool has_unused(const Options& options, const std::vector<std::string>& flags, const std::string& why,
                const std::string& hint) {
  for (const std::string& flag : flags) {
    if (!options.given.contains(flag)) continue;
    fail(Exit::usage, flag + " " + why, hint);
    return true;
  }
  return false;
}

std::optional<Options> kernel_options(const Options& options, Exit& code) {
  code = Exit::usage;
  const std::string what = options.kernel_file.empty() ? "a formula" : "'" + options.kernel_file + "'";
  if (has_unused(options,
                 {"--plan", "--band-gain", "--profile", "--inputs", "--outputs", "--interpret", "--fix", "--until",
                  "--constant"},
                 "is for models, and " + what + " is none",
                 "name a .onnx file, or add `--plan search` to a kernel file"))
    return std::nullopt;
  Options of_kernel = options;
  if (!options.target.empty() && !set_threads(of_kernel, code)) return std::nullopt;
  code = Exit::ok;
  return of_kernel;
}

namespace {

const std::vector<std::string> of_searches = {"--instruction", "--rule",  "--objective", "--strategy",
                                              "--budget",      "--space", "--jobs",      "--band-gain"};

}  // namespace

bool without_program_flags(const Options& options) {
  const std::string why = "is for programs, and --interpret makes none";
  if (is_onnx(options.kernel_file) && has_unused(options, {"--plan"}, why, "leave it out, or add --target HW"))
    return false;
  return !has_unused(options, of_searches, why, "leave it out, or add --target HW") &&
         !has_unused(options, {"--set", "--no-reorder", "--threads", "--report", "--profile"}, why,
                     "leave it out, or add --target HW");
}

bool without_compiler_flags(const Options& options) {
  const std::string why = "is for the compiler, and '" + options.kernel_file + "' is a program already";
  return !has_unused(options, of_searches, why, "leave it out") &&
         !has_unused(options,
                     {"--schedule", "--strict-float", "--no-reorder", "--sizes", "--fix", "--until", "--constant",
                      "--plan", "--threads", "--report", "--profile", "--dims", "--dtypes", "--interpret"},
                     why, "leave it out");
}

bool without_kernel_flags(const Options& options) {
  const std::string what = "'" + options.kernel_file + "' is planned as a model";
  if (has_unused(options, {"--schedule"}, "is for kernels, and " + what,
                 "isamap tune finds schedules of a model's parts, and --plan says which they are") ||
      has_unused(options, {"--program", "--check", "--header", "--test", "--workspace"}, "is for kernels, and " + what,
                 "isamap run compares the whole model; its header is always written") ||
      has_unused(options, {"--write"}, "is for kernels, and " + what,
                 "isamap import onnx writes the layers as kernels") ||
      has_unused(options, {"--store"}, "is for kernels, and " + what,
                 "schedules of parts are kept in the cache of programs") ||
      (is_onnx(options.kernel_file) &&
       has_unused(options, {"--dtypes"}, "is for formulas, and " + what, "the file of a model states its types")))
    return false;
  if (options.onnx.plan.empty() || options.onnx.plan == "search") return true;
  return !has_unused(options, {"--band-gain"}, "is for a search of plans; --plan replaces it", "leave out one of them");
}

namespace {

/// A kernel file as a model: its statements are what parts are made of, its constants are drawn.
Model model_of(Kernel kernel, std::uint64_t seed) {
  Model model;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const auto id = make_id<TensorId>(t);
    const Role role = role_of(kernel, id);
    if (kernel.tensors[t].constant) {
      Weight& weight = model.weights.emplace_back();
      weight.tensor = id;
      weight.drawn = true;
      weight.seed = seed + t;
    } else if (role != Role::intermediate) {
      (role == Role::output ? model.outputs : model.inputs).push_back(id);
      model.file_names[id] = kernel.tensors[t].name;
    }
  }
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    model.origins.push_back({{kernel.statements[s].name}, kernel.statements[s].name, "statement", "statement", s});
  model.kernel = std::move(kernel);
  return model;
}

}  // namespace

std::optional<Model> load_model(const Options& options, Exit& code) {
  ModelOptions with;
  code = Exit::usage;
  if (!read_numbers("--sizes", options.onnx.sizes, with.sizes) || !read_model_options(options, with))
    return std::nullopt;
  if (!is_onnx(options.kernel_file)) {
    auto kernel = load_kernel_of(options, code);
    if (!kernel) return std::nullopt;
    code = Exit::ok;
    const auto updated =
        std::find_if(kernel->tensors.begin(), kernel->tensors.end(), [](const Tensor& tensor) { return tensor.inout; });
    if (updated == kernel->tensors.end()) return model_of(std::move(*kernel), options.seed);
    code = fail(Exit::no_answer, "'" + updated->name + "' is inout, and models have inputs and outputs that differ",
                "leave out --plan, or read the old values from a tensor of their own");
    return std::nullopt;
  }
  auto model = import_model(options.kernel_file, with);
  if (model) return std::move(*model);
  code = fail(onnx_supported() ? Exit::wrong_input : Exit::missing, model.diagnostics());
  if (options.json && code == Exit::missing) deliver(options, json_of_failure(code, model.diagnostics()));
  return std::nullopt;
}

Exit verb_import_onnx(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "the files are written to a folder", "-o FOLDER");
  Exit code = Exit::ok;
  if (has_unused(options, {"--set", "--plan", "--band-gain", "--threads", "--strict-float", "--jobs"},
                 "is for the parts of a plan, which is one for a machine", "--target HW"))
    return Exit::usage;
  if (const auto sizes = model_sizes(options, code)) return import_layers_at_sizes(options, *sizes);
  if (code != Exit::ok) return code;
  const auto model = load_model(options, code);
  if (!model) return code;
  const LayerList layers = layers_of(*model);
  for (const std::string& note : layers.notes) fmt::print(stderr, "note: {}\n", note);
  fmt::print(stderr, "{}", refusals_of(*model));
  std::vector<KernelFile> files;
  for (const Layer& layer : layers.layers)
    if (layer.kernel) files.push_back(layer_file(layers.name, layer, kernel_file(*layer.kernel)));
  return write_kernels(options, files, no_layers);
}

KernelFile layer_file(const std::string& model, const Layer& layer, Result<std::string> text) {
  return {layer.name, layer.node.empty() ? "" : fmt::format("# node '{}' of {}\n", layer.node, model), std::move(text)};
}

Exit write_kernels(const Options& options, const std::vector<KernelFile>& files, const std::string& none) {
  if (auto why = make_folder(options.output, "-o FOLDER")) return fail(Exit::wrong_input, {std::move(*why)});
  std::string written;
  for (const KernelFile& file : files) {
    if (!file.text) {
      fmt::print(stderr, "note: {}: {}\n", file.name, file.text.diagnostics().front().message);
      continue;
    }
    const std::string path = (fs::path(options.output) / (file.name + ".yaml")).string();
    if (const auto done = write_file(path, file.head + *file.text); !done)
      return fail(Exit::wrong_input, done.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  if (written.empty()) fail(Exit::no_answer, none);
  return deliver(to_stdout, options.json ? json_of_texts({{"files", written}}) : written,
                 written.empty() ? Exit::no_answer : Exit::ok);
}

Exit explain_model(const Options& options) {
  Exit code = Exit::ok;
  const auto model = load_model(options, code);
  if (!model) return code;
  code = model->refused.empty() ? Exit::ok : Exit::no_answer;
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"model", model->kernel.name},
                                 {"statements", model->kernel.statements.size()},
                                 {"refused", json_of(model->refused)},
                                 {"notes", model->notes}};
  std::string text = fmt::format("# {}: {} statements\n", model->kernel.name, model->kernel.statements.size());
  for (const std::string& note : model->notes) text += "# note: " + note + "\n";
  if (!model->refused.empty())
    text += "cannot be compiled:\n" + refusals_of(*model);
  else if (code = explain_plan(options, text, json); code != Exit::ok)
    return code;
  return deliver(options, options.json ? printed(json) : text, code);
}

Exit interpret_model(const Options& options) {
  Exit code = Exit::ok;
  const auto sized = with_sizes_of_inputs(options, code);
  if (!sized) return code;
  auto prepared = prepare(*sized, code);
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

namespace {

/// A model of commands in files: NAME.s, NAME.program, NAME.weights, NAME.json.
struct StreamFiles {
  std::string text;
  ModelStream stream;
  ModelProgram model;              ///< ports and weights
  std::int64_t weights_bytes = 0;  ///< that NAME.json states
};

Result<std::string> text_in(const std::string& path) {
  if (!fs::is_regular_file(path)) return error_at({path, 0, 0}, "cannot be read");
  return read_file(path, std::size_t{1} << 31);
}

Port port_of(const nlohmann::json& json, std::vector<std::int64_t>& places) {
  const auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  places.push_back(json.at("at").get<std::int64_t>());
  Port port{json.at("name").get<std::string>(), dtype.value_or(DType::u8), json.at("shape")};
  if (!dtype || port.bytes() != json.at("bytes").get<std::int64_t>()) throw std::runtime_error("a port is not sound");
  return port;
}

/// Ports and places.
std::optional<Diagnostic> read_places(const std::string& path, const std::string& text, const std::string& target,
                                      StreamFiles& files) {
  StreamPlaces& places = files.stream.places;
  try {
    const auto json = nlohmann::json::parse(text);
    if (const auto made_for = json.at("target").get<std::string>(); made_for != target)
      return error_at({path, 0, 0}, fmt::format("the commands are those of '{}', not of '{}'", made_for, target),
                      "--target " + made_for);
    files.model.name = json.at("model").get<std::string>();
    for (const auto& port : json.at("inputs")) files.model.inputs.push_back(port_of(port, places.inputs));
    for (const auto& port : json.at("outputs")) files.model.outputs.push_back(port_of(port, places.outputs));
    places.weights = json.at("weights_at").get<std::int64_t>();
    places.arena = json.at("arena_at").get<std::int64_t>();
    files.weights_bytes = json.at("weights_bytes").get<std::int64_t>();
    places.bytes = json.at("memory_bytes").get<std::int64_t>();
  } catch (const std::exception& problem) {
    return error_at({path, 0, 0}, std::string("does not describe a model of commands: ") + problem.what(),
                    "isamap emit MODEL.onnx --target HW -o FOLDER writes it");
  }
  return std::nullopt;
}

/// Where the description of a buffer stands in the text of a program.
SourceLocation described_at(const std::string& path, const std::string& text, const Buffer& buffer) {
  const std::string line = "\n  " + buffer.name + ": ";
  const std::size_t at = text.find(line);
  if (at == std::string::npos) return {path, 0, 0};
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at) + 1, '\n');
  const std::size_t end = text.find('\n', at + 1), address = text.rfind(" at ", end);
  const std::size_t column = address != std::string::npos && address > at ? address + 4 - at : 3;
  return {path, static_cast<int>(lines) + 1, static_cast<int>(column)};
}

/// Buffers beyond the end of their memory.
Diagnostics buffers_outside(const std::string& path, const std::string& text, const Program& program,
                            const HardwareModel& machine) {
  Diagnostics problems;
  for (const Buffer& buffer : program.buffers) {
    const Memory& memory = machine.memory(buffer.memory);
    if (buffer.slots >= 0 || memory.capacity <= 0) continue;
    const std::int64_t room = memory.capacity - buffer.address;
    if (buffer.address >= 0 && room >= 0 && element_span(buffer) <= room / bytes(buffer.dtype)) continue;
    problems.push_back(
        error_at(described_at(path, text, buffer),
                 fmt::format("{} begins at byte {} of {}, has {} elements of {} bytes, and does not fit: "
                             "{} has {} bytes",
                             buffer.name, buffer.address, memory.name, element_span(buffer), bytes(buffer.dtype),
                             memory.name, memory.capacity)));
  }
  return problems;
}

/// The weights that the program was made with are named in its first comments.
std::optional<Diagnostic> other_weights(const std::string& base, const StreamFiles& files) {
  for (const Node& node : files.stream.program.body) {
    const auto* comment = std::get_if<Comment>(&node.is);
    const auto made_with = comment ? weights_of_comment(comment->text) : std::nullopt;
    if (!made_with || *made_with == weights_hash(files.model)) continue;
    return error_at({base + ".weights", 0, 0},
                    fmt::format("are those of another program: their hash is {:016x}, and {}.program states {:016x}",
                                weights_hash(files.model), base, *made_with),
                    "the four files belong together: isamap emit MODEL.onnx --target HW -o FOLDER writes them");
  }
  return std::nullopt;
}

bool are_inside(const StreamFiles& files, const HardwareModel& machine) {
  const StreamPlaces& places = files.stream.places;
  const std::int64_t capacity = machine.memory(machine.home()).capacity;
  const auto inside = [&](std::int64_t at, std::int64_t bytes) {
    return at >= 0 && bytes >= 0 && bytes <= places.bytes && at <= places.bytes - bytes;
  };
  bool all = (capacity == 0 || places.bytes <= capacity) &&
             inside(places.weights, static_cast<std::int64_t>(files.model.weights.size()));
  for (std::size_t i = 0; i < places.inputs.size(); ++i)
    all = all && inside(places.inputs[i], files.model.inputs[i].bytes());
  for (std::size_t o = 0; o < places.outputs.size(); ++o)
    all = all && inside(places.outputs[o], files.model.outputs[o].bytes());
  return all;
}

Result<StreamFiles> load_stream(const std::string& path, const HardwareModel& machine) {
  const std::string base = path.substr(0, path.size() - 2);
  StreamFiles files;
  std::map<std::string, std::string> texts;
  for (const char* const ending : {".s", ".json", ".program", ".weights"}) {
    auto text = text_in(base + ending);
    if (!text) return text.diagnostics();
    texts[ending] = std::move(*text);
  }
  files.text = texts[".s"];
  if (auto problem = read_places(base + ".json", texts[".json"], machine.name, files)) return *problem;
  auto weights = read_weights(texts[".weights"]);
  if (!weights) return error_at({base + ".weights", 0, 0}, weights.diagnostics().front().message);
  if (static_cast<std::int64_t>(weights->size()) != files.weights_bytes)
    return error_at(
        {base + ".weights", 0, 0},
        fmt::format("has {} bytes of weights, and {}.json states {}", weights->size(), base, files.weights_bytes),
        "the four files belong together");
  files.model.weights = std::move(*weights);
  auto program = parse_program(texts[".program"], machine);
  if (!program) {
    Diagnostics problems = program.diagnostics();
    for (Diagnostic& problem : problems) problem.where.file = base + ".program";
    return problems;
  }
  files.stream.program = std::move(*program);
  if (auto problems = buffers_outside(base + ".program", texts[".program"], files.stream.program, machine);
      !problems.empty())
    return problems;
  if (auto problem = other_weights(base, files)) return *problem;
  if (!are_inside(files, machine))
    return error_at({base + ".json", 0, 0},
                    "states places outside of " + machine.memory(machine.home()).name + " or of its own memory_bytes");
  return files;
}

/// Its ports alone, for the files of --inputs and --outputs.
Model ports_of(const ModelProgram& program) {
  Model model;
  model.kernel.name = program.name;
  for (const auto* ports : {&program.inputs, &program.outputs})
    for (const Port& port : *ports) {
      const auto id = make_id<TensorId>(model.kernel.tensors.size());
      Tensor tensor;
      tensor.name = port.name;
      tensor.dtype = port.dtype;
      tensor.shape = port.shape;
      model.kernel.tensors.push_back(std::move(tensor));
      (ports == &program.inputs ? model.inputs : model.outputs).push_back(id);
      model.file_names[id] = port.name;
    }
  return model;
}

Exit report_stream(const Options& options, const StreamFiles& files, const SimulatedModel& ran,
                   const Compared& compared, const HardwareModel& machine) {
  const Exit code = compared.correct ? Exit::ok : Exit::wrong_result;
  if (!options.json)
    return deliver(options,
                   fmt::format("{}executed simulator from files, {}; {} commands, {} cycles, and {:.0f} of the host\n",
                               shapes_of(ports_of(files.model)), verdict_of(compared), ran.time.commands,
                               ran.time.cycles, ran.time.scalar_cycles),
                   code);
  auto parts = nlohmann::ordered_json::array();
  for (const SimulatedPart& part : ran.parts)
    parts.push_back({{"cycles", part.cycles}, {"host_cycles", part.scalar_cycles}, {"commands", part.commands}});
  return deliver(options,
                 printed({{"schema_version", 1},
                          {"model", files.model.name},
                          {"target", machine.name},
                          {"executed", name(ExecutionMode::simulator)},
                          {"compared", compared.outputs},
                          {"correct", compared.correct},
                          {"max_error", compared.max_error},
                          {"cycles", ran.time.cycles},
                          {"host_cycles", ran.time.scalar_cycles},
                          {"commands", ran.time.commands},
                          {"link_bytes", ran.time.link_bytes},
                          {"part_list", std::move(parts)}}),
                 code);
}

}  // namespace

bool is_stream_file(const std::string& path) { return path.size() > 2 && path.ends_with(".s"); }

Exit run_stream(const Options& options) {
  if (options.target.empty()) return fail(Exit::usage, "commands run on a machine", "--target HW");
  const auto machine = load_target(options);
  if (!machine) return Exit::wrong_input;
  if (!runs_models_whole(*machine) || !is_command_stream(*machine))
    return fail(Exit::wrong_input, fmt::format("'{}' has no commands that the simulator executes", machine->name));
  const auto files = load_stream(options.kernel_file, *machine);
  if (!files) return fail(Exit::wrong_input, files.diagnostics());
  const Model model = ports_of(files->model);
  const auto given = load_model_files(options);
  if (!given) return fail(Exit::wrong_input, given.diagnostics());
  const auto inputs = inputs_of(model, *given, options);
  auto data = inputs ? data_of(model, *inputs) : inputs;
  if (!data) return fail(Exit::wrong_input, data.diagnostics());
  std::vector<std::vector<std::uint8_t>> bytes;
  for (const TensorData& input : *inputs) bytes.push_back(input.bytes);
  const auto ran = simulate_model({files->text, files->stream, files->model, *machine, {}, {}}, bytes);
  if (!ran) return fail(Exit::wrong_input, ran.diagnostics());
  for (std::size_t o = 0; o < model.outputs.size(); ++o) (*data)[model.outputs[o].index()].bytes = ran->outputs[o];
  if (const auto saved = save_outputs(model, *data, options); !saved)
    return fail(Exit::wrong_input, saved.diagnostics());
  return report_stream(options, *files, *ran, compare_with_files(model, *data, *given), *machine);
}

}  // namespace isamap::cli
