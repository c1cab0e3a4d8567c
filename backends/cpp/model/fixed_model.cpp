// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/model/fixed_calls.h"
#include "backends/cpp/model/fixed_parts.h"
#include "backends/cpp/model/fixed_text.h"
#include "backends/cpp/model/fixed_units.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/model/model_unit.h"
#include "backends/cpp/text/names.h"

namespace isamap {

Result<ModelUnit> print_model(const ModelProgram& model, const HardwareModel& machine, std::size_t least_in_units) {
  const std::string name = model_name(model.name);
  auto printed = print_parts(model, machine, name);
  if (!printed) return printed.diagnostics();
  const std::vector<FixedPart>& parts = printed->parts;
  const bool team = printed->team;
  printed->around.includes.insert({"<cstdlib>", "<cstring>"});
  if (team) printed->around.includes.insert("<atomic>");
  const PointerAlignments aligns = pointer_alignments(model, parts);
  const int helpers = team ? threads_of(machine) - 1 : 0;
  const std::string rest = with_name(fixed_opening(model, ModelKind::fixed, model.arena_bytes, helpers), name) +
                           with_name(run_function(model, *printed, aligns), name);
  ModelUnit unit;
  unit.name = name;
  unit.in_units = splits_into_units(parts, least_in_units);
  if (unit.in_units) {
    unit.part_files =
        part_files(parts, machine, name, least_in_units == least_for_units ? full_part_file : least_in_units);
    unit.flags_for_part_files = flags_for_part_files(parts, name);
  }
  const std::string code = (team ? with_name(team_text(machine), name) : "") +
                           (unit.in_units ? text_of_units(parts, rest, name) : text_of_one_unit(parts, rest));
  unit.text = comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\nneeds {}\n\nassumptions:\n"
                                  "inputs, outputs and the arena do not overlap\n",
                                  name, machine.name, needed_flags(machine, team ? "-pthread" : "")),
                      " ");
  for (const std::string& one : printed->assumptions) unit.text += comment(one, " ");
  unit.text += "\n#include \"" + name + ".h\"\n\n#include <fcntl.h>\n";
  if (team) unit.text += team_includes;
  unit.text += "#include <sys/mman.h>\n#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n\n";
  unit.text += surrounding_text(machine, printed->around, code) + code;
  unit.header = fixed_header(model, machine.name, ModelKind::fixed, aligns);
  unit.arena_bytes = model.arena_bytes;
  return unit;
}

}  // namespace isamap
