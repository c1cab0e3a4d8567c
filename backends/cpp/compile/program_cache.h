// SPDX-License-Identifier: Apache-2.0
#pragma once
// Persistent cache of compiled programs, in $ISAMAP_CACHE, $XDG_CACHE_HOME/isamap or ~/.cache/isamap.
//
// An entry is a directory named by a hash of its key; it contains key and program and is used only if the keys are
// equal, so a collision costs time only. Entries are created under a temporary name and renamed: readers see a complete
// entry or none. Size and checksum of both files detect entries damaged by a full disk or a crash; they are replaced.

#include <filesystem>
#include <optional>
#include <string>

namespace isamap {

/// Is the cache enabled?
bool has_cache();

/// Copies the program of this key to `executable`; false: not cached.
bool take_from_cache(const std::string& key, const std::filesystem::path& executable);
/// Keeps an existing intact entry.
void put_into_cache(const std::string& key, const std::filesystem::path& executable);

/// The same for what find_in_cache is to find.
void put_flushed_into_cache(const std::string& key, const std::filesystem::path& file);
/// Where the file of this key lies, to be read there: intact by its size. Its content is not summed, which is why it
/// was flushed to disk.
std::optional<std::filesystem::path> find_in_cache(const std::string& key);

/// The same for a text; replaces an existing entry.
std::optional<std::string> read_from_cache(const std::string& key);
void write_to_cache(const std::string& key, const std::string& content);

/// One process, and one thread of it, at a time holds the lock of a key: what takes seconds to make is made once, and
/// read by those that waited. After `seconds` of waiting, or without a cache, they continue all the same, which costs
/// time only.
class CacheLock {
 public:
  CacheLock(const std::string& key, double seconds);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

 private:
  std::filesystem::path path_;
  int file_ = -1;  ///< open and locked; -1: not held
};

}  // namespace isamap
