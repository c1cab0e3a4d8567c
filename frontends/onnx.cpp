// SPDX-License-Identifier: Apache-2.0
// ONNX models: one layer for each node, a kernel for those that multiply and sum.
//
// A file is checked as a whole before conversion: an inconsistent graph gives diagnostics and no model; an unmapped
// operator gives a layer with a reason.

#include "isamap/frontends.h"

#ifdef ISAMAP_WITH_ONNX

#include <google/protobuf/stubs/logging.h>

#include <filesystem>
#include <fstream>

#include "frontends/onnx_graph_internal.h"

namespace isamap {

namespace {

constexpr std::uintmax_t max_bytes = std::uintmax_t{1} << 30;

/// The model of a file, or diagnostics.
Result<onnx::ModelProto> read_model(const std::string& path) {
  const SourceLocation where{path, 0, 0};
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind == std::filesystem::file_type::not_found) return error_at(where, "the file does not exist");
  if (kind != std::filesystem::file_type::regular) return error_at(where, "is not a file");
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  std::ifstream stream(path, std::ios::binary);
  if (problem || !stream) return error_at(where, "the file cannot be read");
  if (size > max_bytes)
    return error_at(where, "the file has " + std::to_string(size) + " bytes; at most 1 GiB is read",
                    "store the weights as external data");
  const google::protobuf::LogSilencer silent;
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&stream))
    return error_at(where, "is not an ONNX model: the protocol buffer is damaged or cut off");
  if (!model.has_graph() || model.graph().node_size() == 0)
    return error_at(where, "is not an ONNX model: it holds no graph with nodes");
  if (model.opset_import_size() == 0)
    return error_at(where, "the model does not say which operator set it uses (opset_import)");
  return model;
}

/// "GlobalAveragePool" gives "global_average_pool", "MatMul" "matmul"; only letters, digits and '_' remain.
std::string snake_case(const std::string& op) {
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

void make_layer(const OnnxNode& node, Layer& layer, Diagnostics& problems) {
  const bool standard = node.domain.empty() || node.domain == "ai.onnx";
  const auto found = standard ? find_operator(node.op) : std::nullopt;
  if (!found)
    layer.reason = standard ? "an operator that is not known"
                            : "an operator of the domain '" + node.domain + "', which is not known";
  else if (found->make)
    found->make(node, layer, problems);
  else
    layer.reason = found->reason;
}

/// Constants are weights written as nodes, no layers. Stops at 20 problems.
void make_layers(std::vector<std::pair<OnnxNode, std::string>>& nodes, const std::map<std::string, OnnxValue>& values,
                 LayerList& model, Diagnostics& problems) {
  std::map<std::string, int> used;
  for (auto& [node, title] : nodes) {
    if (node.op == "Constant" || node.op == "ConstantOfShape") continue;
    fill_values(node, values);
    Layer layer;
    layer.onnx_op = printable(node.op);
    layer.node = node.name;
    layer.op = snake_case(node.op);
    layer.name = layer.op + "_" + std::to_string(used[layer.op]++);
    Diagnostics of_layer;
    make_layer(node, layer, of_layer);
    for (Diagnostic& problem : of_layer) {
      problem.message = title + ": " + problem.message;
      problems.push_back(std::move(problem));
    }
    if (problems.size() >= 20) return;
    model.layers.push_back(std::move(layer));
  }
}

}  // namespace

bool onnx_supported() { return true; }

Result<LayerList> load_onnx(const std::string& path) {
  Result<onnx::ModelProto> file = read_model(path);
  if (!file) return file.diagnostics();
  Diagnostics problems = check_graph(file->graph());
  LayerList model;
  if (problems.empty()) {
    model.name = printable(std::filesystem::path(path).stem().string());
    set_batch(*file->mutable_graph(), model.notes);
    std::vector<std::pair<OnnxNode, std::string>> nodes;  // with their titles, since inference changes the graph
    for (int i = 0; i < file->graph().node_size(); ++i)
      nodes.emplace_back(to_node(file->graph().node(i)), node_title(file->graph().node(i), i));
    make_layers(nodes, infer_values(*file, model.notes), model, problems);
  }
  for (Diagnostic& problem : problems) problem.where = {path, 0, 0};
  if (!problems.empty()) return problems;
  return model;
}

}  // namespace isamap

#else

namespace isamap {

bool onnx_supported() { return false; }

Result<LayerList> load_onnx(const std::string& path) {
  return error_at({path, 0, 0}, "this isamap was built without ONNX",
                  "install libonnx-dev and libprotobuf-dev, then build again");
}

}  // namespace isamap

#endif
