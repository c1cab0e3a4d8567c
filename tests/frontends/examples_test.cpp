// Every file under examples/ is a kernel, small enough to interpret, whose text form reads back to the same kernel.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontends/frontends.h"
#include "ir/parse.h"

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

TEST_P(Example, SaysWhatItIs) {
  std::ifstream stream(GetParam());
  std::string line;
  std::getline(stream, line);
  EXPECT_TRUE(line.starts_with("# ")) << line;
}

INSTANTIATE_TEST_SUITE_P(Examples, Example, testing::ValuesIn(example_files()),
                         [](const auto& tested) { return std::filesystem::path(tested.param).stem().string(); });

}  // namespace
}  // namespace isamap
