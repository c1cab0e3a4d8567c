// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/launch_compile.h"

#include "driver/symbolic/grid_plan.h"
#include "driver/symbolic/symbolic_arguments.h"
#include "driver/symbolic/tile_launch.h"
#include "ir/symbolic/refusal.h"
#include "isamap/backend.h"

namespace isamap {
namespace {

SymbolicCompilation refused(Exit code, Diagnostics problems) {
  SymbolicCompilation result;
  result.code = code;
  result.problems = std::move(problems);
  return result;
}

}  // namespace

SymbolicCompilation compile_launches(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options) {
  if (options.hand_written || !options.versions.empty())
    return refused(Exit::no_answer,
                   {error(refused_for_all_sizes("a written schedule is bound at each size on '" + model.name + "'"),
                          "leave out --schedule, or bind sizes with --sizes")});
  auto launches = statement_launches(kernel);
  if (!launches) return refused(Exit::no_answer, launches.diagnostics());
  Compilation likely = compile(kernel.sample, model, options);
  if (!likely.program) return refused(likely.code, likely.problems);
  if (!uses_no_instruction(likely.scheduled->schedule))
    for (std::size_t s = 0; s < launches->size(); ++s) {
      auto tiles = tiled_launches(kernel, s, model, options);
      if (!tiles) return refused(Exit::no_answer, tiles.diagnostics());
      (*launches)[s].tiles = std::move(*tiles);
    }
  SymbolicCompilation result;
  SymbolicProgram program;
  program.kernel = kernel;
  program.versions.push_back({{}, {}});
  program.arguments = symbolic_arguments(kernel.sample);
  program.arguments.sums_in_order = program.arguments.library_functions = options.strict_float;
  program.launches = std::move(*launches);
  auto files = emit(program, model);
  if (!files) {  // with the tiles of the likely sizes alone
    for (StatementLaunch& launch : program.launches)
      if (launch.tiles.size() > 1) launch.tiles.resize(1);
    files = emit(program, model);
  }
  if (!files) return refused(Exit::no_answer, files.diagnostics());
  result.schedules.push_back(std::move(likely.scheduled->schedule));
  result.found_at.push_back(0);
  result.program = std::move(program);
  return result;
}

}  // namespace isamap
