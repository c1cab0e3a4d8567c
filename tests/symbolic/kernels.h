// SPDX-License-Identifier: Apache-2.0
#pragma once
// Symbolic kernels that several tests compile, and how they are read.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "backends/compiled_runner.h"
#include "driver/execute.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"

namespace isamap {

inline HardwareModel machine_of_file(const std::string& name) {
  return load_hardware(name, {ISAMAP_SOURCE_DIR "/hardware_models"})->model;
}

inline SymbolicKernel symbolic_kernel(const std::string& text) {
  auto kernel = parse_symbolic_kernel(text, "k.yaml", {});
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : SymbolicKernel{};
}

/// A product whose sizes all are symbolic.
inline const std::string symbolic_product = R"(kernel: gemm
dims: {M: {max: 300, likely: 60}, N: {max: 300, likely: 60}, K: {max: 300, likely: 60}}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

/// A convolution with padding; its batch and image are symbolic.
inline const std::string symbolic_image = R"(kernel: conv
dims: {N: {max: 4, likely: 2}, H: {max: 60, likely: 14}, W: {max: 60, likely: 14}}
tensors: {I: {shape: [N, 3, H, W], outside: 0}, F: {shape: [5, 3, 3, 3]}, O: {shape: [N, 5, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
)";

/// Strided, with padding; the output has sizes that follow from those of the image.
inline const std::string symbolic_depthwise = R"(kernel: depthwise
dims: {H: {max: 60, likely: 15}, W: {max: 60, likely: 15}, P: "(H - 1)/2 + 1", Q: "(W - 1)/2 + 1"}
tensors: {I: {shape: [H, W, 20], outside: 0}, F: {shape: [3, 3, 20]}, O: {shape: [P, Q, 20]}}
compute:
  - O[p,q,c] += I[2*p+r-1,2*q+s-1,c] * F[r,s,c]
)";

/// Each position has few terms: those at edges have grids of their own. The windows are 3 x 3, two rows apart. The
/// output has the name of a function.
inline const std::string symbolic_edges = R"(kernel: edges
dims: {N: {max: 3, likely: 1}, H: {max: 60, likely: 15}, W: {max: 60, likely: 15}}
tensors: {I: {shape: [N, H, W, 20], outside: 0}, F: {shape: [3, 3, 20]}, edges_edges1: {shape: [N, H, W, 20]}}
compute:
  - edges_edges1[n,p,q,c] += I[n,p+2*r-2,q+s-1,c] * F[r,s,c]
)";

inline const std::string symbolic_scores = R"(kernel: scores
dims: {H: {max: 8, likely: 2}, S: {max: 200, likely: 60}, T: {max: 200, likely: 60}, D: 24}
tensors: {Q: {shape: [H, S, D]}, K: {shape: [H, T, D]}, P: {shape: [H, S, T]}}
compute:
  - P[h,s,t] += Q[h,s,d] * K[h,t,d]
)";

inline const std::string symbolic_softmax = R"(kernel: softmax
dims: {M: {max: 90, likely: 24}, N: {max: 200, likely: 50}}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}, E: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - H[i] max= X[i,j]
  - E[i,j] = exp(X[i,j] - H[i])
  - L[i] += E[i,j]
  - Y[i,j] = E[i,j] / L[i]
)";

struct SymbolicExample {
  std::string name, text;
};

/// Each example once for each size of its `dims:`, which becomes `{max: 2*n + 40, likely: n}`.
inline std::vector<SymbolicExample> symbolic_examples() {
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

inline const HardwareModel& vector_machine() {
  static const HardwareModel model = machine_of_file("x86_avx2");
  return model;
}

/// The program for all sizes executed at one of them, and compared with the interpreter.
inline Result<Checked> run_at(SymbolicRunner& runner, const SymbolicKernel& kernel, const Bindings& sizes,
                              ExecutionMode how) {
  auto bound = isamap::bind(kernel, sizes);
  if (!bound) return bound.diagnostics();
  Program program;
  program.name = bound->name;
  program.kernel = std::move(*bound);
  runner.set_sizes(sizes);
  return run_and_compare(program, runner, how, 1, 0, {});
}

}  // namespace isamap
