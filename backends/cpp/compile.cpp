// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/precompiled_headers.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/compiler_choice.h"
#include "backends/cpp/driver.h"
#include "backends/cpp/translation_unit.h"
#include "hwdesc/model/program_language.h"
#include "support/threads.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

const ProcessLimits compile_limits{300, std::int64_t{8} << 30, std::int64_t{1} << 30};

/// Emulation runs hundreds of kernels briefly: optimizing them takes longer than running them.
bool longer_to_compile(const HardwareModel& model, const TextFiles& sources) {
  constexpr std::size_t most_optimised = std::size_t{1} << 18;  // bytes of text
  std::size_t size = 0;
  for (const auto& [name, text] : sources) size += text.size();
  return has_thread_blocks(model) && size > most_optimised;
}

/// The shared part of a header as an object file, compiled once and cached. Empty: no cache, or it does not compile;
/// then the program contains the whole header.
std::string shared_object(const HardwareModel& model, const SharedPart& part, const fs::path& folder) {
  if (part.header.empty() || !has_cache()) return "";
  const std::string name = part.header + ".cpp", object = (folder / (part.header + ".o")).string();
  const auto command_for = [&](const std::string& source, const std::string& made) {
    auto command = compile_command(model, {source}, made);
    command.insert(command.end(), {"-c", "-D" + part.defined});
    return command;
  };
  const std::string key = listed_command(command_for(name, "object")) + "\n" + identity(model) + "\n" + part.text;
  if (take_from_cache(key, object)) return object;
  const std::string text = "#include \"" + part.header + "\"\n";
  if (!write_file(folder / name, text.data(), text.size())) return "";
  const auto made = run_process(command_for((folder / name).string(), object), compile_limits, folder / "object.log");
  if (!made.started || made.exit_code != 0) return "";
  put_into_cache(key, object);
  return object;
}

/// What is compiled to one file.
struct Build {
  const HardwareModel& model;
  TextFiles sources;  ///< the kernel first
  TextFiles headers;
  std::vector<std::string> flags;
  std::vector<SharedPart> shared;
  fs::path file;
  std::string units_of = {};  ///< as in KernelText

  fs::path folder() const { return file.parent_path(); }
  std::vector<std::string> command(const std::vector<std::string>& inputs, const std::string& made) const {
    auto command = compile_command(model, inputs, made);
    command.insert(command.end(), flags.begin(), flags.end());
    if (longer_to_compile(model, sources)) command.emplace_back("-O0");
    return command;
  }
  std::string key() const {
    std::vector<std::string> names;
    for (const auto& [name, text] : sources) names.push_back(name);
    std::string key = listed_command(command(names, "program")) + "\n" + identity(model);
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) key += "\n" + source->second;
    return key + texts(headers);
  }
  static std::string texts(const TextFiles& files) {
    std::string all;
    for (const auto& [name, text] : files) all += "\n" + text;
    return all;
  }
};

/// A unit for each processor, but none that is small: all of them read the headers.
std::size_t count_of_units(const Build& build) {
  if (build.units_of.empty()) return 1;
  return std::clamp<std::size_t>(build.sources[0].second.size() / least_for_units, 1,
                                 static_cast<std::size_t>(processors()));
}

/// What is compiled to one object file: a unit of the kernel, or another source.
struct ObjectSource {
  std::string file;                ///< in the folder of the build
  std::string name;                ///< of the object, without its end
  std::vector<std::string> flags;  ///< behind those of the build
  std::string header = {};         ///< precompiled; empty: none
};

struct Objects {
  std::vector<std::string> files;       ///< empty: the whole is compiled at once
  std::optional<ProcessResult> failed;  ///< of the compiler, where the whole at once would end alike
};

/// Made side by side.
Objects objects_of(const std::vector<ObjectSource>& sources, const HeaderUse& use, const fs::path& folder) {
  const auto all = static_cast<int>(sources.size());
  std::vector<ProcessResult> results(sources.size());
  Objects made;
  made.files = for_each_in_parallel(sources.size(), all, [&](std::size_t i) {
    const ObjectSource& source = sources[i];
    const std::string object = (folder / (source.name + ".o")).string();
    auto command = use.command((folder / source.file).string(), object);
    // Before all other headers, such as a shim, which the precompiled ones contain.
    const auto first_flag =
        std::find_if(command.begin(), command.end(), [](const std::string& word) { return word.starts_with("-"); });
    if (!source.header.empty()) command.insert(first_flag, {"-include", source.header});
    command.insert(command.end(), source.flags.begin(), source.flags.end());
    results[i] = run_process(command, compile_limits, folder / (source.name + ".log"));
    return object;
  });
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const ProcessResult& one) { return !one.started || one.exit_code != 0; });
  if (failed == results.end()) return made;
  return {{}, *failed};
}

