// SPDX-License-Identifier: Apache-2.0
// The examples with each of their sizes symbolic, one after the other: what is decided for all sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isamap/frontends.h"
#include "isamap/symbolic.h"

namespace isamap {
namespace {

struct SymbolicExample {
  std::string name, text;
};

/// Each example once for each size of its `dims:`, which becomes `{max: 2*n + 40, likely: n}`.
std::vector<SymbolicExample> symbolic_examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ISAMAP_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<SymbolicExample> found;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::stringstream whole;
    whole << stream.rdbuf();
    const std::string text = whole.str();
    const std::size_t begin = text.find("\ndims: {") + 8, end = text.find('}', begin);
    if (text.find("\ndims: {") == std::string::npos) continue;
    for (std::size_t at = begin; at < end;) {
      const std::size_t colon = text.find(": ", at), comma = std::min(text.find(", ", at), end);
      const std::string size = text.substr(at, colon - at), number = text.substr(colon + 2, comma - colon - 2);
      std::string one = text;
      one.replace(colon + 2, comma - colon - 2,
                  "{max: " + std::to_string(2 * std::stol(number) + 40) + ", likely: " + number + "}");
      found.push_back({file.stem().string() + " " + size, one});
      at = comma + 2;
    }
  }
  return found;
}

/// Nothing: some sizes are no kernel, with a counterexample. Unknown answers are failures.
std::optional<SymbolicKernel> decided(const SymbolicExample& example) {
  auto kernel = parse_symbolic_kernel(example.text, example.name + ".yaml", {});
  if (kernel) return std::move(*kernel);
  for (const Diagnostic& problem : kernel.diagnostics())
    EXPECT_EQ(problem.message.find("cannot decide"), std::string::npos) << example.name << ": " << problem.message;
  return std::nullopt;
}

TEST(SymbolicExamples, NoAnswerIsUnknown) {
  int all = 0, kernels = 0;
  for (const SymbolicExample& example : symbolic_examples()) {
    ++all;
    if (decided(example)) ++kernels;
  }
  RecordProperty("examples", all);
  RecordProperty("kernels", kernels);
  EXPECT_GE(all, 190);
  EXPECT_GE(kernels, all * 9 / 10) << "of " << all;
}

}  // namespace
}  // namespace isamap
