// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries found when the benchmark runs: what is not there is left out and said.
//
// Folders of ISAMAP_BENCH_PEERS (FOLDER[:FOLDER...], looked through with all below them) come before those of the
// system. Symbols stay apart, so that several libraries with the same entries live in one process.

#include <dlfcn.h>

#include <string>
#include <vector>

namespace isamap::bench {

/// The first of these names that can be opened; nullptr: none. What is found but cannot be opened is told once.
void* open_library(const std::vector<std::string>& names);

template <class Function>
Function symbol(void* library, const std::string& name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name.c_str()));
}

}  // namespace isamap::bench
