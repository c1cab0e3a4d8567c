// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/nest_of_all_dims.h"

namespace isamap {

Nest nest_of_all_dims(const Computation& statement) {
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
