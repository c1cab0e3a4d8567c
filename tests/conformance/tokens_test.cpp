// SPDX-License-Identifier: Apache-2.0
// Machines whose queues run by themselves: every token that the compiler puts in is needed, and the simulator sees each
// one that is missing.

#include <gtest/gtest.h>

#include "backends/assembly/printer.h"
#include "backends/encoding/word.h"
#include "backends/simulator/simulate.h"
#include "isamap/frontends.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

struct PrintedTokens {
  HardwareModel model;
  Kernel kernel;
  Compiled compiled;
  std::vector<std::string> lines;
};

PrintedTokens printed(const HardwareModel& machine, const Kernel& kernel) {
  PrintedTokens p{machine, kernel, {}, {}};
  p.compiled = compile(kernel, p.model);
  EXPECT_TRUE(p.compiled.program) << p.compiled.problem;
  if (!p.compiled.program) return p;
  const auto text = print_assembly(*p.compiled.program, p.model);
  EXPECT_TRUE(text) << render(text.diagnostics());
  if (!text) return p;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    p.lines.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  return p;
}

PrintedTokens printed(const std::string& machine, const Kernel& kernel) { return printed(load_model(machine), kernel); }

/// "right", "wrong", or what the simulator says.
std::string outcome(const PrintedTokens& p, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  auto data = random_data(p.kernel, Fill::integers, 3), right = data;
  interpret(p.kernel, right);
  const auto time = simulate(text, *p.compiled.program, p.model, data, 20);
  if (!time) return time.diagnostics()[0].message;
  return compare(p.kernel, right, data).equal ? "right" : "wrong";
}

std::vector<std::string> without(std::vector<std::string> lines, std::vector<std::size_t> gone) {
  std::sort(gone.rbegin(), gone.rend());
  for (const std::size_t at : gone) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
  return lines;
}

Kernel small_gemm() { return gemm_s8(20, 33, 40); }

/// The n-th token of a kind that is given and the n-th that is taken belong together: without the pair nothing waits
/// for ever, and nothing is left, but two accesses are not ordered.
TEST(Tokens, EveryPairOfFlagsIsNeeded) {
  const PrintedTokens p = printed("cube16", small_gemm());
  ASSERT_EQ(outcome(p, p.lines), "right");
  std::map<std::string, std::vector<std::size_t>> set, wait;
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    if (p.lines[i].starts_with("set_flag ")) set[p.lines[i].substr(9)].push_back(i);
    if (p.lines[i].starts_with("wait_flag ")) wait[p.lines[i].substr(10)].push_back(i);
  }
  EXPECT_GE(set.size(), 3U);
  for (const auto& [kind, at] : set) {
    ASSERT_EQ(at.size(), wait[kind].size());
    for (std::size_t n = 0; n < at.size(); ++n) {
      const std::string found = outcome(p, without(p.lines, {at[n], wait[kind][n]}));
      EXPECT_NE(found.find("no token orders them"), std::string::npos) << kind << " " << n << ": " << found;
    }
  }
}

TEST(Tokens, OneThatIsNotGivenOrNotTakenIsNoticed) {
  const PrintedTokens p = printed("cube16", small_gemm());
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    const bool given = p.lines[i].starts_with("set_flag "), taken = p.lines[i].starts_with("wait_flag ");
    if (!given && !taken) continue;
    const std::string found = outcome(p, without(p.lines, {i}));
    EXPECT_TRUE(found.find("deadlock") != std::string::npos || found.find("never taken") != std::string::npos ||
                found.find("no token orders them") != std::string::npos)
        << i << " " << p.lines[i] << ": " << found;
  }
}

/// Flags in words: one bit of one command changes what waits for what.
TEST(Tokens, OneBitOfAWordIsNoticed) {
  const PrintedTokens p = printed("vta16", small_gemm());
  ASSERT_EQ(outcome(p, p.lines), "right");
  std::vector<std::string> words = p.lines;
  int tried = 0;
  for (std::string& line : words)
    if (const std::size_t at = line.rfind(" # 0x"); line[0] != '#' && at != std::string::npos)
      line = ".word " + line.substr(at + 3);
  ASSERT_EQ(outcome(p, words), "right");
  for (std::string& line : words) {
    if (!line.starts_with(".word ")) continue;
    for (int bit = 3; bit <= 6; ++bit) {
      auto word = Word::parse(line.substr(6), 256);
      ASSERT_TRUE(word);
      if (word->get(bit, 1) == 0) continue;
      word->set(bit, 1, 0);
      const std::string before = line;
      line = ".word " + word->hexadecimal();
      const std::string found = outcome(p, words);
      EXPECT_TRUE(found != "right" && found != "wrong") << before << " bit " << bit << ": " << found;
      line = before;
      ++tried;
    }
  }
  EXPECT_GT(tried, 8);
}

/// An intermediate is stored and loaded again: load and store have no tokens of their own, a command between passes
/// them on.
TEST(Tokens, PassThroughAThirdQueue) {
  const PrintedTokens p = printed("vta16", original("linear_s8"));
  ASSERT_EQ(outcome(p, p.lines), "right");
}

/// Tiles whose bytes do not meet do not wait for each other, wherever they begin: the first preload of weights waits
/// for the first tile of them, not for the next one, which begins 392 bytes on.
TEST(Tokens, TilesOfAnySizeAreApart) {
  const auto machine = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/odd_tiles.yaml", {});
  ASSERT_TRUE(machine) << render(machine.diagnostics());
  const auto kernel = kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=15,j=15,k=15", "A=bf16,B=bf16,C=f32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const PrintedTokens p = printed(machine->model, *kernel);
  ASSERT_EQ(outcome(p, p.lines), "right");
  const auto first = [&](const std::string& command) {
    return *std::find_if(p.lines.begin(), p.lines.end(), [&](const std::string& l) { return l.starts_with(command); });
  };
  EXPECT_TRUE(first("dma.w ").ends_with("push1")) << first("dma.w ");
  EXPECT_NE(first("pre ").find("pop1"), std::string::npos) << first("pre ");
}

}  // namespace
}  // namespace isamap::conformance
