// SPDX-License-Identifier: Apache-2.0
// Every file under examples/ is a kernel, small enough to interpret, whose text form reads back to the same kernel.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

std::vector<std::string> example_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ISAMAP_SOURCE_DIR) + "/examples"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::int64_t points(const Computation& statement) {
  std::int64_t result = 1;
  for (const Dim& dim : statement.domain.dims) result *= dim.extent;
  return result;
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, IsAKernel) {
  const Result<Kernel> kernel = load_kernel(GetParam());
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(kernel->name, std::filesystem::path(GetParam()).stem()) << "the file is named after its kernel";
  std::int64_t total = 0;
  for (const Computation& statement : kernel->statements) total += points(statement);
  EXPECT_LE(total, 2'000'000) << "tests interpret every example";
}

TEST_P(Example, TextReadsBack) {
  const Result<Kernel> kernel = load_kernel(GetParam());
  ASSERT_TRUE(kernel);
  const Result<Kernel> again = parse_kernel(print(*kernel));
  ASSERT_TRUE(again) << print(*kernel) << render(again.diagnostics());
  EXPECT_EQ(print(*again), print(*kernel));
  EXPECT_TRUE(*again == *kernel) << print(*kernel);
}

/// Where one iterator has two extents or a domain is cut, a file cannot say it; kernel_file compares what it wrote.
TEST_P(Example, FileReadsBack) {
  const Result<Kernel> kernel = load_kernel(GetParam());
  ASSERT_TRUE(kernel);
  const Result<std::string> file = kernel_file(*kernel);
  EXPECT_TRUE(file) << render(file.diagnostics());
}

TEST_P(Example, SaysWhatItIs) {
  std::ifstream stream(GetParam());
  std::string line;
  std::getline(stream, line);
  EXPECT_TRUE(line.starts_with("# ")) << line;
}

/// The definition that scatters: every input element adds the whole filter to a 4x4 patch of the output.
TEST(ExampleValues, TransposedConvolutionIsTheScatteringOne) {
  const Result<Kernel> kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/conv2d_transposed.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  Random random(7);
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel->tensors) data.push_back(random_data(tensor, Fill::integers, random));
  interpret(*kernel, data);
  const std::int64_t channels = 12, filters = 10, height = 7, width = 8, out_height = 16, out_width = 18;
  std::vector<double> expected(static_cast<std::size_t>(filters * out_height * out_width), 0);
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t k = 0; k < filters; ++k)
      for (std::int64_t p = 0; p < height; ++p)
        for (std::int64_t q = 0; q < width; ++q)
          for (std::int64_t r = 0; r < 4; ++r)
            for (std::int64_t s = 0; s < 4; ++s)
              expected[static_cast<std::size_t>((k * out_height + 2 * p + r) * out_width + 2 * q + s)] +=
                  data[0].get((c * height + p) * width + q).real *
                  data[1].get(((c * filters + k) * 4 + r) * 4 + s).real;
  ASSERT_EQ(data[2].count(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(data[2].get(static_cast<std::int64_t>(i)).real, expected[i]) << i;
}

/// Two statements and one statement of three factors are the same block.
TEST(ExampleValues, BothSeparableBlocksAgree) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/examples/";
  const Result<Kernel> two = load_kernel(folder + "depthwise_separable.yaml"),
                       one = load_kernel(folder + "depthwise_separable_fused.yaml");
  ASSERT_TRUE(two && one);
  Random random(11);
  std::vector<TensorData> of_two, of_one;
  for (const Tensor& tensor : two->tensors) of_two.push_back(random_data(tensor, Fill::integers, random));
  for (const Tensor& tensor : one->tensors) {
    const auto same =
        std::find_if(two->tensors.begin(), two->tensors.end(), [&](const Tensor& t) { return t.name == tensor.name; });
    of_one.push_back(of_two[static_cast<std::size_t>(same - two->tensors.begin())]);
  }
  interpret(*two, of_two);
  interpret(*one, of_one);
  EXPECT_EQ(of_two.back(), of_one.back());
}

INSTANTIATE_TEST_SUITE_P(Examples, Example, testing::ValuesIn(example_files()),
                         [](const auto& tested) { return std::filesystem::path(tested.param).stem().string(); });

}  // namespace
}  // namespace isamap
