// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compiler_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/translation_unit.h"
#include "hwdesc/model/program_language.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

/// clang++, otherwise clang++-N with the largest N; empty: not installed.
std::string clang_of_path() {
  if (command_exists("clang++")) return "clang++";
  int newest = 0;
  const std::string start = "clang++-";
  for (const std::string& folder : folders_of_path()) {
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      int number = 0;
      if (!name.starts_with(start)) continue;
      const auto [rest, problem] = std::from_chars(name.data() + start.size(), name.data() + name.size(), number);
      if (problem == std::errc() && rest == name.data() + name.size()) newest = std::max(newest, number);
    }
  }
  return newest > 0 ? start + std::to_string(newest) : "";
}

/// Cache key: everything but the compiler that determines the program of a text.
std::string choice_key(const HardwareModel& model, const std::string& kernel_text) {
  std::string key = "compiler of " + model.program.language;
  for (const auto& [set, flags] : model.program.flags) key += fmt::format("\n{}: {}", set, fmt::join(flags, " "));
  for (const Unit& unit : model.units())
    if (unit.count > 1) key += fmt::format("\nthreads: {}", fmt::join(unit.threads.flags, " "));
  if (needs_shim(model)) key += "\nshim: " + model.program.shim.include;
  return key + "\n" + kernel_text;
}

/// The default one first.
std::vector<CompilerCommand> named_compilers(const HardwareModel& model) {
  std::vector<CompilerCommand> named;
  for (const std::string& text : model.program.compilers) named.push_back(split_command(text));
  if (named.empty()) named.push_back(system_compiler());
  return named;
}

bool works(const CompilerCommand& command, const HardwareModel& model) {
  return !command.empty() && !compiler_for(made_by(model, command)).command.empty();
}

}  // namespace

std::vector<CompilerCommand> compilers_for(const HardwareModel& model) {
  if (!is_host_code(model)) return {};
  std::vector<CompilerCommand> candidates = named_compilers(model);
  if (const std::string clang = clang_of_path();
      model.program.compilers.empty() && chosen_compiler().empty() && !clang.empty())
    candidates.push_back({clang});
  std::erase_if(candidates, [&](const CompilerCommand& one) { return !works(one, model); });
  return candidates;
}

HardwareModel made_by_default(const HardwareModel& model) {
  if (is_host_code(model))
    for (const CompilerCommand& one : named_compilers(model))
      if (works(one, model)) return made_by(model, one);
  return model;
}

HardwareModel made_by(HardwareModel model, const CompilerCommand& command) {
  model.program.compilers = {fmt::format("{}", fmt::join(command, " "))};
  return model;
}

std::string version_of(const CompilerCommand& command) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;  // guarded
  if (command.empty()) return "";
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(command[0]); found != known.end()) return found->second;
  }
  const TemporaryDirectory folder;
  if (!folder.ok()) return "";
  const auto said = run_process({command[0], "--version"}, {10, 0, 1 << 20}, folder.path() / "version");
  if (said.exit_code != 0) return "";
  const std::lock_guard lock(mutex);
  return known[command[0]] = said.output.substr(0, said.output.find('\n'));
}

Result<bool> remember_compiler(const Program& program, const HardwareModel& model, const CompilerCommand& command) {
  const auto unit = print_cpp(program, model);
  if (!unit) return unit.diagnostics();
  write_to_cache(choice_key(model, unit->text), fmt::format("{}", fmt::join(command, " ")));
  return true;
}

HardwareModel as_remembered(const HardwareModel& model, const std::string& kernel_text) {
  const std::vector<std::string>& named = model.program.compilers;
  if (!is_host_code(model) || (named.empty() ? !chosen_compiler().empty() : named.size() == 1)) return model;
  const auto chosen = read_from_cache(choice_key(model, kernel_text));
  if (!named.empty() && std::find(named.begin(), named.end(), chosen.value_or("")) == named.end()) return model;
  const auto command = split_command(chosen.value_or(""));
  if (command.empty()) return model;
  HardwareModel with = made_by(model, command);
  return compiler_for(with).command.empty() ? model : with;
}

}  // namespace isamap
