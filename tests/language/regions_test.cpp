// SPDX-License-Identifier: Apache-2.0
// Several statements that write one tensor: disjoint regions, reductions into what was initialised, updates in place.

#include "ir/verify/regions.h"

#include <fmt/format.h>

#include <random>
#include <set>

#include "tests/language/support.h"

namespace isamap {
namespace {

std::string joined(const std::string& sizes) {
  return "kernel: joined\ndims: " + sizes + R"(
tensors:
  A: {shape: [P, M]}
  B: {shape: [P, N]}
  W: {shape: [N, N]}
  C: {shape: [P, M + N + 2]}
  Y: {shape: [P, M + N + 2]}
compute:
  - C[p,a] = A[p,a]
  - C[p,b + M] += B[p,k] * W[k,b]
  - C[p,z + M + N] = 0
  - Y[p,c] = max(C[p,c], 0)
where: {a: M, b: N, z: 2}
)";
}

void several_statements_make_a_tensor(Every run) {
  for (const auto& [p, m, n] : {std::array{5, 3, 4}, {1, 1, 1}, {0, 2, 3}, {4, 0, 2}, {3, 2, 0}, {17, 16, 33}}) {
    const Kernel kernel = kernel_of(joined(fmt::format("{{P: {}, M: {}, N: {}}}", p, m, n)));
    std::vector<TensorData> data = interpreted(kernel);
    const TensorData &a = data_of(kernel, data, "A"), &b = data_of(kernel, data, "B"), &w = data_of(kernel, data, "W"),
                     &y = data_of(kernel, data, "Y");
    for (int i = 0; i < p; ++i)
      for (int j = 0; j < m + n + 2; ++j) {
        double value = 0;
        if (j < m) value = number_at(a, i * m + j);
        for (int k = 0; j >= m && j < m + n && k < n; ++k)
          value += number_at(b, i * n + k) * number_at(w, k * n + j - m);
        EXPECT_EQ(number_at(y, i * (m + n + 2) + j), std::max(value, 0.0));
      }
    if (!run.skips()) expect_right(kernel);
  }
}

TEST(Regions, OfSeveralStatementsMakeATensor) { several_statements_make_a_tensor(Every(2)); }
TEST(HeavyRegions, OfSeveralStatementsMakeATensor) { several_statements_make_a_tensor(Every(1)); }

std::string with(const std::string& statements) {
  return "kernel: k\ntensors:\n  A: {shape: [4]}\n  C: {shape: [8]}\n  Y: {shape: [8]}\ncompute:\n" + statements;
}

TEST(Regions, AreDisjoint) {
  const std::string four = "where: {i: 4}\n";
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[i + 3] = A[i]\n  - Y[j] = C[j]\n" + four)),
            "k.yaml:8:7: kernel 'k': statement s1 overwrites C[3], which statement s0 has written\n"
            "      - C[i + 3] = A[i]\n"
            "          ^\n"
            "  hint: statements write disjoint regions of a tensor, or combine: `+=`, or an update in place\n");
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[i + 4] = A[i]\n  - Y[j] = C[j]\n" + four)), "");
  EXPECT_EQ(problems_of(with("  - C[2*i] = A[i]\n  - C[2*i + 1] = A[i]\n  - Y[j] = C[j]\n")), "");  // interleaved
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[i + 4] = A[i]\n  - C[j] = C[j] + 1\n  - Y[j] = C[j]\n" + four)),
            "");
}

TEST(Regions, AreWrittenBeforeTheyAreRead) {
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[7] = A[0]\n  - Y[j] = C[j]\nwhere: {i: 4}\n")),
            "k.yaml:9:14: kernel 'k': statement s2 reads C[4], which no statement writes before it (s0, s1 write other "
            "elements)\n"
            "      - Y[j] = C[j]\n"
            "                 ^\n"
            "  hint: write it, or give 'C' `inout: true` if it starts with what the caller left there\n");
  EXPECT_EQ(problems_of(with("  - C[2*i] = A[i]\n  - Y[j] = C[j]\n")),
            "k.yaml:8:14: kernel 'k': statement s1 reads C[1], which no statement writes before it (s0 writes other "
            "elements)\n"
            "      - Y[j] = C[j]\n"
            "                 ^\n"
            "  hint: write it, or give 'C' `inout: true` if it starts with what the caller left there\n");
}

