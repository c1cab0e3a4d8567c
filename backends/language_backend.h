// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of languages: how programs of each are printed and run. A new language is one row in registry.cpp.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "isamap/backend.h"

namespace isamap {

struct LanguageBackend {
  std::string_view name;  ///< `language` of a machine's file
  Result<std::vector<EmittedFile>> (*print)(const Program& program, const HardwareModel& model,
                                            const EmitOptions& options);
  std::unique_ptr<Runner> (*make_runner)(const HardwareModel& model, bool workspace);
  Availability (*availability)(const HardwareModel& model);
  std::optional<Diagnostic> (*beyond_limit)(const Program& program);  ///< null: no limit
};

const LanguageBackend& backend_of(const HardwareModel& model);

// availability.cpp

/// C++: native, with the shim, or under the file's emulator.
Availability cpp_availability(const HardwareModel& model);
/// CUDA: on a GPU of the described architecture, otherwise emulated as plain C++ (backends/cuda/emulation).
Availability kernel_availability(const HardwareModel& model);
/// Commands: in the built-in simulator, or in an external one (`program.run.simulator`), which must be found.
Availability simulator_availability(const HardwareModel& model);

}  // namespace isamap
