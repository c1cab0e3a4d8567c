// SPDX-License-Identifier: Apache-2.0
// The whole compiler in one call: a kernel and a machine in, the text of a program out.
#include "isamap/compile.h"

#include <cstdio>

#include "isamap/backend.h"
#include "isamap/frontends.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: library_compile HARDWARE.yaml KERNEL.yaml\n", stderr), 2;
  const auto hardware = isamap::load_hardware(argv[1], {});
  const auto kernel = isamap::load_kernel(argv[2]);
  if (!hardware || !kernel)
    return std::fputs((render(hardware.diagnostics()) + render(kernel.diagnostics())).c_str(), stderr), 1;
  isamap::CompileOptions options;
  options.schedule.max_evaluations = 100;
  const isamap::Compilation compiled = isamap::compile(*kernel, hardware->model, options);
  if (!compiled.program) return std::fputs(render(compiled.problems).c_str(), stderr), static_cast<int>(compiled.code);
  const auto files = isamap::emit(*compiled.program, hardware->model);
  if (!files) return std::fputs(render(files.diagnostics()).c_str(), stderr), 1;
  std::printf("%zu mappings, %.0f cycles predicted\n%s%s", compiled.mapped.mappings.size(),
              compiled.scheduled->cost.cycles, print(compiled.scheduled->schedule).c_str(), joined(*files).c_str());
}
