#include "bench/cpu/cases.h"

#include <fmt/format.h>

namespace isamap::bench {

namespace {

CpuCase image(CpuCase::Kind kind, std::int64_t c, std::int64_t h, std::int64_t n, std::int64_t r, std::int64_t stride) {
  CpuCase made;
  made.kind = kind;
  made.types = "f32";
  made.packed = true;
  made.c = c, made.h = h, made.n = n, made.r = r, made.stride = stride, made.pad = r / 2;
  const double points = static_cast<double>(made.out() * made.out()), window = static_cast<double>(r * r);
  const auto channels = static_cast<double>(c), outputs = static_cast<double>(n);
  const std::string sizes = fmt::format(
      "dims: {{C: {}, H: {}, K: {}, P: {}, R: {}}}\ntensors:\n"
      "  I: {{shape: [1, H, H, C], dtype: f32, outside: 0}}\n",
      c, h, n, made.out(), r);
  const std::string at = fmt::format("I[n,{0}*p+r-{1},{0}*q+s-{1},c]", stride, made.pad);
  const std::string depthwise_weights = "  F: {shape: [R, R, C], dtype: f32, constant: true}\n";
  const std::string where = "where: {p: P, q: P, r: R, s: R}\n";
  if (kind == CpuCase::Kind::convolution) {
    made.family = "convolution";
    made.operations = 2 * points * window * channels * outputs;
    made.kernel = "kernel: convolution\n" + sizes + "  F: {shape: [R, R, C, K], dtype: f32, constant: true}\n" +
                  "  O: {shape: [1, P, P, K], dtype: f32}\ncompute:\n  - O[n,p,q,k] += " + at + " * F[r,s,c,k]\n" +
                  where;
  } else if (kind == CpuCase::Kind::depthwise) {
    made.family = "depthwise";
    made.operations = 2 * points * window * channels;
    made.kernel = "kernel: depthwise\n" + sizes + depthwise_weights +
                  "  O: {shape: [1, P, P, C], dtype: f32}\ncompute:\n  - O[n,p,q,c] += " + at + " * F[r,s,c]\n" + where;
  } else {
    made.family = "depthwise + pointwise";
    made.operations = 2 * points * channels * (window + outputs);
    made.kernel = "kernel: block\n" + sizes + depthwise_weights + "  V: {shape: [C, K], dtype: f32, constant: true}\n" +
                  "  D: {shape: [1, P, P, C], dtype: f32}\n  O: {shape: [1, P, P, K], dtype: f32}\ncompute:\n" +
                  "  - D[n,p,q,c] += " + at + " * F[r,s,c]\n  - O[n,p,q,k] += D[n,p,q,c] * V[c,k]\n" + where;
  }
  made.name = fmt::format("{}x{}x{} {}x{}/{}{}", h, h, c, r, r, stride,
                          kind == CpuCase::Kind::depthwise ? "" : fmt::format(" -> {}", n));
  return made;
}

/// A sequence with gates. Small weights, as trained ones: with large ones all gates are open or shut.
CpuCase sequence(CpuCase::Kind kind, std::int64_t state, std::int64_t batch, std::int64_t steps) {
  CpuCase made;
  const bool lstm = kind == CpuCase::Kind::lstm;
  const std::int64_t gates = lstm ? 4 : 3;
  made.kind = kind;
  made.family = lstm ? "lstm" : "gru";
  made.name = fmt::format("{} batch {}, {} step{}", state, batch, steps, steps > 1 ? "s" : "");
  made.types = "f32";
  made.packed = true;
  made.operations = 4e0 * static_cast<double>(gates * state * state) * static_cast<double>(batch * steps);
  made.m = batch, made.n = state, made.k = steps;
  made.kernel =
      fmt::format("kernel: {}\ndims: {{T: {}, B: {}, J: {}, G: {}}}\n", made.family, steps, batch, state, gates) +
      R"(tensors:
  X: {shape: [T, B, J], dtype: f32}
  W: {shape: [G, J, J], dtype: f32, constant: true, range: [-0.05, 0.05]}
  U: {shape: [G, J, J], dtype: f32, constant: true, range: [-0.05, 0.05]}
  C: {shape: [G, J], dtype: f32}
  GX: {shape: [T, B, G, J], dtype: f32}
  GH: {shape: [T, B, G, J], dtype: f32}
  H: {shape: [T + 1, B, J], dtype: f32, inout: true}
)";
  made.kernel += lstm ? R"(  S0: {shape: [B, J], dtype: f32}
  S: {shape: [T + 1, B, J], dtype: f32}
compute:
  - GX[t,b,g,j] += X[t,b,k] * W[g,j,k]
  - S[0,b,j] = S0[b,j]
  - repeat: {t: T}
    compute:
      - GH[t,b,g,j] += H[t,b,l] * U[g,j,l]
      - S[t+1,b,j] = sigmoid(GX[t,b,1,j] + GH[t,b,1,j] + C[1,j]) * S[t,b,j]
         + sigmoid(GX[t,b,0,j] + GH[t,b,0,j] + C[0,j]) * tanh(GX[t,b,2,j] + GH[t,b,2,j] + C[2,j])
      - H[t+1,b,j] = sigmoid(GX[t,b,3,j] + GH[t,b,3,j] + C[3,j]) * tanh(S[t+1,b,j])
)"
                      : R"(  Z: {shape: [T, B, J], dtype: f32}
compute:
  - GX[t,b,g,j] += X[t,b,k] * W[g,j,k]
  - repeat: {t: T}
    compute:
      - GH[t,b,g,j] += H[t,b,l] * U[g,j,l]
      - Z[t,b,j] = sigmoid(GX[t,b,1,j] + GH[t,b,1,j] + C[1,j])
      - H[t+1,b,j] = (1 - Z[t,b,j]) * tanh(GX[t,b,2,j] + sigmoid(GX[t,b,0,j] + GH[t,b,0,j] + C[0,j]) * GH[t,b,2,j]
         + C[2,j]) + Z[t,b,j] * H[t,b,j]
)";
  return made;
}

}  // namespace

