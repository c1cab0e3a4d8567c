// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "backends/common/environment.h"
#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/precompiled_headers.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/compiler_choice.h"
#include "backends/cpp/driver.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/translation_unit.h"
#include "hwdesc/model/program_language.h"
#include "support/threads.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

ProcessLimits compile_limits() {
  const auto seconds = compile_seconds();
  return {seconds ? *seconds : default_compile_seconds, std::int64_t{8} << 30, std::int64_t{1} << 30};
}

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
  const CacheLock lock(key, compile_limits().seconds);
  if (take_from_cache(key, object)) return object;
  const std::string text = "#include \"" + part.header + "\"\n";
  if (!write_file(folder / name, text.data(), text.size())) return "";
  const auto made = run_process(command_for((folder / name).string(), object), compile_limits(), folder / "object.log");
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
  std::vector<std::string> parts = {}, flags_for_parts = {};  ///< as in KernelText
  int jobs = 0;

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

/// What is compiled to one object file: a kernel, a file of parts of it, or another source.
struct ObjectSource {
  fs::path file;
  std::vector<std::string> headers = {};  ///< flags that read precompiled ones
  std::vector<std::string> flags = {};    ///< behind those of all
};

ProcessResult compile_object(const ObjectSource& source, const HeaderUse& use, const fs::path& object) {
  // Before all other headers, such as a shim, which the precompiled ones contain.
  auto command = before_flags(use.command(source.file.string(), object.string()), source.headers);
  command.insert(command.end(), source.flags.begin(), source.flags.end());
  return run_process(command, compile_limits(), fs::path(object).replace_extension(".log"));
}

/// `defined`: of the parts that are objects already. The kernel has the macros of those that it includes: with or
/// without a driver it is the same.
HeaderUse use_of_headers(const Build& build, const std::vector<const SharedPart*>& defined) {
  HeaderUse use;
  use.command = [&build, defined](const std::string& source, const std::string& made) {
    auto command = build.command({source}, made);
    for (const SharedPart* part : defined)
      if (build.sources[0].second.find(part->header) != std::string::npos) command.push_back("-D" + part->declared);
    command.emplace_back("-c");
    return command;
  };
  use.identity = identity(build.model);
  use.clang = is_made_by_clang(build.model);
  use.text = build.sources[0].second;
  use.own_headers = {build.headers.begin(), build.headers.end()};
  return use;
}

/// Flags that read the headers of the first source, precompiled; empty: there are none.
std::vector<std::string> headers_of(const Build& build, const HeaderUse& use) {
  return reads_precompiled_headers(build.model) ? precompiled_headers(use, build.folder()) : std::vector<std::string>{};
}

/// A file of parts, written to a folder of its own in that of the build. Its object is the same in each program that
/// has it.
Build build_of_part(const HardwareModel& model, const std::string& text, const fs::path& folder) {
  return {model, {{"part.cpp", text}}, {}, {}, {}, folder / "part.o"};
}
ProcessResult compile_part(const Build& part) {
  std::error_code failed;
  fs::create_directory(part.folder(), failed);
  const auto& [name, text] = part.sources[0];
  const fs::path file = part.folder() / name;
  if (!write_file(file, text.data(), text.size())) return {};
  HeaderUse use = use_of_headers(part, {});
  use.at_once = true;  // a program with files of parts has several
  const std::string key =
      "object of " + listed_command(use.command(name, "object")) + "\n" + use.identity + "\n" + text;
  ProcessResult known;
  known.exit_code = 0;
  if (known.started = take_from_cache(key, part.file); known.started) return known;
  const auto result = compile_object({file, headers_of(part, use)}, use, part.file);
  if (result.started && result.exit_code == 0) put_into_cache(key, part.file);
  return result;
}

struct Objects {
  std::vector<std::string> files;       ///< empty: the whole is compiled at once
  std::optional<ProcessResult> failed;  ///< of the compiler, where the whole at once would end alike
};

/// Objects of drivers made by this process: candidates of a kernel have the same one.
class KnownDrivers {
 public:
  bool take(const std::string& key, const fs::path& object) {
    std::string bytes;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == key; });
      if (found == all_.end()) return false;
      bytes = found->second;
    }
    return write_file(object, bytes.data(), bytes.size());
  }
  void keep(const std::string& key, const fs::path& object) {
    constexpr std::size_t most = 8, most_bytes = 1 << 20;
    std::string bytes = read_file(object, most_bytes);
    if (bytes.empty() || bytes.size() >= most_bytes) return;
    const std::lock_guard lock(mutex_);
    all_.emplace_back(key, std::move(bytes));
    if (all_.size() > most) all_.pop_front();
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<std::string, std::string>> all_;  ///< key and bytes; guarded
};

/// The driver of a build.
ProcessResult compile_driver(const Build& build, const ObjectSource& source, const HeaderUse& use,
                             const fs::path& object) {
  static KnownDrivers known;
  const auto& [name, text] = build.sources[1];
  const std::string key = listed_command(use.command(name, "object")) + "\n" + listed_command(source.flags) + "\n" +
                          use.identity + "\n" + text + Build::texts(build.headers);
  ProcessResult result;
  result.exit_code = 0;
  if (result.started = known.take(key, object); result.started) return result;
  result = compile_object(source, use, object);
  if (result.started && result.exit_code == 0) known.keep(key, object);
  return result;
}

