// SPDX-License-Identifier: Apache-2.0
#include "jobs/device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "jobs/job.h"

namespace isamap::jobs {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The first value of a field of /proc/cpuinfo, by any of its names.
std::string processor_field(const std::set<std::string>& names) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (names.contains(name)) return line.substr(std::min(line.size(), colon + 2));
  }
  return "";
}

/// Sorted: kernels list features in orders of their own.
std::string sorted_words(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> words;
  for (std::string word; stream >> word;) words.insert(word);
  std::string sorted;
  for (const std::string& word : words) sorted += (sorted.empty() ? "" : " ") + word;
  return sorted;
}

/// "L1 Data 32K, L2 Unified 1024K".
std::string caches() {
  std::string text;
  for (int index = 0;; ++index) {
    const fs::path folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const std::string size = first_line(folder / "size");
    if (size.empty()) return text;
    text +=
        (text.empty() ? "L" : ", L") + first_line(folder / "level") + " " + first_line(folder / "type") + " " + size;
  }
}

/// Display controllers and processing accelerators of the PCI bus: vendor, device and revision of each.
std::string accelerators() {
  std::multiset<std::string> found;
  std::error_code problem;
  for (auto entry = fs::directory_iterator("/sys/bus/pci/devices", problem);
       !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const std::string kind = first_line(entry->path() / "class");
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    found.insert(first_line(entry->path() / "vendor") + ":" + first_line(entry->path() / "device") + ":" +
                 first_line(entry->path() / "revision"));
  }
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : ", ") + one;
  return text;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double reference_once(std::vector<float>& memory) {
  const double begun = now();
  double x = 1;
  for (int i = 0; i < 400'000; ++i) x = x * 0.999999 + 1e-6;
  float sum = 0;
  for (int pass = 0; pass < 4; ++pass)
    for (const float value : memory) sum += value;
  memory[0] = sum > 0 ? static_cast<float>(x) : 0;  // both results are used
  return now() - begun;
}

}  // namespace

DeviceFacts device_facts(const std::vector<std::string>& compilers) {
  DeviceFacts facts;
  facts["model name"] = processor_field({"model name", "CPU part", "uarch", "cpu"});
  facts["features"] = sorted_words(processor_field({"flags", "Features", "isa"}));
  facts["caches"] = caches();
  facts["governor"] = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts["accelerators"] = accelerators();
  for (const std::string& one : compilers) facts["compilers"] += (facts["compilers"].empty() ? "" : ", ") + one;
  return facts;
}

std::string device_key(const DeviceFacts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text.append(name).append("\t").append(value).append("\n");
  return content_key(text).substr(0, 16);
}

bool is_device_key(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

DeviceLock::DeviceLock()
    : file_(::open(("/tmp/isamap-device-" + std::to_string(::getuid()) + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC,
                   0600)) {
  if (file_ >= 0) ::flock(file_, LOCK_EX);
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) ::close(file_);
}

double reference_seconds() {
  std::vector<float> memory(1 << 18, 0.5f);
  double best = reference_once(memory);
  for (int again = 0; again < 9; ++again) best = std::min(best, reference_once(memory));
  return best;
}

}  // namespace isamap::jobs
