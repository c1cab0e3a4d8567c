// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conformance matrix: every hardware model x every example, both found in their folders, at several sizes.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/mapper.h"
#include "isamap/program.h"
#include "isamap/scheduler.h"

namespace isamap::conformance {

std::vector<std::string> model_names();    ///< of hardware_models/*.yaml, sorted
std::vector<std::string> example_names();  ///< of examples/*.yaml, sorted

/// The name of a test is that of its model.
inline std::string model_of_case(const testing::TestParamInfo<std::string>& info) { return info.param; }

HardwareModel load_model(const std::string& name);
std::vector<std::string> extended_models(const std::string& name);  ///< those that its file extends, by name
std::vector<std::string> fixed_model_names();                       ///< those whose sizes are all in the file
std::vector<std::string> kernel_model_names();                      ///< those whose programs are kernels of a GPU
std::vector<std::string> accelerator_names();   ///< those whose commands are simulated, beside a host
std::vector<std::string> scaled_model_names();  ///< those with sizes that only the machine knows

/// A kernel at one choice of sizes.
struct Variant {
  std::string label;  ///< "conv2d small", "conv2d K=0"
  Kernel kernel;
};

/// A product of M x K and K x N bytes with sums of 32 bits.
Kernel gemm_s8(int M, int N, int K);

/// As the file has it.
Kernel original(const std::string& example);
/// Same shape, sizes cut so that the kernel has at most `points` points.
std::optional<Variant> small(const std::string& example, std::int64_t points);
/// Odd and prime sizes that no instruction's extent divides.
std::optional<Variant> odd(const std::string& example);
/// One size of many steps, each in turn, and the others short multiples of what moves take at once.
std::vector<Variant> elongated(const std::string& example);
std::optional<Variant> ones(const std::string& example);
/// Each size 0 in turn, the others tiny. Sizes that make a shape negative are left out.
std::vector<Variant> zeros(const std::string& example);

/// From kernel to verified program, or where it ended.
struct Compiled {
  MapResult mapped;
  std::optional<Scheduled> scheduled;
  std::optional<Program> program;
  std::string problem;  ///< rendered diagnostics
};
/// `in_order`: no sum is shared.
Compiled compile(const Kernel& kernel, const HardwareModel& model, bool in_order = false);
/// With a version for every size of the machine and scalar code for all others.
Compiled compile_all_sizes(const Kernel& kernel, const HardwareModel& model);

/// Empty when the program's outputs equal the kernel's by interpretation; otherwise the first difference.
std::string interpreted_difference(const Program& program, const HardwareModel& model, Fill fill, std::uint64_t seed);

}  // namespace isamap::conformance
