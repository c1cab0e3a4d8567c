// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled programs that are kept between runs, in $ISAMAP_CACHE, $XDG_CACHE_HOME/isamap or ~/.cache/isamap.
//
// An entry is a directory named by a hash of its key; it holds key and program, and is used only if the keys are equal,
// so a collision costs time and nothing else. It is made under another name and renamed: readers see all of it or
// nothing. It also holds size and hash of both files: what a full disk or a crash has left of an entry is none, and the
// next one replaces it.

#include <filesystem>
#include <optional>
#include <string>

namespace isamap {

/// Is there a place for it?
bool has_cache();

/// Copies the program of this key to `executable`; false: there is none.
bool take_from_cache(const std::string& key, const std::filesystem::path& executable);
/// What is whole stays.
void put_into_cache(const std::string& key, const std::filesystem::path& executable);

/// The same of a text. What is written replaces what there was.
std::optional<std::string> read_from_cache(const std::string& key);
void write_to_cache(const std::string& key, const std::string& content);

}  // namespace isamap
