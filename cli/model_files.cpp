// SPDX-License-Identifier: Apache-2.0
#include "cli/model_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/models.h"
#include "driver/compare_outputs.h"
#include "frontends/npy.h"

namespace isamap::cli {
namespace {

namespace fs = std::filesystem;

/// Files input_0.pb, input_1.pb, .. or output_0.pb, ..
Result<std::vector<NamedData>> load_folder(const fs::path& folder, const std::string& kind) {
  std::vector<NamedData> all;
  for (;;) {
    const fs::path file = folder / fmt::format("{}_{}.pb", kind, all.size());
    if (!fs::exists(file)) return all;
    auto data = load_tensor(file.string());
    if (!data) return data.diagnostics();
    all.push_back(std::move(*data));
  }
}

/// The position in `arr_3`, as numpy names arrays that have no name.
bool is_unnamed(const std::string& name, std::size_t position) {
  return name.empty() || name == fmt::format("arr_{}", position);
}

const NamedData* named(const std::vector<NamedData>& all, const std::string& name, std::size_t position) {
  for (const NamedData& one : all)
    if (one.name == name) return &one;
  return position < all.size() && is_unnamed(all[position].name, position) ? &all[position] : nullptr;
}

/// An array that is neither an input nor an output of the model: empty, or its name.
std::string unknown_array(const Model& model, const ModelFiles& files) {
  std::set<std::string> names;
  for (const auto* list : {&model.inputs, &model.outputs})
    for (const TensorId id : *list) names.insert(model.file_names.at(id));
  for (std::size_t i = 0; i < files.inputs.size(); ++i) {
    const std::string& name = files.inputs[i].name;
    if (!names.contains(name) && !(is_unnamed(name, i) && i < model.inputs.size())) return name.empty() ? "1" : name;
  }
  return "";
}

/// The inputs that --fix states.
std::set<std::string> fixed_inputs(const Options& options) {
  std::set<std::string> names;
  for (const std::string& word : words_of(options.onnx.fix)) names.insert(word.substr(0, word.find('=')));
  return names;
}

/// Of the inputs of a file without those that --fix states: those that --constant names; "weights" are all but the
/// first.
std::set<std::string> constant_inputs(const std::vector<std::string>& inputs, const Options& options) {
  const std::vector<std::string> words = words_of(options.onnx.constants);
  const std::set<std::string> listed(words.begin(), words.end());
  std::set<std::string> constants;
  bool behind_first = false;
  for (const std::string& name : inputs) {
    if (listed.contains(name) || (behind_first && listed.contains("weights")))
      constants.insert(name);
    else
      behind_first = true;
  }
  return constants;
}

/// Arrays of inputs that are constants are values of weights. Arrays without a name are those of the inputs that are no
/// constants, in order; if there are more, those of all inputs.
Result<bool> part_constants(ModelFiles& files, const Options& options) {
  if (options.onnx.constants.empty() || !is_onnx(options.kernel_file)) return true;
  auto inputs = names_of_inputs(options.kernel_file);
  if (!inputs) return inputs.diagnostics();
  const std::set<std::string> fixed = fixed_inputs(options);
  std::erase_if(*inputs, [&](const std::string& name) { return fixed.contains(name); });
  const std::set<std::string> constants = constant_inputs(*inputs, options);
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < files.inputs.size(); ++i) unnamed += is_unnamed(files.inputs[i].name, i) ? 1 : 0;
  if (unnamed > inputs->size() - constants.size())
    for (std::size_t i = 0; i < std::min(files.inputs.size(), inputs->size()); ++i)
      if (is_unnamed(files.inputs[i].name, i)) files.inputs[i].name = (*inputs)[i];
  for (const std::string& name : constants) {
    const auto array =
        std::find_if(files.inputs.begin(), files.inputs.end(), [&](const NamedData& one) { return one.name == name; });
    if (array == files.inputs.end()) continue;
    files.constants[name] = std::make_shared<const TensorData>(std::move(array->data));
    files.inputs.erase(array);
  }
  return true;
}

}  // namespace

Result<ModelFiles> load_model_files(const Options& options) {
  ModelFiles files;
  files.path = options.onnx.inputs;
  if (files.path.empty()) return files;
  if (!fs::is_directory(files.path)) {
    auto arrays = load_arrays(files.path);
    if (!arrays) return arrays.diagnostics();
    files.inputs = std::move(*arrays);
  } else {
    auto inputs = load_folder(files.path, "input");
    if (!inputs) return inputs.diagnostics();
    auto outputs = load_folder(files.path, "output");
    if (!outputs) return outputs.diagnostics();
    files.inputs = std::move(*inputs);
    files.outputs = std::move(*outputs);
  }
  if (files.inputs.empty())
    return error_at({files.path, 0, 0}, "holds no inputs",
                    "an .npz file with an array for each input, or a folder of input_0.pb, input_1.pb, ...");
  for (const std::string& name : fixed_inputs(options))
    if (std::any_of(files.inputs.begin(), files.inputs.end(), [&](const NamedData& one) { return one.name == name; }))
      return error_at({files.path, 0, 0}, fmt::format("has an array for the input '{}', which --fix states", name),
                      "leave one of them out");
  if (const auto parted = part_constants(files, options); !parted) return parted.diagnostics();
  return files;
}

