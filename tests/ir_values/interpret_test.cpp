// SPDX-License-Identifier: Apache-2.0
#include "isamap/interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ir/evaluation/error_bounds.h"
#include "ir/evaluation/point_errors.h"
#include "ir/text/parse.h"

namespace isamap {
namespace {

Kernel kernel_of(const std::string& text) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(static_cast<bool>(kernel)) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

std::vector<TensorData> random_inputs(const Kernel& kernel, Fill fill, std::uint64_t seed) {
  Random random(seed);
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel.tensors) data.push_back(random_data(tensor, fill, random));
  return data;
}

// The definition, point by point in the order of the domain's dims: rows must reproduce it bit for bit.
class Naive {
 public:
  Naive(const Kernel& kernel, std::vector<TensorData>& data) : kernel_(kernel), data_(data) {}

  void run() {
    std::vector<bool> written(data_.size(), false);
    for (const Computation& s : kernel_.statements) {
      const std::size_t out = s.write.tensor.index();
      const Tensor& tensor = kernel_.tensors[out];
      for (std::int64_t i = 0; !written[out] && !tensor.inout && i < data_[out].count(); ++i) {
        data_[out].set(i, identity(s.reduction, tensor.dtype));
      }
      written[out] = true;
      Bindings point;
      loop(s, 0, point);
    }
  }

 private:
  void loop(const Computation& s, std::size_t d, Bindings& point) {
    if (d == s.domain.dims.size()) return visit(s, point);
    for (std::int64_t i = 0; i < s.domain.dims[d].extent; ++i) {
      point[s.domain.dims[d].name] = i;
      loop(s, d + 1, point);
    }
  }

  std::int64_t position(const Access& access, const Bindings& point) const {
    const Tensor& tensor = kernel_.tensors[access.tensor.index()];
    std::int64_t position = 0;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const std::int64_t i = evaluate(access.index[d], point);
      if (i < 0 || i >= tensor.shape[d]) return -1;
      position = position * tensor.shape[d] + i;
    }
    return position;
  }

  void visit(const Computation& s, const Bindings& point) {
    for (const AffineExpr& face : s.domain.faces) {
      if (evaluate(face, point) < 0) return;
    }
    std::vector<Scalar> operands;
    for (const Access& read : s.reads) {
      const Tensor& tensor = kernel_.tensors[read.tensor.index()];
      const std::int64_t at = position(read, point);
      operands.push_back(at >= 0 ? data_[read.tensor.index()].get(at)
                                 : convert({*tensor.outside, 0}, DType::f64, tensor.dtype, true));
    }
    TensorData& out = data_[s.write.tensor.index()];
    const std::int64_t at = position(s.write, point);
    out.set(at, combine(s.reduction, out.dtype, out.get(at), evaluate(s.body, operands.data())));
  }

  const Kernel& kernel_;
  std::vector<TensorData>& data_;
};

std::vector<double> values(const TensorData& data) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < data.count(); ++i) {
    result.push_back(is_float(data.dtype) ? data.get(i).real : static_cast<double>(data.get(i).integer));
  }
  return result;
}

