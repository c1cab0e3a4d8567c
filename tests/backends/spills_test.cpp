// SPDX-License-Identifier: Apache-2.0
// What compilers make of emitted loops: nothing goes to the stack and no register is copied where the work is done.
// Seen in the machine code, so it holds on a busy machine too.

#include "tests/backends/machine_code.h"
#include "tests/every.h"

namespace isamap {
namespace {

std::string spilled(const std::vector<CodeLine>& loop, bool copies_too = true) {
  static const std::regex stack("%[xyz]mm.*\\(%r[sb]p|\\(%r[sb]p.*%[xyz]mm"),
      copy("^vmov[a-z0-9]+ +%[xyz]mm[0-9]+,%[xyz]mm[0-9]+$");
  for (const CodeLine& line : loop)
    if (std::regex_search(line.text, stack) || (copies_too && std::regex_search(line.text, copy))) return line.text;
  return "";
}

struct Emitted {
  const char *name, *model, *kernel;
};

constexpr Emitted cases[] = {
    {"f32", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j], constant: true}\n  C: "
     "{shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"f32_plain", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j]}\n  C: {shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"f32_transposed", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [k, i]}\n  B: {shape: [j, k]}\n  C: {shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[k,i] * B[j,k]\n"},
    {"f32_avx2", "x86_avx2",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j], constant: true}\n  C: "
     "{shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"bf16", "x86_avx512_bf16",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k], dtype: bf16}\n"
     "  B: {shape: [k, j], dtype: bf16, constant: true}\n  C: {shape: [i, j]}\ncompute:\n  - C[i,j] += A[i,k] * "
     "B[k,j]\n"},
    {"u8s8", "x86_avx512_vnni",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k], dtype: u8}\n"
     "  B: {shape: [k, j], dtype: s8, constant: true}\n  C: {shape: [i, j], dtype: s32}\ncompute:\n"
     "  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"convolution", "x86_avx512",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n"
     "  F: {shape: [R, R, C, K], constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_avx2", "x86_avx2",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n"
     "  F: {shape: [R, R, C, K], constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_bf16", "x86_avx512_bf16",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], dtype: bf16, outside: 0}\n"
     "  F: {shape: [R, R, C, K], dtype: bf16, constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_one_channel", "x86_avx512",
     "dims: {H: 31, W: 200, P: 14, Q: 91, R: 5, S: 20, K: 32}\ntensors:\n  I: {shape: [H, W]}\n"
     "  F: {shape: [R, S, K], constant: true}\n  O: {shape: [P, Q, K]}\ncompute:\n"
     "  - O[p,q,k] += I[2*p+r,2*q+s] * F[r,s,k]\n"},
    {"convolution_groups", "x86_avx512",
     "dims: {G: 4, C: 16, K: 32, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, G, C], outside: 0}\n"
     "  F: {shape: [R, R, G, C, K], constant: true}\n  O: {shape: [H, H, G, K]}\ncompute:\n"
     "  - O[p,q,g,k] += I[p+r-1,q+s-1,g,c] * F[r,s,g,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_dilated", "x86_avx512",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n"
     "  F: {shape: [R, R, C, K], constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[p+2*r-2,q+2*s-2,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_u8s8", "x86_avx512_vnni",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], dtype: u8, outside: 0}\n"
     "  F: {shape: [R, R, C, K], dtype: s8, constant: true}\n  O: {shape: [H, H, K], dtype: s32}\ncompute:\n"
     "  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"batched", "x86_avx512",
     "dims: {B: 5, M: 64, N: 96, K: 70}\ntensors:\n  X: {shape: [B, M, K]}\n  Y: {shape: [B, K, N]}\n"
     "  Z: {shape: [B, M, N]}\ncompute:\n  - Z[b,i,j] += X[b,i,k] * Y[b,k,j]\n"},
    {"column", "x86_avx512",
     "dims: {M: 500, K: 777}\ntensors:\n  A: {shape: [M, K]}\n  X: {shape: [K]}\n  Y: {shape: [M]}\ncompute:\n"
     "  - Y[i] += A[i,k] * X[k]\n"},
    {"gru_step", "x86_avx512",
     "dims: {B: 4, J: 256}\ntensors:\n  H: {shape: [B, J]}\n  U: {shape: [3, J, J], constant: true}\n"
     "  G: {shape: [B, 3, J]}\ncompute:\n  - G[b,g,j] += H[b,l] * U[g,j,l]\n"},
    {"bias_relu", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j], constant: true}\n"
     "  V: {shape: [j]}\n  C: {shape: [i, j]}\n  D: {shape: [i, j]}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n"
     "  - D[i,j] = max(C[i,j] + V[j], 0)\n"},
};

