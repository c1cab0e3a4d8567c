// SPDX-License-Identifier: Apache-2.0
// Certificates run by the z3 program: `unsat` for listed mappings, `sat` somewhere for mutants.

#include "mapper/proof/certificate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "mapper/proof/z3_solver.h"
#include "tests/every.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

bool z3_found() { return std::system("z3 -version > /dev/null 2>&1") == 0; }

/// The lines that `z3 FILE` prints.
std::string z3_says(const std::string& text, const std::string& name) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("isamap_" + name + "_" + std::to_string(::getpid()) + ".smt2");
  std::ofstream(file) << text;
  FILE* pipe = ::popen(("z3 -T:5 " + file.string() + " 2>&1").c_str(), "r");
  std::string said;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  ::pclose(pipe);
  std::filesystem::remove(file);
  return said;
}

bool only_unsat(const std::string& said) {
  std::istringstream lines(said);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    if (line != "unsat") return false;
    ++count;
  }
  return count > 0;
}

Alignment plain_alignment(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping) {
  return align(kernel, StatementId{0}, instruction, InstructionId{0}, {mapping.operands, mapping.constant});
}

void expect_proved(const Kernel& kernel, const Instruction& instruction, Rule rule, std::size_t most) {
  const PairMappings found = map_one(kernel, instruction, rule);
  ASSERT_FALSE(found.mappings.empty());
  const std::size_t step = std::max<std::size_t>(1, found.mappings.size() / most);
  for (std::size_t i = 0; i < found.mappings.size(); i += step) {
    const Alignment alignment = plain_alignment(kernel, instruction, found.mappings[i]);
    const std::string text = print(certify(alignment, found.mappings[i]));
    const std::string said = z3_says(text, "proved");
    EXPECT_TRUE(only_unsat(said)) << shown(found.mappings[i], kernel, instruction) << "\n" << said << text;
  }
}

/// Of each pair about so many mappings.
void the_z3_program_answers_unsat_only(std::size_t most) {
  if (!z3_found()) GTEST_SKIP() << "no z3 program (Debian: z3)";
  const Instruction matrix = matrix_unit(16, 16, 16), vector = instruction_of("C[j] += A[j] * B[j]", {{"j", 16}});
  expect_proved(gemm(1000, 1030, 1047), matrix, Rule::access, most);
  expect_proved(conv2d(), matrix, Rule::access, most);
  expect_proved(kernel_of("O[n,k,p,q] += I[n,c,2*p+r,2*q+s] * F[k,c,r,s]",
                          {{"n", 4}, {"k", 64}, {"c", 60}, {"p", 56}, {"q", 56}, {"r", 3}, {"s", 3}}),
                matrix, Rule::access, most);
  expect_proved(depthwise2d(), matrix, Rule::full, most);
  expect_proved(depthwise2d(), vector, Rule::all, most);
  expect_proved(kernel_of("O[n,k,2*p+r] += I[n,c,p] * F[k,c,r]", {{"n", 2}, {"k", 5}, {"c", 3}, {"p", 4}, {"r", 3}}),
                matrix, Rule::access, most);
  expect_proved(gemm(20, 30, 40),
                instruction_of("C[i,j] += A[i,k,x] * B[k,x,j]", {{"i", 16}, {"j", 16}, {"k", 16}, {"x", 4}}),
                Rule::access, most);
  expect_proved(conv1d(), instruction_of("C[] += A[] * B[]", {}), Rule::access, most);
}

TEST(Certificates, TheZ3ProgramAnswersUnsatOnly) { the_z3_program_answers_unsat_only(1); }
TEST(HeavyCertificates, TheZ3ProgramAnswersUnsatOnly) { the_z3_program_answers_unsat_only(4); }