const std::vector<std::string> kernels = {
    "kernel gemm\ntensor A: f32[5,70]\ntensor B: f32[70,9]\ntensor C: f32[5,9]\n"
    "s0: C[i,j] += A[i,k] * B[k,j] over i: 5, j: 9, k: 70\n",
    "kernel padded\ntensor I: f32[2,9,11] outside 0\ntensor F: f32[3,2,3,3]\ntensor O: f32[3,5,6]\n"
    "s0: O[k,p,q] += I[c,2*p + r - 1,2*q + s - 1] * F[k,c,r,s] over k: 3, p: 5, q: 6, c: 2, r: 3, s: 3\n",
    "kernel bf\ntensor A: bf16[700]\ntensor B: bf16[700]\ntensor C: f32[]\n"
    "s0: C[] += f32(A[k]) * f32(B[k]) over k: 700\n",
    "kernel rounding\ntensor A: f16[600]\ntensor B: f16[600]\ntensor C: f16[600]\n"
    "s0: C[i] = A[i] * B[i] + sqrt(abs(A[i])) over i: 600\n",
    "kernel wraps\ntensor A: s8[40,6]\ntensor B: u8[6]\ntensor C: s8[40]\n"
    "s0: C[i] += A[i,k] * s8(B[k]) over i: 40, k: 6\n",
    "kernel requant\ntensor A: s32[33]\ntensor D: s8[33]\ns0: D[i] = sat_s8(round(f32(f64(A[i])) * 0.37)) over i: 33\n",
    "kernel softmax\ntensor S: f32[4,17]\ntensor M: f32[4]\ntensor E: f32[4,17]\ntensor Z: f32[4]\ntensor O: "
    "f32[4,17]\n"
    "s0: M[i] max= S[i,j] over i: 4, j: 17\ns1: E[i,j] = exp(S[i,j] - M[i]) over i: 4, j: 17\n"
    "s2: Z[i] += E[i,j] over i: 4, j: 17\ns3: O[i,j] = E[i,j] / Z[i] over i: 4, j: 17\n",
    "kernel fused\ntensor A: f32[6,7]\ntensor B: f32[7,6]\ns0: B[x%7,x/7] = A[x/7,x%7] over x: 42\n",
    "kernel scatter\ntensor A: f32[40]\ntensor W: f32[5]\ntensor O: f32[44] inout\n"
    "s0: O[i + r] += A[i] * W[r] over i: 40, r: 5\n",
    "kernel cut\ntensor A: f32[30,30]\ntensor O: f32[30]\n"
    "s0: O[i] += A[i,j] over i: 30, j: 30 where i - j >= 0, j%3 - 1 >= 0\n",
    "kernel masked\ntensor M: b1[19]\ntensor A: e4m3[19]\ntensor O: e4m3[19]\n"
    "s0: O[i] = select(M[i], A[-i + 18], 2) over i: 19\n",
    "kernel nothing\ntensor A: f32[0]\ntensor O: f32[3]\ns0: O[i] max= A[k] over i: 3, k: 0\n",
    "kernel twice\ntensor A: f32[8]\ntensor C: f32[8] inout\ns0: C[i] += A[i] over i: 8\n"
    "s1: C[i] = max(C[i], 0) over i: 8\n",
    "kernel min\ntensor A: u8[50,3]\ntensor O: u8[50]\ns0: O[i] min= A[i,k] over k: 3, i: 50\n",
    "kernel quasi\ntensor A: s16[9] outside 7\ntensor O: s64[40]\ns0: O[i] *= s64(A[i/3 - 2]) over i: 40\n",
};

TEST(Interpret, RowsDoWhatPointsDo) {
  for (const std::string& text : kernels) {
    const Kernel kernel = kernel_of(text);
    EXPECT_EQ(print(kernel), text);
    EXPECT_TRUE(verify(kernel).empty()) << render(verify(kernel));
    for (const Fill fill : {Fill::integers, Fill::real}) {
      auto rows = random_inputs(kernel, fill, 7);
      auto points = rows;
      interpret(kernel, rows);
      Naive(kernel, points).run();
      EXPECT_EQ(rows, points) << text;
      EXPECT_TRUE(compare(kernel, rows, points).equal) << text;
    }
  }
}

TEST(Interpret, EmptyReductionsLeaveTheIdentity) {
  const Kernel kernel = kernel_of("kernel k\ntensor A: f32[0]\ntensor O: f32[2]\ns0: O[i] max= A[k] over i: 2, k: 0\n");
  auto data = random_inputs(kernel, Fill::real, 1);
  interpret(kernel, data);
  EXPECT_EQ(values(data[1]), (std::vector<double>{-INFINITY, -INFINITY}));
}

TEST(Interpret, FloatsRoundAfterEachAddition) {
  const Kernel kernel = kernel_of("kernel k\ntensor A: f32[3]\ntensor O: f32[]\ns0: O[] += A[k] over k: 3\n");
  auto data = random_inputs(kernel, Fill::real, 1);
  for (int i = 0; i < 3; ++i) data[0].set(i, {i == 0 ? 0x1p24 : 1, 0});
  interpret(kernel, data);
  EXPECT_EQ(values(data[1]), std::vector<double>{0x1p24});
}

