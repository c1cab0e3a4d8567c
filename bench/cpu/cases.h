#pragma once
// What `bench cpu` measures: shapes of published networks and benchmarks, and odd ones, each as a kernel of ours.

#include <cstdint>
#include <string>
#include <vector>

namespace isamap::bench {

/// Tensors are row-major; of images [n, h, w, channels].
struct CpuCase {
  enum class Kind { gemm, convolution, depthwise, block, gru, lstm };
  std::string family;  ///< "gemm f32"
  std::string name;    ///< of the shape: "16x3072x1024"
  std::string kernel;  ///< YAML; inputs then output, weights behind the data
  Kind kind = Kind::gemm;
  double operations = 0;  ///< two for each multiply-add; of padding too
  bool packed = false;    ///< weights are constant
  std::string types;      ///< "f32", "bf16", "u8s8"
  // gemm: m x n over k. gru, lstm: m the batch, n the state, k the steps; the input is as wide as the state. Images:
  // channels c, height and width h, output channels n, window r, stride, padding.
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t c = 0, h = 0, r = 0, stride = 1, pad = 0;
  // gemm, besides: in turn for each of a batch; a factor may lie transposed; `gap` elements that belong to others
  // follow every row of the caller's arrays.
  std::int64_t batch = 1, gap = 0;
  bool transposed_a = false, transposed_b = false;
  std::int64_t out() const { return (h + 2 * pad - r) / stride + 1; }
};

/// How a factor or the result of a product lies: `rows` x `columns` as written, rows `step` elements apart.
struct MatrixPlace {
  std::int64_t rows = 0, columns = 0, step = 0;
  bool transposed = false;
};
MatrixPlace place_a(const CpuCase& c);
MatrixPlace place_b(const CpuCase& c);
MatrixPlace place_c(const CpuCase& c);

/// Two for each multiply-add, those with padding left out: what no implementation can do without.
double needed_operations(const CpuCase& c);

CpuCase product(const std::string& types, bool packed, std::int64_t m, std::int64_t n, std::int64_t k);
/// Transposed factors, rows that lie apart, batches, one or few columns.
void add_product_families(std::vector<CpuCase>& cases);
std::vector<CpuCase> cpu_cases();

}  // namespace isamap::bench