/// All sources as object files: the kernel with precompiled headers where there are any, in several units where it is
/// long, and the driver beside it. No files: there is one source and neither, or one does not compile with them; then
/// the whole is compiled at once, and its diagnostics are those of the user's command. `defined`: of the parts that are
/// objects already. The kernel has the macros of those that it includes: with or without a driver it is the same.
Objects all_objects(const Build& build, const std::vector<const SharedPart*>& defined) {
  const fs::path folder = build.folder();
  HeaderUse use;
  use.command = [&](const std::string& source, const std::string& made) {
    auto command = build.command({source}, made);
    for (const SharedPart* part : defined)
      if (use.text.find(part->header) != std::string::npos) command.push_back("-D" + part->declared);
    command.emplace_back("-c");
    return command;
  };
  use.identity = identity(build.model);
  use.text = build.sources[0].second;
  use.own_headers = {build.headers.begin(), build.headers.end()};
  const std::string header = reads_precompiled_headers(build.model) ? precompiled_headers(use, folder) : "";
  const std::size_t units = count_of_units(build);
  if (header.empty() && units == 1 && build.sources.size() == 1) return {};
  std::vector<ObjectSource> sources;
  for (std::size_t unit = 0; unit < units; ++unit) {
    sources.push_back({build.sources[0].first, fmt::format("kernel_{}", unit), {}, header});
    if (units > 1)
      sources.back().flags = {fmt::format("-D{}_UNITS={}", build.units_of, units),
                              fmt::format("-D{}_UNIT={}", build.units_of, unit)};
  }
  for (std::size_t s = 1; s < build.sources.size(); ++s) {
    sources.push_back({build.sources[s].first, fmt::format("source_{}", s), {}});
    for (const SharedPart* part : defined) sources.back().flags.push_back("-D" + part->declared);
  }
  Objects made = objects_of(sources, use, folder);
  if (made.failed && !made.failed->timed_out && (!header.empty() || units > 1)) made.failed.reset();
  return made;
}

/// Of object files: `command` with the flags that make it quick, and without where they fail.
ProcessResult run_link(const HardwareModel& model, const std::vector<std::string>& command, const fs::path& log) {
  const auto flags = quick_link_flags(model);
  auto quick = command;
  quick.insert(quick.end(), flags.begin(), flags.end());
  ProcessResult result = run_process(quick, compile_limits, log);
  const bool failed = !result.started || result.exit_code != 0;
  return failed && !flags.empty() ? run_process(command, compile_limits, log) : result;
}

Result<CompilerCommand> run(const Build& build) {
  const HardwareModel& model = build.model;
  const fs::path folder = build.folder();
  const std::string key = build.key();
  if (take_from_cache(key, build.file)) return compiler_for(model).command;
  std::vector<std::string> inputs;
  for (const TextFiles* files : {&build.sources, &build.headers})
    for (const auto& [name, text] : *files) {
      if (!write_file(folder / name, text.data(), text.size()))
        return error(fmt::format("cannot write to {}", folder.string()), "is the disk full?");
      if (files == &build.sources) inputs.push_back((folder / name).string());
    }
  std::vector<const SharedPart*> defined;
  std::vector<std::string> objects;
  for (const SharedPart& part : build.shared)
    if (const std::string object = shared_object(model, part, folder); !object.empty()) {
      defined.push_back(&part);
      objects.push_back(object);
    }
  Objects made = all_objects(build, defined);
  const bool links = !made.files.empty();
  if (links) inputs = std::move(made.files);
  auto command = build.command(inputs, build.file.string());
  for (const SharedPart* part : defined) command.push_back("-D" + part->declared);
  command.insert(command.end(), objects.begin(), objects.end());
  const fs::path log = folder / "compiler.log";
  const auto result = made.failed ? *made.failed
                      : links     ? run_link(model, command, log)
                                  : run_process(command, compile_limits, log);
  if (!result.started)
    return error(fmt::format("the compiler '{}' cannot be executed", command[0]),
                 model.program.compilers.empty() ? "install g++, or name another one in $CXX" : "");
  if (result.exit_code != 0) {
    Diagnostic problem = error(result.timed_out ? "the emitted program took more than 300 s to compile"
                                                : "the emitted program does not compile",
                               "the command was: " + listed_command(command));
    problem.notes = first_lines(result.output);
    return problem;
  }
  if (std::error_code none; !fs::exists(build.file, none))
    return error("the compiler reported no error but produced no program",
                 "the command was: " + listed_command(command));
  put_into_cache(key, build.file);
  return compiler_for(model).command;
}

}  // namespace

Result<CompilerCommand> compile(const HardwareModel& model, const KernelText& kernel, const std::string& driver,
                                const TextFiles& headers, const fs::path& executable, const SharedPart& shared) {
  TextFiles files = headers;
  std::vector<SharedPart> parts{shared};
  if (is_driver(driver)) {
    parts.push_back(driver_part());
    files.emplace_back(parts.back().header, parts.back().text);
  }
  return run({as_remembered(model, kernel.text),
              {{"kernel.cpp", kernel.text}, {"driver.cpp", driver}},
              files,
              {},
              parts,
              executable,
              kernel.units_of});
}

Result<CompilerCommand> compile_library(const HardwareModel& model, const std::string& kernel,
                                        const std::string& entries, const fs::path& library) {
  return run({as_remembered(model, kernel), {{"kernel.cpp", kernel + entries}}, {}, {"-shared", "-fPIC"}, {}, library});
}

}  // namespace isamap