/// All sources as object files, side by side: the kernel with precompiled headers where there are any, files of its
/// parts, and the driver. No files: there is one source and neither, or one does not compile with them; then the whole
/// is compiled at once, and its diagnostics are those of the user's command.
Objects all_objects(const Build& build, const std::vector<const SharedPart*>& defined) {
  const fs::path folder = build.folder();
  const HeaderUse use = use_of_headers(build, defined);
  const std::vector<std::string> headers = headers_of(build, use);
  const std::size_t parts = build.parts.size(), sources = build.sources.size();
  if (headers.empty() && parts == 0 && sources == 1) return {};
  std::vector<ProcessResult> results(sources + parts);
  Objects made;
  // Those with the longest texts first: parts, then the kernel, then its driver.
  made.files = for_each_in_parallel(results.size(), build.jobs > 0 ? build.jobs : processors(), [&](std::size_t i) {
    if (i < parts) {
      const Build part = build_of_part(build.model, build.parts[i], folder / fmt::format("part_{}", i));
      results[i] = compile_part(part);
      return part.file.string();
    }
    const std::size_t s = i - parts;
    ObjectSource source{folder / build.sources[s].first};
    if (s == 0) source.headers = headers;
    if (s == 0 && parts > 0) source.flags = build.flags_for_parts;
    if (s > 0)
      for (const SharedPart* part : defined) source.flags.push_back("-D" + part->declared);
    const fs::path object = folder / fmt::format("source_{}.o", s);
    results[i] = s == 1 ? compile_driver(build, source, use, object) : compile_object(source, use, object);
    return object.string();
  });
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const ProcessResult& one) { return !one.started || one.exit_code != 0; });
  if (failed == results.end()) return made;
  if (!failed->timed_out && (!headers.empty() || parts > 0)) return {};
  return {{}, *failed};
}

/// Of object files: `command` with the flags that make it quick, and without where they fail.
ProcessResult run_link(const HardwareModel& model, const std::vector<std::string>& command, const fs::path& log) {
  const auto flags = quick_link_flags(model);
  auto quick = command;
  quick.insert(quick.end(), flags.begin(), flags.end());
  ProcessResult result = run_process(quick, compile_limits(), log);
  const bool failed = !result.started || result.exit_code != 0;
  return failed && !flags.empty() ? run_process(command, compile_limits(), log) : result;
}

Result<MadeProgram> run(const Build& build) {
  const HardwareModel& model = build.model;
  const fs::path folder = build.folder();
  const std::string key = build.key();
  if (take_from_cache(key, build.file)) return MadeProgram{compiler_for(model).command};
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
                                  : run_process(command, compile_limits(), log);
  if (!result.started)
    return error(fmt::format("the compiler '{}' cannot be executed", command[0]),
                 model.program.compilers.empty() ? "install g++, or name another one in $CXX" : "");
  if (result.timed_out)
    return MadeProgram{
        compiler_for(model).command,
        fmt::format("the compiler took more than {:g} s for the emitted program; ISAMAP_COMPILE_SECONDS=N "
                    "allows more",
                    compile_limits().seconds)};
  if (result.exit_code != 0) {
    Diagnostic problem = error("the emitted program does not compile", "the command was: " + listed_command(command));
    problem.notes = first_lines(result.output);
    if (std::string full = full_disk(folder); !full.empty()) problem.notes.push_back(std::move(full));
    return problem;
  }
  if (std::error_code none; !fs::exists(build.file, none))
    return error("the compiler reported no error but produced no program",
                 "the command was: " + listed_command(command));
  put_into_cache(key, build.file);
  return MadeProgram{compiler_for(model).command};
}

}  // namespace

Result<MadeProgram> compile(const HardwareModel& model, const KernelText& kernel, const std::string& driver,
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
              kernel.parts,
              kernel.flags_for_parts,
              kernel.jobs});
}

void compile_ahead(const HardwareModel& model, const std::string& part) {
  const TemporaryDirectory folder;
  if (folder.ok() && has_cache()) compile_part(build_of_part(model, part, folder.path() / "ahead"));
}

void precompile_headers_ahead(const HardwareModel& model) {
  const TemporaryDirectory folder;
  if (!folder.ok()) return;
  const Build build{model, {{"kernel.cpp", surrounding_text(model, {}, "")}}, {}, {}, {}, folder.path() / "ahead"};
  HeaderUse use = use_of_headers(build, {});
  use.at_once = true;
  headers_of(build, use);
}

Result<CompilerCommand> compile_library(const HardwareModel& model, const std::string& kernel,
                                        const std::string& entries, const fs::path& library) {
  const auto made =
      run({as_remembered(model, kernel), {{"kernel.cpp", kernel + entries}}, {}, {"-shared", "-fPIC"}, {}, library});
  if (!made) return made.diagnostics();
  if (!made->limit.empty()) return error(made->limit);
  return made->compiler;
}

}  // namespace isamap
