// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model on an accelerator as text and as a section of its page: cycles of the parts, what is left to the host,
// memories, links, utilisation.

#include <string>

#include "driver/stream_facts.h"

namespace isamap {

struct StreamReport {
  const StreamFacts& facts;
  const CompiledModel& compiled;
  const ModelRun& run;
};

/// `all`: every part, otherwise the five that take longest. What is left to the host is always named.
std::string stream_text(const StreamReport& report, bool all);
std::string stream_section(const StreamReport& report);

}  // namespace isamap
