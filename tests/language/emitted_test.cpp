// SPDX-License-Identifier: Apache-2.0
// The test program that is emitted with a kernel has plain loops of its own; it agrees with the kernel's text.

#include <cstdlib>
#include <fstream>

#include "tests/language/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

TEST(EmittedTest, SaysTheSameOfEveryConstruct) {
  const Kernel kernel = kernel_of(R"k(kernel: everything
tensors:
  X: {shape: [7, 9]}
  E: {shape: [5, 9]}
  I: {shape: [7], dtype: s32}
  F: {shape: [3]}
  W: {shape: [7, 9], output: true}
  C: {shape: [7, 18]}
  S: {shape: [8, 18], inout: true}
  V: {shape: [7]}
  P: {shape: [7], dtype: s32}
compute:
  - W[p,c] += X[p + r - 1,c] outside 2 * F[r]
  - C[p,a] = W[p,a] + f32(value(p + a))
  - C[p,b + 9] = E[at(I[p]),b]
  - repeat: {t: 7}
    backward: true
    compute:
      - S[t,c] = S[t + 1,c] * 0.5 + C[t,c]
  - "(V[p], P[p]) max= (C[p,k], value(k))"
where: {a: 9, b: 9}
)k");
  const auto loaded = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  if (availability(loaded->model).how != ExecutionMode::native) GTEST_SKIP() << "programs of x86_avx2 do not run here";
  CompileOptions options;
  options.schedule.strategy = "greedy";
  const Compilation compiled = compile(kernel, loaded->model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  EmitOptions emitted;
  emitted.test = true;
  const auto files = emit(*compiled.program, loaded->model, emitted);
  ASSERT_TRUE(files) << render(files.diagnostics());
  std::string command = "g++ -std=c++17 -O1 -mavx2 -mfma -Wall -Wextra -Werror -o " + scratch("everything");
  for (const EmittedFile& file : *files) {
    std::ofstream(scratch(file.name)) << file.text;
    if (file.name.ends_with(".cpp")) command += " " + scratch(file.name);
  }
  ASSERT_EQ(std::system(command.c_str()), 0) << files->front().text;
  EXPECT_EQ(std::system(scratch("everything").c_str()), 0) << files->back().text;
}

}  // namespace
}  // namespace isamap
