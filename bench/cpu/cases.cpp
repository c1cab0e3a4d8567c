// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/cases.h"

#include <fmt/format.h>

namespace isamap::bench {

namespace {

std::string name_of(const Filter& f) {
  const auto by = [](std::int64_t a, std::int64_t b) { return fmt::format("{}x{}", a, b); };
  std::string name = f.images > 1 ? fmt::format("{} of ", f.images) : "";
  name += fmt::format("{}x{} {}/{}", by(f.down.size, f.across.size), f.in, by(f.down.window, f.across.window),
                      f.down.stride);
  if (f.down.pad != f.down.window / 2 || f.across.pad != f.across.window / 2)
    name += fmt::format(" pad {}", f.down.pad);
  return name;
}

/// `mixed`: of a block, the channels of its pointwise layer.
CpuCase image(CpuCase::Kind kind, const Filter& f, std::int64_t mixed = 0) {
  CpuCase made;
  made.kind = kind;
  made.types = "f32";
  made.packed = true;
  made.filter = f;
  made.mixed = mixed;
  const auto subscript = [](const char* at, const char* tap, const Axis& axis) {
    return fmt::format("{}*{}+{}-{}", axis.stride, at, tap, axis.pad);
  };
  const std::string image = fmt::format("I[n,{},{},c]", subscript("p", "r", f.down), subscript("q", "s", f.across));
  const auto points = static_cast<double>(f.images * f.down.out() * f.across.out()),
             window = static_cast<double>(f.down.window * f.across.window);
  const auto in = static_cast<double>(f.in);
  const std::string sizes = fmt::format(
      "dims: {{N: {}, H: {}, W: {}, C: {}, K: {}, P: {}, Q: {}, R: {}, S: {}}}\ntensors:\n"
      "  I: {{shape: [N, H, W, C], dtype: f32, outside: 0}}\n",
      f.images, f.down.size, f.across.size, f.in, mixed > 0 ? mixed : f.out, f.down.out(), f.across.out(),
      f.down.window, f.across.window);
  const std::string depthwise_weights = "  F: {shape: [R, S, C], dtype: f32, constant: true}\n";
  const std::string where = "where: {p: P, q: Q, r: R, s: S}\n";
  if (kind == CpuCase::Kind::convolution) {
    made.family = "convolution";
    made.name = name_of(f) + fmt::format(" -> {}", f.out);
    made.operations = 2 * points * window * in * static_cast<double>(f.out);
    made.kernel = "kernel: convolution\n" + sizes + "  F: {shape: [R, S, C, K], dtype: f32, constant: true}\n" +
                  "  O: {shape: [N, P, Q, K], dtype: f32}\ncompute:\n  - O[n,p,q,k] += " + image + " * F[r,s,c,k]\n" +
                  where;
  } else if (kind == CpuCase::Kind::depthwise) {
    made.family = "depthwise";
    made.name = name_of(f);
    made.operations = 2 * points * window * in;
    made.kernel = "kernel: depthwise\n" + sizes + depthwise_weights +
                  "  O: {shape: [N, P, Q, C], dtype: f32}\ncompute:\n  - O[n,p,q,c] += " + image + " * F[r,s,c]\n" +
                  where;
  } else {
    made.family = "depthwise + pointwise";
    made.name = name_of(f) + fmt::format(" -> {}", mixed);
    made.operations = 2 * points * in * (window + static_cast<double>(mixed));
    made.kernel = "kernel: block\n" + sizes + depthwise_weights + "  V: {shape: [C, K], dtype: f32, constant: true}\n" +
                  "  D: {shape: [N, P, Q, C], dtype: f32}\n  O: {shape: [N, P, Q, K], dtype: f32}\ncompute:\n" +
                  "  - D[n,p,q,c] += " + image + " * F[r,s,c]\n  - O[n,p,q,k] += D[n,p,q,c] * V[c,k]\n" + where;
  }
  return made;
}

/// Layers with `same` padding: square image, square window.
Filter square(std::int64_t in, std::int64_t size, std::int64_t out, std::int64_t window, std::int64_t stride) {
  const Axis axis{size, window, stride, window / 2};
  return {false, 1, in, out, axis, axis};
}

Filter depthwise(std::int64_t channels, std::int64_t size, std::int64_t stride) {
  Filter f = square(channels, size, channels, 3, stride);
  f.depthwise = true;
  return f;
}

/// A recurrent layer with gates. Small weights, as after training: large ones saturate all gates.
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

Filter pointwise_of(const CpuCase& c) {
  const Filter& f = c.filter;
  return {false, f.images, f.out, c.mixed, Axis{f.down.out(), 1, 1, 0}, Axis{f.across.out(), 1, 1, 0}};
}

std::size_t elements_between(const CpuCase& c) {
  const Filter& f = c.filter;
  return static_cast<std::size_t>(f.images * f.down.out() * f.across.out() * f.out);
}

/// GEMM, GRU, LSTM and the convolutions of speech, faces and vision: DeepBench (github.com/baidu-research/DeepBench,
/// kernels; its M is our n, its N our m; of each network the distinct kinds of layer), cubes and odd sizes; the
/// sequences of its inference list with fewer steps. Other convolutions: ResNet-50 (He et al., 2015, table 1; stride in
/// the 3x3). Depthwise: MobileNet v1 (arXiv 1704.04861, table 1) and v2 (arXiv 1801.04381, table 2).
std::vector<CpuCase> cpu_cases() {
  using Kind = CpuCase::Kind;
  std::vector<CpuCase> cases;
  const std::int64_t products[][3] = {{1, 3072, 1024},  {4, 3072, 1024},   {16, 3072, 1024}, {32, 1760, 1760},
                                      {64, 2048, 2048}, {128, 2560, 2560}, {700, 1024, 512}, {1500, 512, 2816},
                                      {1500, 35, 2560}, {128, 128, 64},    {128, 128, 128},  {1024, 1024, 1024},
                                      {1021, 699, 511}, {197, 768, 768}};
  for (const auto& [types, packed] :
       {std::pair("f32", false), std::pair("f32", true), std::pair("bf16", true), std::pair("u8s8", true)})
    for (const auto& p : products) cases.push_back(product(types, packed, p[0], p[1], p[2]));
  add_product_families(cases);
  const std::int64_t residual[][5] = {{3, 224, 64, 7, 2},   {64, 56, 64, 1, 1},   {64, 56, 64, 3, 1},
                                      {256, 56, 128, 1, 1}, {128, 56, 128, 3, 2}, {128, 28, 512, 1, 1},
                                      {256, 28, 256, 3, 2}, {256, 14, 256, 3, 1}, {512, 14, 512, 3, 2},
                                      {512, 7, 512, 3, 1},  {512, 7, 2048, 1, 1}};
  for (const auto& s : residual) cases.push_back(image(Kind::convolution, square(s[0], s[1], s[2], s[3], s[4])));
  // height, width, channels, images, output channels, window down and across, padding, stride
  const std::int64_t deep[][9] = {
      {161, 700, 1, 1, 32, 5, 20, 0, 2},  {79, 341, 32, 1, 32, 5, 10, 0, 2}, {48, 480, 1, 1, 16, 3, 3, 1, 1},
      {12, 120, 32, 2, 64, 3, 3, 1, 1},   {6, 60, 64, 1, 128, 3, 3, 1, 1},   {108, 108, 3, 1, 64, 3, 3, 1, 2},
      {54, 54, 64, 1, 64, 3, 3, 1, 1},    {27, 27, 128, 2, 128, 3, 3, 1, 1}, {7, 7, 256, 2, 512, 3, 3, 1, 1},
      {224, 224, 3, 1, 64, 3, 3, 1, 1},   {28, 28, 192, 1, 32, 5, 5, 2, 1},  {14, 14, 512, 2, 48, 5, 5, 2, 1},
      {7, 7, 832, 1, 128, 5, 5, 2, 1},    {56, 56, 256, 1, 128, 1, 1, 0, 2}, {14, 14, 1024, 1, 256, 1, 1, 0, 1},
      {40, 175, 128, 1, 256, 5, 5, 1, 2},
  };
  for (const auto& d : deep)
    cases.push_back(image(Kind::convolution,
                          {false, d[3], d[2], d[4], Axis{d[0], d[5], d[8], d[7]}, Axis{d[1], d[6], d[8], d[7]}}));
  const std::int64_t mobile[][4] = {{32, 112, 1, 64},  {64, 112, 2, 128},  {128, 56, 1, 128},
                                    {128, 56, 2, 256}, {256, 28, 1, 256},  {256, 28, 2, 512},
                                    {512, 14, 1, 512}, {512, 14, 2, 1024}, {1024, 7, 1, 1024}};
  for (const auto& s : mobile) cases.push_back(image(Kind::depthwise, depthwise(s[0], s[1], s[2])));
  const std::int64_t inverted[][4] = {{96, 112, 2, 24}, {144, 56, 1, 24},  {144, 56, 2, 32},
                                      {192, 28, 1, 32}, {192, 28, 2, 64},  {384, 14, 1, 64},
                                      {576, 14, 1, 96}, {576, 14, 2, 160}, {960, 7, 1, 160}};
  for (const auto& s : inverted) cases.push_back(image(Kind::depthwise, depthwise(s[0], s[1], s[2])));
  for (const auto& s : mobile) cases.push_back(image(Kind::block, depthwise(s[0], s[1], s[2]), s[3]));
  for (const auto& s : inverted) cases.push_back(image(Kind::block, depthwise(s[0], s[1], s[2]), s[3]));
  for (const std::int64_t state : {512, 1024, 1536, 2048, 2560, 2816})
    for (const std::int64_t batch : {1, 2, 4})
      cases.push_back(sequence(CpuCase::Kind::gru, state, batch, state == 512 ? 1 : 8));
  for (const std::int64_t state : {256, 512, 1024, 1536, 2048})
    for (const std::int64_t batch : {1, 2, 4}) cases.push_back(sequence(CpuCase::Kind::lstm, state, batch, 8));
  return cases;
}

}  // namespace isamap::bench
