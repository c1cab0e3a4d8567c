// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files that a test writes: no other process, and so no test that runs beside it, has the same.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace isamap {

/// The path of a file `name` in a folder of this process's own, which goes when it ends: files that others have left
/// among the temporary ones are no neighbours.
inline std::string scratch(const std::string& name) {
  static const struct Folder {
    std::string path = ::testing::TempDir() + "isamap_" + std::to_string(::getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } folder;
  return folder.path + "/" + name;
}

}  // namespace isamap
