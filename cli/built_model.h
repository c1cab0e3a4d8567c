// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model planned and compiled for a machine as the options of a verb ask: what `run`, `emit`, `tune` and `explain` of
// models begin with.

#include <functional>
#include <optional>

#include "cli/model_sizes.h"
#include "driver/compile_model.h"
#include "driver/plan/part_store.h"

namespace isamap::cli {

/// A model with its machine, plan and compiled parts. Empty: the problem is reported and `code` set.
struct Built {
  HardwareModel machine;
  Prepared prepared;  ///< stored in the orders of the plan
  Kernel imported;    ///< with the orders of the file, which plans speak of
  CompiledModel compiled;
  double importing = 0, planning = 0;
};

/// Plans and compiles one model.
class Builder {
 public:
  /// `printed`: is a model printed for this machine? Others are refused before anything is planned.
  using Possible = bool (*)(const HardwareModel&);
  Builder(const Options& options, Exit& code, Possible printed = nullptr)
      : options_(options), code_(code), printed_(printed) {}

  /// `runs`: the program will be compiled here, so parts are while others are searched.
  std::optional<Built> build(bool runs = false);
  Progress& progress() { return progress_; }

 private:
  PartStoreOptions store_options();
  ProgramReader compiled_ahead(const std::string& model) const;
  PartStore& draft();
  Model fitted(const Model& imported);
  std::optional<Built> reported(Exit why, const Diagnostics& problems);

  Options options_;
  Exit& code_;
  const Possible printed_;
  Progress progress_;
  std::optional<HardwareModel> machine_;
  std::optional<PartStore> draft_;  ///< of machine_
};

}  // namespace isamap::cli
