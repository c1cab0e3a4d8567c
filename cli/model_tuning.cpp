// SPDX-License-Identifier: Apache-2.0
// tune MODEL: measured schedules of the parts that take longest.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/function/team.h"
#include "cli/built_model.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/models.h"
#include "driver/tune_model.h"
#include "hwdesc/model/program_language.h"
#include "jobs/device.h"

namespace isamap::cli {
namespace {

nlohmann::ordered_json json_of(const TunedModel& tuned) {
  auto parts = nlohmann::ordered_json::array();
  for (const TunedPart& part : tuned.parts)
    parts.push_back({{"name", part.name},
                     {"calls", part.calls},
                     {"candidates", part.candidates},
                     {"seconds_before", part.before},
                     {"seconds", part.after},
                     {"kept", part.kept}});
  return parts;
}

std::string text_of(const TunedModel& tuned) {
  std::string text;
  for (const TunedPart& part : tuned.parts)
    text += fmt::format("{}{}: {:.4g} us before, {:.4g} us with the fastest of {} candidates; {}\n", part.name,
                        part.calls > 1 ? fmt::format(" and {} more", part.calls - 1) : "", part.before * 1e6,
                        part.after * 1e6, part.candidates, part.kept ? "kept" : "as before");
  return text + fmt::format("the whole: {:.4g} ms before, {:.4g} ms after; run and emit take these schedules\n",
                            tuned.before * 1e3, tuned.after * 1e3);
}

}  // namespace

Exit tune_model(const Options& options) {
  Exit code = Exit::ok;
  Builder builder(options, code, is_host_code);
  const auto built = builder.build(true);
  if (!built) return code;
  if (const std::string why = not_timed(built->machine); !why.empty())
    return fail(Exit::missing, "nothing can be measured: " + why);
  const PartStoreOptions store = part_options(options, built->machine);
  if (!has_cache() || store.tuned_as.empty())
    return fail(Exit::missing, "the schedules that are found are kept in the cache of programs, and there is none",
                "unset ISAMAP_CACHE, or name a folder in it");
  answer_interrupts();
  note_result();
  TuneModelOptions with;
  with.compile = store.compile;
  with.measured = static_cast<std::size_t>(options.lab.measured);
  with.seed = options.seed;
  with.jobs = options.schedule.jobs;
  with.alone = [] { return std::make_shared<jobs::DeviceLock>(); };  // of all timings on this machine
  with.stopped = interrupted;
  with.progress = [&](const std::string& text) { builder.progress()(text); };
  const TunedModel tuned =
      isamap::tune_model(built->prepared.model, built->compiled, built->machine, built->prepared.data, with);
  if (tuned.code != Exit::ok) {
    code = fail(tuned.code, tuned.problems);
    return options.json ? deliver(options, json_of_failure(code, tuned.problems), code) : code;
  }
  const PartStore kept(built->machine, store);
  for (const TunedPart& part : tuned.parts)
    if (part.kept) kept.keep_tuned(part.kernel, tuned.compiled.programs[part.program]->scheduled->schedule);
  const nlohmann::ordered_json json = {{"schema_version", 1},
                                       {"model", built->prepared.model.kernel.name},
                                       {"target", built->machine.name},
                                       {"threads", threads_of(built->machine)},
                                       {"seconds_before", tuned.before},
                                       {"seconds", tuned.after},
                                       {"stopped", interrupted()},
                                       {"part_list", json_of(tuned)}};
  return deliver(options, options.json ? printed(json) : text_of(tuned));
}

}  // namespace isamap::cli
