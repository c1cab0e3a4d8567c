#include "backends/cpp/program_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "backends/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_entries = 400;
constexpr std::size_t max_text = 256 << 20;

/// FNV-1a, 64 bits (Fowler, Noll, Vo): names entries; equality of the texts decides.
std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

/// A directory that belongs to this user and that nobody else can enter, or nothing: then nothing is cached.
std::optional<fs::path> cache_directory() {
  fs::path path;
  if (const char* own = std::getenv("ISAMAP_CACHE"); own != nullptr && *own != 0)
    path = own;
  else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    path = fs::path(xdg) / "isamap";
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    path = fs::path(home) / ".cache" / "isamap";
  else
    return std::nullopt;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0)
    return std::nullopt;
  return path;
}

bool copied(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  return !failed;
}

/// Keeps the directory small: the entries that were made first go first.
void prune(const fs::path& cache) {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  for (fs::directory_iterator it(cache, failed), end; !failed && it != end; it.increment(failed)) {
    const auto time = fs::last_write_time(it->path(), failed);
    if (failed)
      failed.clear();
    else
      entries.emplace_back(time, it->path());
  }
  if (entries.size() <= max_entries) return;
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size() - max_entries * 3 / 4; ++i) fs::remove_all(entries[i].second, failed);
}

void store(const fs::path& cache, const fs::path& entry, const std::string& key, const fs::path& executable) {
  std::string pattern = (cache / "new-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return;
  const fs::path made = pattern;
  std::error_code failed;
  if (copied(executable, made / "program") && write_file(made / "key", key.data(), key.size()))
    fs::rename(made, entry, failed);
  else
    failed = std::make_error_code(std::errc::io_error);
  if (failed) fs::remove_all(made, failed);  // another process was first, or the disk is full
  prune(cache);
}

}  // namespace

bool take_from_cache(const std::string& key, const fs::path& executable) {
  const auto cache = cache_directory();
  if (!cache) return false;
  const fs::path entry = *cache / fmt::format("{:016x}", hash(key));
  return read_file(entry / "key", max_text) == key && copied(entry / "program", executable);
}

void put_into_cache(const std::string& key, const fs::path& executable) {
  if (const auto cache = cache_directory()) store(*cache, *cache / fmt::format("{:016x}", hash(key)), key, executable);
}

}  // namespace isamap
