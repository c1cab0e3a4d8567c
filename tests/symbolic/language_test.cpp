// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes in kernel files and in the one-line form: what is read, what is refused, and that binding gives the
// kernel that a file with numbers gives.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "ir/symbolic/facts.h"
#include "isamap/frontends.h"

namespace isamap {
namespace {

const std::string projection = R"(kernel: projection
dims: {M: {min: 0, max: 4096, likely: [128, 1]}, N: {multiple_of: 16, min: 16, max: 8192}, K: 768}
tensors:
  A: {shape: [M, K]}
  B: {shape: [K, N], constant: true}
  C: {shape: [M, N]}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

SymbolicKernel read(const std::string& text, const Bindings& sizes = {}) {
  auto kernel = parse_symbolic_kernel(text, "k.yaml", sizes);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : SymbolicKernel{};
}

std::string problems(const std::string& text, const Bindings& sizes = {}) {
  const auto kernel = parse_symbolic_kernel(text, "k.yaml", sizes);
  return kernel ? "" : render(kernel.diagnostics());
}

TEST(SymbolicLanguage, FactsOfSizes) {
  const SymbolicKernel kernel = read(projection);
  EXPECT_EQ(print(kernel.facts), "M in 0..4096, N in 16..8192 and a multiple of 16");
  EXPECT_EQ(kernel.at, (Bindings{{"M", 128}, {"N", 128}}));
  EXPECT_EQ(print(kernel.shapes[0][0]), "M");
  EXPECT_EQ(print(kernel.statements[0].extents[1]), "N");
  EXPECT_EQ(kernel.sample.tensors[2].shape, (std::vector<std::int64_t>{128, 128}));
}

TEST(SymbolicLanguage, SizesAreExpressionsOfOthersAndFactsTieThem) {
  const SymbolicKernel kernel = read(R"(kernel: strided
dims: {H: {min: 3, max: 512, likely: 9}, P: "(H - 3)/2 + 1", S: {max: 64}, T: {max: 64}}
facts: ["S <= T", "T % 4 == 0"]
tensors: {I: {shape: [H]}, O: {shape: [P]}, X: {shape: [S]}, Y: {shape: [T]}}
compute:
  - O[p] += I[2*p + r]
  - Y[t] += X[s]
where: {r: 3}
)");
  EXPECT_EQ(kernel.at.at("H"), 9);
  EXPECT_EQ(kernel.sample.sizes.at("P"), 4);
  EXPECT_LE(kernel.at.at("S"), kernel.at.at("T"));
  EXPECT_EQ(kernel.at.at("T") % 4, 0);
  EXPECT_EQ(bind(kernel, {{"H", 12}, {"S", 1}, {"T", 4}})->sizes.at("P"), 5);
  EXPECT_EQ(render(bind(kernel, {{"H", 12}, {"S", 5}, {"T", 4}}).diagnostics()).substr(0, 47),
            "k.yaml:3:9: S = 5, T = 4 breaks the fact S <= T");
}

TEST(SymbolicLanguage, OneLine) {
  const auto kernel = symbolic_kernel_from_formula("C[i,j] += A[i,k]*B[k,j]", "i=16..4096/16@128@512,j=?,k=64", "", {});
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->at, (Bindings{{"i", 128}, {"j", 128}}));
  EXPECT_EQ(print(kernel->facts.sizes[0]), "i in 16..4096 and a multiple of 16");
  EXPECT_LT(kernel->facts.sizes[1].max * 4096, std::int64_t{1} << 31);  // C has fewer than 2^31 elements
  EXPECT_GE((kernel->facts.sizes[1].max + 1) * 4096, std::int64_t{1} << 31);
  const auto bound =
      symbolic_kernel_from_formula("C[i,j] += A[i,k]*B[k,j]", "i=16..4096/16,j=48,k=64", "", {{"i", 32}});
  ASSERT_TRUE(bound);
  EXPECT_FALSE(bound->has_symbols());
  EXPECT_EQ(bound->sample, *kernel_from_formula("C[i,j] += A[i,k]*B[k,j]", "i=32,j=48,k=64", ""));
  const auto window = symbolic_kernel_from_formula("O[p] += I[2*p + r]*F[r]", "p=1..100,r=3", "", {});
  ASSERT_TRUE(window) << render(window.diagnostics());
  EXPECT_EQ(print(window->shapes[0][0]), "2*p + 1");
  for (const char* wrong :
       {"i=1..2..3,j=1,k=1", "i=9..3,j=1,k=1", "i=1..4/0,j=1,k=1", "i=1..9@12,j=1,k=1", "i=?x,j=1,k=1"})
    EXPECT_FALSE(symbolic_kernel_from_formula("C[i,j] += A[i,k]*B[k,j]", wrong, "", {})) << wrong;
}

TEST(SymbolicLanguage, ProblemsHaveTheirPlaces) {
  EXPECT_EQ(problems("kernel: k\ndims: {M: {min: 8, max: 4}, N: {mx: 4}, K: {multiple_of: 0}}\n"
                     "tensors: {A: {shape: [M]}}\ncompute: ['A[i] = 1']\n"),
            R"(k.yaml:2:11: size 'M' has min 8 above max 4
    dims: {M: {min: 8, max: 4}, N: {mx: 4}, K: {multiple_of: 0}}
              ^
  hint: exchange them
k.yaml:2:33: unknown key 'mx' in size 'N'
    dims: {M: {min: 8, max: 4}, N: {mx: 4}, K: {multiple_of: 0}}
                                    ^
  note: known keys: min, max, multiple_of, likely
  hint: did you mean 'max'?
k.yaml:2:58: 'multiple_of' of size 'K' must be a number from 1 to 2^40, found '0'
    dims: {M: {min: 8, max: 4}, N: {mx: 4}, K: {multiple_of: 0}}
                                                             ^
  hint: write multiple_of: 16
)");
  EXPECT_EQ(problems("kernel: k\ndims: {M: {}, N: {}}\nfacts: [\"M*N <= 4\", \"M < Q\", \"M <= 3\", \"M >= 5\"]\n"
                     "tensors: {A: {shape: [M]}}\ncompute: ['A[i] = 1']\n"),
            R"(k.yaml:3:9: the fact M*N <= 4 is not linear in the sizes
    facts: ["M*N <= 4", "M < Q", "M <= 3", "M >= 5"]
            ^
  hint: write sums of sizes times numbers; `/` and `%` by numbers
k.yaml:3:21: 'Q' in a fact is not declared in dims
    facts: ["M*N <= 4", "M < Q", "M <= 3", "M >= 5"]
                        ^
  hint: known: M, N
)");
  EXPECT_NE(problems("kernel: k\ndims: {M: {}}\nfacts: [\"M <= 3\", \"M >= 5\"]\n"
                     "tensors: {A: {shape: [M]}}\ncompute: ['A[i] = 1']\n")
                .find("k.yaml:3:9: no sizes satisfy M in 0..2147483647, M <= 3, M >= 5"),
            std::string::npos);
  EXPECT_NE(
      problems("kernel: k\ndims: {M: {max: 8}, N: {max: 8}}\n"
               "tensors: {A: {shape: [M]}, B: {shape: [N]}}\ncompute: ['A[i] = B[i]']\n")
          .find("iterator 'i' has the extent of dimension 0 of 'A', M and of dimension 0 of 'B', N, which differ, "
                "for example at M = "),
      std::string::npos);
}

TEST(SymbolicLanguage, ASizeThatBreaksAFactIsOneLine) {
  EXPECT_EQ(problems(projection, {{"M", 5000}}),
            "k.yaml:2:11: M = 5000 is not in 0..4096\n  hint: the nearest size here is M=4096\n");
  EXPECT_EQ(problems(projection, {{"N", 17}}),
            "k.yaml:2:53: N = 17 is not a multiple of 16\n  hint: the nearest size here is N=16\n");
  EXPECT_NE(problems(projection, {{"Q", 17}}).find("'Q' in --sizes is no symbolic size of this kernel"),
            std::string::npos);
  EXPECT_NE(render(parse_kernel_yaml(projection, "k.yaml").diagnostics())
                .find("k.yaml:2:11: size M is symbolic (M in 0..4096) and has no value here\n"),
            std::string::npos);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Every example with one size made symbolic: bound by reading and bound as a value it is the kernel with the number.
TEST(SymbolicLanguage, ABoundExampleIsTheStaticOne) {
  int bound_as_values = 0, read_bound = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ISAMAP_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = text_of(entry.path());
    const auto fixed = parse_kernel_yaml(text, "k.yaml");
    if (!fixed) continue;
    for (const auto& [name, value] : fixed->sizes) {
      const std::regex size("([{,] *" + name + ": )" + std::to_string(value) + "([,}])");
      const std::string facts = "{min: 0, max: 4096, likely: " + std::to_string(value) + "}";
      const std::string symbolic = std::regex_replace(text, size, "$1" + facts + "$2");
      if (symbolic == text) continue;
      const auto bound = parse_symbolic_kernel(symbolic, "k.yaml", {{name, value}});
      ASSERT_TRUE(bound) << entry.path() << " " << name << "\n" << render(bound.diagnostics());
      EXPECT_FALSE(bound->has_symbols());
      EXPECT_EQ(bound->sample, *fixed) << entry.path() << " " << name;
      ++read_bound;
      const auto open = parse_symbolic_kernel(symbolic, "k.yaml", {});
      if (!open) continue;  // not for all sizes: refused with a reason
      const auto as_value = bind(*open, {{name, value}});
      ASSERT_TRUE(as_value) << entry.path() << " " << name;
      EXPECT_EQ(*as_value, *fixed) << entry.path() << " " << name;
      ++bound_as_values;
      for (const std::int64_t other : {1, 2, 7, 64}) {
        const auto read_at = parse_symbolic_kernel(symbolic, "k.yaml", {{name, other}});
        const auto bound_at = bind(*open, {{name, other}});
        ASSERT_TRUE(read_at && bound_at) << entry.path() << " " << name << " " << other;
        EXPECT_EQ(*bound_at, read_at->sample) << entry.path() << " " << name << " " << other;
      }
    }
  }
  EXPECT_GT(read_bound, 100);
  EXPECT_GT(bound_as_values, 60);
}

TEST(SymbolicVerify, NamesACounterexample) {
  const std::string window = R"(kernel: window
dims: {H: {min: 0, max: 100}, P: "H/2"}
tensors: {I: {shape: [H]}, O: {shape: [P]}}
compute:
  - O[p] += I[2*p + r]
where: {r: 3}
)";
  EXPECT_EQ(problems(window),
            R"(k.yaml:5:15: 'I' is read outside its shape, for example at H = 2: index 2 of 2
      - O[p] += I[2*p + r]
                  ^
  hint: change the shape, say `outside: 0` at the tensor, or state a fact that excludes the size
)");
  EXPECT_EQ(problems(std::regex_replace(window, std::regex("min: 0, max: 100}, P: \"H/2"),
                                        "min: 1, max: 100}, P: \"(H - 1)/2")),
            "");
  EXPECT_EQ(problems(std::regex_replace(window, std::regex("I: .shape: .H.."), "I: {shape: [H], outside: 0}")), "");
  EXPECT_NE(problems("kernel: k\ndims: {H: {max: 9}}\ntensors: {I: {shape: [H - 2]}, O: {shape: [H - 2]}}\n"
                     "compute: ['O[p] = I[p]']\n")
                .find("dimension 0 of tensor 'I', H - 2, is negative, for example at H = 0: -2"),
            std::string::npos);
  EXPECT_NE(problems("kernel: k\ndims: {H: {max: 1000000000}}\ntensors: {I: {shape: [H, H, H]}, O: {shape: [H]}}\n"
                     "compute: ['O[p] = I[p,p,p]']\n")
                .find("tensor 'I' may have more elements than 64 bits count, with H in 0..1000000000"),
            std::string::npos);
}

