// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "backends/simulator/ambiguous_commands.h"
#include "build_facts.h"
#include "cli/json.h"
#include "cli/json_internal.h"
#include "cli/listed.h"
#include "cli/sizes.h"
#include "hwdesc/model/program_language.h"
#include "support/file_system.h"
#include "support/utf8.h"
#include "support/yaml.h"

namespace isamap::cli {
namespace {

namespace fs = std::filesystem;

bool states_energy(const HardwareModel& model) {
  return std::any_of(model.links().begin(), model.links().end(), [](const Link& l) { return l.energy > 0; }) ||
         std::any_of(model.memories().begin(), model.memories().end(),
                     [](const Memory& m) { return m.read_energy > 0 || m.write_energy > 0; }) ||
         std::any_of(model.instructions().begin(), model.instructions().end(),
                     [](const Instruction& i) { return i.energy_pJ > 0; });
}

/// 0 or errno.
int write_bytes(const std::string& path, const char* mode, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (!file) return errno;
  const int written = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  const int closed = std::fclose(file) == 0 ? 0 : errno;
  return written != 0 ? written : closed;
}

/// Adds the source line to diagnostics of later stages.
Diagnostics with_source_lines(Diagnostics diagnostics) {
  std::map<std::string, yaml::Source> sources;
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.where.line == 0 || !diagnostic.source_line.empty()) continue;
    const auto [source, is_new] = sources.try_emplace(diagnostic.where.file);
    std::error_code ignored;
    if (is_new && fs::is_regular_file(diagnostic.where.file, ignored))
      if (const auto text = yaml::read_text_file(diagnostic.where.file)) source->second = yaml::Source(*text);
    source->second.attach(diagnostic);
  }
  return diagnostics;
}

/// What this run has printed: diagnostics, which a JSON document repeats, and whether the result itself.
struct RunOutput {
  Diagnostics problems;
  bool result = false;
};
RunOutput run_output;

/// Some verbs load a file several times: warnings are printed once.
bool was_reported(const Diagnostic& d) {
  return d.severity == Severity::warning &&
         std::any_of(run_output.problems.begin(), run_output.problems.end(),
                     [&](const Diagnostic& other) { return other.where == d.where && other.message == d.message; });
}

/// Unknown name of --instruction.
std::optional<Diagnostic> unknown_instruction(const HardwareModel& model, const Options& options) {
  const std::string& wanted = options.map.instruction;
  if (wanted.empty() || model.find_instruction(wanted)) return std::nullopt;
  std::vector<std::string> known;
  for (const Instruction& one : model.instructions()) known.push_back(one.name);
  const std::string near = yaml::nearest(wanted, known);
  return error(fmt::format("hardware '{}' has no instruction '{}'", model.name, wanted),
               near.empty() ? fmt::format("`isamap hw show {}` lists them", options.target)
                            : fmt::format("did you mean '{}'?", near));
}

/// Bytes that begin no character, as \xff.
std::string with_escapes(const std::string& word) {
  std::string text;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t length = utf8_length(word, i);
    text += length > 0 ? word.substr(i, length) : fmt::format("\\x{:02x}", static_cast<unsigned char>(word[i]));
    i += length > 0 ? length : 1;
  }
  return text;
}

Exit write_all(const std::vector<std::pair<fs::path, std::string>>& files) {
  for (const auto& [path, text] : files)
    if (const auto written = write_file(path.string(), text); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  return Exit::ok;
}

/// Several files are written to the folder of -o under their own names.
Exit deliver_to_folder(const Options& options, const std::vector<EmittedFile>& files) {
  std::error_code problem;
  const fs::path folder = options.output;
  if (fs::exists(folder, problem) && !fs::is_directory(folder, problem))
    return fail(Exit::wrong_input,
                fmt::format("'{}' is a file, and {} files are printed", options.output, files.size()),
                "name an existing or new folder with -o");
  if (auto why = make_folder(options.output, "-o FOLDER")) return fail(Exit::wrong_input, {std::move(*why)});
  std::vector<std::pair<fs::path, std::string>> all;
  for (const EmittedFile& file : files) all.emplace_back(folder / fs::path(file.name).filename(), file.text);
  return write_all(all);
}

/// -o FILE: the program there, other requested files next to it. Its includes are inlined.
Exit deliver_to_file(const Options& options, const std::vector<EmittedFile>& files) {
  const fs::path file = options.output, first = files.front().name;
  std::vector<std::pair<fs::path, std::string>> all{{file, joined(files)}};
  for (std::size_t f = 1; f < files.size(); ++f)
    if (!includes(files.front(), files[f]))
      all.emplace_back(file.parent_path() / (file.stem().string() + files[f].name.substr(first.stem().string().size())),
                       files[f].text);
  return write_all(all);
}

}  // namespace

