// SPDX-License-Identifier: Apache-2.0
// Random ONNX models against onnxruntime, which random_models.py draws: as programs for one and three threads.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "isamap/frontends.h"
#include "isamap/hardware.h"

namespace isamap {
namespace {

TEST(HeavyRandomModels, AreAsOnnxRuntimeSays) {
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  if (std::system("python3 -c 'import onnx, onnxruntime' 2>/dev/null") != 0)
    GTEST_SKIP() << "Python has no onnxruntime (pip install onnx onnxruntime)";
  const std::string command =
      "python3 '" ISAMAP_SOURCE_DIR "/tests/fuzz/random_models.py' --isamap '" ISAMAP_PROGRAM "'";
  EXPECT_EQ(std::system((command + " --count 100").c_str()), 0) << "by the interpreter";
  EXPECT_EQ(std::system((command + " --seed 100 --count 10 -- --target native").c_str()), 0);
  EXPECT_EQ(std::system((command + " --seed 110 --count 10 -- --target native --threads 3").c_str()), 0);
  EXPECT_EQ(std::system((command + " --seed 120 --count 20 --open -- --target native").c_str()), 0) << "for all sizes";
  EXPECT_EQ(std::system((command + " --seed 140 --count 20 -- --target npu16").c_str()), 0) << "as commands";
}

}  // namespace
}  // namespace isamap
