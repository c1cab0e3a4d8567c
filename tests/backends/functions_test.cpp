// SPDX-License-Identifier: Apache-2.0
// Functions of floats that are printed as vectorizable text: against float64, near and far
// from 0, at what is no number, and as vector code.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/common/process.h"
#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/real_functions.h"
#include "ir/scalar/scalar_functions.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

constexpr std::int64_t length = 1 << 16;
constexpr double most_units = 3;  // in the last place

Program element_wise(const std::string& function, const HardwareModel& model) {
  const Kernel kernel = *kernel_from_formula("O[i] = " + function + "(X[i])", "i=" + std::to_string(length), "");
  auto scheduled = schedule(kernel, MapResult{}, model, ScheduleOptions{});
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  auto program = lower(scheduled->schedule, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  return *program;
}

/// Names of the table's functions that have such a text.
std::vector<std::string> vectorizable_functions() {
  std::vector<std::string> names;
  for (const UnaryFunction& f : unary_functions())
    if (is_helper("float_" + std::string(f.common.name))) names.emplace_back(f.common.name);
  return names;
}

double expected(const std::string& function, double x) {
  for (const UnaryFunction& f : unary_functions())
    if (f.common.name == function) return f.real(x);
  return NAN;
}

/// In units of the last place of the float nearest to `exact`; infinity where a zero, its sign, an infinity or a NaN is
/// another one.
double units_off(float found, double exact) {
  const auto nearest = static_cast<float>(exact);
  const bool special = !(std::fabs(nearest) <= std::numeric_limits<float>::max()) || nearest == 0;
  if (special) {
    const bool same =
        std::isnan(nearest) ? std::isnan(found) : found == nearest && std::signbit(found) == std::signbit(nearest);
    return same ? 0 : INFINITY;
  }
  const int exponent = std::max(std::ilogb(nearest), -126);
  const double off = std::fabs(found - exact) / std::ldexp(1.0, exponent - 23);
  return std::isnan(off) ? INFINITY : off;
}

/// Every `stride`-th of the 2^32 floats, beginning at `first`.
void expect_close(const std::string& function, std::uint64_t stride, std::uint64_t first) {
  const HardwareModel model = machine("scalar_c");
  auto loaded = load_program(element_wise(function, model), model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> x(length), y(length);
  double worst = 0;
  float at = 0;
  for (std::uint64_t bits = first; bits < std::uint64_t{1} << 32; bits += stride * length) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + i * stride));
    const auto problem = loaded->call({{x.data(), DType::f32, {length}, {}}, {y.data(), DType::f32, {length}, {}}});
    ASSERT_FALSE(problem) << render({*problem});
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const double off = units_off(y[i], expected(function, x[i])); off > worst) worst = off, at = x[i];
  }
  EXPECT_LE(worst, most_units) << function << " of " << at << " (" << std::bit_cast<std::uint32_t>(at) << ")";
  testing::Test::RecordProperty(function, std::to_string(worst));
}

class Functions : public testing::TestWithParam<std::string> {};

TEST(VectorizableFunctions, AreThoseOfTheTable) { EXPECT_GE(vectorizable_functions().size(), 8U); }

TEST_P(Functions, AreCloseToFloat64) { expect_close(GetParam(), 4093, 11); }

/// Values of the function where a multiplication and addition has one rounding, as backends for such targets print it.
std::vector<float> with_fused_products(const std::string& function) {
  std::string text = helper_text({"float_" + function}, "");
  const std::size_t at = text.find(multiply_add_body);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, std::string(multiply_add_body).size(), "return __builtin_fmaf(a, b, c);");
  text = "#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\nnamespace {\n" + text +
         "}\nint main(int, char** to) {\n  std::FILE* file = std::fopen(to[1], \"wb\");\n  for (unsigned i = 0; i < " +
         std::to_string(length) + "; ++i) {\n    const float y = float_" + function +
         "(bits_as<float>(i * 65521u + 11u));\n    std::fwrite(&y, sizeof y, 1, file);\n  }\n  std::fclose(file);\n}\n";
  const TemporaryDirectory folder;
  const std::string source = (folder.path() / "values.cpp").string(), program = (folder.path() / "values").string(),
                    out = (folder.path() / "values.out").string();
  write_file(source, text.data(), text.size());
  const auto made = run_process({"c++", "-std=c++20", "-O1", "-ffp-contract=off", source, "-o", program}, {60, 0, 0},
                                folder.path() / "log");
  EXPECT_EQ(made.exit_code, 0) << made.output;
  EXPECT_EQ(run_process({program, out}, {60, 0, 0}, folder.path() / "log").exit_code, 0);
  const std::string bytes = read_file(out, length * sizeof(float));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

