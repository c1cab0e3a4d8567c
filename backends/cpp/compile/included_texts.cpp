// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile/included_texts.h"

#include <algorithm>
#include <set>

#include "backends/common/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_header = std::size_t{1} << 20;  // bytes that are read of one

/// `name` of `"name"` or `<name>` at the start of `text`; empty: neither.
std::string delimited(const std::string& text) {
  if (text.empty() || (text[0] != '"' && text[0] != '<')) return "";
  const std::size_t close = text.find(text[0] == '<' ? '>' : '"', 1);
  return close == std::string::npos ? "" : text.substr(1, close - 1);
}

/// What a line `#include ...` names; empty: another line.
std::string included_by(const std::string& line) {
  const auto behind_blanks = [&](std::size_t at) { return std::min(line.find_first_not_of(" \t", at), line.size()); };
  const std::string directive = "include";
  const std::size_t hash = behind_blanks(0);
  if (hash == line.size() || line[hash] != '#') return "";
  const std::size_t word = behind_blanks(hash + 1);
  if (line.compare(word, directive.size(), directive) != 0) return "";
  return delimited(line.substr(behind_blanks(word + directive.size())));
}

struct Found {
  const std::vector<fs::path>& folders;
  std::set<fs::path> seen = {};
  std::string text = {};
};

void add(const std::string& name, const fs::path& beside, Found& found) {
  std::vector<fs::path> places{beside};
  places.insert(places.end(), found.folders.begin(), found.folders.end());
  std::error_code none;
  const auto place = std::find_if(places.begin(), places.end(), [&](const fs::path& folder) {
    return (!folder.empty() || fs::path(name).is_absolute()) && fs::is_regular_file(folder / name, none);
  });
  if (place == places.end()) return;
  const fs::path file = (*place / name).lexically_normal();
  if (!found.seen.insert(file).second) return;
  const std::string text = read_file(file, longest_header);
  found.text += "\n" + text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (const std::string next = included_by(text.substr(at, end - at)); !next.empty())
      add(next, file.parent_path(), found);
    at = end + 1;
  }
}

}  // namespace

std::string included_texts(const std::vector<std::string>& names, const std::vector<fs::path>& folders) {
  Found found{folders};
  for (const std::string& name : names) {
    const std::string inner = delimited(name);
    add(inner.empty() ? name : inner, "", found);
  }
  return found.text;
}

std::vector<fs::path> include_folders(const std::vector<std::string>& command) {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < command.size(); ++i)
    for (const std::string flag : {"-I", "-isystem", "-iquote"}) {
      if (!command[i].starts_with(flag)) continue;
      if (command[i] != flag)
        folders.emplace_back(command[i].substr(flag.size()));
      else if (i + 1 < command.size())
        folders.emplace_back(command[i + 1]);
    }
  return folders;
}

std::string texts_of_headers(const HardwareModel& model, const std::vector<fs::path>& folders, bool with_shim) {
  std::vector<std::string> names = model.program.include;
  if (with_shim && !model.program.shim.include.empty()) names.push_back(model.program.shim.include);
  return included_texts(names, folders);
}

}  // namespace isamap
