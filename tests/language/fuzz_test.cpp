// SPDX-License-Identifier: Apache-2.0
// Random kernels of all constructs of the language, run by each machine as the interpreter says. ISAMAP_LANGUAGE_SEEDS
// is the number of kernels.

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "tests/language/support.h"

namespace isamap {
namespace {

/// A matrix of `rows` (of the kernel) x `columns`.
struct Matrix {
  std::string name;
  int columns = 1;
};

class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed) : random_(seed), rows_(1 + upto(20)) {}

  std::string text() {
    for (int m = 0; m < 2; ++m)
      matrices_.push_back({declare("X", fmt::format("[{}, {}]", rows_, width()), ""), width_});
    const int count = 2 + upto(4);
    for (int s = 0; s < count; ++s) step(upto(9));
    return fmt::format("kernel: random\ntensors:\n{}compute:\n{}where: {{p: {}{}}}\n", tensors_, compute_, rows_,
                       where_);
  }

 private:
  int upto(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int width() { return width_ = 1 + upto(3) * 8 + upto(9); }

  std::string declare(const std::string& what, const std::string& shape, const std::string& words) {
    const std::string name = fmt::format("{}{}", what, number_++);
    tensors_ += fmt::format("  {}: {{shape: {}{}}}\n", name, shape, words);
    return name;
  }
  const Matrix& any() { return matrices_[static_cast<std::size_t>(upto(static_cast<int>(matrices_.size())))]; }
  std::string result(int columns) {
    const std::string name =
        declare("T", fmt::format("[{}, {}]", rows_, columns), upto(3) == 0 ? ", output: true" : "");
    made_.push_back({name, columns});
    return name;
  }
  void say(const std::string& statement) { compute_ += "  - \"" + statement + "\"\n"; }

  void step(int kind) {
    const Matrix a = any(), b = any();
    made_.clear();
    statements(kind, a, b);
    matrices_.insert(matrices_.end(), made_.begin(), made_.end());
  }

  void statements(int kind, const Matrix& a, const Matrix& b) {
    switch (kind) {
      case 0:
        return say_to(result(a.columns), fmt::format("[p,c] = max({}[p,c], 0) + 1", a.name));
      case 1:
        return window(a);
      case 2: {
        const int columns = width();
        const std::string w = declare("W", fmt::format("[{}, {}]", a.columns, columns), ", constant: true");
        return say_to(result(columns), fmt::format("[p,c] += {}[p,k] * {}[k,c]", a.name, w));
      }
      case 3:
        return joined(a, b);
      case 4: {
        const std::string i = declare("I", fmt::format("[{}]", rows_), ", dtype: s32");
        return say_to(result(a.columns), fmt::format("[p,c] = {0}[at({1}[p]),c] + {0}[p,c]", a.name, i));
      }
      case 5:
        return recurrence(a);
      case 6:
        return say_to(result(a.columns), fmt::format("[p,c] = select(max(f32(value(p)) - f32(value(c)), 0), "
                                                     "{}[p,c], f32(value(2*p + c)))",
                                                     a.name));
      case 7: {  // interleaved
        const std::string t = result(2 * a.columns);
        say(fmt::format("{}[p,2*c] = {}[p,c]", t, a.name));
        return say(fmt::format("{}[p,2*c + 1] = {}[p,c] * 2", t, a.name));
      }
      default: {  // an update in place
        const std::string t = result(a.columns);
        say(fmt::format("{}[p,c] = {}[p,c] * 2", t, a.name));
        return say(fmt::format("{0}[p,c] = max({0}[p,c], 1)", t));
      }
    }
  }
  void say_to(const std::string& tensor, const std::string& rest) { say(tensor + rest); }

  void window(const Matrix& a) {
    const std::string f = declare("F", "[3]", ""), t = result(a.columns);
    const int value = upto(3) - 1;
    if (upto(2) == 0)
      say(fmt::format("{}[p,c] += {}[p + r - 1,c] outside {} * {}[r]", t, a.name, value, f));
    else
      say(fmt::format("{}[p,c] max= {}[p + r - {},c] outside -inf + {}[r]", t, a.name, upto(3), f));
  }

  void joined(const Matrix& a, const Matrix& b) {
    const std::string t = result(a.columns + b.columns);
    const std::string own = fmt::format("x{}", number_++);
    where_ += fmt::format(", {}: {}", own, a.columns);
    say(fmt::format("{0}[p,{2}] = {1}[p,{2}]", t, a.name, own));
    say(fmt::format("{}[p,y + {}] = {}[p,y] - 1", t, a.columns, b.name));
  }

  void recurrence(const Matrix& a) {
    const std::string s = declare("S", fmt::format("[{}, {}]", rows_ + 1, a.columns), ", inout: true");
    const bool backward = upto(2) == 0;
    compute_ += fmt::format("  - repeat: {{t: {}}}\n{}    compute:\n      - \"{}[{},c] = {}[{},c] * 0.5 + {}[t,c]\"\n",
                            rows_, backward ? "    backward: true\n" : "", s, backward ? "t" : "t + 1", s,
                            backward ? "t + 1" : "t", a.name);
    const std::string t = result(a.columns);
    say(fmt::format("{}[p,c] = {}[{},c]", t, s, backward ? "p" : "p + 1"));
  }

  std::mt19937 random_;
  int rows_, width_ = 1, number_ = 0;
  std::string tensors_, compute_, where_;
  std::vector<Matrix> matrices_, made_;
};

/// Of `count` seeds, or as many as $ISAMAP_LANGUAGE_SEEDS says.
void random_kernels_run_as_interpreted(unsigned count) {
  if (const char* seeds = std::getenv("ISAMAP_LANGUAGE_SEEDS")) count = static_cast<unsigned>(std::atoi(seeds));
  for (unsigned seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::string text = RandomKernel(seed).text();
    // Tensors that nothing uses are problems of their own.
    const auto kernel = parse_kernel_yaml(text, "k.yaml");
    if (!kernel && render(kernel.diagnostics()).find("no statement uses tensor") != std::string::npos) continue;
    expect_right(kernel_of(text));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanguageFuzz, RandomKernelsRunAsInterpreted) { random_kernels_run_as_interpreted(4); }
TEST(HeavyLanguageFuzz, RandomKernelsRunAsInterpreted) { random_kernels_run_as_interpreted(24); }

}  // namespace
}  // namespace isamap
