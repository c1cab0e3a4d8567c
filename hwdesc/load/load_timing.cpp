// SPDX-License-Identifier: Apache-2.0
// `timing:`, over the defaults of hwdesc/defaults/timing.yaml.

#include <fmt/format.h>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/load/skeletons.h"

namespace isamap::loader {

namespace {

void read_timing(const Node& node, TimingParameters& timing, Problems& problems) {
  Fields fields(node, "'timing'", problems);
  for (const TimingParameter& parameter : timing_parameters()) {
    const Node* value = fields.child(std::string(parameter.key));
    if (value == nullptr) continue;
    const auto number = yaml::to_real(*value);
    if (number && *number >= parameter.least && *number <= parameter.most)
      timing.*parameter.value = *number;
    else
      problems.error(value->where,
                     fmt::format("'{}' of 'timing' is {}; a number from {:g} to {:g} is needed", parameter.key,
                                 value->kind == Kind::scalar ? "'" + value->scalar + "'" : "no number", parameter.least,
                                 parameter.most),
                     fmt::format("leave it out for {:g}", default_timing().*parameter.value));
  }
}

}  // namespace

void load_timing(const Node& root, Context& context) {
  context.model.timing = default_timing();
  if (const Node* node = root.find("timing")) read_timing(*node, context.model.timing, context.problems);
}

}  // namespace isamap::loader

namespace isamap {

const TimingParameters& default_timing() {
  static const TimingParameters timing = [] {
    TimingParameters defaults;
    loader::Problems problems;
    if (const auto root = yaml::parse_text(default_timing_text(), "defaults/timing.yaml"))
      if (const yaml::Node* node = root->find("timing")) loader::read_timing(*node, defaults, problems);
    return defaults;
  }();
  return timing;
}

}  // namespace isamap