fs::path installed_share(const std::string& name) {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share" / "isamap" / name;
}

std::vector<std::string> model_folders() {
  std::vector<std::string> folders;
  if (const char* given = std::getenv("ISAMAP_MODELS")) {
    std::istringstream list(given);
    for (std::string folder; std::getline(list, folder, ':');)
      if (!folder.empty()) folders.push_back(folder);
  }
  std::error_code ignored;
  if (fs::is_directory(ISAMAP_SOURCE_MODELS, ignored)) folders.push_back(ISAMAP_SOURCE_MODELS);
  const fs::path installed = installed_share("hardware_models");
  if (fs::is_directory(installed, ignored)) folders.push_back(installed.string());
  return folders;
}

std::vector<std::pair<std::string, std::string>> known_models() {
  std::map<std::string, std::string> found;
  for (const std::string& folder : model_folders()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".yaml") found.emplace(entry.path().stem().string(), entry.path().string());
  }
  return {found.begin(), found.end()};
}

Exit fail(Exit code, const Diagnostics& diagnostics) {
  Diagnostics problems = with_source_lines(diagnostics);
  std::erase_if(problems, was_reported);
  run_output.problems.insert(run_output.problems.end(), problems.begin(), problems.end());
  const std::string text = render(problems);
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (!text.empty() && text.back() != '\n') std::fputc('\n', stderr);
  return code;
}

Exit fail(Exit code, const std::string& message, const std::string& hint) {
  return fail(code, Diagnostics{error(message, hint)});
}

bool refused_seconds(const Options& options, const char* what) {
  if (options.schedule.max_seconds <= 0) return false;
  fail(Exit::usage, fmt::format("limit {} by evaluations: a limit in seconds is not reproducible", what),
       "--budget evals=N");
  return true;
}

std::vector<std::string> warnings_told() {
  std::vector<std::string> texts;
  for (const Diagnostic& problem : run_output.problems) {
    if (problem.severity != Severity::warning) continue;
    const SourceLocation& where = problem.where;
    const std::string place = where.file.empty() ? "" : fmt::format("{}:{}:{}: ", where.file, where.line, where.column);
    texts.push_back(place + problem.message + (problem.hint.empty() ? "" : "; " + problem.hint));
  }
  return texts;
}

std::optional<HardwareModel> load_target(const Options& options) {
  auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  if (loaded) {
    if (options.in_order && !is_command_stream(loaded->model)) {
      fail(Exit::wrong_input,
           fmt::format("--no-reorder: {} executes no commands of an accelerator", loaded->model.name),
           "leave it out: compilers and processors order what is printed for this machine");
      return std::nullopt;
    }
    if (const auto unknown = unknown_instruction(loaded->model, options)) {
      fail(Exit::wrong_input, Diagnostics{*unknown});
      return std::nullopt;
    }
    if (const Diagnostics alike = ambiguous_commands(loaded->model); has_errors(alike)) {
      fail(Exit::wrong_input, alike);
      return std::nullopt;
    }
    return std::move(loaded->model);
  }
  Diagnostics problems = loaded.diagnostics();
  if (known_models().empty() && !problems.empty())
    problems.front().notes.push_back("no folder of models found; set ISAMAP_MODELS=FOLDER[:FOLDER...]");
  if (!problems.empty() && !fs::exists(options.target) && !problems.front().hint.starts_with("did you mean") &&
      !yaml::nearest(options.target, {"native"}).empty())
    problems.front().hint = "did you mean 'native'?";
  fail(Exit::wrong_input, problems);
  return std::nullopt;
}