/// Which part of a tensor a statement writes is decided for numbers: two of them write all of it, or the same elements.
TEST(SymbolicVerify, TwoStatementsThatWriteOneTensor) {
  const auto twice = [](const std::string& shape, const std::string& first, const std::string& second) {
    return problems("kernel: k\ndims: {N: {max: 9}}\ntensors: {A: {shape: [N]}, B: {shape: [N]}, C: {shape: " + shape +
                    "}}\ncompute: ['" + first + " = A[i]', '" + second + " += B[i]']\n");
  };
  for (const char* const good : {"C[i]", "C[i,0]", "C[i,i]"}) {
    const std::string shape = std::string(good) == "C[i]" ? "[N]" : std::string(good) == "C[i,0]" ? "[N, 1]" : "[N, N]";
    EXPECT_EQ(twice(shape, good, good), "") << good;
  }
  EXPECT_NE(twice("[N, N]", "C[i,i]", "C[i,0]").find("'C' of symbolic size is written by statements s0 and s1"),
            std::string::npos);
}

TEST(SymbolicFacts, YesNoAndACounterexample) {
  SizeFacts sizes{{{"M", 0, 4096, 1, {}, true, {}}, {"N", 16, 8192, 16, {}, true, {}}}, {}};
  sizes.between.push_back({"M <= N", AffineExpr::dim("N") - AffineExpr::dim("M"), {}});
  const Facts facts(sizes);
  const AffineExpr m = AffineExpr::dim("M"), n = AffineExpr::dim("N");
  EXPECT_EQ(facts.nonnegative(m).truth, Truth3::yes);                           // by its range
  EXPECT_EQ(facts.nonnegative(n - m).truth, Truth3::yes);                       // by a fact
  EXPECT_EQ(facts.nonnegative(AffineExpr(0) - mod(n, 16)).truth, Truth3::yes);  // by its divisor
  EXPECT_EQ(facts.nonnegative(AffineExpr(0) - mod(n, 32)).truth, Truth3::no);
  const Answer no = facts.nonnegative(AffineExpr(99) - m);
  ASSERT_EQ(no.truth, Truth3::no);
  EXPECT_EQ(no.counterexample.at("M"), 100);  // the smallest one
  // Tile and exact remainder cover [0, M): M = 14*(M/14) + M%14.
  EXPECT_TRUE(facts.equal(m, 14 * floordiv(m, 14) + mod(m, 14)));
  const AffineExpr i = AffineExpr::dim("$i");
  EXPECT_TRUE(facts.nonnegative(n - i - 1, {i, m - i - 1}));
  EXPECT_EQ(facts.nonnegative(m - i - 1, {i, n - i - 1}).truth, Truth3::no);
}