/// The first product of a sum is the factor of all of them, copied, times the other plus 0: g++ copies where it could
/// clear. Of a tail of one column with its window unrolled it copies sums. A copy is no work for a port.
constexpr Emitted with_copies[] = {
    {"convolution_channels_first", "x86_avx512",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [C, H, H], outside: 0}\n"
     "  F: {shape: [K, C, R, R], constant: true}\n  O: {shape: [K, H, H]}\ncompute:\n"
     "  - O[k,p,q] += I[c,p+r-1,q+s-1] * F[k,c,r,s]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"convolution_three_channels", "x86_avx512",
     "dims: {C: 3, K: 64, H: 56, R: 3}\ntensors:\n  I: {shape: [2*H, 2*H, C], outside: 0}\n"
     "  F: {shape: [R, R, C, K], constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[2*p+r-1,2*q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"depthwise", "x86_avx512",
     "dims: {C: 96, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n"
     "  F: {shape: [R, R, C], constant: true}\n  O: {shape: [H, H, C]}\ncompute:\n"
     "  - O[p,q,c] += I[p+r-1,q+s-1,c] * F[r,s,c]\nwhere: {p: H, q: H, r: R, s: R}\n"},
    {"depthwise_stride_2", "x86_avx512",
     "dims: {C: 96, H: 14, R: 3}\ntensors:\n  I: {shape: [2*H + 1, 2*H + 1, C]}\n"
     "  F: {shape: [R, R, C], constant: true}\n  O: {shape: [H, H, C]}\ncompute:\n"
     "  - O[p,q,c] += I[2*p+r,2*q+s,c] * F[r,s,c]\n"},
    {"depthwise_pointwise", "x86_avx512",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H + 2, H + 2, C]}\n"
     "  F: {shape: [R, R, C], constant: true}\n  W: {shape: [C, K], constant: true}\n  D: {shape: [H, H, C]}\n"
     "  O: {shape: [H, H, K]}\ncompute:\n"
     "  - D[p,q,c] += I[p+r,q+s,c] * F[r,s,c]\n"
     "  - O[p,q,k] += D[p,q,c] * W[c,k]\n"},
};

void expect_registers(const Emitted& emitted, bool copies_too) {
  const auto& [name, model_name, kernel] = emitted;
  const HardwareModel model = machine(model_name);
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory folder;
  const auto parsed = parse_kernel_yaml("kernel: " + std::string(name) + "\n" + kernel, "case.yaml");
  ASSERT_TRUE(parsed) << render(parsed.diagnostics());
  const std::string listing = machine_code(default_program(*parsed, model), model, folder.path());
  const auto loops = innermost_loops(lines_of(listing), multiply_adds);
  EXPECT_FALSE(loops.empty()) << listing.substr(0, 2000);
  for (const auto& loop : loops) {
    std::string text;
    for (const CodeLine& line : loop) text += line.text + "\n";
    EXPECT_EQ(spilled(loop, copies_too), "") << text;
  }
}

class Spills : public testing::TestWithParam<Emitted> {};

TEST_P(Spills, InnermostLoopsStayInRegisters) { expect_registers(GetParam(), true); }

class HeavySpills : public testing::TestWithParam<Emitted> {};

TEST_P(HeavySpills, InnermostLoopsStayInRegisters) { expect_registers(GetParam(), true); }

INSTANTIATE_TEST_SUITE_P(Kernels, Spills, testing::ValuesIn(every_nth(cases, 7)),
                         [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(Kernels, HeavySpills, testing::ValuesIn(all_but_every_nth(cases, 7)),
                         [](const auto& one) { return std::string(one.param.name); });

class SpillsToTheStack : public testing::TestWithParam<Emitted> {};

TEST_P(SpillsToTheStack, AreNone) { expect_registers(GetParam(), false); }

class HeavySpillsToTheStack : public testing::TestWithParam<Emitted> {};

TEST_P(HeavySpillsToTheStack, AreNone) { expect_registers(GetParam(), false); }

INSTANTIATE_TEST_SUITE_P(Kernels, SpillsToTheStack, testing::ValuesIn(every_nth(with_copies, 5)),
                         [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(Kernels, HeavySpillsToTheStack, testing::ValuesIn(all_but_every_nth(with_copies, 5)),
                         [](const auto& one) { return std::string(one.param.name); });

/// What the compiler makes of an element statement with a function: one loop over vectors, and nothing is called.
class VectorCode : public testing::TestWithParam<const char*> {};

TEST_P(VectorCode, OfFunctions) {
  const HardwareModel model = machine("x86_avx512");
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory folder;
  const std::string listing =
      machine_code(default_program(*kernel_from_formula(std::string("O[i] = ") + GetParam(), "i=4096", ""), model),
                   model, folder.path());
  const auto lines = lines_of(listing);
  EXPECT_EQ(innermost_loops(lines, std::regex("^v(mul|fn?madd[0-9]+)ps .*%zmm")).size(), 1U) << listing;
  for (const CodeLine& line : lines) EXPECT_FALSE(line.text.starts_with("call")) << line.text;
}

constexpr const char* vector_functions[] = {"exp(X[i])", "tanh(X[i] + Y[i])", "sigmoid(X[i]) * Y[i]",
                                            "0.5 * X[i] * (1 + erf(0.7 * X[i]))"};
const auto name_of_function = [](const auto& one) { return "case" + std::to_string(one.index); };
INSTANTIATE_TEST_SUITE_P(Kernels, VectorCode, testing::ValuesIn(every_nth(vector_functions, 3)), name_of_function);
INSTANTIATE_TEST_SUITE_P(HeavyKernels, VectorCode, testing::ValuesIn(all_but_every_nth(vector_functions, 3)),
                         name_of_function);

}  // namespace
}  // namespace isamap
