// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled parts of models by their text: equal parts are searched once, within a model, among the plans that are
// compared for it, and, where there is a program cache, from run to run.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/compile.h"

namespace isamap {

struct PartStoreOptions {
  CompileOptions compile;
  std::size_t jobs = 1;     ///< parts compiled side by side; results do not depend on it
  std::string compiled_as;  ///< all that a schedule depends on besides the part, for the cache; empty: it is not used
  std::string tuned_as;     ///< the same of a tuned schedule, which no search option changes; empty: none is taken
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// What runs between two calls of a part: the rest of the model, which evicts its weights, or the other parts of its
/// bands, which evict them from the nearest cache only.
enum class Between { model, bands };

class PartStore {
 public:
  /// `machine` must outlive it.
  PartStore(const HardwareModel& machine, PartStoreOptions options);

  /// Takes part `number` once it is compiled, by any thread.
  using Reader = std::function<void(std::size_t number, const Compilation& made)>;
  /// Compiles those that are not known. `read` is called for each of them, also for known ones.
  void add(const std::vector<Kernel>& parts, Between between = Between::model, const Reader& read = {});
  /// Compiles one by this schedule, if it is not known.
  void add_scheduled(const Kernel& part, Schedule schedule);
  /// Null: not added.
  std::shared_ptr<const Compilation> find(const Kernel& part, Between between = Between::model) const;
  /// Predicted cycles; infinite without a program.
  double price(const Kernel& part, Between between = Between::model) const;

  const HardwareModel& machine() const { return machine_; }
  /// Keeps a tuned schedule of the part, for this machine: later compilations of the part take it.
  void keep_tuned(const Kernel& part, const Schedule& schedule) const;

  std::size_t searched = 0;  ///< parts whose schedule was searched, not read

 private:
  Compilation compiled(const Kernel& part, Between between, bool& by_search) const;
  /// With the schedule that the cache has under this key, if it has one that lowers.
  std::optional<Compilation> cached(const std::string& key, const Kernel& part, Between between) const;
  const HardwareModel& machine_of(Between between) const { return between == Between::bands ? in_bands_ : machine_; }

  const HardwareModel& machine_;
  HardwareModel in_bands_;  ///< the same with warm weights
  PartStoreOptions options_;
  std::map<std::string, std::shared_ptr<const Compilation>> by_key_;
};

/// The part with names that do not depend on its place in the model: equal parts have the same text.
std::string key_of(Kernel part);

}  // namespace isamap
