// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/libraries.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

namespace isamap::bench {
namespace {

namespace fs = std::filesystem;

/// Shared libraries below the folders, by file name.
std::map<std::string, std::string> found_below(const char* folders) {
  std::map<std::string, std::string> found;
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::error_code problem;
    for (auto it = fs::recursive_directory_iterator(folder, problem);
         !problem && it != fs::recursive_directory_iterator(); it.increment(problem))
      if (const std::string name = it->path().filename().string(); name.find(".so") != std::string::npos)
        found.emplace(name, it->path().string());
    if (problem) fmt::print(stderr, "ISAMAP_BENCH_PEERS: {}: {}\n", folder, problem.message());
  }
  return found;
}

}  // namespace

void* open_library(const std::vector<std::string>& names) {
  static const auto own = found_below(std::getenv("ISAMAP_BENCH_PEERS"));
  // RTLD_DEEPBIND: a library's internal calls stay inside it even if the program links an older version with the same
  // symbols.
  constexpr int apart = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  for (const std::string& name : names)
    if (const auto file = own.find(name); file != own.end()) {
      if (void* library = dlopen(file->second.c_str(), apart)) return library;
      fmt::print(stderr, "{} cannot be opened: {}\n", file->second, dlerror());
    }
  for (const std::string& name : names)
    if (void* library = dlopen(name.c_str(), apart)) return library;
  return nullptr;
}

}  // namespace isamap::bench
