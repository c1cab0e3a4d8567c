// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile/precompiled_headers.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/program_cache.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

const ProcessLimits header_limits{120, std::int64_t{8} << 30, std::int64_t{1} << 30};

enum class LineKind { blank, include, opens, between, closes, code };

LineKind kind_of(const std::string& line) {
  if (line.empty() || line.starts_with("//")) return LineKind::blank;
  if (line.starts_with("#include ")) return LineKind::include;
  if (line.starts_with("#if")) return LineKind::opens;
  if (line.starts_with("#el")) return LineKind::between;
  if (line.starts_with("#endif")) return LineKind::closes;
  return LineKind::code;
}

/// `#define NAME` of a program's own macro: headers of the system ask for names in capitals or with an underscore
/// first.
bool defines_own_macro(const std::string& line) {
  constexpr std::string_view define = "#define ";
  return line.starts_with(define) && line.find(' ', define.size()) == std::string::npos && line[define.size()] != '_' &&
         std::any_of(line.begin() + define.size(), line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// What a line `#include <NAME>` or `#include "NAME"` names.
std::string included(const std::string& line) {
  const std::size_t start = std::string_view("#include <").size();
  return line.substr(start, line.find_first_of(">\"", start) - start);
}

bool names_own_header(const std::string& line) { return line.starts_with("#include \""); }

/// <cmath> takes 74 ms, the others listed at most 7, a header of vector intrinsics 320 (g++ 12 with -std=c++17 -O3,
/// less an empty file). A list of its own for kernels with <cmath> would cost as much as 16 uses of it save. What is
/// not listed counts as long.
bool takes_long(const std::string& header) {
  static const std::set<std::string> short_ones{"cmath",      "cstddef",    "cstdint",  "cstdio",      "cstdlib",
                                                "cstring",    "fcntl.h",    "limits",   "pthread.h",   "sched.h",
                                                "stdbool.h",  "stddef.h",   "stdint.h", "stdlib.h",    "string.h",
                                                "sys/mman.h", "sys/stat.h", "time.h",   "type_traits", "unistd.h"};
  return !short_ones.contains(header);
}

/// A header beside the file whose own includes take long, such as an execution model, but not the interface of a
/// program. One that includes others beside it is none: what they say is not known here.
bool is_long_own_header(const std::string& text) {
  bool found = false;
  for (std::size_t at = text.find("#include "); at != std::string::npos; at = text.find("#include ", at + 1)) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (names_own_header(line)) return false;
    found = found || takes_long(included(line));
  }
  return found;
}

/// The headers to precompile: their lines, and the texts of those beside the file.
struct LongIncludes {
  std::string lines, own_texts;
};

/// Those that take long, up to the first of them beside the file: kernels and models whose lists differ in short ones
/// share them.
LongIncludes long_includes(const std::string& includes, const OwnHeaders& own) {
  LongIncludes found;
  std::string part;  // an include, or a condition from #if to #endif
  int depth = 0;
  bool is_long = false;
  for (std::size_t at = 0; at < includes.size() && (found.own_texts.empty() || depth > 0);) {
    const std::size_t end = includes.find('\n', at) + 1;
    const std::string line = includes.substr(at, end - at);
    const LineKind kind = kind_of(line);
    part += line;
    depth += kind == LineKind::opens ? 1 : kind == LineKind::closes ? -1 : 0;
    if (kind == LineKind::include && names_own_header(line)) {
      const auto text = own.find(included(line));
      if (text != own.end() && is_long_own_header(text->second)) found.own_texts += text->second, is_long = true;
    } else if (kind == LineKind::include) {
      is_long = is_long || takes_long(included(line));
    }
    if (depth == 0) {
      if (is_long) found.lines += part;
      part.clear();
      is_long = false;
    }
    at = end;
  }
  return found;
}

bool has_system_headers_only(const std::string& lines) {
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    if (!std::string_view(lines).substr(at).starts_with("#include <")) return false;
  return true;
}

/// Of a precompiled header of these headers of the system.
std::vector<std::string> clang_flags(const std::string& lines) {
  std::vector<std::string> flags{"-x", "c++-header"};
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    flags.insert(flags.end(), {"-include", included(lines.substr(at, lines.find('\n', at) - at))});
  return flags;
}

/// Makes `precompiled` the file of this key in the cache; false: there is none.
bool link_kept(const std::string& key, const fs::path& precompiled) {
  const auto kept = find_in_cache(key);
  if (!kept) return false;
  std::error_code failed;
  fs::create_symlink(*kept, precompiled, failed);
  return !failed;
}

}  // namespace

std::string leading_includes(const std::string& text) {
  std::string found, whole;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const LineKind kind = depth == 0 && defines_own_macro(line) ? LineKind::blank : kind_of(line);
    if (kind == LineKind::code) break;
    if (kind != LineKind::blank) found += line + "\n";
    depth += kind == LineKind::opens ? 1 : kind == LineKind::closes ? -1 : 0;
    if (depth == 0) whole = found;
    at = end + 1;
  }
  return whole;
}

std::vector<std::string> before_flags(std::vector<std::string> command, const std::vector<std::string>& flags) {
  const auto first =
      std::find_if(command.begin(), command.end(), [](const std::string& word) { return word.starts_with("-"); });
  command.insert(first, flags.begin(), flags.end());
  return command;
}

std::vector<std::string> precompiled_headers(const HeaderUse& use, const fs::path& folder) {
  const LongIncludes includes = long_includes(leading_includes(use.text), use.own_headers);
  if (includes.lines.empty() || !has_cache()) return {};
  if (use.clang && (!includes.own_texts.empty() || !has_system_headers_only(includes.lines))) return {};
  const std::string key = listed_command(use.command("headers", "precompiled")) + "\n" + use.identity + "\n" +
                          includes.lines + includes.own_texts;
  const fs::path header = folder / "headers.hpp", precompiled = folder / "headers.hpp.gch";
  if (!write_file(header, includes.lines.data(), includes.lines.size())) return {};
  const std::vector<std::string> flags = use.clang ? std::vector{std::string("-include-pch"), precompiled.string()}
                                                   : std::vector{std::string("-include"), header.string()};
  // Programs that are compiled side by side have the same headers: one of them makes the file.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (link_kept(key, precompiled)) return flags;
  const CacheLock among_processes(key, header_limits.seconds);
  if (link_kept(key, precompiled)) return flags;
  const std::string used_before = "used before: " + key;
  if (!use.at_once && !read_from_cache(used_before)) {
    write_to_cache(used_before, "once");
    return {};
  }
  const auto command = use.clang
                           ? before_flags(use.command("/dev/null", precompiled.string()), clang_flags(includes.lines))
                           : use.command(header.string(), precompiled.string());
  const auto made = run_process(command, header_limits, folder / "headers.log");
  if (!made.started || made.exit_code != 0) return {};
  put_flushed_into_cache(key, precompiled);
  return flags;
}

}  // namespace isamap
