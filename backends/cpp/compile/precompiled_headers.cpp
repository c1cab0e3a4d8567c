// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile/precompiled_headers.h"

#include <mutex>

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

/// Headers of C are parsed as fast as read.
bool takes_long(const std::string& includes) {
  for (std::size_t at = includes.find("#include "); at != std::string::npos; at = includes.find("#include ", at + 1)) {
    const std::string rest = includes.substr(at + 9, includes.find('\n', at) - at - 9);
    if (rest != "<cstdint>" && rest != "<cstdlib>" && rest != "<cstring>" && rest != "<sys/mman.h>") return true;
  }
  return false;
}

/// Includes up to the first of a file beside, next to which the others are short: kernels whose lists differ share it.
std::string up_to_own_header(const std::string& includes) {
  int depth = 0;
  bool found = false;
  for (std::size_t at = 0; at < includes.size();) {
    const std::size_t end = includes.find('\n', at) + 1;
    const std::string line = includes.substr(at, end - at);
    const LineKind kind = kind_of(line);
    found = found || line.starts_with("#include \"");
    depth += kind == LineKind::opens ? 1 : kind == LineKind::closes ? -1 : 0;
    if (found && depth == 0) return includes.substr(0, end);
    at = end;
  }
  return includes;
}

}  // namespace

std::string leading_includes(const std::string& text) {
  std::string found, whole;
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const LineKind kind = kind_of(line);
    if (kind == LineKind::code) break;
    if (kind != LineKind::blank) found += line + "\n";
    depth += kind == LineKind::opens ? 1 : kind == LineKind::closes ? -1 : 0;
    if (depth == 0) whole = found;
    at = end + 1;
  }
  return whole;
}

std::string precompiled_headers(const HeaderUse& use, const fs::path& folder) {
  const std::string includes = up_to_own_header(leading_includes(use.text));
  if (!takes_long(includes) || !has_cache()) return "";
  const std::string key =
      listed_command(use.command("headers", "precompiled")) + "\n" + use.identity + "\n" + includes + use.own_headers;
  const fs::path header = folder / "headers.hpp", precompiled = folder / "headers.hpp.gch";
  if (!write_file(header, includes.data(), includes.size())) return "";
  // Programs that are compiled side by side have the same headers: one of them makes the file.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::error_code failed;
  if (const auto kept = find_in_cache(key)) {
    fs::create_symlink(*kept, precompiled, failed);
    return failed ? "" : header.string();
  }
  const std::string used_before = "used before: " + key;
  if (!read_from_cache(used_before)) {
    write_to_cache(used_before, "once");
    return "";
  }
  const auto made =
      run_process(use.command(header.string(), precompiled.string()), header_limits, folder / "headers.log");
  if (!made.started || made.exit_code != 0) return "";
  put_into_cache(key, precompiled);
  return header.string();
}

}  // namespace isamap
