// SPDX-License-Identifier: Apache-2.0
// Moves named by `via`: if they cannot transfer the tile, the hint is a line that can.

#include "isamap/scheduler.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

std::vector<std::string> product(const std::string& output, const std::string& input, bool cut) {
  std::vector<std::string> lines{
      "for j by 16", "for i by 4", output, "for k by 1", input, "for i by 1 unroll", "do s0 with fma_f32_bcast(j=j)"};
  if (cut) lines.insert(lines.begin(), "for k by 4");
  return lines;
}

struct Said {
  std::string hint, notes;
};

Said refused(const Kernel& kernel, const std::vector<std::string>& lines) {
  const auto program = lower(schedule_of(lines), kernel, machine("x86_avx512"));
  if (program) return {"lowered", ""};
  Said said{program.diagnostics()[0].hint, ""};
  for (const std::string& note : program.diagnostics()[0].notes) said.notes += note + "\n";
  return said;
}

/// The line of the hint lowers and is right.
void expect_cured(const std::string& dims, const std::string& output, const std::string& input, bool cut,
                  const std::string& hint) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", dims);
  const Said said = refused(kernel, product(output, input, cut));
  EXPECT_EQ(said.hint, hint.empty() ? "leave 'via' out" : "write '" + hint + "'") << said.notes;
  EXPECT_EQ(said.notes.find("the machine has no move between these memories"), std::string::npos) << said.notes;
  const auto cured = [&](const std::string& line) {
    const std::size_t via = line.find(" via ");
    return via == std::string::npos ? line : line.substr(0, via) + (hint.empty() ? "" : " " + hint);
  };
  expect_right(kernel, machine("x86_avx512"), product(cured(output), cured(input), cut));
}

TEST(Via, TheHintIsALineThatWorks) {
  expect_cured("i=8,j=32,k=5", "stage C in vec via pass_f64", "stage B in vec", false, "via store_f32");
  expect_cured("i=8,j=32,k=5", "stage C in vec via load_f32", "stage B in vec", false, "via load_f32.store_f32");
  expect_cured("i=8,j=32,k=5", "stage C in vec", "stage B in vec via pass_f32", false, "via load_f32");
  expect_cured("i=8,j=32,k=9", "stage C in vec via pass_f32", "stage B in vec", true, "via pass_f32.load_f32");
  expect_cured("i=8,j=37,k=5", "stage C in vec via pass_f32", "stage B in vec", false, "via pass_f32.store_f32_masked");
}

TEST(Via, NotesSayWhichAxis) {
  const Said said = refused(formula("C[i,j] += A[i,k] * B[k,j]", "i=8,j=37,k=5"),
                            product("stage C in vec via pass_f32", "stage B in vec", false));
  EXPECT_NE(said.notes.find("pass_f32 moves 16 along its j; the tile has 5 along j"), std::string::npos) << said.notes;
}

TEST(Via, ARefusalOfTheTailAloneSaysSo) {
  const std::vector<std::string> lines{"for i by 1",
                                       "for j by 4",
                                       "stage C in vec",
                                       "for k by 1",
                                       "stage B in vec via load_f32",
                                       "stage A in vec",
                                       "do s0 with fmla_f32(j=j)"};
  const auto note = [&](const std::string& dims) -> std::string {
    const auto program = lower(schedule_of(lines), formula("C[i,j] += A[i,k] * B[k,j]", dims), machine("arm_neon"));
    return program ? "" : program.diagnostics().front().notes.back();
  };
  EXPECT_EQ(note("i=4,j=8,k=4"), "");
  EXPECT_EQ(note("i=4,j=10,k=4"), "in the last tile of j, of 2 points; the whole ones, of 4, are legal");
}

}  // namespace
}  // namespace isamap
