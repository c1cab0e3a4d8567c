// SPDX-License-Identifier: Apache-2.0
// Helpers of hwdesc tests: the folder of models, and a model from a text.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "isamap/hardware.h"
#include "tests/scratch.h"

namespace isamap {

inline const std::string model_folder = ISAMAP_SOURCE_DIR "/hardware_models";
inline const std::string data_folder = ISAMAP_SOURCE_DIR "/tests/hwdesc/data";

/// Writes `text` to a temporary file and loads it.
inline Result<LoadedHardware> load_text(const std::string& text, const LoadOptions& options = {}) {
  const std::string path = scratch("hwdesc.yaml");
  std::ofstream(path) << text;
  auto loaded = load_hardware(path, {data_folder, model_folder}, options);
  std::filesystem::remove(path);
  return loaded;
}

}  // namespace isamap
