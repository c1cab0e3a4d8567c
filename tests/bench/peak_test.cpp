// SPDX-License-Identifier: Apache-2.0
// Programs that show what an instruction can do: they compute what they say, and stay where they should.

#include "bench/cpu/peak.h"

#include <gtest/gtest.h>

#include "bench/cpu/calibration.h"
#include "bench/cpu/cases.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/program_on_machine.h"

namespace isamap::bench {
namespace {

HardwareModel machine(const std::string& name) {
  auto loaded = load_hardware(name, {ISAMAP_SOURCE_DIR "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

/// Sums of products with the right number of repetitions, for every accumulating instruction of several machines.
TEST(BenchPeak, TheProgramIsTheRepeatedStatement) {
  int made = 0;
  for (const char* name : {"x86_avx512", "x86_avx512_vnni", "intel_amx", "x86_avx2", "scalar_c"}) {
    const HardwareModel model = machine(name);
    for (std::size_t i = 0; i < model.instructions().size(); ++i) {
      const auto id = make_id<InstructionId>(i);
      const Instruction& instruction = model.instruction(id);
      if (!is_compute(instruction) || instruction.semantics.size() != 1) continue;
      if (instruction.statement().reduction != Reduction::add || results_in_registers(model, id) < 2) continue;
      for (const PeakShape shape : {PeakShape{2, 3, 1}, PeakShape{2, 3, 2, true}, PeakShape{2, 3, 2, true, true}}) {
        const auto code = peak_code(model, id, shape);
        if (!code) continue;  // its operands come from elsewhere
        ++made;
        auto expected = random_data(code->kernel, Fill::integers, 7), found = expected;
        interpret(code->kernel, expected);
        ASSERT_TRUE(interpret(code->program, model, found)) << name << " " << instruction.name;
        const TensorId out = code->kernel.statements[0].write.tensor;
        EXPECT_EQ(found[out.index()], expected[out.index()]) << name << " " << instruction.name;
      }
    }
  }
  EXPECT_GT(made, 40);
}

/// Inside the repetition nothing but the instruction is called.
TEST(BenchPeak, NothingMovesInsideTheRepetition) {
  const HardwareModel model = machine("x86_avx512");
  const auto id = *model.find_instruction("fma_f32");
  const auto code = peak_code(model, id, {8, 50, 2});
  ASSERT_TRUE(code) << render(code.diagnostics());
  auto data = random_data(code->kernel, Fill::integers, 7);
  const auto counts = interpret(code->program, model, data);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->calls.at("fma_f32"), 800);
  EXPECT_EQ(counts->calls.at("load_f32"), 10) << "eight sums and two factors";
  EXPECT_EQ(results_in_registers(model, id), 30) << "32 registers, two factors";
}

TEST(BenchPeak, RunsAndSaysHowMuchItDid) {
  for (const char* name : {"x86_avx512", "x86_avx2", "scalar_c"}) {
    const HardwareModel model = machine(name);
    if (availability(model).how != ExecutionMode::native) continue;
    const auto id = model.find_instruction(name == std::string("scalar_c") ? "mac_f32_f32" : "fma_f32");
    ASSERT_TRUE(id);
    auto made = peak_program(model, *id, {4, 100, 3, true});
    ASSERT_TRUE(made) << render(made.diagnostics());
    made->run();
    const double lanes = name == std::string("x86_avx512") ? 16 : name == std::string("x86_avx2") ? 8 : 1;
    EXPECT_EQ(made->operations(), 2 * 4 * 100 * 3 * lanes);
    EXPECT_EQ(made->bytes(), 4 * 100 * 3 * lanes * 4);
    return;
  }
  GTEST_SKIP() << "no model runs on this processor";
}

TEST(BenchPeak, SizesOfStreams) {
  EXPECT_EQ(Calibration::stream_size(1), 16384);
  EXPECT_EQ(Calibration::stream_size(16385), 32768);
  EXPECT_EQ(Calibration::stream_size(1e12), 1 << 28);
}

/// Padding is no work: a window of 3 over a row of 4 with one zero at each end has 10 taps inside, not 12.
TEST(BenchCases, OperationsLeavePaddingOut) {
  for (const CpuCase& c : cpu_cases()) {
    const double needed = needed_operations(c);
    EXPECT_GT(needed, 0) << c.family << " " << c.name;
    EXPECT_LE(needed, c.operations) << c.family << " " << c.name;
    if (c.kind == CpuCase::Kind::gemm || (c.filter.down.pad == 0 && c.filter.across.pad == 0)) {
      EXPECT_EQ(needed, c.operations) << c.family << " " << c.name;
    }
  }
  CpuCase row;
  row.kind = CpuCase::Kind::depthwise;
  row.filter = {true, 1, 1, 1, Axis{4, 3, 1, 1}, Axis{6, 3, 1, 1}};  // across: 16 of 18
  EXPECT_EQ(needed_operations(row), 2 * 10 * 16);
}

}  // namespace
}  // namespace isamap::bench
