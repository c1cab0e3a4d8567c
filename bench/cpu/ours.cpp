// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/ours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "backends/cpp/compile/compiler.h"
#include "bench/cpu/measure.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/vectorized_reductions.h"

namespace isamap::bench {
namespace {

const std::vector<std::string> folders{ISAMAP_SOURCE_DIR "/hardware_models"};

/// With the strides of the caller's arrays.
Kernel kernel_of(const CpuCase& c) {
  Kernel kernel = value_or_stop(parse_kernel_yaml(c.kernel, c.name));
  for (const TensorId t : arguments(kernel))
    if (c.gap > 0) kernel.tensors[t.index()].strides = {kernel.tensors[t.index()].shape.back() + c.gap, 1};
  return kernel;
}

}  // namespace

void stop(const std::string& why) {
  std::fputs((why + "\n").c_str(), stderr);
  std::exit(1);
}

std::string only_target;

std::vector<HardwareModel> models_for(const std::string& types, int cores) {
  std::vector<std::string> targets{"x86_zen5", "x86_zen4", "x86_avx512", "x86_avx2", "scalar_c"};
  if (types == "bf16") targets = {"intel_amx", "x86_zen5", "x86_zen4", "x86_avx512_bf16", "x86_avx2"};
  if (types == "u8s8") targets = {"intel_amx", "x86_zen5", "x86_zen4", "x86_avx512_vnni", "x86_avx_vnni", "x86_avx2"};
  if (!only_target.empty()) targets = {only_target};
  std::vector<HardwareModel> found;
  for (const std::string& target : targets) {
    LoadOptions options;
    if (cores > 1) options.params["cores"] = std::to_string(cores);
    auto loaded = load_hardware(target, folders, options);
    if (!loaded && cores > 1) continue;  // it has no such parameter
    HardwareModel model = value_or_stop(std::move(loaded)).model;
    if (availability(model).how == ExecutionMode::native) found.push_back(std::move(model));
  }
  return found;
}

std::optional<Ours> ours(const CpuCase& c, int cores) {
  Kernel kernel = kernel_of(c);
  const auto models = models_for(c.types, cores);
  if (models.empty()) return std::nullopt;
  const HardwareModel& model = models.front();
  const double begin = thread_seconds();
  const MapResult mapped = value_or_stop(enumerate_mappings(kernel, model, MapOptions{}));
  ScheduleOptions options;
  options.objective = Objective::cycles;
  const Scheduled scheduled =
      value_or_stop(schedule_or_in_lanes(kernel, mapped, model, options, MapOptions{})).scheduled;
  const Program program = value_or_stop(lower(scheduled.schedule, kernel, model));
  const double end = thread_seconds();
  return Ours{kernel,
              model.name,
              print(scheduled.schedule),
              compiler_for(model).command.empty() ? "" : compiler_for(model).command.front(),
              value_or_stop(load_program(program, model)),
              end - begin,
              scheduled.cost.cycles};
}

std::vector<Seen> candidates_of(const CpuCase& c, const HardwareModel& model, std::size_t count) {
  const Kernel kernel = kernel_of(c);
  const MapResult mapped = value_or_stop(enumerate_mappings(kernel, model, MapOptions{}));
  std::map<std::string, std::pair<double, Nest>> seen;  // by text: a search revisits schedules
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.watch = [&](const Trial& trial) {
    if (!trial.objective || !trial.nest) return;
    std::string text;
    for (const Line& line : trial.nest->lines) text += print(line) + "\n";
    seen.emplace(text, std::pair(*trial.objective, *trial.nest));
  };
  const Scheduled scheduled = value_or_stop(schedule(kernel, mapped, model, options));
  std::vector<Seen> found{{scheduled.cost.cycles, scheduled.schedule}};
  std::vector<Seen> others;
  for (auto& [text, one] : seen) {
    if (one.first > 2 * scheduled.cost.cycles || one.second == scheduled.schedule.nests.front()) continue;
    others.push_back({one.first, scheduled.schedule});
    others.back().schedule.nests = {one.second};
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const Seen& a, const Seen& b) { return a.predicted < b.predicted; });
  const auto take = [&](std::size_t i) {
    if (i < others.size() && lower(others[i].schedule, kernel, model)) found.push_back(others[i]);
  };
  const std::size_t near = std::min(count / 2, others.size()), far = others.size() - near;
  for (std::size_t i = 0; i < near; ++i) take(i);
  const std::size_t rest = count - 1 - std::min(count - 1, near);
  for (std::size_t i = 0; i < std::min(rest, far); ++i)
    take(near + (i * far + far / 2) / std::max<std::size_t>(rest, 1));
  return found;
}

}  // namespace isamap::bench
