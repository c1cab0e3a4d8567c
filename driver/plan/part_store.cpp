// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/part_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "backends/cpp/compile/program_cache.h"
#include "support/threads.h"

namespace isamap {
namespace {

std::string key_of(const Kernel& part, Between between) {
  return key_of(part) + (between == Between::bands ? "in bands\n" : "");
}

/// The nearest cache holds less than what a band touches; those behind it hold its weights.
HardwareModel with_warm_weights(HardwareModel machine) {
  for (const Memory& memory : machine.memories())
    if (memory.kind == MemoryKind::cache)
      machine.timing.between_runs = std::min(machine.timing.between_runs, static_cast<double>(memory.capacity) + 1);
  return machine;
}

std::string tuned_key(const Kernel& part, const std::string& tuned_as) {
  return "tuned schedule of a part\n" + print(part) + tuned_as;
}

}  // namespace

PartStore::PartStore(const HardwareModel& machine, PartStoreOptions options)
    : machine_(machine), in_bands_(with_warm_weights(machine)), options_(std::move(options)) {}

std::string key_of(Kernel part) {
  part.name = "part";
  for (std::size_t t = 0; t < part.tensors.size(); ++t) part.tensors[t].name = fmt::format("t{}", t);
  for (std::size_t s = 0; s < part.statements.size(); ++s) part.statements[s].name = fmt::format("s{}", s);
  return print(part);
}

void PartStore::add(const std::vector<Kernel>& parts, Between between, const Reader& read) {
  struct Task {
    std::size_t part;
    std::string key;
    std::shared_ptr<const Compilation> known;  ///< only to be read
  };
  std::vector<Task> tasks;
  std::size_t unknown = 0, done = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::string key = key_of(parts[p], between);
    const auto [known, is_new] = by_key_.try_emplace(key, nullptr);
    if (is_new || (read && known->second != nullptr)) tasks.push_back({p, std::move(key), known->second});
    unknown += is_new ? 1 : 0;
  }
  // Long ones first: at the end all workers have something to do. A reader wants them in order.
  if (!read)
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task& a, const Task& b) { return a.key.size() > b.key.size(); });
  std::mutex lock;
  const auto workers = std::make_shared<Workers>(static_cast<int>(options_.jobs));
  options_.compile.schedule.workers = workers;  // the search of the last part has all of them
  workers->for_each(tasks.size(), [&](std::size_t t) {
    const Task& task = tasks[t];
    if (task.known) return read(task.part, *task.known);
    bool by_search = false;
    const auto made = std::make_shared<const Compilation>(compiled(parts[task.part], between, by_search));
    {
      const std::lock_guard<std::mutex> held(lock);
      by_key_[task.key] = made;
      searched += by_search ? 1 : 0;
      options_.progress(fmt::format("{} of {} parts searched", ++done, unknown));
    }
    if (read) read(task.part, *made);
  });
}

std::optional<Compilation> PartStore::cached(const std::string& key, const Kernel& part, Between between) const {
  const auto text = read_from_cache(key);
  if (!text) return std::nullopt;
  auto schedule = parse_schedule(*text, "cached schedule", part, machine_of(between));
  if (!schedule) return std::nullopt;
  CompileOptions by_hand = options_.compile;
  by_hand.hand_written = std::move(*schedule);
  Compilation made = compile(part, machine_of(between), by_hand);
  return made.program ? std::optional(std::move(made)) : std::nullopt;
}

Compilation PartStore::compiled(const Kernel& part, Between between, bool& by_search) const {
  std::string key = "schedule of a part\n" + print(part) + options_.compiled_as;
  if (between == Between::bands) key += "weights of bands\n";
  if (!options_.tuned_as.empty())
    if (auto made = cached(tuned_key(part, options_.tuned_as), part, between)) return std::move(*made);
  if (!options_.compiled_as.empty())
    if (auto made = cached(key, part, between)) return std::move(*made);
  by_search = true;
  Compilation made = compile(part, machine_of(between), options_.compile);
  if (made.program && !options_.compiled_as.empty()) write_to_cache(key, print(made.scheduled->schedule));
  return made;
}

void PartStore::keep_tuned(const Kernel& part, const Schedule& schedule) const {
  if (!options_.tuned_as.empty()) write_to_cache(tuned_key(part, options_.tuned_as), print(schedule));
}

void PartStore::add_scheduled(const Kernel& part, Schedule schedule) {
  auto& known = by_key_[key_of(part)];
  if (known != nullptr) return;
  CompileOptions by_hand = options_.compile;
  by_hand.hand_written = std::move(schedule);
  known = std::make_shared<const Compilation>(compile(part, machine_, by_hand));
}

std::shared_ptr<const Compilation> PartStore::find(const Kernel& part, Between between) const {
  const auto known = by_key_.find(key_of(part, between));
  return known == by_key_.end() ? nullptr : known->second;
}

double PartStore::price(const Kernel& part, Between between) const {
  const auto known = find(part, between);
  return known && known->program ? known->scheduled->cost.cycles : std::numeric_limits<double>::infinity();
}

}  // namespace isamap
