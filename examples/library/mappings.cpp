// SPDX-License-Identifier: Apache-2.0
// The mapper alone: load, enumerate lazily, filter, print, prove.
#include <cstdio>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: library_mappings HARDWARE.yaml KERNEL.yaml\n", stderr), 2;
  const auto hardware = isamap::load_hardware(argv[1], {});
  const auto kernel = isamap::load_kernel(argv[2]);
  if (!hardware || !kernel)
    return std::fputs((render(hardware.diagnostics()) + render(kernel.diagnostics())).c_str(), stderr), 1;
  isamap::MapOptions options;
  options.rule = isamap::Rule::all;
  options.max_mappings = 1'000'000;  // nothing is kept, so there may be many
  int shown = 0;
  const auto seen = isamap::for_each_mapping(*kernel, hardware->model, options, [&](const isamap::Mapping& mapping) {
    if (mapping.utilisation < 0.75) return true;  // a filter; false would end the enumeration
    const isamap::Verdict verdict = prove(*kernel, hardware->model, mapping);
    std::printf("%s: %s\n", print(mapping, *kernel, hardware->model).c_str(),
                verdict.proof == isamap::Proof::proved ? "proved" : verdict.failed.c_str());
    return ++shown < 5;
  });
  if (!seen) return std::fputs(render(seen.diagnostics()).c_str(), stderr), 1;
  std::printf("%lld mappings seen, %d shown\n", static_cast<long long>(seen->mappings), shown);
  return shown > 0 ? 0 : 3;
}