TEST_P(Functions, AreCloseWithProductsOfOneRounding) {
  const std::vector<float> values = with_fused_products(GetParam());
  ASSERT_EQ(values.size(), static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(i * 65521 + 11));
    ASSERT_LE(units_off(values[i], expected(GetParam(), x)), most_units) << GetParam() << " of " << x;
  }
}

TEST_P(Functions, HeavyOfEveryFloat) { expect_close(GetParam(), 1, 0); }

/// The function on the lanes of a register.
void expect_close_lanes(const std::string& function, const std::string& name, int lanes) {
  const HardwareModel model = machine(name);
  if (availability(model).how != ExecutionMode::native) return;
  const Kernel kernel = *kernel_from_formula("O[i] = " + function + "(X[i])", "i=" + std::to_string(length), "");
  const auto schedule =
      parse_schedule("schedule: lanes\nnests:\n  -\n    - for i by " + std::to_string(lanes) +
                         "\n    - stage X in vec\n    - stage O in vec\n    - do s0 with " + function + "_f32(j=i)\n",
                     "schedule", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  auto loaded = load_program(*program, model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> x(length), y(length);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 65521 + 11));
  ASSERT_FALSE(loaded->call({{x.data(), DType::f32, {length}, {}}, {y.data(), DType::f32, {length}, {}}}));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(units_off(y[i], expected(function, x[i])), most_units) << function << " of " << x[i] << " on " << name;
}

TEST_P(Functions, OfLanes) {
  expect_close_lanes(GetParam(), "x86_avx2", 8);
  expect_close_lanes(GetParam(), "x86_avx512", 16);
}

TEST_P(Functions, OfWhatIsSpecial) {
  const HardwareModel model = machine("scalar_c");
  auto loaded = load_program(element_wise(GetParam(), model), model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> x, y(length);
  for (const float one : {0.0F,
                          0x1p-149F,
                          0x1.8p-130F,
                          0x1p-126F,
                          0x1p-24F,
                          0x1.fffffep-2F,
                          1.0F,
                          4.0F,
                          9.5F,
                          10.0F,
                          87.3F,
                          88.7F,
                          88.8F,
                          103.9F,
                          104.0F,
                          8192.0F,
                          8193.0F,
                          1e30F,
                          std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()})
    for (const float signed_one : {one, -one}) x.push_back(signed_one);
  x.resize(length);
  ASSERT_FALSE(loaded->call({{x.data(), DType::f32, {length}, {}}, {y.data(), DType::f32, {length}, {}}}));
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(units_off(y[i], expected(GetParam(), x[i])), most_units) << GetParam() << " of " << x[i];
}

TEST_P(Functions, AreCallsOfTheLibraryWhereAsked) {
  const HardwareModel model = machine("scalar_c");
  Program program = element_wise(GetParam(), model);
  const std::string own = "float_" + GetParam() + "(";
  EXPECT_NE(emit(program, model)->front().text.find(own), std::string::npos);
  program.library_functions = true;
  EXPECT_EQ(emit(program, model)->front().text.find(own), std::string::npos);
  const auto again = parse_program(print(program, model), model);
  ASSERT_TRUE(again) << render(again.diagnostics());
  EXPECT_TRUE(again->library_functions);
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(vectorizable_functions()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace isamap