bool formula_options_fit(const Options& options) {
  if (options.kernel_file.empty() || !options.compute.empty()) return true;
  for (const auto& [flag, text] : {std::pair("--dims", &options.dims), {"--dtypes", &options.dtypes}}) {
    if (text->empty()) continue;
    fail(Exit::usage, fmt::format("{} belongs to --compute; '{}' states its own", flag, options.kernel_file),
         "change the file, or write the kernel with --compute");
    return false;
  }
  return true;
}

std::optional<SymbolicKernel> load_symbolic_of(const Options& options, const Bindings& sizes, Exit& code) {
  const bool from_file = !options.kernel_file.empty();
  code = Exit::usage;
  if (!formula_options_fit(options)) return std::nullopt;
  if (from_file == !options.compute.empty()) {
    code = fail(Exit::usage, from_file ? "a kernel file and --compute are both given"
                                       : "no kernel: give a kernel file or --compute with --dims");
    return std::nullopt;
  }
  Diagnostics warnings;
  auto kernel = from_file
                    ? load_symbolic_kernel(options.kernel_file, sizes, &warnings)
                    : symbolic_kernel_from_formula(options.compute, options.dims, options.dtypes, sizes, &warnings);
  if (kernel) {
    code = Exit::ok;
    if (!warnings.empty()) fail(Exit::ok, warnings);
    return std::move(*kernel);
  }
  Diagnostics problems = kernel.diagnostics();
  if (from_file && fs::path(options.kernel_file).extension() == ".onnx")
    problems.back().hint = "a model is no kernel: `isamap extract` takes models";
  code = fail(Exit::wrong_input, problems);
  return std::nullopt;
}

std::optional<Kernel> load_kernel_of(const Options& options, Exit& code) {
  const auto sizes = combinations_of_sizes(options, code);
  if (!sizes) return std::nullopt;
  if (sizes->size() > 1) {
    code = fail(Exit::usage, "--sizes has a list of sizes, which is for run and evaluate", "give one value each");
    return std::nullopt;
  }
  auto symbolic = load_symbolic_of(options, sizes->front(), code);
  if (!symbolic) return std::nullopt;
  auto kernel = without_symbols(std::move(*symbolic));
  code = Exit::usage;  // as before this function found nothing wrong
  if (kernel) return std::move(*kernel);
  code = fail(Exit::wrong_input, kernel.diagnostics());
  return std::nullopt;
}

std::optional<Inputs> load_inputs(const Options& options, Exit& code) {
  auto kernel = load_kernel_of(options, code);
  if (!kernel) return std::nullopt;
  auto model = load_target(options);
  code = Exit::wrong_input;
  if (!model) return std::nullopt;
  return Inputs{std::move(*kernel), std::move(*model)};
}

std::optional<Diagnostic> why_not_written(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !fs::is_directory(folder, ignored)) return cannot_write(path, ENOTDIR);
  if (path.empty() || fs::exists(path, ignored)) return std::nullopt;  // what is there may be a folder, or a device
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) return std::nullopt;
  return cannot_write(path, errno);
}

std::optional<Diagnostic> why_no_file(const std::string& path) {
  std::error_code ignored;
  if (path == "-")
    return error_at({path, 0, 0}, "is no file name", "/dev/stdout is the standard output; a file of this name is ./-");
  if (!path.empty() && (fs::is_directory(path, ignored) || path.ends_with('/')))
    return error_at({path, 0, 0}, "is a folder; a file name is expected", "name a file in it");
  return why_not_written(path);
}

std::optional<Diagnostic> no_utf8(const std::string& word) {
  if (is_utf8(word)) return std::nullopt;
  return error(fmt::format("'{}' is no UTF-8 text, as names in plans and records are", with_escapes(word)),
               "rename the file");
}

std::optional<Diagnostic> no_utf8(const Options& options) {
  for (const std::string& word : options.files)
    if (auto wrong = no_utf8(word)) return wrong;
  for (const std::string* word : {&options.target, &options.lab.strategies})
    if (auto wrong = no_utf8(*word)) return wrong;
  for (const auto& named : {options.cost_options, options.schedule.strategy_options})
    for (const auto& [key, value] : named)
      if (auto wrong = no_utf8(value)) return wrong;
  return std::nullopt;
}

