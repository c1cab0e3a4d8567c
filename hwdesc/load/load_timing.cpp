// SPDX-License-Identifier: Apache-2.0
// `timing:`, over the defaults of hwdesc/defaults/timing.yaml.

#include <fmt/format.h>

#include "hwdesc/load/fields.h"
#include "hwdesc/load/skeletons.h"

namespace isamap::loader {

namespace {

void read_timing(const Node& node, TimingParameters& timing, const Context& context) {
  Fields fields(node, "machine timing", "'timing'", context);
  for (const TimingParameter& parameter : timing_parameters) {
    const auto number = fields.real(parameter.key);
    if (number && (*number < parameter.least || *number > parameter.most))
      context.problems.error(fields.node().find(std::string(parameter.key))->where,
                             fmt::format("'{}' of 'timing' is {:g}; a number from {:g} to {:g} is needed",
                                         parameter.key, *number, parameter.least, parameter.most),
                             fmt::format("leave it out for {:g}", default_timing().*parameter.value));
    else if (number)
      timing.*parameter.value = *number;
  }
}

TimingParameters read_defaults() {
  TimingParameters timing;
  Problems problems;
  HardwareModel none;
  const std::vector<std::string> folders;
  const auto root = yaml::parse_text(default_timing_text(), "defaults/timing.yaml");
  if (root) read_timing(*root->find("timing"), timing, Context{none, {}, problems, nullptr, folders});
  ISAMAP_CHECK(root && !problems.any_errors(), "hwdesc/defaults/timing.yaml cannot be read");
  return timing;
}

}  // namespace

void load_timing(const Node& root, Context& context) {
  context.model.timing = default_timing();
  if (const Node* node = top_level(root, "timing", context.problems)) read_timing(*node, context.model.timing, context);
}

}  // namespace isamap::loader

namespace isamap {

const TimingParameters& default_timing() {
  static const TimingParameters timing = loader::read_defaults();
  return timing;
}

}  // namespace isamap
