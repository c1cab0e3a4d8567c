// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs and outputs of a model in files: .npz, .npy, or a folder of input_N.pb and output_N.pb.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "frontends/model.h"
#include "isamap/symbolic.h"

namespace isamap::cli {

/// The arrays of --inputs.
struct ModelFiles {
  std::string path;               ///< empty: none were given
  std::vector<NamedData> inputs;  ///< of .npz and .npy: all arrays
  std::vector<NamedData> outputs;
  /// Those of --constant, by the name of the input; they are not among `inputs`.
  std::map<std::string, std::shared_ptr<const TensorData>> constants;
};
Result<ModelFiles> load_model_files(const Options& options);

/// By name where the files have names of the model, else in order; without files random ones from --seed.
Result<std::vector<TensorData>> inputs_of(const Model& model, const ModelFiles& files, const Options& options);

/// An open size of the model as the shape of an array says it.
struct SizeOfArray {
  std::int64_t extent = 0;
  std::string place;  ///< "axis 0 of 'x'"
};
/// Sizes that the model leaves open, by name; none without --inputs. Arrays that contradict each other are an error.
Result<std::map<std::string, SizeOfArray>> sizes_of_inputs(const Options& options);

struct Compared {
  std::size_t outputs = 0;  ///< that were compared
  bool correct = true;
  double max_error = 0;
  std::string first;
};

/// With the outputs that the files state. `data`: one for each tensor of the kernel.
Compared compare_with_files(const Model& model, const std::vector<TensorData>& data, const ModelFiles& files);

/// "correct", "WRONG: ..."
std::string verdict_of(const Compared& compared);

/// Every output under the model's name to --outputs; without the option nothing.
Result<bool> save_outputs(const Model& model, const std::vector<TensorData>& data, const Options& options);

}  // namespace isamap::cli
