// SPDX-License-Identifier: Apache-2.0
// Conversions between number formats as printed programs compute them: bit for bit those of
// include/isamap/expression.h, for bits of every kind, and as vector code.

#include <fmt/format.h>

#include <cmath>

#include "tests/backends/machine_code.h"
#include "tests/every.h"

namespace isamap {
namespace {

constexpr std::int64_t elements = 1 << 16;

struct Conversion {
  const char *from, *to, *body;  ///< of X[i]
  bool saturates = false;
};

constexpr Conversion conversions[] = {
    {"f32", "s8", "s8(X[i])"},
    {"f32", "u8", "u8(X[i])"},
    {"f32", "s16", "s16(X[i])"},
    {"f32", "u16", "u16(X[i])"},
    {"f32", "s32", "s32(X[i])"},
    {"f32", "u32", "u32(X[i])"},
    {"f32", "s64", "s64(X[i])"},
    {"f64", "s8", "s8(X[i])"},
    {"f64", "u16", "u16(X[i])"},
    {"f64", "s32", "s32(X[i])"},
    {"f64", "u32", "u32(X[i])"},
    {"f64", "s64", "s64(X[i])"},
    {"f16", "s16", "s16(X[i])"},
    {"bf16", "s32", "s32(X[i])"},
    {"f32", "s8", "sat_s8(X[i])", true},
    {"f32", "u8", "sat_u8(X[i])", true},
    {"f32", "s16", "sat_s16(X[i])", true},
    {"f32", "u16", "sat_u16(X[i])", true},
    {"f32", "s32", "sat_s32(X[i])", true},
    {"f32", "u32", "sat_u32(X[i])", true},
    {"f32", "s64", "sat_s64(X[i])", true},
    {"f64", "s8", "sat_s8(X[i])", true},
    {"f64", "s32", "sat_s32(X[i])", true},
    {"f64", "u32", "sat_u32(X[i])", true},
    {"f64", "s64", "sat_s64(X[i])", true},
    {"s32", "s8", "sat_s8(X[i])", true},
    {"s32", "u8", "sat_u8(X[i])", true},
    {"s32", "u32", "sat_u32(X[i])", true},
    {"u32", "s32", "sat_s32(X[i])", true},
    {"s64", "u32", "sat_u32(X[i])", true},
    {"u16", "s8", "sat_s8(X[i])", true},
    {"s8", "u16", "sat_u16(X[i])", true},
    {"s16", "s64", "sat_s64(X[i])", true},
    {"f32", "u64", "u64(X[i])"},
    {"f64", "u64", "u64(X[i])"},
    {"s64", "u64", "u64(X[i])"},
    {"u64", "s32", "s32(X[i])"},
    {"u64", "f32", "f32(X[i])"},
    {"u64", "f64", "f64(X[i])"},
    {"u64", "bf16", "bf16(X[i])"},
    {"f32", "u64", "sat_u64(X[i])", true},
    {"f64", "u64", "sat_u64(X[i])", true},
    {"s8", "u64", "sat_u64(X[i])", true},
    {"s64", "u64", "sat_u64(X[i])", true},
    {"u64", "s64", "sat_s64(X[i])", true},
    {"u64", "s8", "sat_s8(X[i])", true},
    {"u64", "u32", "sat_u32(X[i])", true},
    {"u64", "u64", "sat_u64(X[i])", true},
    {"f32", "f16", "f16(X[i])"},
    {"f64", "f16", "f16(X[i])"},
    {"f16", "f32", "f32(X[i])"},
    {"f32", "bf16", "bf16(X[i])"},
    {"f64", "bf16", "bf16(X[i])"},
};

/// All 2^16 patterns of short types; of longer ones patterns that lie evenly, and those around every power of two.
void fill(TensorData& data, DType type, std::uint64_t seed) {
  const int width = bits(type);
  Random random(seed);
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint64_t raw = static_cast<std::uint64_t>(i);
    if (width > 16) raw = random.next();
    if (width > 16 && i % 2 == 0) {
      const double sign = i % 4 == 0 ? 1 : -1, power = std::ldexp(1.0, static_cast<int>(i / 32 % 160) - 80);
      const double near[] = {power,
                             power - 1,
                             power + 1,
                             power - 0.5,
                             power + 0.5,
                             std::nextafter(power, 0),
                             std::nextafter(power, 1e300),
                             power * 1.5};
      const double value = sign * near[i / 4 % 8];
      raw = is_float(type) ? encode(type, {round_to(type, value), 0})
                           : encode(type, convert({value, 0}, DType::f64, type, true));
    }
    for (int b = 0; b < width / 8; ++b)
      data.bytes[static_cast<std::size_t>(i * width / 8 + b)] = static_cast<std::uint8_t>(raw >> (8 * b));
  }
}

Kernel all_conversions() {
  std::string tensors, compute;
  for (std::size_t n = 0; n < std::size(conversions); ++n) {
    const Conversion& one = conversions[n];
    tensors +=
        fmt::format("  X{0}: {{shape: [N], dtype: {1}}}\n  Y{0}: {{shape: [N], dtype: {2}}}\n", n, one.from, one.to);
    std::string body = one.body;
    body.replace(body.find("X["), 1, fmt::format("X{}", n));
    compute += fmt::format("  - Y{}[i] = {}\n", n, body);
  }
  auto kernel = parse_kernel_yaml(
      fmt::format("kernel: conversions\ndims: {{N: {}}}\ntensors:\n{}compute:\n{}", elements, tensors, compute),
      "test");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

TEST(Conversions, AreExact) {
  const HardwareModel model = machine("scalar_c");
  const Kernel kernel = all_conversions();
  const Program program = default_program(kernel, model);
  std::vector<TensorData> data;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    data.push_back(make_data(kernel.tensors[t]));
    if (t % 2 == 0) fill(data.back(), kernel.tensors[t].dtype, t);
  }
  const auto outcome = make_runner(model)->run(program, data, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
  for (std::size_t n = 0; n < std::size(conversions); ++n) {
    const TensorData &x = data[2 * n], &y = data[2 * n + 1];
    int wrong = 0;
    for (std::int64_t i = 0; i < elements && wrong < 5; ++i) {
      const Scalar expected = convert(x.get(i), x.dtype, y.dtype, conversions[n].saturates), found = y.get(i);
      const bool both_nan = expected.real != expected.real && found.real != found.real;
      if (both_nan || encode(y.dtype, expected) == encode(y.dtype, found)) continue;
      ADD_FAILURE() << conversions[n].to << " = " << conversions[n].body << " of " << x.get(i).real << " or "
                    << x.get(i).integer << ": " << found.real << " or " << found.integer << " instead of "
                    << expected.real << " or " << expected.integer;
      ++wrong;
    }
  }
}

struct Seen {
  const char *statement, *types, *instruction;
};

class ConversionCode : public testing::TestWithParam<Seen> {};

/// One by one there would be instructions on single floats, and branches.
TEST_P(ConversionCode, IsOfVectors) {
  const HardwareModel model = machine("x86_avx2");
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory folder;
  const auto kernel = kernel_from_formula(GetParam().statement, "i=4096", GetParam().types);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const std::string listing = machine_code(default_program(*kernel, model), model, folder.path());
  const std::regex vectors(std::string(GetParam().instruction) + " .*%ymm"), single("^(vcvttss2si|vmulss|call)");
  bool seen = false;
  for (const CodeLine& line : lines_of(listing)) {
    seen |= std::regex_search(line.text, vectors);
    EXPECT_FALSE(std::regex_search(line.text, single)) << line.text;
  }
  EXPECT_TRUE(seen) << listing;
}

constexpr Seen seen_conversions[] = {
    {"O[i] = sat_s8(round(f32(X[i]) * S[i]))", "X=s32,S=f32,O=s8", "^vcvttps2dq"},
    {"O[i] = u8(max(min(round(f32(X[i]) * S[i]), 255), 0))", "X=s32,S=f32,O=u8", "^vcvttps2dq"},
    {"O[i] = max(min(X[i], 255), 0)", "X=f32,O=f32", "^v(cmp[a-z_]*|max|min)ps"},
    {"O[i] = s16(X[i])", "X=f32,O=s16", "^vcvttps2dq"},
    {"O[i] = sat_u8(X[i])", "X=s32,O=u8", "^vpmins?d"},
    {"O[i] = f16(f32(X[i]) * f32(Y[i]))", "X=f16,Y=f16,O=f16", "^vmulps"},
    {"O[i] = bf16(max(X[i] + Y[i], 0))", "X=f32,Y=f32,O=bf16", "^vaddps"}};
const auto number_of_case = [](const auto& one) { return "case" + std::to_string(one.index); };
INSTANTIATE_TEST_SUITE_P(Kernels, ConversionCode, testing::ValuesIn(every_nth(seen_conversions, 3)), number_of_case);
INSTANTIATE_TEST_SUITE_P(HeavyKernels, ConversionCode, testing::ValuesIn(all_but_every_nth(seen_conversions, 3)),
                         number_of_case);

}  // namespace
}  // namespace isamap
