// SPDX-License-Identifier: Apache-2.0
// Every scalar function of every type that it is defined on, as printed programs compute it: against the interpreter,
// at zeros of both signs, infinities, NaN, ends of integers and random numbers; for one element and for none.

#include "ir/scalar/scalar_functions.h"

#include <cmath>

#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"
#include "tests/every.h"

namespace isamap::scalar_functions {
namespace {

struct Tried {
  std::string text;
  DType type;
};

bool is_tried(const ScalarFunction& f, DType type) {
  if (type == DType::boolean) return f.of_truth;
  return f.operands != Operands::truth && !(is_float(type) ? f.text : f.integer_text).empty();
}

/// Each function of A[i] and B[i], and some of several together.
std::vector<Tried> functions_on(DType type) {
  const std::vector<std::string> names{"A[i]", "B[i]"};
  const ScalarExpr a = read(0, type), b = read(1, type);
  std::vector<Tried> tried;
  const auto add = [&](const ScalarExpr& e) { tried.push_back({print(e, names), e.type}); };
  for (const UnaryFunction& f : unary_functions())
    if (is_tried(f.common, type)) add(unary(f.op, a));
  for (const BinaryFunction& f : binary_functions())
    if (is_tried(f.common, type)) add(binary(f.op, a, b));
  const std::string own(name(type));
  tried.push_back({"select(A[i] < B[i] or A[i] == 1, A[i], B[i])", type});
  tried.push_back({own + "(not A[i]) + " + own + "(A[i] >= 1 and B[i])", type});
  tried.push_back({"bool(A[i])", DType::boolean});
  tried.push_back({"f32(A[i] != B[i]) * 0.5", DType::f32});
  if (type == DType::boolean)
    std::erase_if(tried, [](const Tried& t) { return t.text.find(" + ") != std::string::npos; });
  return tried;
}

Kernel kernel_on(DType type, std::int64_t length) {
  std::string tensors, statements;
  const std::vector<Tried> tried = functions_on(type);
  for (std::size_t n = 0; n < tried.size(); ++n) {
    tensors += "  Y" + std::to_string(n) + ": {shape: [N], dtype: " + std::string(name(tried[n].type)) + "}\n";
    statements += "  - \"Y" + std::to_string(n) + "[i] = " + tried[n].text + "\"\n";
  }
  const std::string own(name(type));
  const std::string text = "kernel: functions\ndims: {N: " + std::to_string(length) +
                           "}\ntensors:\n  A: {shape: [N], dtype: " + own + "}\n  B: {shape: [N], dtype: " + own +
                           "}\n" + tensors + "compute:\n" + statements;
  auto kernel = parse_kernel_yaml(text, "functions.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics()) << text;
  return *kernel;
}

std::vector<Scalar> values_of(DType type) {
  std::vector<Scalar> values;
  for (const double x : {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -7.0, 64.0, 100.0, 0x1p-149, -0x1p-126, 1e30,
                         double{INFINITY}, -double{INFINITY}, double{NAN}})
    values.push_back(convert({x, 0}, DType::f64, type, !is_truth(type)));
  Random random(3);
  for (int i = 0; i < 12; ++i)
    values.push_back(is_float(type)
                         ? Scalar{round_to(type, 8 * random.unit() - 4), 0}
                         : Scalar{0, wrap_to(type, static_cast<std::int64_t>(random.next()) >> random.between(0, 62))});
  return values;
}

/// Every pair of values, as far as there is room.
std::vector<TensorData> data_of(const Kernel& kernel) {
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel.tensors) data.push_back(make_data(tensor));
  const std::vector<Scalar> values = values_of(kernel.tensors[0].dtype);
  for (std::int64_t i = 0; i < data[0].count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    data[0].set(i, values[at % values.size()]);
    data[1].set(i, values[at / values.size() % values.size()]);
  }
  return data;
}

bool same(DType type, Scalar a, Scalar b) {
  if (!is_float(type)) return a.integer == b.integer;
  return std::isnan(a.real) ? std::isnan(b.real) : a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

/// By the library's functions bit for bit, else within the bounds of errors.
void expect_functions(DType type, const HardwareModel& model, std::int64_t length, bool library = true) {
  SCOPED_TRACE(std::string(name(type)) + " on " + model.name + ", " + std::to_string(length) + " elements");
  const Kernel kernel = kernel_on(type, length);
  auto scheduled = schedule(kernel, MapResult{}, model, ScheduleOptions{});
  ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
  auto program = lower(scheduled->schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  program->library_functions = library;
  auto expected = data_of(kernel), found = expected;
  interpret(kernel, expected);
  auto outcome = make_runner(model)->run(*program, found, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
  if (!library) {
    const Comparison comparison = compare(kernel, expected, found);
    EXPECT_TRUE(comparison.equal) << comparison.first_difference;
    return;
  }
  const std::vector<Tried> tried = functions_on(type);
  for (std::size_t t = 2; t < kernel.tensors.size(); ++t)
    for (std::int64_t i = 0; i < length; ++i) {
      const Scalar wanted = expected[t].get(i), here = found[t].get(i);
      if (same(kernel.tensors[t].dtype, wanted, here)) continue;
      const Scalar a = expected[0].get(i), b = expected[1].get(i);
      ADD_FAILURE() << tried[t - 2].text << " of " << a.real << " " << a.integer << " and " << b.real << " "
                    << b.integer << " is " << here.real << " " << here.integer << " instead of " << wanted.real << " "
                    << wanted.integer;
      break;
    }
}

class FunctionsOf : public testing::TestWithParam<const char*> {};

TEST_P(FunctionsOf, AreTheInterpretersInCpp) {
  expect_functions(*parse_dtype(GetParam()), machine("scalar_c"), 28 * 28);
}

class HeavyFunctionsOf : public FunctionsOf {};

TEST_P(HeavyFunctionsOf, AreTheInterpretersInCpp) {
  expect_functions(*parse_dtype(GetParam()), machine("scalar_c"), 28 * 28);
}

constexpr const char* types_of_functions[] = {"f32", "f64", "e4m3", "e5m2", "bf16", "tf32", "f16",  "s8",
                                              "u8",  "s16", "u16",  "s32",  "s64",  "u32",  "bool", "u64"};
const auto type_of_case = [](const auto& one) { return std::string(one.param); };
INSTANTIATE_TEST_SUITE_P(Type, FunctionsOf, testing::ValuesIn(every_nth(types_of_functions, 4)), type_of_case);
INSTANTIATE_TEST_SUITE_P(Type, HeavyFunctionsOf, testing::ValuesIn(all_but_every_nth(types_of_functions, 4)),
                         type_of_case);

void of_one_element_and_of_none(Every every) {
  for (const std::int64_t length : {1, 0})
    for (const DType type : {DType::f32, DType::s32, DType::boolean})
      if (!every.skips()) expect_functions(type, machine("scalar_c"), length);
}

TEST(ScalarFunctions, OfOneElementAndOfNone) { of_one_element_and_of_none(Every(4)); }
TEST(HeavyScalarFunctions, OfOneElementAndOfNone) { of_one_element_and_of_none(Every(1)); }

TEST(ScalarFunctions, AreWithinTheirBoundsAsVectorizableText) {
  expect_functions(DType::f32, machine("scalar_c"), 28 * 28, false);
}

void are_the_interpreters_in_emulated_kernels(Every every) {
  for (const DType type : {DType::f32, DType::bf16, DType::s32, DType::boolean})
    if (!every.skips()) expect_functions(type, machine("nvidia_sm80"), 28 * 7);
}

TEST(ScalarFunctions, AreTheInterpretersInEmulatedKernels) { are_the_interpreters_in_emulated_kernels(Every(5)); }
TEST(HeavyScalarFunctions, AreTheInterpretersInEmulatedKernels) { are_the_interpreters_in_emulated_kernels(Every(1)); }

}  // namespace
}  // namespace isamap::scalar_functions
