// SPDX-License-Identifier: Apache-2.0
// --threads of a model: the number is a parameter of the hardware file, which says which.

#include <fmt/format.h>

#include <algorithm>

#include "cli/models.h"
#include "hwdesc/model/program_language.h"

namespace isamap::cli {

bool set_threads(Options& options, Exit& code) {
  const std::int64_t asked = options.onnx.threads;
  if (asked == 0) return true;
  const auto machine = load_target(options);
  code = Exit::wrong_input;
  if (!machine) return false;
  const auto& units = machine->units();
  const auto unit = std::find_if(units.begin(), units.end(), [](const Unit& u) { return !u.threads.param.empty(); });
  if (unit == units.end()) {
    if (asked == 1) return true;
    code = fail(Exit::usage,
                is_host_code(*machine)
                    ? fmt::format("--threads {}: '{}' describes no threads", asked, machine->name)
                    : fmt::format("--threads {}: programs in C++ have threads; those of '{}' are {}", asked,
                                  machine->name, find_language(machine->program.language)->title),
                "a unit with 'threads' and its 'param' (hwdesc/README.md)");
    return false;
  }
  const Threads& threads = unit->threads;
  if (threads.most > 0 && asked > threads.most) {
    code = fail(Exit::usage, fmt::format("--threads {}: '{}' has at most {}", asked, machine->name, threads.most),
                fmt::format("fewer, or raise 'most' of the threads of {}", unit->name));
    return false;
  }
  const auto [given, is_new] = options.params.emplace(threads.param, std::to_string(asked));
  if (is_new || given->second == std::to_string(asked)) return true;
  code = fail(Exit::usage,
              fmt::format("--threads {} and --set {}={} contradict each other", asked, threads.param, given->second),
              "give one of them");
  return false;
}

}  // namespace isamap::cli