TEST(Certificates, MutantsWithTheLoopsKeptAreRefuted) {
  if (!z3_found()) GTEST_SKIP() << "no z3 program (Debian: z3)";
  const Kernel kernel = conv1d();
  const Instruction unit = matrix_unit(4, 4, 4);
  const PairMappings found = map_one(kernel, unit, Rule::access);
  const Mapping mapping = written_order(found.mappings).back();  // i = n.p, j = k, k = c.r
  ASSERT_EQ(shown(mapping, kernel, unit),
            "unit(i = n.p, j = k, k = c.r) O <- I, F kinds axis; fill j -> 0; fill k -> 1");
  const Alignment alignment = plain_alignment(kernel, unit, mapping);
  const auto mutants = [&] {
    std::vector<std::pair<std::string, Mapping>> list;
    const auto add = [&](const std::string& name, auto change) {
      Mapping m = mapping;
      change(m);
      list.emplace_back(name, m);
    };
    add("a digit is dropped", [](Mapping& m) { m.dims[0].pop_back(); });
    add("a digit is shorter", [](Mapping& m) { m.dims[0][1].extent -= 1; });
    add("a digit is longer", [](Mapping& m) { m.dims[2][0].extent += 1; });
    add("a column is another dim's", [](Mapping& m) { m.dims[2][1].column = AffineExpr::dim("k"); });
    add("a column is doubled", [](Mapping& m) { m.dims[0][1].column = 2 * AffineExpr::dim("p"); });
    add("a column is skewed", [](Mapping& m) { m.dims[0][1].column = AffineExpr::dim("p") + AffineExpr::dim("r"); });
    add("a digit is on another dim", [](Mapping& m) {
      m.dims[2].push_back(m.dims[0].back());
      m.dims[0].pop_back();
    });
    add("two dims are swapped", [](Mapping& m) { std::swap(m.dims[0], m.dims[1]); });
    add("a carrier is the wrong operand", [](Mapping& m) { m.carriers.back().access = 0; });
    add("a carrier is missing", [](Mapping& m) { m.carriers.pop_back(); });
    return list;
  }();
  for (const auto& [name, mutant] : mutants) {
    const std::string said = z3_says(print(certify(alignment, mutant)), "mutant");
    EXPECT_NE(said.find("sat\n"), std::string::npos) << name;
    EXPECT_FALSE(only_unsat(said)) << name;
    EXPECT_EQ(said.find("error"), std::string::npos) << name << said;
    EXPECT_TRUE(said.rfind("sat\n", 0) == 0 || said.find("\nsat\n") != std::string::npos) << name << "\n" << said;
  }
}

/// Mutants of the files themselves: each printed column of the mapping is doubled.
void a_text_that_is_edited_is_refuted(Every every) {
  if (!z3_found()) GTEST_SKIP() << "no z3 program (Debian: z3)";
  const Kernel kernel = conv1d();
  const Instruction unit = matrix_unit(4, 4, 4);
  const PairMappings found = map_one(kernel, unit, Rule::full);
  int edited = 0;
  for (const Mapping& mapping : found.mappings)
    for (const std::string dim : {"n", "k", "c", "p", "r"}) {
      const std::string text = print(certify(plain_alignment(kernel, unit, mapping), mapping));
      const std::string changed = std::regex_replace(text, std::regex("\\(= x([12])\\." + dim + " (d[12]\\.[0-9])\\)"),
                                                     "(= x$1." + dim + " (* 2 $2))");
      if (changed == text || edited >= every.share(60)) continue;
      if (every.skips()) continue;
      ++edited;
      EXPECT_FALSE(only_unsat(z3_says(changed, "edited"))) << dim << " of " << shown(mapping, kernel, unit);
    }
  EXPECT_GT(edited, every.share(20));
}

TEST(Certificates, ATextThatIsEditedIsRefuted) { a_text_that_is_edited_is_refuted(Every(6)); }
TEST(HeavyCertificates, ATextThatIsEditedIsRefuted) { a_text_that_is_edited_is_refuted(Every(1)); }

