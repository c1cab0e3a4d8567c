// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels as text, run by the emulation: as printed, or with something broken in them.

#include <cstdlib>
#include <optional>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/driver.h"
#include "backends/cuda/translation_unit.h"
#include "isamap/frontends.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"
#include "tests/delivery.h"
#include "tests/every.h"

namespace isamap {

inline const std::vector<std::string> deliveries = {"late", "eager", "random:1", "random:2", "random:3"};

inline Kernel kernel_from(const std::string& text) {
  auto kernel = parse_kernel_yaml(text, "kernel.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

/// C[i,j] += A[i,k] * B, with k or j running fastest in B.
inline Kernel product(const std::string& type, const std::string& sum, std::int64_t m, std::int64_t n, std::int64_t k,
                      bool transposed) {
  const std::string a = "A[i,k]", b = transposed ? "B[j,k]" : "B[k,j]";
  return kernel_from("kernel: product\ndims: {M: " + std::to_string(m) + ", N: " + std::to_string(n) +
                     ", K: " + std::to_string(k) + "}\ntensors:\n  A: {shape: [M, K], dtype: " + type +
                     "}\n  B: {shape: " + (transposed ? "[N, K]" : "[K, N]") + ", dtype: " + type +
                     "}\n  C: {shape: [M, N], dtype: " + sum + "}\ncompute:\n  - C[i,j] += " + sum + "(" + a + ") * " +
                     sum + "(" + b + ")\n");
}

/// Four warps, three steps of tiles in the scratchpad, edges in every direction.
inline const char* const ring_schedule = R"(schedule: product
nest:
  - for i by 64 on block tail pad
  - for j by 64 on block tail pad
  - stage C in reg
  - for k by 32 tail pad
  - stage A in shared x3 as [i, k pad 8] via cp_async_16_b16
  - stage B in shared x3 as [j, k pad 8] via cp_async_16_b16
  - for i by 32 on warp
  - for j by 32 on warp
  - for k by 16 unroll
  - stage A in reg via ldmatrix_x4
  - stage B in reg via ldmatrix_x2
  - for i by 16 unroll
  - for j by 8 unroll
  - do s0 with mma_bf16(i=i, j=j, k=k)
)";

/// Two warpgroups, three steps of tiles in the scratchpad, edges in every direction.
inline const char* const wide_schedule = R"(schedule: product
nest:
  - for i by 128 on block tail pad
  - for j by 96 on block tail pad
  - stage C in reg
  - for k by 64 tail pad
  - stage A in shared x3 as [k/64, i, k%64] xor 3 from 7 to 4 via cp_async_16_b16
  - stage B in shared x3 as [k/64, j, k%64] xor 3 from 7 to 4 via cp_async_16_b16
  - for i by 64 on warpgroup
  - for k by 16 unroll
  - do s0 with wgmma_bf16_kk_sw128(i=i, j=j, k=k)
)";

/// The program computes what its kernel says.
inline void expect_kernel(const Program& program, const HardwareModel& model) {
  auto expected = inputs(program, 17), found = expected;
  interpret(program.kernel, expected);
  ASSERT_TRUE(interpret(program, model, found));
  for (const TensorId t : arguments(program.kernel))
    if (role_of(program.kernel, t) == Role::output) {
      EXPECT_EQ(found[t.index()], expected[t.index()]) << program.schedule_text;
    }
}

inline Program lowered(const Kernel& kernel, const std::string& schedule, const HardwareModel& model) {
  auto parsed = parse_schedule(schedule, "schedule.yaml", kernel, model);
  EXPECT_TRUE(parsed) << render(parsed.diagnostics());
  auto program = lower(*parsed, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  if (program) expect_kernel(*program, model);
  return program ? *program : Program{};
}

struct Emulated {
  int code = -1;
  std::string output;
  bool right = false;  ///< it ended well, and its outputs are the interpreter's
};

/// Compiles `text` (a printed file, perhaps changed) and runs it on integer-valued data.
inline Emulated emulate(const std::string& text, const TranslationUnit& unit, const Program& program,
                        const HardwareModel& model) {
  Emulated result;
  auto data = inputs(program, 3), expected = data;
  EXPECT_TRUE(interpret(program, model, expected));
  std::vector<RunArray> arrays;
  RunCall entry{unit.run_as, {}};
  const TemporaryDirectory folder;
  for (const EntryArgument& a : unit.arguments) {
    const Buffer& buffer = program.buffers[a.buffer.index()];
    const bool output = role_of(program.kernel, buffer.tensor) == Role::output;
    const bool given = !output || program.kernel.tensors[buffer.tensor.index()].inout;
    const auto& bytes = data[buffer.tensor.index()].bytes;
    if (given) write_file(folder.path() / (std::to_string(arrays.size()) + ".in"), bytes.data(), bytes.size());
    entry.arrays.push_back(arrays.size());
    arrays.push_back({a.bytes, 64, given, output});
  }
  auto made = compile(model, text, driver_text(arrays, {}, entry), {{emulation_header_name, emulation_header()}},
                      folder.path() / "program", emulation_part());
  EXPECT_TRUE(made) << render(made.diagnostics());
  if (!made) return result;
  const auto ran = run_process({(folder.path() / "program").string(), folder.path().string(), "0"}, {60, 0, 0},
                               folder.path() / "log");
  result.code = ran.exit_code;
  result.output = ran.output;
  result.right = ran.exit_code == 0;
  for (std::size_t a = 0; a < arrays.size() && result.right; ++a) {
    if (!arrays[a].output) continue;
    const auto& wanted = expected[program.buffers[unit.arguments[a].buffer.index()].tensor.index()].bytes;
    const std::string found = read_file(folder.path() / (std::to_string(a) + ".out"), wanted.size());
    result.right = std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                              [](std::uint8_t x, char y) { return x == static_cast<std::uint8_t>(y); });
  }
  return result;
}

/// Every `from` replaced; it must stand there.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

}  // namespace isamap
