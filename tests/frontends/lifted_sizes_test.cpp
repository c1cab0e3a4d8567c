// SPDX-License-Identifier: Apache-2.0
// Kernels at several sizes as one symbolic kernel, and ranges of sizes in one line.

#include "frontends/lifted_sizes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontends/size_ranges.h"
#include "isamap/frontends.h"
#include "isamap/interpret.h"
#include "isamap/symbolic_program.h"

namespace isamap {
namespace {

std::string fitted(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& values) {
  std::vector<Bindings> samples;
  for (const std::int64_t size : sizes) samples.push_back({{"H", size}});
  const auto e = SizeFit(samples).fit(values);
  return e ? print(*e) : "none";
}

TEST(LiftedSizes, NumbersAreFittedByExpressions) {
  EXPECT_EQ(fitted({32, 33, 34, 40}, {7, 7, 7, 7}), "7");
  EXPECT_EQ(fitted({32, 33, 34, 40}, {32, 33, 34, 40}), "H");
  EXPECT_EQ(fitted({32, 33, 34, 40}, {95, 98, 101, 119}), "3*H - 1");
  EXPECT_EQ(fitted({32, 33, 34, 35, 96}, {16, 17, 17, 18, 48}), "(H + 1)/2");
  EXPECT_EQ(fitted({32, 36, 40, 64}, {8, 9, 10, 16}), "(H + 3)/4");
  EXPECT_EQ(fitted({96, 32, 33, 34, 35}, {48, 16, 17, 17, 18}), "(H + 1)/2") << "the first size is the largest";
  EXPECT_EQ(fitted({96, 32, 33, 34, 35}, {0, 0, -1, 0, -1}), "-(H%2)");
  EXPECT_EQ(fitted({9, 10, 11, 12, 30}, {5, 7, 9, 5, 5}), "2*(H%3) + 5");
  EXPECT_EQ(fitted({32, 33, 34, 40}, {1024, 1089, 1156, 1600}), "none");
  const std::vector<Bindings> two{
      {{"B", 2}, {"S", 8}}, {{"B", 3}, {"S", 8}}, {{"B", 2}, {"S", 9}}, {{"B", 5}, {"S", 30}}};
  EXPECT_EQ(print(*SizeFit(two).fit({12, 13, 13, 37})), "B + S + 2");
  EXPECT_FALSE(SizeFit(two).fit({16, 24, 18, 150})) << "a product";
}

Kernel softmax_at(std::int64_t n, std::int64_t count) {
  const auto kernel = parse_kernel_yaml(fmt::format("kernel: k\ndims: {{}}\ntensors:\n  X: {{shape: [4, {0}]}}\n"
                                                    "  M: {{shape: [4]}}\n  Y: {{shape: [4]}}\ncompute:\n"
                                                    "  - M[i] += X[i,j]\n  - Y[i] = M[i] / {1}\n",
                                                    n, count),
                                        "k.yaml");
  return *kernel;
}

TEST(LiftedSizes, CountsInBodiesBecomeValues) {
  const std::vector<Kernel> kernels{softmax_at(8, 8), softmax_at(9, 9), softmax_at(11, 11)};
  std::vector<Bindings> samples{{{"N", 8}}, {{"N", 9}}, {{"N", 11}}};
  std::vector<KernelAt> at;
  for (std::size_t n = 0; n < kernels.size(); ++n) at.push_back({samples[n], &kernels[n]});
  const SizeFacts facts = *size_facts_of("N=1..64");
  SizeFit fit(samples);
  const auto kernel = lifted(facts, at, fit);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_FALSE(has_errors(verify(*kernel)));
  for (const std::int64_t n : {1, 5, 64}) {
    const auto bound = bind(*kernel, {{"N", n}});
    ASSERT_TRUE(bound);
    const Kernel own = softmax_at(n, n);
    std::vector<TensorData> a = random_data(own, Fill::real, 3), b = a;
    interpret(own, a);
    interpret(*bound, b);
    EXPECT_TRUE(compare(own, a, b).equal) << n;
  }
}

/// As the importer writes it, with a divisor of 1.
TEST(LiftedSizes, AMeanOfNothingIsZero) {
  const std::vector<Kernel> kernels{softmax_at(8, 8), softmax_at(9, 9), softmax_at(11, 11)};
  std::vector<Bindings> samples{{{"N", 8}}, {{"N", 9}}, {{"N", 11}}};
  std::vector<KernelAt> at;
  for (std::size_t n = 0; n < kernels.size(); ++n) at.push_back({samples[n], &kernels[n]});
  SizeFit fit(samples);
  const auto kernel = lifted(*size_facts_of("N=0..64"), at, fit);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto bound = bind(*kernel, {{"N", 0}});
  ASSERT_TRUE(bound);
  std::vector<TensorData> data = random_data(*bound, Fill::real, 3);
  interpret(*bound, data);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(data[2].get(i).real, 0) << i;
}

TEST(LiftedSizes, WhatSizesDoNotExplainIsSaid) {
  const std::vector<Kernel> kernels{softmax_at(8, 8), softmax_at(9, 12), softmax_at(11, 14)};
  std::vector<Bindings> samples{{{"N", 8}}, {{"N", 9}}, {{"N", 11}}};
  std::vector<KernelAt> at;
  for (std::size_t n = 0; n < kernels.size(); ++n) at.push_back({samples[n], &kernels[n]});
  SizeFit fit(samples);
  const auto kernel = lifted(*size_facts_of("N=1..64"), at, fit);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.diagnostics().front().message, "s1: the constant 8 is 14 at other sizes");
}

TEST(LiftedSizes, WhatFewIteratorsMakeANumberIsTheExpressionOfOtherSizes) {
  const auto kernel_at = [](std::int64_t n) {
    return *parse_kernel_yaml(fmt::format("kernel: k\ndims: {{i: {0}}}\ntensors:\n  X: {{shape: [{1}]}}\n"
                                          "  Y: {{shape: [{0}]}}\ncompute:\n  - Y[i] = X[{2}]\n",
                                          n, (n + 1) / 2, n <= 2 ? "0" : "i/2"),
                              "k.yaml");
  };
  const std::vector<Kernel> kernels{kernel_at(2), kernel_at(8), kernel_at(9), kernel_at(12)};
  std::vector<Bindings> samples{{{"N", 2}}, {{"N", 8}}, {{"N", 9}}, {{"N", 12}}};
  std::vector<KernelAt> at;
  for (std::size_t n = 0; n < kernels.size(); ++n) at.push_back({samples[n], &kernels[n]});
  SizeFit fit(samples);
  const auto kernel = lifted(*size_facts_of("N=1..64"), at, fit);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto bound = bind(*kernel, {{"N", 21}});
  ASSERT_TRUE(bound);
  EXPECT_EQ(print_formula(bound->statements[0], bound->tensors), "Y[i] = X[i/2]");
  EXPECT_EQ(bound->tensors[0].shape, std::vector<std::int64_t>{11});
}

TEST(LiftedSizes, AxesOfOneElementAreDropped) {
  const auto kernel_at = [](std::int64_t n) {
    return *parse_kernel_yaml(fmt::format("kernel: k\ndims: {{}}\ntensors:\n  X: {{shape: [1, {0}, 3]}}\n"
                                          "  Y: {{shape: [1, {0}, 3]}}\ncompute:\n  - Y[b,i,j] = X[b,i,j] + 1\n",
                                          n),
                              "k.yaml");
  };
  const std::vector<Kernel> kernels{kernel_at(8), kernel_at(9)};
  std::vector<Bindings> samples{{{"N", 8}}, {{"N", 9}}};
  SizeFit fit(samples);
  const auto kernel = lifted(*size_facts_of("N=1..64"), {{samples[0], &kernels[0]}, {samples[1], &kernels[1]}}, fit);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(static_cast<bool>(rows_of(*kernel)));
  const SymbolicKernel flat = without_unit_axes(*kernel);
  EXPECT_TRUE(static_cast<bool>(rows_of(flat)));
  EXPECT_EQ(print_formula(flat.sample.statements[0], flat.sample.tensors), "Y[i,j] = X[i,j] + 1");
}

TEST(LiftedSizes, TheLastDimIsDroppedUnlessItIsTheOnlyOne) {
  const auto flat_at = [](const std::string& rows) {
    const auto kernel_at = [&](std::int64_t n) {
      return *parse_kernel_yaml(fmt::format("kernel: k\ndims: {{}}\ntensors:\n  X: {{shape: [1, {0}, 1]}}\n"
                                            "  Y: {{shape: [1, {0}, 1]}}\ncompute:\n  - Y[b,i,h] = X[b,i,h] + 1\n",
                                            rows.empty() ? std::to_string(n) : rows),
                                "k.yaml");
    };
    const std::vector<Kernel> kernels{kernel_at(8), kernel_at(9)};
    std::vector<Bindings> samples{{{"N", 8}}, {{"N", 9}}};
    SizeFit fit(samples);
    return without_unit_axes(
        *lifted(*size_facts_of("N=1..64"), {{samples[0], &kernels[0]}, {samples[1], &kernels[1]}}, fit));
  };
  const auto dims = [](const SymbolicKernel& kernel) {
    std::string names;
    for (const Dim& dim : kernel.sample.statements[0].domain.dims) names += dim.name + " ";
    return names;
  };
  EXPECT_EQ(dims(flat_at("")), "i ");
  EXPECT_EQ(dims(flat_at("1")), "h ");
}

TEST(SizeRanges, SayWhatIsWrong) {
  const auto told = [](const std::string& dims) {
    const auto facts = size_facts_of(dims);
    return facts ? print(*facts) : facts.diagnostics().front().message;
  };
  EXPECT_EQ(told("seq=16..512/16@128,x.2=32..640,batch=1"),
            "seq in 16..512 and a multiple of 16, x.2 in 32..640, batch in 1..1");
  EXPECT_EQ(told("seq"), "'seq' is not of the form name=range");
  EXPECT_EQ(told("seq=a..b"), "'seq=a..b' is no range of sizes");
  EXPECT_EQ(told("seq=-3"), "'seq=-3' needs a size of at least 0, or a range");
  EXPECT_EQ(told("seq=9..3"), "no size of seq is in 9..3");
  EXPECT_EQ(size_facts_of("seq=9..3").diagnostics().front().hint, "exchange them: seq=3..9");
  EXPECT_EQ(told("seq=1..9@12"), "seq = 12 is not in 1..9, but it is said to be likely");
  EXPECT_EQ(told("seq=1..9,seq=4"), "'seq' is given twice");
}

}  // namespace
}  // namespace isamap
