// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/scalar_nest.h"

namespace isamap {

Nest scalar_nest(const Computation& statement) {
  Nest nest;
  for (const Dim& dim : statement.domain.dims) {
    For loop;
    loop.loops = {{dim.name, 1}};
    nest.lines.push_back(Line{loop});
  }
  Do element;
  element.statement = statement.name;
  nest.lines.push_back(Line{element});
  return nest;
}

}  // namespace isamap
