// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cases of `bench cpu`: shapes of published networks and benchmarks, and odd sizes, each as a kernel.

#include <cstdint>
#include <string>
#include <vector>

namespace isamap::bench {

/// A sliding window along one axis of an image.
struct Axis {
  std::int64_t size = 0, window = 0, stride = 1, pad = 0;
  std::int64_t out() const { return (size + 2 * pad - window) / stride + 1; }
};

/// A convolution: every output channel from all input channels or (depthwise) from its own.
struct Filter {
  bool depthwise = false;
  std::int64_t images = 1, in = 0, out = 0;  ///< out: = in if depthwise
  Axis down, across;
};

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
  // gemm: m x n over k. gru, lstm: m the batch, n the state, k the steps; the input is as wide as the state.
  std::int64_t m = 0, n = 0, k = 0;
  Filter filter;           ///< of images
  std::int64_t mixed = 0;  ///< of a block: the channels that the depthwise layer's are mixed into
  // gemm also: batched; transposed factors; `gap` padding elements after every row of the caller's arrays.
  std::int64_t batch = 1, gap = 0;
  bool transposed_a = false, transposed_b = false;
};

/// Layout of a factor or result of a product: `rows` x `columns`, row stride of `step` elements.
struct MatrixPlace {
  std::int64_t rows = 0, columns = 0, step = 0;
  bool transposed = false;
};
MatrixPlace place_a(const CpuCase& c);
MatrixPlace place_b(const CpuCase& c);
MatrixPlace place_c(const CpuCase& c);

/// Of a block: its second layer, and the size of the intermediate tensor.
Filter pointwise_of(const CpuCase& c);
std::size_t elements_between(const CpuCase& c);

/// Two per multiply-add, excluding padding: the minimum of any implementation.
double needed_operations(const CpuCase& c);

CpuCase product(const std::string& types, bool packed, std::int64_t m, std::int64_t n, std::int64_t k);
/// Transposed factors, row strides, batches, one or few columns.
void add_product_families(std::vector<CpuCase>& cases);
std::vector<CpuCase> cpu_cases();

}  // namespace isamap::bench