Result<std::vector<TensorData>> inputs_of(const Model& model, const ModelFiles& files, const Options& options) {
  const SourceLocation where{files.path, 0, 0};
  std::vector<std::string> names;
  for (const TensorId id : model.inputs) names.push_back(model.file_names.at(id));
  const bool arrays = !files.path.empty() && !fs::is_directory(files.path);
  if (const std::string unknown = arrays ? unknown_array(model, files) : ""; !unknown.empty())
    return error_at(where, "array '" + unknown + "' is no input or output of the model",
                    fmt::format("its inputs are {}", fmt::join(names, ", ")));
  std::vector<TensorData> inputs;
  Random random(options.seed);
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const Tensor& tensor = model.kernel.tensors[model.inputs[i].index()];
    const NamedData* found = named(files.inputs, names[i], i);
    if (found == nullptr && !files.path.empty())
      return error_at(where, (arrays ? "has no array for the input '" : "no file has the input '") + names[i] + "'");
    if (found != nullptr && found->data.shape != tensor.shape)
      return error_at(where,
                      fmt::format("the array of '{}' is [{}]; the model's input is [{}]", names[i],
                                  fmt::join(found->data.shape, ", "), fmt::join(tensor.shape, ", ")),
                      "in numpy: reshape, if it has the same elements");
    inputs.push_back(found != nullptr ? as_type(found->data, tensor.dtype) : random_data(tensor, Fill::real, random));
  }
  return inputs;
}

namespace {

/// Of the array of an input with open sizes.
Result<std::vector<std::int64_t>> shape_of_input(const ModelFiles& files, const FreeSize::Axis& at) {
  const SourceLocation where{files.path, 0, 0};
  const NamedData* array = named(files.inputs, at.input, at.position);
  const auto constant = files.constants.find(at.input);
  if (array == nullptr && constant == files.constants.end()) {
    std::vector<std::string> names;
    for (const NamedData& one : files.inputs) names.push_back(one.name.empty() ? "one without a name" : one.name);
    return error_at(
        where, fmt::format("has no array for the input '{}'", at.input),
        names.empty() ? "all its arrays are values of constants" : fmt::format("it has {}", fmt::join(names, ", ")));
  }
  if (array != nullptr && at.dtype)
    if (const DType is = as_type(array->data, *at.dtype).dtype; is != *at.dtype)
      return error_at(
          where, fmt::format("the array of '{}' is {}; the model's input is {}", at.input, name(is), name(*at.dtype)),
          "in numpy: astype");
  const std::vector<std::int64_t>& shape = array != nullptr ? array->data.shape : constant->second->shape;
  if (shape.size() == at.rank) return shape;
  return error_at(where,
                  fmt::format("the array of '{}' is [{}]; the model's input has {} axes", at.input,
                              fmt::join(shape, ", "), at.rank),
                  "in numpy: reshape");
}

}  // namespace

Result<std::map<std::string, SizeOfArray>> sizes_of_inputs(const Options& options) {
  std::map<std::string, SizeOfArray> found;
  if (options.onnx.inputs.empty()) return found;
  const auto files = load_model_files(options);
  if (!files) return files.diagnostics();
  const auto free = free_sizes(options.kernel_file);
  if (!free) return free.diagnostics();
  const std::set<std::string> fixed = fixed_inputs(options);
  for (const FreeSize& size : *free)
    for (const FreeSize::Axis& at : size.axes) {
      if (fixed.contains(at.input)) continue;
      const auto shape = shape_of_input(*files, at);
      if (!shape) return shape.diagnostics();
      const SizeOfArray shown{(*shape)[at.axis], fmt::format("axis {} of '{}'", at.axis, at.input)};
      const auto [known, is_new] = found.try_emplace(size.name, shown);
      if (!is_new && known->second.extent != shown.extent)
        return error_at({options.onnx.inputs, 0, 0},
                        fmt::format("size {} is {} by {} and {} by {}", size.name, known->second.extent,
                                    known->second.place, shown.extent, shown.place));
    }
  return found;
}

Compared compare_with_files(const Model& model, const std::vector<TensorData>& data, const ModelFiles& files) {
  Compared result;
  for (std::size_t o = 0; o < model.outputs.size(); ++o) {
    const TensorId id = model.outputs[o];
    const std::string& name = model.file_names.at(id);
    const NamedData* expected = o < files.outputs.size() ? &files.outputs[o] : nullptr;
    for (const NamedData& array : files.inputs)
      if (array.name == name && files.outputs.empty()) expected = &array;
    if (expected == nullptr) continue;
    ++result.outputs;
    const TensorData& found = data[id.index()];
    const OutputDifference difference =
        compare_outputs(name, as_type(expected->data, found.dtype), found, tolerance_of_others(model.kernel, id));
    result.max_error = std::max(result.max_error, difference.max_error);
    if (difference.first.empty()) continue;
    result.correct = false;
    if (result.first.empty()) result.first = difference.first;
  }
  return result;
}

std::string verdict_of(const Compared& compared) {
  if (compared.outputs == 0) return "not compared (--inputs states no outputs)";
  return compared.correct ? "correct" : "WRONG: " + compared.first;
}

Result<bool> save_outputs(const Model& model, const std::vector<TensorData>& data, const Options& options) {
  if (options.onnx.outputs.empty()) return true;
  std::vector<NamedData> arrays;
  for (const TensorId id : model.outputs) arrays.push_back({model.file_names.at(id), data[id.index()]});
  return save_arrays(options.onnx.outputs, arrays);
}

}  // namespace isamap::cli
