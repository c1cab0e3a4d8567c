// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/compile/program_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/common/process.h"
#include "support/hash.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

// A program takes 0.2 MB, the headers that programs share 27 MB a list.
constexpr std::size_t max_entries = 2000;
constexpr std::uintmax_t max_bytes = std::uintmax_t{1} << 30;
constexpr std::size_t max_text = 256 << 20;

/// A directory owned by this user and not accessible to others, or nothing: caching is off.
std::optional<fs::path> cache_directory() {
  fs::path path;
  std::error_code failed;
  if (const char* own = std::getenv("ISAMAP_CACHE"); own != nullptr && *own != 0)
    path = own;
  else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    path = fs::path(xdg) / "isamap";
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/' && fs::is_directory(home, failed))
    path = fs::path(home) / ".cache" / "isamap";  // accounts of services name a home that is not there
  else
    return std::nullopt;
  fs::create_directories(path.parent_path(), failed);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0)
    return std::nullopt;
  return path;
}

/// One line of an entry's manifest.
std::string sum_of(const char* file, const std::string& content) {
  return fmt::format("{} {} {:016x}\n", file, content.size(), fnv1a(content));
}

struct KeptProgram {
  std::string key, content;
};

/// The contents of an entry; nothing if a file is missing, truncated or damaged.
std::optional<KeptProgram> read_kept(const fs::path& entry) {
  KeptProgram found{read_file(entry / "key", max_text), read_file(entry / "program", max_text)};
  const std::string sums = read_file(entry / "sums", 1 << 10);
  if (sums != sum_of("key", found.key) + sum_of("program", found.content)) return std::nullopt;
  return found;
}

/// Flushed to disk (fsync) before returning, if asked.
bool written(const fs::path& path, const std::string& content, bool flushed) {
  if (!write_file(path, content.data(), content.size())) return false;
  if (!flushed) return true;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool safe = file >= 0 && fsync(file) == 0;
  if (file >= 0) close(file);
  return safe;
}

bool executable_now(const fs::path& path) {
  std::error_code failed;
  fs::permissions(path, fs::perms::owner_all, failed);
  return !failed;
}

/// "00c0ffee00c0ffee": other names are in progress, or left by a process that died.
bool is_entry(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Those that were not used for the longest time are evicted first.
void mark_used(const fs::path& entry) {
  std::error_code failed;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), failed);
}

/// 0: there is none.
std::uintmax_t size_of(const fs::path& file) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  return failed ? 0 : size;
}

struct CacheEntry {
  fs::file_time_type used;
  fs::path path;
  std::uintmax_t bytes = 0;
};

/// Evicts what was not used for the longest time, down to three quarters of what the directory may hold, and unfinished
/// entries after an hour.
void prune(const fs::path& cache) {
  std::error_code failed;
  std::vector<CacheEntry> entries;
  std::uintmax_t bytes = 0;
  for (fs::directory_iterator it(cache, failed), end; !failed && it != end; it.increment(failed)) {
    const auto time = fs::last_write_time(it->path(), failed);
    if (failed) {
      failed.clear();
    } else if (is_entry(it->path())) {
      entries.push_back({time, it->path(), size_of(it->path() / "program") + size_of(it->path() / "key")});
      bytes += entries.back().bytes;
    } else if (fs::file_time_type::clock::now() - time > std::chrono::hours(1)) {
      fs::remove_all(it->path(), failed);
    }
  }
  if (entries.size() <= max_entries && bytes <= max_bytes) return;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  std::size_t left = entries.size();
  for (const CacheEntry& entry : entries) {
    if (left <= max_entries / 4 * 3 && bytes <= max_bytes / 4 * 3) return;
    fs::remove_all(entry.path, failed);
    bytes -= entry.bytes;
    --left;
  }
}

