// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translation_unit.h"

#include <fmt/format.h>

#include "backends/cuda/device_file.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/reserved_words.h"
#include "backends/cuda/thread_binding.h"

namespace isamap {

Result<TranslationUnit> print_cuda(const Program& program, const HardwareModel& model) {
  const auto grid = grid_unit(model);
  if (!grid)
    return error(fmt::format("no unit of '{}' has an index, which a program in its language needs", model.name),
                 "give an `index` to the unit of thread blocks and to the units inside it");
  const std::string name = own_name(program.name);
  DeviceFile file(model, *grid, program.library_functions);
  for (const char* behind : {"", "_pack", "_emulated", "_pack_emulated"}) file.names.unique(name + behind);
  auto made = program_entries(program, file, name);
  if (!made) return made.diagnostics();
  TranslationUnit unit;
  unit.name = name;
  unit.run_as = name + "_emulated";
  unit.pack_as = name + "_pack_emulated";
  unit.arguments = std::move(made->arguments);
  unit.pack = std::move(made->pack);
  unit.text = header_comment(program, model) + "// arrays are on the device and begin at multiples of 16 bytes\n\n" +
              file.text(made->text);
  return unit;
}

SharedPart emulation_part() {
  return {emulation_header_name, emulation_header(), "ISAMAP_EMULATION_DECLARED", "ISAMAP_EMULATION_DEFINED"};
}

}  // namespace isamap
