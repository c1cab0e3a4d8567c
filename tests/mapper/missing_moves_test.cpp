// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/missing_moves.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "isamap/hardware.h"

namespace isamap {
namespace {

const std::vector<std::string> folders{ISAMAP_SOURCE_DIR "/hardware_models"};

/// npu16 without one of its moves.
HardwareModel without(const std::string& move) {
  std::ifstream in(folders.front() + "/npu16.yaml");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find("  - name: " + move + " ");
  text.erase(begin, text.find("  - name: ", begin + 1) - begin);
  const std::string file = ::testing::TempDir() + "/without_" + move + ".yaml";
  std::ofstream(file) << text;
  const auto loaded = load_hardware(file, folders);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  std::filesystem::remove(file);
  return loaded->model;
}

std::vector<std::string> missing_of_mma(const HardwareModel& model) {
  return missing_moves(model.instruction(*model.find_instruction("mma")), model);
}

TEST(MissingMoves, NamesOperandMemoryAndTheNearestMove) {
  EXPECT_EQ(missing_of_mma(without("mvin")),
            (std::vector<std::string>{"no way to operand A of mma: nothing takes s8 to spad; nearest is mvin_bias, "
                                      "which takes s32 from dram to acc",
                                      "no way to operand B of mma: nothing takes s8 to spad; nearest is mvin_bias, "
                                      "which takes s32 from dram to acc"}));
  EXPECT_EQ(
      missing_of_mma(without("mvout")),
      (std::vector<std::string>{"no way from operand C of mma: nothing takes s32 out of acc; nearest is mvin_bias, "
                                "which takes s32 from dram to acc"}));
  EXPECT_TRUE(missing_of_mma(without("mvin_bias")).empty()) << "calls begin sums";
}

TEST(MissingMoves, EveryOperandOfTheMachinesHereIsReached) {
  for (const auto& entry : std::filesystem::directory_iterator(folders.front())) {
    if (entry.path().extension() != ".yaml") continue;
    const auto loaded = load_hardware(entry.path().string(), folders);
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    for (const Instruction& instruction : loaded->model.instructions()) {
      if (instruction.operands.size() < 2 || instruction.semantics.empty() || is_move(instruction)) continue;
      EXPECT_EQ(missing_moves(instruction, loaded->model), std::vector<std::string>{})
          << loaded->model.name << ": " << instruction.name;
    }
  }
}

}  // namespace
}  // namespace isamap
