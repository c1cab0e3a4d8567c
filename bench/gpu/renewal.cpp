// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/renewal.h"

#include <fmt/format.h>

#include "backends/common/process.h"

namespace isamap::bench {
namespace {

namespace fs = std::filesystem;
constexpr const char* marker = "bundle_of_isamap";

bool wrote(const fs::path& file, const std::string& text) { return write_file(file, text.data(), text.size()); }
bool differs(const fs::path& file, const std::string& text) {
  std::error_code none;
  return !fs::exists(file, none) || read_file(file, std::size_t{1} << 28) != text;
}

}  // namespace

Diagnostics not_a_bundle(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder, none)) return {};
  if (!fs::is_directory(folder, none)) return {error(fmt::format("'{}' is no folder", folder.string()), "another DIR")};
  const bool earlier =  // bundles older than the marker file
      fs::exists(folder / "manifest.jsonl", none) && fs::exists(folder / "place" / "runner.cpp", none);
  if (fs::is_empty(folder, none) || earlier || fs::exists(folder / marker, none)) return {};
  return {error(fmt::format("'{}' holds files and is no bundle: nothing is written there", folder.string()),
                "an empty DIR, one that is not there yet, or the DIR of an earlier bundle")};
}

bool Renewal::begin() const {
  std::error_code none;
  for (const char* old : {"manifest.jsonl", "instructions", "results/instructions", "results/results.csv",
                          "results/results.json", "results/results.jsonl", "results/summary.txt"})
    fs::remove_all(folder_ / old, none);
  if (fs::exists(folder_ / "results/build", none))
    for (const auto& file : fs::directory_iterator(folder_ / "results/build", none)) {
      const std::string name = file.path().filename().string();  // of a case or, without one, of instructions
      if (!fs::exists(folder_ / "cases" / name.substr(0, name.find('.')), none)) fs::remove(file.path(), none);
    }
  fs::create_directories(folder_ / "place", none);
  return wrote(folder_ / marker, "written by bench_gpu --bundle, which may replace what is in this folder\n");
}

bool Renewal::put_place(const fs::path& file, const std::string& text) {
  std::error_code none;
  if (differs(folder_ / file, text) && file != "run.sh" && !programs_changed_) {
    programs_changed_ = true;
    for (const char* object : {"runner.o", "peers.o", "peers.link"}) fs::remove(folder_ / "place" / object, none);
  }
  return wrote(folder_ / file, text);
}

bool Renewal::put_case(const std::string& name, const std::string& file, const std::string& text) {
  std::error_code none;
  const fs::path at = folder_ / "cases" / name;
  const bool first = written_.insert(name).second;
  if ((first && programs_changed_) || differs(at / file, text)) forget(name);
  fs::create_directories(at, none);
  return wrote(at / file, text);
}

void Renewal::forget_others() const {
  std::error_code none;
  std::set<std::string> old;
  for (const auto& one : fs::directory_iterator(folder_ / "cases", none))
    if (!written_.contains(one.path().filename().string())) old.insert(one.path().filename().string());
  for (const std::string& name : old) {
    forget(name);
    fs::remove_all(folder_ / "cases" / name, none);
  }
}

void Renewal::forget(const std::string& name) const {
  std::error_code none;
  for (const char* made : {"program", "kernel.cubin"}) fs::remove(folder_ / "cases" / name / made, none);
  for (const char* phase : {"build", "check", "time"})
    for (const char* ending : {"", ".csv", ".log", ".part"})
      fs::remove(folder_ / "results" / phase / (name + ending), none);
}

}  // namespace isamap::bench
