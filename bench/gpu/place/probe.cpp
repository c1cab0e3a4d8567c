// SPDX-License-Identifier: Apache-2.0
// Describes the machine: a line of JSON, or why there is no GPU.

#include "isamap_device.h"

int main() {
  device::Gpu gpu;
  device::begin(gpu);
  const std::string compiler = device::open_compiler();
  int major = 0, minor = 0;
  if (compiler.empty()) device::compiler.version(&major, &minor);
  std::printf(
      "{\"phase\": \"probe\", \"status\": \"ok\", \"name\": \"%s\", \"arch\": \"%s\", \"processors\": %d, "
      "\"l2_bytes\": %d, "
      "\"clock_khz\": %d, \"memory_clock_khz\": %d, \"shared_bytes\": %d, \"bytes\": %zu, \"driver\": %d, \"nvrtc\": "
      "\"%d.%d\"}\n",
      gpu.name.c_str(), gpu.arch.c_str(), gpu.processors, gpu.l2_bytes, gpu.clock_khz, gpu.memory_clock_khz,
      gpu.shared_bytes, gpu.bytes, gpu.driver_version, major, minor);
}
