// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels on the local GPU: detection, and the driver program around a printed file.

#include <string>
#include <vector>

#include "backends/cpp/driver.h"
#include "isamap/hardware.h"

namespace isamap {

/// The GPU of this machine, as its driver describes it.
struct DeviceProbe {
  std::string name, arch;  ///< "sm_90"
  std::string why_not;     ///< why no GPU can be used; empty: one can
};

/// Probed once per process, in a child process, since a driver may crash or hang.
const DeviceProbe& probe_device();

/// The target architecture of the model: the newest that the file requires (it inherits the requirements of its base);
/// empty: none named.
std::string wanted_arch(const HardwareModel& model);

/// Why programs of this model do not run on the local GPU; empty: they do.
std::string no_device_for(const HardwareModel& model);

/// File names in the folder of a run: kernel source, and its compiled code if present.
constexpr const char* device_text_name = "kernel.cu";
constexpr const char* device_code_name = "kernel.cubin";
/// Everything but the source that determines the output of the runtime compiler.
std::string device_code_key(const HardwareModel& model, const std::string& text);

/// Appended to the host part of a printed file: `driver DIRECTORY MIN_SECONDS` as in driver_text(), but on the GPU:
/// kernels are loaded from DIRECTORY/kernel.cubin, or compiled from DIRECTORY/kernel.cu and stored there. Arrays are
/// surrounded by guard bytes that are checked; the time is that of a graph of launches. Exit code 77 with a reason when
/// the GPU lacks something, 3 when the program is wrong.
std::string device_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                               const HardwareModel& model);

}  // namespace isamap