/// GEMM, GRU and LSTM: DeepBench (github.com/baidu-research/DeepBench, kernels; its M is our n, its N our m), cubes and
/// odd sizes; the sequences of its inference list with fewer steps. Convolutions: ResNet-50 (He et al., 2015, table 1;
/// stride in the 3x3). Depthwise: MobileNet (arXiv 1704.04861, table 1).
std::vector<CpuCase> cpu_cases() {
  std::vector<CpuCase> cases;
  const std::int64_t products[][3] = {{1, 3072, 1024},  {4, 3072, 1024},   {16, 3072, 1024}, {32, 1760, 1760},
                                      {64, 2048, 2048}, {128, 2560, 2560}, {700, 1024, 512}, {1500, 512, 2816},
                                      {1500, 35, 2560}, {128, 128, 64},    {128, 128, 128},  {1024, 1024, 1024},
                                      {1021, 699, 511}, {197, 768, 768}};
  for (const auto& [types, packed] :
       {std::pair("f32", false), std::pair("f32", true), std::pair("bf16", true), std::pair("u8s8", true)})
    for (const auto& p : products) cases.push_back(product(types, packed, p[0], p[1], p[2]));
  add_product_families(cases);
  const std::int64_t convolutions[][5] = {{3, 224, 64, 7, 2},   {64, 56, 64, 1, 1},   {64, 56, 64, 3, 1},
                                          {256, 56, 128, 1, 1}, {128, 56, 128, 3, 2}, {128, 28, 512, 1, 1},
                                          {256, 28, 256, 3, 2}, {256, 14, 256, 3, 1}, {512, 14, 512, 3, 2},
                                          {512, 7, 512, 3, 1},  {512, 7, 2048, 1, 1}};
  for (const auto& s : convolutions) cases.push_back(image(CpuCase::Kind::convolution, s[0], s[1], s[2], s[3], s[4]));
  const std::int64_t layers[][4] = {{32, 112, 1, 64},  {64, 112, 2, 128},  {128, 56, 1, 128},
                                    {128, 56, 2, 256}, {256, 28, 1, 256},  {256, 28, 2, 512},
                                    {512, 14, 1, 512}, {512, 14, 2, 1024}, {1024, 7, 1, 1024}};
  for (const auto kind : {CpuCase::Kind::depthwise, CpuCase::Kind::block})
    for (const auto& s : layers)
      cases.push_back(image(kind, s[0], s[1], kind == CpuCase::Kind::block ? s[3] : s[0], 3, s[2]));
  for (const std::int64_t state : {512, 1024, 1536, 2048, 2560, 2816})
    for (const std::int64_t batch : {1, 2, 4})
      cases.push_back(sequence(CpuCase::Kind::gru, state, batch, state == 512 ? 1 : 8));
  for (const std::int64_t state : {256, 512, 1024, 1536, 2048})
    for (const std::int64_t batch : {1, 2, 4}) cases.push_back(sequence(CpuCase::Kind::lstm, state, batch, 8));
  return cases;
}

}  // namespace isamap::bench
