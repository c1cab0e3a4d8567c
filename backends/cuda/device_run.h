// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels on the GPU of this machine: is there one, and the program around a printed file that runs it there.

#include <string>
#include <vector>

#include "backends/cpp/driver.h"
#include "isamap/hardware.h"

namespace isamap {

/// The GPU of this machine, as its driver describes it.
struct DeviceProbe {
  std::string name, arch;  ///< "sm_90"
  std::string why_not;     ///< there is none that can be used, and why; empty: there is
};

/// Asked once in a process, and by a child: a driver may crash or hang.
const DeviceProbe& probe_device();

/// The architecture that programs of this model are for: the newest that the file requires, since a file also requires
/// what the one does that it extends; empty: it names none.
std::string wanted_arch(const HardwareModel& model);

/// Why programs of this model are not run on the GPU of this machine; empty: they are.
std::string no_device_for(const HardwareModel& model);

/// In the folder of a run: the kernels as text, and their code when it is there.
constexpr const char* device_text_name = "kernel.cu";
constexpr const char* device_code_name = "kernel.cubin";
/// Decides what the runtime compiler makes of a text.
std::string device_code_key(const HardwareModel& model, const std::string& text);

/// What stands behind the host's part of a printed file: `driver DIRECTORY MIN_SECONDS` as driver_text() says, but on
/// the GPU: the kernels are in DIRECTORY/kernel.cubin, or are compiled from DIRECTORY/kernel.cu and left there. Arrays
/// lie between guards that must stay as they are; time is that of a graph of launches. Ends with 77 and words when the
/// GPU lacks something, with 3 when the program is wrong.
std::string device_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                               const HardwareModel& model);

}  // namespace isamap
