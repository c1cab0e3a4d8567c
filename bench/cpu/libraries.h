// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries loaded at run time; missing ones are reported and omitted.
//
// Folders of ISAMAP_BENCH_PEERS (FOLDER[:FOLDER...], looked through with all below them) come before those of the
// system. Symbols are local, so that several libraries with equal symbols coexist.

#include <dlfcn.h>

#include <string>
#include <vector>

namespace isamap::bench {

/// The first of these names that can be opened; nullptr: none. A library that is found but cannot be opened is reported
/// once.
void* open_library(const std::vector<std::string>& names);

template <class Function>
Function symbol(void* library, const std::string& name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name.c_str()));
}

}  // namespace isamap::bench
