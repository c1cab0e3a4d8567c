#pragma once

// Files that a test writes: no other process, and so no test that runs beside it, has the same.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace isamap {

/// The path of a file `name` of this process's own, in the folder for temporary files.
inline std::string scratch(const std::string& name) {
  return testing::TempDir() + "isamap_" + std::to_string(::getpid()) + "_" + name;
}

}  // namespace isamap
