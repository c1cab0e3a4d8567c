#pragma once
// Compiled programs that are kept between runs, in $ISAMAP_CACHE, $XDG_CACHE_HOME/isamap or ~/.cache/isamap.
//
// An entry is a directory named by a hash of its key; it holds key and program, and is used only if the keys are equal,
// so a collision costs time and nothing else. It is made under another name and renamed: readers see all of it or
// nothing.

#include <filesystem>
#include <string>

namespace isamap {

/// Copies the program of this key to `executable`; false: there is none.
bool take_from_cache(const std::string& key, const std::filesystem::path& executable);
void put_into_cache(const std::string& key, const std::filesystem::path& executable);

}  // namespace isamap
