// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scalar_nest.h"

#include "hwdesc/model/parallel_units.h"
#include "support/arithmetic.h"

namespace isamap {

Nest scalar_nest(const Computation& statement, const std::optional<For>& shared) {
  Nest nest;
  if (shared) nest.lines.push_back(Line{*shared});
  for (const Dim& dim : statement.domain.dims)
    if (dim.extent != 1) nest.lines.push_back(Line{For{{}, {{dim.name, 1}}, "", Tail::none, ""}});
  Do line;
  line.statement = statement.name;
  nest.lines.push_back(Line{line});
  return nest;
}

std::vector<For> shares_of(const Computation& statement, const HardwareModel& model) {
  std::vector<For> shares;
  const auto threads = threads_of_programs(model);
  if (!threads) return shares;
  const Unit& unit = model.unit(*threads);
  for (const Dim& dim : statement.domain.dims)
    if (dim.kind == DimKind::parallel && dim.extent > 1)
      shares.push_back(For{{}, {{dim.name, ceil_div(dim.extent, unit.count)}}, unit.name, Tail::none, ""});
  return shares;
}

}  // namespace isamap
