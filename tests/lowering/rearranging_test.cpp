// SPDX-License-Identifier: Apache-2.0
// Packing moves: which move a copy uses, that it writes only the copy, and that tails, odd rows and single elements
// keep values.

#include <functional>
#include <set>

#include "backends/cpp/translation_unit.h"
#include "isamap/backend.h"
#include "tests/every.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

struct Case {
  const char* compute;
  const char* dtypes;
  const char* target;
  std::vector<std::string> lines;
  std::set<std::string> by;  ///< calls in the emitted copies
};

const std::vector<std::string> tiles{"stage C in tile",    "for k by 32",     "stage A in tile",
                                     "for j by 16 unroll", "stage B in tile", "do s0 with tdpbf16ps(i=i, j=j, k=k)"};
const std::vector<std::string> vectors{"stage C in vec",    "for k by 1",         "stage B in vec",
                                       "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"};

std::vector<std::string> below(std::vector<std::string> above, const std::vector<std::string>& lines) {
  above.insert(above.end(), lines.begin(), lines.end());
  return above;
}

const std::vector<std::string> quads{"stage C in vec",    "for k by 4",         "stage B in vec",
                                     "for i by 1 unroll", "for j by 16 unroll", "do s0 with dpbusd_bcast(j=j, k=k)"};

const char* const bf16 = "A=bf16,B=bf16,C=f32";

std::vector<Case> cases() {
  const std::string pairs = "stage B in ram as [j/32, k/32, k/2%16, j%32, k%2]",
                    rows = "stage A in ram as [i/16, k/32, i%16, k%32]";
  return {
      {"C[i,j] += f32(A[i,k])*f32(B[k,j])",
       bf16,
       "intel_amx",
       below({rows, pairs, "for j by 32", "for i by 16"}, tiles),
       {"words_of_pairs("}},
      {"C[i,j] += f32(A[i,k])*f32(B[k,j])",
       bf16,
       "intel_amx",
       below({rows, "for j by 32", pairs, "for i by 16"}, tiles),
       {"words_of_pairs("}},
      {"C[i,j] += f32(A[i,k])*f32(B[j,k])",
       bf16,
       "intel_amx",
       below({rows, pairs, "for j by 32", "for i by 16"}, tiles),
       {"words_across("}},
      {"C[i,j] += f32(A[k,i])*f32(B[j,k])",
       bf16,
       "intel_amx",
       below({rows, pairs, "for j by 32", "for i by 16"}, tiles),
       {"pairs_across(", "words_across("}},
      {"C[i,j] += A[i,k]*B[j,k]",
       "",
       "x86_avx512",
       below({"stage B in ram as [j/32, k, j%32]", "for j by 32", "for i by 6"}, vectors),
       {"words_across("}},
      {"C[i,j] += A[k,i]*B[k,j]",
       "",
       "x86_avx512",
       below({"for i by 6", "stage A in ram as [i, k]", "for j by 32"}, vectors),
       {"words_across("}},
      {"C[i,j] += A[i,k]*B[k,j]",
       "",
       "x86_avx512",
       below({"stage B in ram as [j/32, k, j%32]", "for j by 32", "for i by 6"}, vectors),
       {}},
      // Several panels at a time, their rows copied along rows of the tensor.
      {"C[i,j] += s32(A[i,k])*s32(B[k,j])",
       "A=u8,B=s8,C=s32",
       "x86_avx512_vnni",
       below({"stage A in ram as [i, k/4, k%4]", "for j by 128", "stage B in ram as [j/16, k/4, j%16, k%4]",
              "for j by 16", "for i by 6"},
             quads),
       {"words_of_quads("}},
      {"C[i,j] += s32(A[k,i])*s32(B[k,j])",
       "A=u8,B=s8,C=s32",
       "x86_avx512_vnni",
       below({"stage A in ram as [i/6, k/4, i%6, k%4]", "for j by 96", "stage B in ram as [j/32, k/4, j%32, k%4]",
              "for j by 32", "for i by 6"},
             quads),
       {"words_of_quads("}},
      // 64 bytes of a row are 16 blocks of the layout.
      {"C[i,j] += s32(A[i,k])*s32(B[j,k])",
       "A=u8,B=s8,C=s32",
       "x86_avx512_vnni",
       below(
           {"stage A in ram as [i, k/4, k%4]", "stage B in ram as [j/32, k/4, j%32, k%4]", "for j by 32", "for i by 6"},
           quads),
       {"words_across("}},
  };
}