TEST(SymbolicFacts, ExamplesAreNearTheWantedSizes) {
  SizeFacts sizes{{{"M", 0, 4096, 1, {}, true, {}}, {"N", 0, 8192, 16, {}, true, {}}}, {}};
  sizes.between.push_back({"N <= M + 20", AffineExpr::dim("M") + 20 - AffineExpr::dim("N"), {}});
  const Facts facts(sizes);
  EXPECT_EQ(facts.example({{"M", 200}, {"N", 64}}), (Bindings{{"M", 200}, {"N", 64}}));
  EXPECT_EQ(facts.example({{"M", 30}, {"N", 128}}), (Bindings{{"M", 30}, {"N", 48}}));
  EXPECT_EQ(facts.example({{"M", 9999}, {"N", 70}}).value().at("M"), 4096);
}

/// With a size bound, the facts between it and others move what these are likely to be: not to 0, where nothing maps.
TEST(SymbolicFacts, ABoundSizeMovesTheSampleOfOthersLittle) {
  const auto kernel = parse_symbolic_kernel(R"(kernel: p
dims: {M: {min: 2, max: 40}, N: {max: 50}}
facts: ["N <= M + 20"]
tensors: {A: {shape: [M, 3]}, B: {shape: [3, N]}, C: {shape: [M, N]}}
compute: ['C[i,j] += A[i,k] * B[k,j]']
)",
                                            "p.yaml", {{"M", 4}});
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->at, (Bindings{{"N", 24}}));
}

}  // namespace
}  // namespace isamap
