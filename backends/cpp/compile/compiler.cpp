// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile/compiler.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backends/common/process.h"
#include "backends/cpp/compile/included_texts.h"
#include "backends/cpp/compile/program_cache.h"
#include "hwdesc/model/program_language.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

using Command = std::vector<std::string>;

const ProcessLimits probe_limits{60, std::int64_t{8} << 30, std::int64_t{1} << 30};

/// Size and time of the compiler's file: a new compiler invalidates entries.
std::string file_identity(const std::string& program) {
  std::vector<std::string> files{program};
  if (program.find('/') == std::string::npos) {
    files.clear();
    for (const std::string& folder : folders_of_path()) files.push_back(folder + "/" + program);
  }
  for (const std::string& file : files) {
    struct stat info {};
    if (stat(file.c_str(), &info) == 0) return fmt::format("{} {} {}", file, info.st_size, info.st_mtim.tv_sec);
  }
  return program;
}

/// Flags of all programs. Value-changing optimizations are off. So is GCC's predictive commoning: it keeps re-read
/// window elements in registers that the accumulators need, and spills accumulators instead (a convolution 5x20/2 of
/// one channel 2360 -> 1530 us).
const CompilerFlags& common_flags() {
  static const CompilerFlags flags{{"any", {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"}},
                                   {"gcc", {"-fno-predictive-commoning"}}};
  return flags;
}

void add_thread_flags(Command& command, const HardwareModel& model) {
  for (const Unit& unit : model.units())
    if (unit.count > 1) command.insert(command.end(), unit.threads.flags.begin(), unit.threads.flags.end());
}

void add_flags(Command& command, const CompilerFlags& flags, const std::vector<std::string>& sets) {
  for (const std::string& set : sets)
    if (const auto found = flags.find(set); found != flags.end())
      command.insert(command.end(), found->second.begin(), found->second.end());
}

bool is_clang(const Command& command) {
  return std::any_of(command.begin(), command.end(),
                     [](const std::string& word) { return word.find("clang") != std::string::npos; });
}

Command command_with(Command command, const HardwareModel& model, const std::vector<std::string>& sources,
                     const std::string& executable) {
  const bool clang = is_clang(command);
  const bool emulated = has_thread_blocks(model);  // emulated: optimize for compile time
  command.insert(command.end(), {emulated ? "-std=c++20" : "-std=c++17", emulated ? "-O1" : "-O3"});
  std::vector<std::string> sets{"any", clang ? "clang" : "gcc"};
  add_flags(command, common_flags(), sets);
  if (needs_emulator(model)) {
    command.emplace_back("-static");
    sets.emplace_back("emulated");
  }
  add_flags(command, model.program.flags, sets);
  add_thread_flags(command, model);
  if (needs_shim(model)) {
    add_flags(command, model.program.shim.flags, sets);
    command.insert(command.end(), {"-include", model.program.shim.include});
  }
  command.insert(command.end(), sources.begin(), sources.end());
  command.insert(command.end(), {"-o", executable});
  return command;
}

/// An empty program with the headers of the model's programs.
std::string empty_program(const HardwareModel& model) {
  std::string text = "#include <cstdio>\n";
  for (const std::string& include : model.program.include) {
    const bool enclosed = !include.empty() && (include.front() == '<' || include.front() == '"');
    text += "#include " + (enclosed ? include : "<" + include + ">") + "\n";
  }
  return text + "int main() {}\n";
}

bool makes_programs(const Command& candidate, const HardwareModel& model) {
  const std::string text = empty_program(model);
  std::string key = file_identity(candidate[0]) + "\n" + text;
  for (const std::string& word : command_with(candidate, model, {}, "")) key += " " + word;
  const TemporaryDirectory folder;
  if (!folder.ok()) return true;  // no trial possible; the run will report it
  if (take_from_cache(key, folder.path() / "program")) return true;
  const fs::path source = folder.path() / "empty.cpp", executable = folder.path() / "program";
  if (!write_file(source, text.data(), text.size())) return true;
  const auto result = run_process(command_with(candidate, model, {source.string()}, executable.string()), probe_limits,
                                  folder.path() / "log");
  if (!result.started || result.exit_code != 0) return false;
  put_into_cache(key, executable);
  return true;
}

std::string listed(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

Compiler choose(const HardwareModel& model) {
  if (model.program.compilers.empty()) {
    const Command system = system_compiler();
    if (command_exists(system[0])) return {system, ""};
    return {{}, "the compiler '" + system[0] + "' is missing (Debian: apt-get install g++)"};
  }
  std::vector<std::string> missing, failing;
  for (const std::string& text : model.program.compilers) {
    const Command candidate = split_command(text);
    if (candidate.empty()) continue;
    if (!command_exists(candidate[0]))
      missing.push_back("'" + candidate[0] + "' is missing");
    else if (makes_programs(candidate, model))
      return {candidate, ""};
    else
      failing.push_back("'" + text + "' makes no program with the target's headers and flags");
  }
  failing.insert(failing.end(), missing.begin(), missing.end());
  const auto& packages = model.program.packages;
  const std::string hint = packages.empty() ? "" : " (Debian: apt-get install " + listed(packages, " ") + ")";
  return {{}, "no compiler for it: " + listed(failing, ", ") + hint};
}

}  // namespace

std::vector<std::string> chosen_compiler() {
  const char* const chosen = std::getenv("CXX");
  return split_command(chosen == nullptr ? "" : chosen);
}

std::vector<std::string> system_compiler() {
  auto words = chosen_compiler();
  if (words.empty()) words.emplace_back("g++");
  return words;
}

const Compiler& compiler_for(const HardwareModel& model) {
  struct Choice {
    std::once_flag made;
    Compiler compiler;
  };
  static std::mutex mutex;  // not held during a trial: others compile meanwhile
  static std::map<Command, Choice> found;
  Command key = system_compiler();
  const Command rest = command_with(model.program.compilers, model, model.program.include, "");
  key.insert(key.end(), rest.begin(), rest.end());
  key.insert(key.end(), model.program.packages.begin(), model.program.packages.end());
  Choice& choice = [&]() -> Choice& {
    const std::lock_guard lock(mutex);
    return found[key];
  }();
  std::call_once(choice.made, [&] { choice.compiler = choose(model); });
  return choice.compiler;
}

std::vector<std::string> compile_command(const HardwareModel& model, const std::vector<std::string>& sources,
                                         const std::string& executable) {
  const Compiler& compiler = compiler_for(model);
  return command_with(compiler.command.empty() ? system_compiler() : compiler.command, model, sources, executable);
}

std::vector<std::string> quick_link_flags(const HardwareModel& model) {
  // A program with the emulation's object, which refers to much of the C++ library, links in 18 ms instead of 46
  // (gold and ld of binutils 2.40); one without it in 18 instead of 22.
  static const bool has_gold = command_exists("ld.gold");
  return has_gold && has_thread_blocks(model) ? Command{"-fuse-ld=gold"} : Command{};
}

/// "17": the last -std flag wins, and the machine's follow ours.
static std::string standard_of(const Command& flags) {
  std::string standard;
  for (const std::string& flag : flags)
    if (const auto at = flag.find("++"); flag.starts_with("-std=") && at != std::string::npos)
      standard = flag.substr(at + 2);
  return standard;
}

std::string needed_flags(const HardwareModel& model, const std::optional<std::string>& for_threads) {
  Command flags{"-std=c++17", "-O3"};
  for (const CompilerFlags* of : {&common_flags(), &model.program.flags}) add_flags(flags, *of, {"any"});
  if (!for_threads)
    add_thread_flags(flags, model);
  else if (!for_threads->empty())
    flags.push_back(*for_threads);
  std::string text = "C++" + standard_of(flags) + ": " + listed(flags, " ");
  for (const auto& [set, compiler] : {std::pair("gcc", "g++"), std::pair("clang", "clang++")}) {
    Command more;
    for (const CompilerFlags* of : {&common_flags(), &model.program.flags}) add_flags(more, *of, {set});
    if (!more.empty()) text += fmt::format("; {} also: {}", compiler, listed(more, " "));
  }
  return text;
}

std::string listed_command(const Command& command) { return listed(command, " "); }

std::vector<std::string> first_lines(const std::string& output) {
  constexpr std::size_t shown = 20;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < output.size() && lines.size() < shown;) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    lines.push_back(output.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string full_disk(const fs::path& folder) {
  constexpr std::uintmax_t least = 16 << 20;  // what a compiler needs
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  if (problem || space.available >= least) return "";
  return fmt::format("only {} KiB are left in {}: free some, or set TMPDIR", space.available >> 10,
                     folder.parent_path().string());
}

std::string why_compiler_fails(const HardwareModel& model, const fs::path& folder) {
  const std::string text = empty_program(model);
  const fs::path source = folder / "empty.cpp", executable = folder / "empty";
  if (!write_file(source, text.data(), text.size())) return "cannot write an empty program: is the disk full?";
  const std::string full = full_disk(folder);
  const Command command = compile_command(model, {source.string()}, executable.string());
  const auto result = run_process(command, probe_limits, folder / "empty.log");
  if (result.started && result.exit_code == 0 && fs::exists(executable)) return "";
  if (!full.empty()) return fmt::format("the compiler '{}' fails, and {}", command[0], full);
  std::string why = fmt::format(
      "the compiler '{}' does not work: it fails on an empty program with the headers and flags of '{}'\n"
      "  the command was: {}",
      compiler_for(model).command[0], model.name, listed_command(command));
  if (!result.started) why += "\n  it cannot be executed";
  if (result.timed_out) why += fmt::format("\n  it took more than {} s", probe_limits.seconds);
  for (const std::string& line : first_lines(result.output)) why += "\n  it said: " + line;
  return why;
}

bool is_made_by_clang(const HardwareModel& model) { return is_clang(compile_command(model, {}, "")); }

bool reads_precompiled_headers(const HardwareModel& model) { return !is_made_by_clang(model) || !needs_shim(model); }

std::string identity(const HardwareModel& model) {
  const Compiler& compiler = compiler_for(model);
  std::string text = compiler.command.empty() ? "" : file_identity(compiler.command[0]);
  return text + texts_of_headers(model, include_folders(compile_command(model, {}, "")), needs_shim(model));
}

}  // namespace isamap