// Another order of summation is within the bound; a wrong term is not.
TEST(Compare, AcceptsReorderingAndNothingMore) {
  const Kernel kernel = kernel_of(
      "kernel k\ntensor A: f32[3,500]\ntensor B: f32[500]\ntensor O: f32[3]\n"
      "s0: O[i] += A[i,k] * B[k] over i: 3, k: 500\n");
  Kernel reversed = kernel;
  for (Access& read : reversed.statements[0].reads) {
    read.index.back() = AffineExpr(499) - read.index.back();
  }
  auto expected = random_inputs(kernel, Fill::real, 3);
  auto found = expected;
  interpret(kernel, expected);
  interpret(reversed, found);
  const Comparison reordered = compare(kernel, expected, found);
  EXPECT_TRUE(reordered.equal) << reordered.first_difference;
  EXPECT_GT(reordered.max_error, 0);
  EXPECT_LT(reordered.worst_ratio, 0.1);
  found[2].set(1, {found[2].get(1).real + 0.05, 0});
  EXPECT_FALSE(compare(kernel, expected, found).equal);
}

// The padding of a maximum is infinite, but no result; times a weight of zero it would be no number.
TEST(Compare, InfinitePaddingOfAMaximumBoundsNothing) {
  const Kernel kernel = kernel_of(
      "kernel k\ntensor A: f32[4] outside -inf\ntensor W: f32[4,2]\ntensor M: f32[4]\ntensor O: f32[2] output\n"
      "s0: M[i] max= A[i + r - 1] over i: 4, r: 3\n"
      "s1: O[j] += M[i] * W[i,j] over j: 2, i: 4\n");
  auto expected = random_inputs(kernel, Fill::real, 3);
  expected[1].set(0, {0, 0});
  interpret(kernel, expected);
  auto found = expected;
  const double value = expected[3].get(0).real;
  found[3].set(0, {value + 0x1p-23 * std::fabs(value), 0});
  EXPECT_TRUE(compare(kernel, expected, found).equal);
  found[3].set(0, {value + 0.01 * std::fabs(value), 0});
  EXPECT_FALSE(compare(kernel, expected, found).equal);
}

TEST(Compare, IntegersMustBeEqualAndSaysWhere) {
  const Kernel kernel =
      kernel_of("kernel k\ntensor A: s8[2,3]\ntensor O: s32[2,3]\ns0: O[i,j] = s32(A[i,j]) over i: 2, j: 3\n");
  auto expected = random_inputs(kernel, Fill::integers, 3);
  interpret(kernel, expected);
  auto found = expected;
  const std::int64_t right = expected[1].get(4).integer;
  found[1].set(4, {0, right + 1});
  const Comparison result = compare(kernel, expected, found);
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(result.first_difference, "O[1,1]: " + std::to_string(right + 1) + " instead of " + std::to_string(right));
}

TEST(Compare, NanEqualsNanOnly) {
  const Kernel kernel = kernel_of("kernel k\ntensor A: f32[2]\ntensor O: f32[2]\ns0: O[i] = A[i] over i: 2\n");
  auto expected = random_inputs(kernel, Fill::real, 3);
  expected[0].set(0, {NAN, 0});
  interpret(kernel, expected);
  auto found = expected;
  EXPECT_TRUE(compare(kernel, expected, found).equal);
  found[1].set(0, {0, 0});
  EXPECT_FALSE(compare(kernel, expected, found).equal);
}

// Errors of intermediates reach the output through division and functions.
TEST(Compare, PropagatesThroughStatements) {
  const Kernel kernel = kernel_of(kernels[6]);
  auto expected = random_inputs(kernel, Fill::real, 5);
  auto found = expected;
  interpret(kernel, expected);
  interpret(kernel, found);
  for (std::int64_t i = 0; i < found[4].count(); ++i) {
    found[4].set(i, {found[4].get(i).real * (1 + 4e-7), 0});
  }
  EXPECT_TRUE(compare(kernel, expected, found).equal);
  found[4].set(5, {found[4].get(5).real * 1.001, 0});
  EXPECT_FALSE(compare(kernel, expected, found).equal);
}