void any_size_of_dims_that_are_looped_whole(Every every) {
  const Instruction unit = matrix_unit(4, 4, 4);
  const auto one = [&](const Kernel& kernel, Rule rule) {
    return written_order(map_one(kernel, unit, rule).mappings).back();
  };
  SolverStatistics statistics;
  std::string failed;
  const Kernel conv = conv1d();  // i = n.p, j = k, k = c.r: p and r keep their sizes, they are inner digits
  const Certificate outer =
      certify_any_size(plain_alignment(conv, unit, one(conv, Rule::access)), one(conv, Rule::access));
  EXPECT_EQ(outer.comments, std::vector<std::string>{"any size of n, k, c"});
  EXPECT_EQ(replay(outer, 2'000'000, statistics, &failed), Truth::yes) << failed;
  int banded = 0;
  const Kernel channels = kernel_of("O[n,c,q] += I[n,c,q+s] * F[c,s]", {{"n", 8}, {"c", 20}, {"q", 30}, {"s", 3}});
  for (const Mapping& band : written_order(map_one(channels, unit, Rule::full).mappings)) {
    const Certificate any = certify_any_size(plain_alignment(channels, unit, band), band);
    if (any.questions.empty() || band.kinds.count(Kind::skew) == 0 || every.skips()) continue;
    const Truth truth = replay(any, 200'000, statistics, &failed);
    EXPECT_NE(truth, Truth::no) << failed;
    banded += truth == Truth::yes ? 1 : 0;
  }
  EXPECT_GT(banded, every.share(5));
  Mapping wrong = one(conv, Rule::access);
  ASSERT_FALSE(wrong.carriers.empty());
  wrong.carriers.front().access = 1;
  EXPECT_EQ(replay(certify_any_size(plain_alignment(conv, unit, wrong), wrong), 2'000'000, statistics, &failed),
            Truth::no);
  const Kernel even = gemm(8, 8, 8);  // no fill is carried: sizes that divide
  EXPECT_EQ(replay(certify_any_size(plain_alignment(even, unit, one(even, Rule::access)), one(even, Rule::access)),
                   2'000'000, statistics, &failed),
            Truth::yes)
      << failed;
}

TEST(Certificates, AnySizeOfDimsThatAreLoopedWhole) { any_size_of_dims_that_are_looped_whole(Every(4)); }
TEST(HeavyCertificates, AnySizeOfDimsThatAreLoopedWhole) { any_size_of_dims_that_are_looped_whole(Every(1)); }

TEST(Certificates, NonProjectionInstructionsAreDecided) {
  const Kernel stencil = kernel_of("O[p] += I[p+r] * F[r]", {{"p", 9}, {"r", 3}});
  const Instruction window = instruction_of("C[i] += A[i+x] * B[x]", {{"i", 4}, {"x", 3}});
  const PairMappings found = map_one(stencil, window, Rule::access);
  ASSERT_EQ(found.mappings.size(), 1U);
  EXPECT_EQ(shown(found.mappings[0], stencil, window), "unit(i = p, x = r) O <- I, F kinds axis; fill i -> 0");
  EXPECT_EQ(found.mappings[0].proof, Proof::proved);
  EXPECT_EQ(found.solver.queries, 0);  // by ranks: the slot determines the element
  const Kernel strided = kernel_of("O[p] += I[2*p+r] * F[r]", {{"p", 9}, {"r", 3}});
  EXPECT_TRUE(map_one(strided, window, Rule::access).mappings.empty());
  EXPECT_EQ(map_one(strided, window, Rule::access).reasons.front().text,
            "one slot of an operand would hold several elements");
  // An output with a sum of dims: by the differences of points of one call.
  const Kernel spread = kernel_of("O[p+r] += I[p] * F[r]", {{"p", 9}, {"r", 3}});
  const Instruction scatter = instruction_of("C[i+x] += A[i] * B[x]", {{"i", 4}, {"x", 3}});
  const PairMappings scattered = map_one(spread, scatter, Rule::access);
  EXPECT_EQ(scattered.solver.queries, 0);
  EXPECT_FALSE(scattered.mappings.empty());
  for (const Mapping& mapping : scattered.mappings) EXPECT_EQ(mapping.proof, Proof::proved);
}

}  // namespace
}  // namespace isamap::testing
