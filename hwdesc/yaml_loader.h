// SPDX-License-Identifier: Apache-2.0
#pragma once
// YAML to HardwareModel: strict, with every problem of a file reported in one run (hwdesc/README.md).

#include <map>
#include <string>

#include "hwdesc/hardware_model.h"
#include "hwdesc/layout_proofs.h"
#include "support/result.h"

namespace isamap {

struct LoadOptions {
  std::map<std::string, std::string> params = {};  ///< --set name=value, of parameters and symbols
  bool prove = false;                              ///< ask layout_proofs.h too, as `hw check` does
  Sizes sizes = {};                                ///< of symbols, besides those in `params`
  bool in_order = false;                           ///< --no-reorder: a window of one command, whatever the file says
};

struct LoadedHardware {
  HardwareModel model;
  Diagnostics warnings;           ///< "its accumulator can be neither cleared nor read out"
  std::string resolved;           ///< the file with bases merged, parameters and rows put in: means the same by itself
  std::vector<LayoutFact> facts;  ///< with LoadOptions::prove
};

/// `path` is a file or the name of one in `folders` (NAME.yaml). `extends` is looked up beside the file, then in
/// `folders`; it may not leave them.
Result<LoadedHardware> load_hardware(const std::string& path, const std::vector<std::string>& folders,
                                     const LoadOptions& options = {});

}  // namespace isamap
