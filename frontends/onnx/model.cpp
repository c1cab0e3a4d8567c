// SPDX-License-Identifier: Apache-2.0
// A file as a Model: the walk, and what the caller's options ask for.

#include "frontends/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "frontends/onnx/walk.h"
#include "ir/compose.h"
#include "isamap/frontends.h"
#include "support/yaml.h"

namespace isamap {

std::string operator_in_words(const std::string& op) {
  if (op.starts_with("MatMul")) return op == "MatMul" ? "matmul" : "matmul_integer";
  std::string text;
  for (std::size_t i = 0; i < op.size() && text.size() < 40; ++i) {
    const char c = op[i];
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    if (upper && i > 0 && op[i - 1] >= 'a' && op[i - 1] <= 'z') text += '_';
    if (upper || lower || digit) text += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text.empty() || (text[0] >= '0' && text[0] <= '9') ? "node" : text;
}

Result<TensorData> values_of(const Weight& weight, const Tensor& tensor) {
  if (weight.values) return *weight.values;
  if (weight.drawn) {
    Random random(weight.seed);
    return random_data(tensor, Fill::real, random);
  }
  TensorData data = make_data(tensor);
  std::ifstream file(weight.file, std::ios::binary);
  file.seekg(weight.offset);
  file.read(reinterpret_cast<char*>(data.bytes.data()), static_cast<std::streamsize>(data.bytes.size()));
  if (!file) return error_at({weight.file, 0, 0}, "the values of '" + tensor.name + "' cannot be read");
  return data;
}

Model composed(const Model& model) {
  Composed kernel = composed(model.kernel);
  Model result = model;
  result.kernel = std::move(kernel.kernel);
  result.origins.clear();
  for (const std::vector<std::size_t>& from : kernel.statements) {
    Origin origin = model.origins[from.front()];
    for (std::size_t i = 1; i < from.size(); ++i)
      origin.nodes.insert(origin.nodes.end(), model.origins[from[i]].nodes.begin(), model.origins[from[i]].nodes.end());
    result.origins.push_back(std::move(origin));
  }
  const auto renumber = [&](TensorId& id) { id = kernel.tensors[id.index()]; };
  std::erase_if(result.weights, [&](const Weight& w) { return !kernel.tensors[w.tensor.index()].valid(); });
  for (Weight& weight : result.weights) renumber(weight.tensor);
  for (TensorId& id : result.inputs) renumber(id);
  for (TensorId& id : result.outputs) renumber(id);
  result.file_names.clear();
  for (const auto& [id, name] : model.file_names) result.file_names[kernel.tensors[id.index()]] = name;
  return result;
}

std::optional<double> scalar_weight(const Model& model, TensorId id) {
  const Tensor& tensor = model.kernel.tensors[id.index()];
  if (!tensor.constant || element_count(tensor) != 1 || !is_float(tensor.dtype)) return std::nullopt;
  for (const Weight& weight : model.weights)
    if (weight.tensor == id && weight.values && !weight.drawn) {
      const double value = weight.values->get(0).real;
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    }
  return std::nullopt;
}

Result<std::vector<TensorData>> data_of(const Model& model, const std::vector<TensorData>& inputs) {
  std::vector<TensorData> data;
  for (const Tensor& tensor : model.kernel.tensors) data.push_back(make_data(tensor));
  for (const Weight& weight : model.weights) {
    auto values = values_of(weight, model.kernel.tensors[weight.tensor.index()]);
    if (!values) return values.diagnostics();
    data[weight.tensor.index()] = std::move(*values);
  }
  for (std::size_t i = 0; i < std::min(inputs.size(), model.inputs.size()); ++i) {
    const Tensor& tensor = model.kernel.tensors[model.inputs[i].index()];
    if (inputs[i].dtype != tensor.dtype || inputs[i].shape != tensor.shape)
      return error(
          fmt::format("input {} is {}{}; the model's '{}' is {}{}", i, name(inputs[i].dtype),
                      importing::sizes_text(inputs[i].shape), tensor.name, name(tensor.dtype),
                      importing::sizes_text(tensor.shape)),
          fmt::format("give '{}' as {}{}", tensor.name, name(tensor.dtype), importing::sizes_text(tensor.shape)));
    data[model.inputs[i].index()] = inputs[i];
  }
  return data;
}

#ifdef ISAMAP_WITH_ONNX

bool onnx_supported() { return true; }

namespace {

std::vector<FreeSize> free_sizes_of(const importing::ModelFile& file) {
  std::vector<FreeSize> sizes;
  const auto sums = importing::size_sums(file.graph);
  std::size_t position = 0;
  for (const importing::Declared& input : file.graph.inputs) {
    for (std::size_t d = 0; input.shape && d < input.shape->size(); ++d) {
      if ((*input.shape)[d] >= 0) continue;
      const std::string name = importing::size_name(input, d);
      if (sums.contains(name)) continue;
      auto known = std::find_if(sizes.begin(), sizes.end(), [&](const FreeSize& s) { return s.name == name; });
      if (known == sizes.end()) known = sizes.insert(sizes.end(), {name, {}, {}, false});
      known->axes.push_back({input.name, position, d, input.shape->size(), input.dtype});
      known->places.push_back(fmt::format("axis {} of input '{}'", d, input.name));
      known->batch = known->batch || (d == 0 && input.shape->size() >= 2);
    }
    ++position;
  }
  return sizes;
}

/// Names in the options that the file does not have.
Diagnostics unknown_names(const importing::ModelFile& file, const ModelOptions& options) {
  std::set<std::string> inputs, sizes;
  for (const importing::Declared& input : file.graph.inputs) inputs.insert(input.name);
  for (const FreeSize& size : free_sizes_of(file)) sizes.insert(size.name);
  Diagnostics problems;
  const auto check = [&](const std::string& name, const std::set<std::string>& known, const char* what) {
    if (known.contains(name)) return;
    problems.push_back(error(fmt::format("the model has no {} '{}'", what, name),
                             known.empty() ? fmt::format("it has no {} that can be given", what)
                                           : fmt::format("it has {}", fmt::join(known, ", "))));
  };
  for (const auto& [name, size] : options.sizes) {
    check(name, sizes, "free size");
    if (size < 0)
      problems.push_back(error(fmt::format("the size {}={} is negative", name, size), "sizes are 0 or more"));
  }
  for (const auto& [name, value] : options.fix) check(name, inputs, "input");
  for (const auto& [name, value] : options.values) check(name, inputs, "input");
  for (const std::string& name : options.constants)
    if (name != "weights") check(name, inputs, "input");
  return problems;
}

/// A hint at what nodes compute.
std::string nearest_value(const importing::ModelFile& file, const std::string& name) {
  std::vector<std::string> values;
  for (const auto& node : file.graph.nodes)
    for (const std::string& value : node.outputs)
      if (!value.empty()) values.push_back(value);
  const std::string near = yaml::nearest(name, values);
  if (!near.empty()) return "did you mean '" + near + "'?";
  return values.empty()
             ? ""
             : fmt::format("values are what nodes compute, from '{}' to '{}'", values.front(), values.back());
}

}  // namespace

Result<std::vector<FreeSize>> free_sizes(const std::string& path) {
  const auto file = importing::read_model_file(path);
  if (!file) return file.diagnostics();
  return free_sizes_of(*file);
}

Result<std::vector<std::string>> names_of_inputs(const std::string& path) {
  const auto file = importing::read_model_file(path);
  if (!file) return file.diagnostics();
  std::set<std::string> stated;
  for (const importing::Constant& constant : file->graph.constants) stated.insert(constant.name);
  std::vector<std::string> names;
  for (const importing::Declared& input : file->graph.inputs)
    if (!stated.contains(input.name)) names.push_back(input.name);
  return names;
}

Result<Model> import_model(const std::string& path, const ModelOptions& options) {
  const auto file = importing::read_model_file(path);
  if (!file) return file.diagnostics();
  Diagnostics problems = unknown_names(*file, options);
  importing::Walk walk(*file, options);
  if (problems.empty()) walk.run();
  problems.insert(problems.end(), walk.problems.begin(), walk.problems.end());
  for (const std::string& name : walk.unknown_outputs)
    problems.push_back(
        error("the model has no value '" + name + "', which is to be an output", nearest_value(*file, name)));
  for (Diagnostic& problem : problems) problem.where = {path, 0, 0};
  if (!problems.empty()) return problems;
  Model model;
  model.kernel = std::move(walk.draft.kernel);
  model.kernel.name = std::filesystem::path(path).stem().string();
  model.weights = std::move(walk.draft.weights);
  model.origins = std::move(walk.draft.origins);
  model.inputs = std::move(walk.model_inputs);
  model.outputs = std::move(walk.model_outputs);
  model.file_names = std::move(walk.file_names);
  model.refused = std::move(walk.refused);
  model.refused_order = std::move(walk.refused_order);
  model.notes = std::move(walk.notes);
  model.known = std::move(walk.known);
  model.of_extents = std::move(walk.of_extents);
  model.of_sizes = std::move(walk.of_sizes);
  model.of_sizes.insert(options.of_sizes.tensors.begin(), options.of_sizes.tensors.end());
  std::size_t drawn = 0;
  for (Weight& weight : model.weights) {
    weight.seed = options.seed + weight.tensor.index();
    drawn += weight.drawn ? 1 : 0;
  }
  if (drawn > 0)
    model.notes.push_back(
        fmt::format("the values of {} of {} weights are not in the file: they are drawn from the seed {}{}{}", drawn,
                    model.weights.size(), options.seed,
                    file->missing_files.empty() ? "" : "; missing: ", fmt::join(file->missing_files, ", ")));
  return model;
}

#else

bool onnx_supported() { return false; }

Result<Model> import_model(const std::string& path, const ModelOptions&) {
  return error_at({path, 0, 0}, "this isamap was built without ONNX",
                  "install libonnx-dev and libprotobuf-dev, then build again");
}

Result<NamedData> load_tensor(const std::string& path) {
  return error_at({path, 0, 0}, "this isamap was built without ONNX");
}

Result<std::vector<FreeSize>> free_sizes(const std::string& path) {
  return error_at({path, 0, 0}, "this isamap was built without ONNX");
}

Result<std::vector<std::string>> names_of_inputs(const std::string& path) {
  return error_at({path, 0, 0}, "this isamap was built without ONNX");
}

#endif

}  // namespace isamap