/// In the program itself, not in the definitions of helpers.
bool calls(const Program& program, const HardwareModel& model, const std::string& what) {
  const auto unit = print_cpp(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  if (!unit) return false;
  const std::size_t body = unit->text.find("extern \"C\"");
  return unit->text.find(what, body == std::string::npos ? 0 : body) != std::string::npos;
}

TEST(PackingMove, ByTheMoveThatLiesSo) {
  for (const Case& c : cases()) {
    const HardwareModel model = machine(c.target);
    const Kernel kernel = formula(c.compute, "i=32,j=64,k=64", c.dtypes);
    const auto program = lower(schedule_of(c.lines), kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    if (c.by.empty()) {  // helpers are emitted if used
      const auto unit = print_cpp(*program, model);
      ASSERT_TRUE(unit) << render(unit.diagnostics());
      EXPECT_EQ(unit->text.find("turn_words"), std::string::npos) << unit->text;
    }
    for (const std::string other : {"words_of_pairs(", "words_across(", "pairs_across(", "words_of_quads("})
      EXPECT_EQ(calls(*program, model, other), c.by.contains(other)) << c.compute << " " << c.dtypes << ": " << other;
  }
}

/// Panels of 16 bytes of a row: the eight of a row of 128 are copied before the next four rows.
TEST(PackingMove, PartsOfALineFollowEachOther) {
  const HardwareModel model = machine("x86_avx512_vnni");
  const auto program =
      lower(schedule_of(below({"for j by 128", "stage B in ram as [j/16, k/4, j%16, k%4]", "for j by 16"}, quads)),
            formula("C[i,j] += s32(A[i,k])*s32(B[k,j])", "i=8,j=256,k=64", "A=u8,B=s8,C=s32"), model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const auto unit = print_cpp(*program, model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  const std::size_t rows = unit->text.find("k1 < 16"), parts = unit->text.find("j2 < 8");
  ASSERT_NE(rows, std::string::npos) << unit->text;
  ASSERT_NE(parts, std::string::npos) << unit->text;
  EXPECT_LT(rows, parts) << unit->text;
}

/// A panel of 64 columns of which 8 are there, of an odd sum: the moves write the zeros that are read, and no loop
/// writes others first.
TEST(PackingMove, SetsThePaddingThatIsRead) {
  const HardwareModel model = machine("x86_avx512_vnni");
  const std::vector<std::string> lines =
      below({"stage A in ram as [i, k/4, k%4]", "stage B in ram as [j/64, k/4, j%64, k%4]", "for j by 64"}, quads);
  const Kernel kernel = formula("C[i,j] += s32(A[i,k])*s32(B[k,j])", "i=4,j=72,k=63", "A=u8,B=s8,C=s32");
  expect_right(kernel, model, lines);
  const auto program = lower(schedule_of(lines), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  std::set<std::string> filled;
  const std::function<void(const std::vector<Node>&)> find = [&](const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (const auto* loop = std::get_if<Loop>(&node.is))
        find(loop->body);
      else if (const auto* element = std::get_if<Element>(&node.is); element != nullptr && element->reads.empty())
        filled.insert(program->buffers[element->write.buffer.index()].name);
  };
  find(program->body);
  for (const std::string& name : filled) EXPECT_FALSE(name.starts_with("B")) << name;
}

void changes_no_value_where_blocks_are_cut(Every every) {
  for (const Case& c : cases())
    for (const std::string dims : {"i=32,j=64,k=64", "i=17,j=35,k=67", "i=3,j=34,k=2", "i=1,j=2,k=33", "i=16,j=16,k=31",
                                   "i=5,j=47,k=130", "i=0,j=16,k=32", "i=4,j=0,k=32"})
      if (!every.skips()) expect_right(formula(c.compute, dims, c.dtypes), machine(c.target), c.lines);
}

TEST(PackingMove, ChangesNoValueWhereBlocksAreCut) { changes_no_value_where_blocks_are_cut(Every(3)); }
TEST(HeavyPackingMove, ChangesNoValueWhereBlocksAreCut) { changes_no_value_where_blocks_are_cut(Every(1)); }

/// The instructions' own text, on this processor.
void as_printed(Every every) {
  std::string missing;
  int seen = 0;
  for (const Case& c : cases()) {
    const HardwareModel model = machine(c.target);
    if (const Availability here = availability(model); here.how != ExecutionMode::native) {
      missing = here.why;
      continue;
    }
    ++seen;
    for (const std::string dims : {"i=32,j=64,k=64", "i=17,j=35,k=67", "i=3,j=34,k=2", "i=5,j=47,k=130"}) {
      if (every.skips()) continue;
      const Kernel kernel = formula(c.compute, dims, c.dtypes);
      const auto program = lower(schedule_of(c.lines), kernel, model);
      ASSERT_TRUE(program) << render(program.diagnostics());
      Random random(3);
      std::vector<TensorData> expected;
      for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
      std::vector<TensorData> found = expected;
      interpret(kernel, expected);
      const auto outcome = make_runner(model)->run(*program, found, RunLimits{}, 0);
      ASSERT_TRUE(outcome) << render(outcome.diagnostics());
      EXPECT_EQ(expected.back().bytes, found.back().bytes) << c.compute << " " << c.target << " " << dims;
    }
  }
  if (seen == 0) GTEST_SKIP() << missing;
}

TEST(PackingMove, AsPrinted) { as_printed(Every(11)); }
TEST(HeavyPackingMove, AsPrinted) { as_printed(Every(1)); }

}  // namespace
}  // namespace isamap