std::optional<Diagnostic> make_folder(const std::string& path, const std::string& hint) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (!problem) return std::nullopt;
  return error_at({path, 0, 0}, "this folder cannot be made: " + problem.message(), hint);
}

Result<bool> write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || path.ends_with('/'))
    return error_at({path, 0, 0}, "is a folder; a file name is expected", "name a file in it");
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {  // devices and pipes are written directly
    const int problem = write_bytes(path, "wb", text);
    return problem == 0 ? Result<bool>(true) : cannot_write(path, problem);
  }
  // Replaces the target of a symbolic link, not the link. The process id separates concurrent runs; the last rename
  // wins, and the file is complete.
  const std::string whole = fs::is_symlink(path, ignored) ? fs::canonical(path, ignored).string() : path;
  const std::string temporary = fmt::format("{}.{}.tmp", whole, ::getpid());
  int problem = write_bytes(temporary, "wbx", text);
  if (problem == EEXIST) return cannot_write(temporary, problem);
  if (problem == 0 && std::rename(temporary.c_str(), whole.c_str()) == 0) return true;
  if (problem == 0) problem = errno;
  std::remove(temporary.c_str());
  return cannot_write(path, problem);
}

Exit close_json(const Options& options, Exit code) {
  if (!options.json || code == Exit::ok || run_output.result) return code;
  Options to_stdout = options;  // -o is for results, and may be what failed
  to_stdout.output.clear();
  return deliver(to_stdout, json_of_failure(code, run_output.problems), code);
}

Exit deliver(const Options& options, const std::string& text, Exit code) {
  if (!options.output.empty()) {
    const auto written = write_file(options.output, text);
    run_output.result = bool(written);
    return written ? code : fail(Exit::wrong_input, written.diagnostics());
  }
  run_output.result = true;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? code : fail(Exit::wrong_input, {cannot_write("stdout", errno)});
}

std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void tell(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

void Progress::operator()(const std::string& text) {
  static const bool watched = ::isatty(STDERR_FILENO) != 0;  // otherwise the lines fill the file of a batch job
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(watched || !told_ ? 1 : 10)) return;
  told_ = true;
  last_ = now;
  tell(text);
}

ScheduleOptions schedule_options(const Options& options, const HardwareModel& model) {
  ScheduleOptions out = options.schedule;
  out.seed = options.seed;
  if (!options.objective_given) out.objective = states_energy(model) ? Objective::edp : Objective::cycles;
  return out;
}

ScheduleOptions suite_schedule_options(const Options& options) {
  ScheduleOptions out = options.schedule;
  out.seed = options.seed;
  out.objective = Objective::cycles;
  if (!options.budget_given) out.max_evaluations = 300;
  return out;
}

std::string listed(const std::vector<InstructionId>& ids, const HardwareModel& model) {
  constexpr std::size_t shown = 4;
  std::string text;
  const std::size_t count = ids.size() > shown + 1 ? shown : ids.size();
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 == ids.size() ? " and " : ", ") + model.instruction(ids[i]).name;
  return count == ids.size() ? text : text + fmt::format(" and {} more", ids.size() - count);
}

Exit deliver_files(const Options& options, const std::vector<EmittedFile>& files) {
  std::error_code problem;
  const fs::path given = options.output, first = files.front().name;
  const bool one = std::all_of(files.begin() + 1, files.end(),
                               [&](const EmittedFile& file) { return includes(files.front(), file); });
  const std::string choices = fmt::format("give -o FOLDER, or -o FILE{}{}", first.extension().string(),
                                          one ? " for one self-contained file" : ": the others are written beside it");
  if (options.output.empty() && one) return deliver(options, joined(files));
  if (options.output.empty())
    return fail(Exit::usage, fmt::format("{} files are printed, too many for the standard output", files.size()),
                choices);
  if (files.size() == 1) return deliver(options, files.front().text);
  if (fs::is_directory(given, problem)) return deliver_to_folder(options, files);
  if (given.extension() == first.extension()) return deliver_to_file(options, files);
  if (!given.has_filename() || !given.has_extension()) return deliver_to_folder(options, files);
  return fail(Exit::usage,
              fmt::format("'{}' is neither a folder nor a file with extension '{}', and {} files are printed",
                          options.output, first.extension().string(), files.size()),
              choices);
}

}  // namespace isamap::cli