/// A byte of a real may be off by one: a sum of products of such bytes by as much as its factors are together.
TEST(Compare, ErrorsOfIntegersCarryThroughSumsOfProducts) {
  const std::string rest = " over i: 2, j: 3, k: 40\ns2: Y[i,j] = S[i,j] over i: 2, j: 3\n",
                    bytes =
                        "kernel sums\ntensor X: f32[2,40]\ntensor Q: s8[2,40]\ntensor Z: s8[]\ntensor W: "
                        "s8[40,3]\ntensor S: s32[2,3]\n"
                        "tensor Y: s32[2,3]\ns0: Q[i,k] = s8(exp(X[i,k]) * 3) over i: 2, k: 40\n";
  for (const std::string sum : {"s1: S[i,j] += s32(Q[i,k]) * s32(W[k,j])", "s1: S[i,j] += s32(Q[i,k])",
                                "s1: S[i,j] += (s32(Q[i,k]) - s32(Z[])) * s32(W[k,j])",
                                "s1: S[i,j] += s32(Q[i,k]) * s32(Q[i,k]) + s32(W[k,j])"}) {
    const Kernel kernel = kernel_of(bytes + sum + rest);
    std::vector<TensorData> data = random_inputs(kernel, Fill::real, 11);
    interpret(kernel, data);
    const auto bounds = error_bounds(kernel, data);
    const auto t = static_cast<std::size_t>(kernel.statements[1].write.tensor.index());
    auto of_reads = bounds;
    of_reads[t].clear();
    EXPECT_EQ(bounds[t], point_errors(kernel.statements[1], kernel.tensors, data, of_reads)) << sum;
    EXPECT_GT(bounds[t].at(0), 0) << sum;
  }
}

TEST(RandomData, HonoursRanges) {
  Random random(4);
  const Tensor tensor{"A", {1000}, DType::u8, {}, false, std::pair{3.0, 127.0}};
  for (const double x : values(random_data(tensor, Fill::integers, random))) {
    EXPECT_GE(x, 3);
    EXPECT_LE(x, 127);
  }
}

/// Sums in another order differ by roundings, which maxima and minima hand on: those of the operand that was chosen,
/// and of the largest element of a window.
TEST(Compare, RoundingsCarryThroughMaximaAndMinima) {
  const std::string product =
      "tensor A: f32[20,64]\ntensor B: f32[64,16]\ntensor b: f32[16]\ntensor T: f32[20,16]\ntensor U: f32[20,16]\n"
      "tensor Y: f32[20,16]\ntensor Z: f32[5,16]\ns0: T[i,j] += A[i,k] * B[k,j] over i: 20, j: 16, k: 64\n"
      "s1: U[i,j] = T[i,j] + b[j] over i: 20, j: 16\n";
  for (const char* rest : {"s2: Y[i,j] = min(max(U[i,j], 0), 6) over i: 20, j: 16\n",
                           "s2: Y[i,j] = max(min(U[i,j], b[j]), -100) over i: 20, j: 16\n",
                           "s2: Y[i,j] = max(U[i,j], 50) over i: 20, j: 16\n"})
    for (const char* window : {"s3: Z[i,j] max= Y[4*i + r,j] over i: 5, j: 16, r: 4\n",
                               "s3: Z[i,j] min= Y[4*i + r,j] over i: 5, j: 16, r: 4\n"}) {
      const Kernel kernel = kernel_of("kernel chain\n" + product + rest + window);
      std::vector<TensorData> expected = random_inputs(kernel, Fill::real, 3);
      for (std::int64_t k = 0; k < 32; ++k) {  // large terms that cancel: errors are much larger than results
        for (std::int64_t i = 0; i < 20; ++i) {
          Scalar large = expected[0].get(64 * i + k);
          large.real *= 256;
          expected[0].set(64 * i + k, large);
          large.real = -large.real;
          expected[0].set(64 * i + k + 32, large);
        }
        for (std::int64_t j = 0; j < 16; ++j) expected[1].set(16 * (k + 32) + j, expected[1].get(16 * k + j));
      }
      std::vector<TensorData> found = expected;
      for (std::int64_t i = 0; i < 20; ++i)  // the terms of each sum the other way round
        for (std::int64_t k = 0; k < 64; ++k) found[0].set(64 * i + k, expected[0].get(64 * i + 63 - k));
      for (std::int64_t k = 0; k < 64; ++k)
        for (std::int64_t j = 0; j < 16; ++j) found[1].set(16 * k + j, expected[1].get(16 * (63 - k) + j));
      interpret(kernel, expected);
      interpret(kernel, found);
      const Comparison same = compare(kernel, expected, found);
      EXPECT_TRUE(same.equal) << rest << window << same.first_difference;
      Scalar wrong = found[6].get(7);
      wrong.real += 1;
      found[6].set(7, wrong);
      EXPECT_FALSE(compare(kernel, expected, found).equal) << rest << window;
    }
}

}  // namespace
}  // namespace isamap