/// A look at every entry takes 20 ms of 2000, which a plan of a model would pay for each of its hundreds of parts: the
/// first time in this process, and then after a 32nd of the entries, or of the bytes, that the directory may hold.
bool is_prune_due(const fs::path& cache, std::uintmax_t bytes) {
  struct Stored {
    std::size_t entries = 0;
    std::uintmax_t bytes = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Stored> since;  // by directory
  const std::lock_guard lock(mutex);
  const auto [found, is_first] = since.try_emplace(cache.string());
  Stored& stored = found->second;
  stored = {stored.entries + 1, stored.bytes + bytes};
  if (!is_first && stored.entries < max_entries / 32 && stored.bytes < max_bytes / 32) return false;
  stored = {};
  return true;
}

/// Concurrent processes may do the same: the last rename wins, and both entries are complete. After a crash data may be
/// lost that are not flushed: whoever reads an entry sees it by the sums, so only entries whose content is not summed
/// are `flushed` (three times 12 ms on a loaded disk, for each program).
void store(const fs::path& cache, const fs::path& entry, const KeptProgram& made_of, bool replace, bool flushed) {
  std::string pattern = (cache / "new-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return;
  const fs::path folder = pattern, made = folder / "entry";
  std::error_code failed;
  const std::string sums = sum_of("key", made_of.key) + sum_of("program", made_of.content);
  if (fs::create_directory(made, failed) && written(made / "program", made_of.content, flushed) &&
      executable_now(made / "program") && written(made / "key", made_of.key, flushed) &&
      written(made / "sums", sums, flushed)) {
    fs::rename(made, entry, failed);
    if (failed && (replace || !read_kept(entry))) {
      // rename cannot replace a non-empty directory: the old one is moved aside first.
      fs::rename(entry, folder / "aside", failed);
      fs::rename(made, entry, failed);
    }
  }
  fs::remove_all(folder, failed);  // including the loser of a race and the entry moved aside
  if (is_prune_due(cache, made_of.key.size() + made_of.content.size())) prune(cache);
}

std::string place_of(const std::string& key) { return fmt::format("{:016x}", fnv1a(key)); }

void put(const std::string& key, const fs::path& file, bool flushed) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  const auto cache = cache_directory();
  if (!cache || failed || size >= max_text) return;
  std::string content = read_file(file, max_text);
  if (content.size() == size) store(*cache, *cache / place_of(key), {key, std::move(content)}, false, flushed);
}

}  // namespace

bool has_cache() { return cache_directory().has_value(); }

std::optional<std::string> read_from_cache(const std::string& key) {
  const auto cache = cache_directory();
  if (!cache) return std::nullopt;
  auto found = read_kept(*cache / place_of(key));
  if (!found || found->key != key) return std::nullopt;
  mark_used(*cache / place_of(key));
  return std::move(found->content);
}

void write_to_cache(const std::string& key, const std::string& content) {
  if (const auto cache = cache_directory()) store(*cache, *cache / place_of(key), {key, content}, true, false);
}

bool take_from_cache(const std::string& key, const fs::path& executable) {
  const auto content = read_from_cache(key);
  if (!content || !write_file(executable, content->data(), content->size())) return false;
  return executable_now(executable);
}

std::optional<fs::path> find_in_cache(const std::string& key) {
  const auto cache = cache_directory();
  if (!cache) return std::nullopt;
  const fs::path entry = *cache / place_of(key), program = entry / "program";
  std::error_code failed;
  const auto size = fs::file_size(program, failed);
  const std::string sums = read_file(entry / "sums", 1 << 10);
  if (failed || read_file(entry / "key", max_text) != key ||
      sums.find(fmt::format("\nprogram {} ", size)) == std::string::npos)
    return std::nullopt;
  mark_used(entry);
  return program;
}

void put_into_cache(const std::string& key, const fs::path& executable) { put(key, executable, false); }

void put_flushed_into_cache(const std::string& key, const fs::path& file) { put(key, file, true); }

CacheLock::CacheLock(const std::string& key, double seconds) {
  const auto cache = cache_directory();
  if (!cache) return;
  path_ = *cache / ("lock-" + place_of(key));
  file_ = open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) return;
  // The holder may be stopped or hang, so the wait has an end.
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= end) {
      close(file_);
      file_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Those that wait have the removed file open: each gets the lock in its turn, and finds what was made.
CacheLock::~CacheLock() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

}  // namespace isamap
