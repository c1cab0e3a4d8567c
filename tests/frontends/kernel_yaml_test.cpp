// SPDX-License-Identifier: Apache-2.0
// The kernel file: what it means, and the exact text of what is wrong with it.

#include <gtest/gtest.h>

#include <chrono>

#include "ir/text/parse.h"
#include "isamap/frontends.h"

namespace isamap {
namespace {

std::string problems(const std::string& text) {
  const Result<Kernel> kernel = parse_kernel_yaml(text, "k.yaml");
  return kernel ? "" : render(kernel.diagnostics());
}

/// Dims of statement `s` as "i=4 j=5 k:6": ':' marks reductions.
std::string dims_of(const Kernel& kernel, std::size_t s = 0) {
  std::string text;
  for (const Dim& dim : kernel.statements[s].domain.dims)
    text += (text.empty() ? "" : " ") + dim.name + (dim.kind == DimKind::reduction ? ":" : "=") +
            std::to_string(dim.extent);
  return text;
}

TEST(KernelYaml, ReadsSizesShapesAndStatements) {
  const auto kernel = parse_kernel_yaml(R"(
kernel: conv1d
dims: {N: 2, C: 3, K: 4, P: 10, R: 3}
tensors:
  I: {shape: [N, C, 2*(P - 1) + R], dtype: bf16, range: [-1, 1]}
  F: {shape: [K, C, R], dtype: bf16}
  O: {shape: [N, K, P], dtype: f32, inout: true}
compute:
  - O[n,k,p] += I[n,c,2*p+r] * F[k,c,r]
)",
                                        "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->name, "conv1d");
  EXPECT_EQ(kernel->sizes.at("P"), 10);
  EXPECT_EQ(kernel->tensors[0].shape, (std::vector<std::int64_t>{2, 3, 21}));
  EXPECT_EQ(kernel->tensors[0].dtype, DType::bf16);
  EXPECT_EQ(kernel->tensors[0].range, std::pair(-1.0, 1.0));
  EXPECT_FALSE(kernel->tensors[0].outside.has_value());
  EXPECT_TRUE(kernel->tensors[2].inout);
  EXPECT_EQ(kernel->statements[0].name, "s0");
  EXPECT_EQ(dims_of(*kernel), "n=2 k=4 p=10 c:3 r:3");
}

std::string strided(const std::string& a, const std::string& c, const std::string& more = "") {
  return "kernel: k\ndims: {M: 4, K: 3, LD: K + 5}\ntensors:\n  A: {shape: [M, K], strides: " + a +
         "}\n  C: {shape: [M], strides: " + c + "}\n" + more + "compute: \"C[i] += A[i,k]\"\n";
}

TEST(KernelYaml, StridesAreNumbersOrExpressions) {
  const auto kernel = parse_kernel_yaml(strided("[LD, 1]", "[2]"), "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->tensors[0].strides, (std::vector<std::int64_t>{8, 1}));
  EXPECT_NE(print(*kernel).find("tensor A: f32[4,3] strides [8,1]\n"), std::string::npos) << print(*kernel);
  const auto read = parse_kernel(print(*kernel));
  ASSERT_TRUE(read) << render(read.diagnostics());
  EXPECT_EQ(*read, *kernel);
  for (const std::string good : {"[1, M]", "[3, 1]", "[100, 30]"})
    EXPECT_EQ(problems(strided(good, "[1]")), "") << good;
}

TEST(KernelYaml, StridesThatAreNoneAreNamed) {
  const auto said = [](const std::string& a, const std::string& c = "[1]") { return problems(strided(a, c)); };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(said("[1]"), "k.yaml:4:31: tensor 'A' has 2 dimensions, found 1 strides");
  says(said("[LD, -1]"), "tensor 'A': stride 1 is -1");
  says(said("[LD, 0]"), "tensor 'A': stride 1 is 0");
  says(said("[2, 1]"), "tensor 'A': elements share places with strides [2, 1] of shape [4, 3]");
  says(said("[LD, 1]", "[0]"), "tensor 'C': stride 0 is 0");
  says(said("LD"), "'strides' of tensor 'A' must be a list");
  says(said("[Q, 1]"), "'Q' in stride 0 of tensor 'A' is not declared in dims");
  says(said("[9223372036854775807, 1]"), "reach further than 2^63 - 1 bytes");
  says(problems("kernel: k\ntensors: {A: {shape: [4]}, T: {shape: [4], strides: [2]}, C: {shape: [4]}}\n"
                "compute: [\"T[i] = A[i]\", \"C[i] = T[i]\"]\n"),
       "tensor 'T' has strides, but it is an intermediate");
}

TEST(KernelYaml, ComputeMayBeOneTextAndStatementsMayBeNamed) {
  const auto one = parse_kernel_yaml(
      "kernel: a\ntensors: {A: {shape: [4]}, B: {shape: [4], outside: -inf}}\ncompute: B[i] = A[i]\n", "k.yaml");
  ASSERT_TRUE(one) << render(one.diagnostics());
  EXPECT_EQ(one->tensors[0].dtype, DType::f32);
  EXPECT_EQ(*one->tensors[1].outside, -std::numeric_limits<double>::infinity());
  const auto two = parse_kernel_yaml(R"(
kernel: a
tensors: {A: {shape: [4]}, B: {shape: [4]}, C: {shape: []}}
compute:
  - {name: square, compute: "B[i] = A[i] * A[i]"}
  - |
    C[] += B[i]
)",
                                     "k.yaml");
  ASSERT_TRUE(two) << render(two.diagnostics());
  EXPECT_EQ(two->statements[0].name, "square");
  EXPECT_EQ(two->statements[1].name, "s1");
  EXPECT_EQ(dims_of(*two, 1), "i:4");
}

TEST(KernelYaml, WhereStatesExtents) {
  const auto kernel = parse_kernel_yaml(R"(
kernel: pool
dims: {P: 5}
tensors: {I: {shape: [2*P + 1]}, O: {shape: [P]}}
compute: O[p] max= I[2*p+r]
where: {r: 3, p: P}
)",
                                        "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(dims_of(*kernel), "p=5 r:3");
}

TEST(KernelYaml, LowerCaseDimsAreExtentsAndSizes) {
  const auto kernel = parse_kernel_yaml(
      "kernel: a\ndims: {i: 6, r: 3}\ntensors: {I: {shape: [i + r - 1]}, O: {shape: [i]}}\ncompute: O[i] += I[i+r]\n",
      "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(dims_of(*kernel), "i=6 r:3");
  EXPECT_EQ(kernel->tensors[0].shape[0], 8);
}

std::string repeating(const std::string& entry, const std::string& more = "") {
  return "kernel: k\ndims: {T: 4, B: 2}\ntensors:\n  X: {shape: [T, B]}\n  S: {shape: [T + 1, B], inout: true}\n" +
         more + "compute:\n" + entry;
}

TEST(KernelYaml, StatementsUnderRepeatRunStepByStep) {
  const auto kernel = parse_kernel_yaml(
      repeating("  - {name: ahead, compute: \"Y[t,b] = X[t,b] * X[t,b]\"}\n  - repeat: {t: T}\n    compute:\n"
                "      - S[t+1,b] = S[t,b] + Y[t,b]\n      - {name: behind, compute: \"Z[t,b] = S[t+1,b]\"}\n",
                "  Y: {shape: [T, B]}\n  Z: {shape: [T, B]}\n"),
      "k.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->repeats, (std::vector<Repeat>{{"t", 4, 1, 2}}));
  EXPECT_EQ(kernel->statements[1].name, "s1");
  EXPECT_EQ(dims_of(*kernel, 1), "t=4 b=2");
  const auto alone =
      parse_kernel_yaml(repeating("  - repeat: {t: T}\n    compute: S[t+1,b] = S[t,b] + X[t,b]\n"), "k.yaml");
  ASSERT_TRUE(alone) << render(alone.diagnostics());
  EXPECT_EQ(alone->repeats, (std::vector<Repeat>{{"t", 4, 0, 1}}));
}

TEST(KernelYaml, WhatIsWrongWithRepeatHasAPlace) {
  const std::string right = "    compute:\n      - S[t+1,b] = S[t,b] + X[t,b]\n";
  EXPECT_EQ(problems(repeating("  - repeat: t\n" + right)),
            "k.yaml:7:13: 'repeat' must name one iterator and its number of steps\n"
            "      - repeat: t\n                ^\n  hint: write repeat: {t: T}\n");
  EXPECT_EQ(problems(repeating("  - repeat: {t: T}\n    computes: S[t+1,b] = S[t,b] + X[t,b]\n")).substr(0, 49),
            "k.yaml:8:5: unknown key 'computes' in a `repeat`\n");
  EXPECT_EQ(problems(repeating("  - repeat: {t: T}\n    does: S[t+1,b] = S[t,b] + X[t,b]\n")).substr(0, 40),
            "k.yaml:7:5: a `repeat` has no 'compute'\n");
  EXPECT_NE(problems(repeating("  - repeat: {t: T + 1}\n" + right)).find("k.yaml:9:"), std::string::npos);
  EXPECT_EQ(problems(repeating("  - repeat: {t: T}\n    compute:\n      - S[t,b] = S[t+1,b] + X[t,b]\n")),
            "k.yaml:9:20: kernel 'k': statement s0 reads 'S' at a later step than the one that statement s0 writes\n"
            "          - S[t,b] = S[t+1,b] + X[t,b]\n                       ^\n"
            "  hint: read what this or an earlier step has written\n");
}

TEST(KernelYaml, SizeZeroIsLegal) {
  EXPECT_EQ(
      problems("kernel: a\ndims: {N: 0}\ntensors: {A: {shape: [N, 4]}, B: {shape: [4]}}\ncompute: B[j] += A[i,j]\n"),
      "");
  EXPECT_EQ(problems("kernel: a\ndims: {N: 0}\ntensors: {A: {shape: [N]}, B: {shape: [N]}}\ncompute: B[j] = A[j]\n"),
            "");
}

TEST(KernelYaml, AllProblemsInOneRun) {
  EXPECT_EQ(problems(R"(kernel: bad one
dims: {N: 4, M: -3, K: 010, L: {mn: 1}, B: 99999999999999999999}
tensors:
  A: {shape: [N, K], dtype: f23, outsid: 0}
  B: {shape: [N, Q], dtype: u8, range: [3, 1]}
  D: {shape: [N - 5], dtype: s8, inout: yes}
compute:
  - A[i,j] += B[i,j
  - E[i] = B[i,j]
)"),
            R"(k.yaml:1:9: kernel 'bad one' must be a letter followed by letters, digits or '_', at most 64 of them
    kernel: bad one
            ^
k.yaml:2:17: the size of dim 'M' is -3: sizes must not be negative
    dims: {N: 4, M: -3, K: 010, L: {mn: 1}, B: 99999999999999999999}
                    ^
  hint: write 0 or more
k.yaml:2:24: the size of dim 'K' is 010, which is no integer of 64 bits
    dims: {N: 4, M: -3, K: 010, L: {mn: 1}, B: 99999999999999999999}
                           ^
  hint: write decimal digits without a leading zero
k.yaml:2:33: unknown key 'mn' in size 'L'
    dims: {N: 4, M: -3, K: 010, L: {mn: 1}, B: 99999999999999999999}
                                    ^
  note: known keys: min, max, multiple_of, likely
  hint: did you mean 'min'?
k.yaml:2:44: the size of dim 'B' is 99999999999999999999, which is no integer of 64 bits
    dims: {N: 4, M: -3, K: 010, L: {mn: 1}, B: 99999999999999999999}
                                               ^
  hint: sizes are below 2^63
k.yaml:4:29: tensor 'A' has an unknown dtype 'f23'
      A: {shape: [N, K], dtype: f23, outsid: 0}
                                ^
  note: known dtypes: f64, f32, tf32, bf16, f16, e4m3, e5m2, s64, s32, s16, s8, u64, u32, u16, u8, bool
k.yaml:4:34: unknown key 'outsid' in tensor 'A'
      A: {shape: [N, K], dtype: f23, outsid: 0}
                                     ^
  note: known keys: shape, strides, dtype, outside, inout, output, constant, range
  hint: did you mean 'outside'?
k.yaml:5:18: 'Q' in dimension 1 of tensor 'B' is not declared in dims
      B: {shape: [N, Q], dtype: u8, range: [3, 1]}
                     ^
k.yaml:5:40: 'range' of tensor 'B' is empty: 3 is above 1
      B: {shape: [N, Q], dtype: u8, range: [3, 1]}
                                           ^
k.yaml:6:15: dimension 0 of tensor 'D', N - 5, is -1: sizes must not be negative
      D: {shape: [N - 5], dtype: s8, inout: yes}
                  ^
  hint: write 0 or more
k.yaml:6:41: 'inout' of tensor 'D' must be true or false, found 'yes'
      D: {shape: [N - 5], dtype: s8, inout: yes}
                                            ^
  hint: yes, no, on, off and quoted words are text
k.yaml:8:20: expected ']', found the end
      - A[i,j] += B[i,j
                       ^
k.yaml:9:5: no tensor is named 'E'
      - E[i] = B[i,j]
        ^
)");
}

TEST(KernelYaml, AMisspeltSectionIsOneMessage) {
  EXPECT_EQ(problems("kernel: a\ntensrs: {A: {shape: [8]}, C: {shape: [8]}}\ncompute: [\"C[i] = A[i]\"]\n"),
            "k.yaml:2:1: unknown key 'tensrs' in the kernel file\n"
            "    tensrs: {A: {shape: [8]}, C: {shape: [8]}}\n"
            "    ^\n"
            "  note: known keys: kernel, dims, facts, tensors, where, compute\n"
            "  hint: did you mean 'tensors'?\n");
  EXPECT_EQ(
      problems("kernel: a\ndimz: {N: 8}\ntensors: {A: {shape: [N]}, C: {shape: [N]}}\ncompute: [\"C[i] = A[i]\"]\n"),
      "k.yaml:2:1: unknown key 'dimz' in the kernel file\n"
      "    dimz: {N: 8}\n"
      "    ^\n"
      "  note: known keys: kernel, dims, facts, tensors, where, compute\n"
      "  hint: did you mean 'dims'?\n");
  const std::string each =
      problems("kernel: 1 bad\ntensors: {X: {shape: [8], dtype: q7}}\ncompute: [\"Y[i] = X[i] +\"]\n");
  for (const char* place : {"k.yaml:1:", "k.yaml:2:", "k.yaml:3:"})
    EXPECT_NE(each.find(place), std::string::npos) << "without dims, too: " << each;
}

TEST(KernelYaml, VerifierFindingsHaveAPlace) {
  EXPECT_EQ(problems("kernel: a\ntensors:\n  A: {shape: [8, 8]}\n  C: {shape: [8]}\ncompute:\n  - C[i] += "
                     "A[i,i+k]\nwhere: {k: 3}\n"),
            "k.yaml:6:17: kernel 'a': statement s0: reads A[i, i + k], whose subscript i + k runs from 0 to 9, but "
            "dimension 1 of 'A' has size 8\n"
            "      - C[i] += A[i,i+k]\n"
            "                    ^\n"
            "  hint: change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` at "
            "the read\n");
}

TEST(KernelYaml, ADuplicateKeyHidesNothingElse) {
  EXPECT_EQ(problems(R"(kernel: a
dims: {N: 4, K: 4, N: 4}
tensors:
  A: {shape: [N, K], dtype: f99}
  B: {shape: [K]}
  C: {shape: [N]}
compute:
  - C[n] += A[n,k] * B[k]
  - C[n] += B[n+1]
  - C[n] = B[k]
)"),
            R"(k.yaml:2:20: duplicate key 'N'
    dims: {N: 4, K: 4, N: 4}
                       ^
  note: the first is in line 2
  hint: keep one of the two
k.yaml:4:29: tensor 'A' has an unknown dtype 'f99'
      A: {shape: [N, K], dtype: f99}
                                ^
  note: known dtypes: f64, f32, tf32, bf16, f16, e4m3, e5m2, s64, s32, s16, s8, u64, u32, u16, u8, bool
k.yaml:9:15: kernel 'a': statement s1: reads B[n + 1], whose subscript n + 1 runs from 1 to 4, but dimension 0 of 'B' has size 4
      - C[n] += B[n+1]
                  ^
  hint: change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` at the read
k.yaml:10:14: kernel 'a': statement s2: `=` writes each element 4 times, once for each k
      - C[n] = B[k]
                 ^
  hint: use `+=`, `*=`, `max=` or `min=`
)");
}

TEST(KernelYaml, PlacesInsideStatementsOfSeveralLines) {
  EXPECT_EQ(
      problems(R"(kernel: a
tensors: {A: {shape: [8, 8]}, C: {shape: [8]}, S: {shape: [8], dtype: s8}}
compute:
  - name: folded
    compute: |
      C[i] += A[i,k] *
              A[i,k+1]
  - C[i] += A[i,
      j*2]
  - >
    C[i] +=
    Q[i]
  - "S[i] = 1 + A[i,i]"
  - C[i] += A[i,k] $
)"),
      R"(k.yaml:7:19: kernel 'a': statement folded: reads A[i, k + 1], whose subscript k + 1 runs from 1 to 8, but dimension 1 of 'A' has size 8
                  A[i,k+1]
                      ^
  hint: change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` at the read
k.yaml:9:7: no tensor dimension is indexed by iterator 'j' alone, so it has no extent
          j*2]
          ^
  hint: state it: where: {j: 3}
k.yaml:12:5: no tensor is named 'Q'
        Q[i]
        ^
  note: declared tensors: A, C, S
k.yaml:13:17: a value of f32 is used where s8 is computed: that would lose values
      - "S[i] = 1 + A[i,i]"
                    ^
  hint: write the cast, for example s8(...)
k.yaml:14:20: unexpected '$' after the end
      - C[i] += A[i,k] $
                       ^
)");
}

TEST(KernelYaml, OrderOfStatementsIsToldAtTheAccess) {
  const std::string tensors = "kernel: a\ntensors: {A: {shape: [8]}, B: {shape: [8]}, C: {shape: [8]}}\ncompute:\n";
  EXPECT_EQ(problems(tensors + "  - C[i] = A[i] + B[i]\n  - B[i] = A[i]\n"),
            "k.yaml:4:21: kernel 'a': statement s0 reads 'B' before statement s1 writes it\n"
            "      - C[i] = A[i] + B[i]\n"
            "                        ^\n"
            "  hint: give 'B' `inout: true` if it starts with what the caller left there\n");
  EXPECT_NE(problems(tensors + "  - C[i] = A[i] + B[i]\n  - C[i] = C[7-i]\n")
                .find("k.yaml:5:14: kernel 'a': statement s1 reads 'C' at another element"),
            std::string::npos);
}

TEST(KernelYaml, StatedExtentsMustNotContradict) {
  EXPECT_EQ(
      problems("kernel: a\ntensors: {A: {shape: [8]}, C: {shape: [8]}}\ncompute: C[i] = A[i]\nwhere: {i: 7, z: 2}\n"),
      "k.yaml:3:12: iterator 'i' is given the extent 7, but it indexes dimension 0 of tensor 'C', whose size is 8\n"
      "    compute: C[i] = A[i]\n"
      "               ^\n"
      "  hint: leave the extent out, or index with an expression\n"
      "k.yaml:4:15: no statement uses iterator 'z'\n"
      "    where: {i: 7, z: 2}\n"
      "                  ^\n");
}

TEST(KernelYaml, IteratorsNeedOneExtent) {
  EXPECT_NE(problems("kernel: a\ntensors: {A: {shape: [8]}, C: {shape: [4]}}\ncompute: C[i] += A[i+k]\n")
                .find("no tensor dimension is indexed by iterator 'k' alone"),
            std::string::npos);
  EXPECT_NE(problems("kernel: a\ntensors: {A: {shape: [8]}, C: {shape: [4]}}\ncompute: C[i] = A[i]\n")
                .find("iterator 'i' indexes dim 0 of 'C' of extent 4 and dim 0 of 'A' of extent 8"),
            std::string::npos);
}

TEST(KernelYaml, UnusedTensorsAreReportedBesideOtherProblems) {
  const std::string text = problems(
      "kernel: a\ndims: {N: 4000000000000}\ntensors:\n  A: {shape: [N, N]}\n  C: {shape: [N]}\n  U: {shape: "
      "[2]}\ncompute:\n  - C[i] = A[i,i]\n");
  EXPECT_NE(text.find("k.yaml:4:3: kernel 'a': tensor 'A': 4000000000000 * 4000000000000 elements of f32 take more "
                      "than 2^63 - 1 bytes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("k.yaml:6:3: no statement uses tensor 'U'"), std::string::npos) << text;
}

TEST(KernelYaml, ValuesMustFitTheDtype) {
  EXPECT_NE(problems("kernel: a\ntensors: {A: {shape: [4], dtype: u8, outside: -1, range: [0, 300]}, B: {shape: [4], "
                     "dtype: u8}}\ncompute: B[i] = A[i]\n")
                .find("'outside' of tensor 'A' is -1, which u8 cannot hold"),
            std::string::npos);
}

TEST(KernelYaml, FortyDimsAndOverflowAreQuick) {
  std::string names, twos;
  for (int i = 0; i < 40; ++i) {
    names += (i ? "," : "") + std::string("a") + std::to_string(i);
    twos += i ? ",2" : "2";
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string text = problems("kernel: forty\ntensors:\n  A: {shape: [" + twos + "]}\n  B: {shape: [" + twos +
                                    "]}\ncompute: A[" + names + "] = B[" + names + "]\n");
  EXPECT_TRUE(text.starts_with("k.yaml:3:3: kernel 'forty': tensor 'A': 40 dimensions; at most 24 are supported\n"))
      << text;
  EXPECT_NE(problems("kernel: a\ndims: {X: 9223372036854775807}\ntensors: {A: {shape: [X*2]}, B: {shape: "
                     "[2]}}\ncompute: B[i] = A[i]\n")
                .find("dimension 0 of tensor 'A', X*2, overflows 64 bits or divides by zero"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(KernelYaml, OtherFilesAreRefused) {
  EXPECT_EQ(problems(""), "k.yaml: the kernel file must be a map, found nothing\n  hint: write {key: value, ...}\n");
  EXPECT_EQ(
      problems(std::string("\x7f"
                           "ELF\0",
                           5)),
      "k.yaml:1:1: not a text file (byte 0 is no UTF-8 text)\n    ?\n    ^\n  hint: save the file as UTF-8 text\n");
  const auto missing = load_kernel("/nonexistent/k.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(render(missing.diagnostics()),
            "/nonexistent/k.yaml: cannot read the file: no such file or directory\n"
            "  hint: there is no folder '/nonexistent'\n");
}

}  // namespace
}  // namespace isamap