TEST(Regions, StartAtTheIdentityOfTheFirstWriter) {
  const std::string four = "where: {i: 4}\n";
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[i + 4] max= A[i]\n  - Y[j] = C[j]\n" + four)),
            "k.yaml:8:7: kernel 'k': statement s1 combines by `max=` into C[4], which no statement has written: 'C' "
            "starts at the identity of `=` of statement s0\n"
            "      - C[i + 4] max= A[i]\n"
            "          ^\n"
            "  hint: combine into a tensor of its own, then copy that\n");
  EXPECT_EQ(problems_of(with("  - C[i] = A[i]\n  - C[i + 4] += A[i]\n  - Y[j] = C[j]\n" + four)), "");
  EXPECT_EQ(problems_of(with("  - C[j] = 1\n  - C[i] max= A[i]\n  - Y[j] = C[j]\n" + four)), "");
}

// Products of intervals, steps, digits and shared dims against an enumeration.
TEST(Regions, AreExact) {
  std::mt19937 random(7);
  const auto upto = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::int64_t> shape = {5, 7};
    const auto one = [&] {
      IterationDomain domain{{{"i", 1 + upto(5), DimKind::parallel}, {"j", 1 + upto(4), DimKind::parallel}}, {}};
      if (upto(4) == 0) domain.faces.push_back(AffineExpr(2) - AffineExpr::dim("i"));
      const auto subscript = [&] {
        const AffineExpr e = AffineExpr::dim(upto(2) == 0 ? "i" : "j") * (upto(3) - 1) +
                             AffineExpr::dim(upto(2) == 0 ? "i" : "j") * upto(3) + (upto(5) - 1);
        return upto(3) == 0 ? floordiv(e, 2) : upto(3) == 0 ? mod(e, 3) : e;
      };
      return std::pair(Access{TensorId{0}, {subscript(), subscript()}}, domain);
    };
    const auto enumerated = [&](const Access& access, const IterationDomain& domain) {
      std::set<std::vector<std::int64_t>> elements;
      for (std::int64_t i = 0; i < domain.dims[0].extent; ++i)
        for (std::int64_t j = 0; j < domain.dims[1].extent; ++j) {
          const Bindings point{{"i", i}, {"j", j}};
          const std::vector<std::int64_t> at = {evaluate(access.index[0], point), evaluate(access.index[1], point)};
          if (!domain.faces.empty() && evaluate(domain.faces[0], point) < 0) continue;
          if (at[0] >= 0 && at[0] < shape[0] && at[1] >= 0 && at[1] < shape[1]) elements.insert(at);
        }
      return elements;
    };
    const auto [a, over_a] = one();
    const auto [b, over_b] = one();
    const auto region_a = touched(a, over_a, shape), region_b = touched(b, over_b, shape);
    ASSERT_TRUE(region_a && region_b);
    const auto elements_a = enumerated(a, over_a), elements_b = enumerated(b, over_b);
    std::set<std::vector<std::int64_t>> rest, both;
    for (const auto& element : elements_a) (elements_b.contains(element) ? both : rest).insert(element);
    const auto common = common_element(*region_a, *region_b);
    EXPECT_EQ(common.has_value(), !both.empty());
    if (common) {
      EXPECT_TRUE(both.contains(*common));
    }
    const auto without = difference(*region_a, *region_b);
    ASSERT_TRUE(without);
    EXPECT_EQ(without->empty(), rest.empty()) << print(a.index[0]) << ", " << print(a.index[1]);
    if (!without->empty()) {
      EXPECT_TRUE(rest.contains(first_element(*without)));
    }
  }
}

}  // namespace
}  // namespace isamap
