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
  std::int64_t out() const { return (h + 2 * pad - r) / stride + 1; }
};

std::vector<CpuCase> cpu_cases();

}  // namespace isamap::bench
