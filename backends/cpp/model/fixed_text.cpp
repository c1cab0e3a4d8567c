// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/fixed_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cpp/text/names.h"

namespace isamap {
namespace {

const char* const fixed_sizes_text = R"(
extern "C" std::size_t NAME_arena_bytes(const NAME*, const std::int64_t*) { return ARENA; }

extern "C" int NAME_output_shape(const NAME*, const std::int64_t* sizes, int output, std::int64_t* shape) {
  if (sizes != nullptr || output < 0 || output >= NAME_OUTPUTS) return -1;
  for (int d = 0; d < output_rank[output] && shape != nullptr; ++d) shape[d] = output_shape[output][d];
  return output_rank[output];
}
)";

std::string shape_tables(const ModelProgram& model) {
  std::string ranks, shapes;
  std::size_t most = 1;
  for (const Port& port : model.outputs) most = std::max(most, port.shape.size());
  for (const Port& port : model.outputs) {
    ranks += fmt::format("{}, ", port.shape.size());
    shapes += fmt::format("{{{}}}, ", fmt::join(port.shape, ", "));
  }
  return fmt::format(
      "\nnamespace {{\n\nconst int output_rank[] = {{{}0}};\nconst std::int64_t output_shape[][{}] = "
      "{{{}{{0}}}};\n\n}}  // namespace\n",
      ranks, most, shapes);
}

std::string ports(const char* title, const std::vector<Port>& ports, const std::vector<std::int64_t>& aligns) {
  std::string text = fmt::format("   {}:\n", title);
  for (std::size_t i = 0; i < ports.size(); ++i)
    text += fmt::format("     {}: {}, {}[{}], {} bytes, at a multiple of {}\n", i, comment_text(ports[i].name),
                        name(ports[i].dtype), fmt::join(ports[i].shape, ", "), ports[i].bytes(), aligns[i]);
  return text;
}

}  // namespace

std::string fixed_header(const ModelProgram& model, const std::string& machine, ModelKind kind,
                         const PointerAlignments& aligns) {
  const std::string name = model_name(model.name);
  const std::string guard = "ISAMAP_MODEL_" + upper(name) + "_H";
  std::string text = fmt::format(
      "/* {}: a model, printed by isamap for {}, to be called from C and C++; belongs to whoever ran it.\n\n", name,
      machine);
  text += ports("Inputs", model.inputs, aligns.inputs) + ports("Outputs", model.outputs, aligns.outputs) +
          fmt::format("*/\n#ifndef {0}\n#define {0}\n\n", guard);
  text += fmt::format("#define NAME_INPUTS {}\n#define NAME_OUTPUTS {}\n#define NAME_ARENA_ALIGN {}\n",
                      model.inputs.size(), model.outputs.size(), aligns.arena);
  for (const auto& [which, ports] : {std::pair("INPUT", &model.inputs), {"OUTPUT", &model.outputs}})
    for (std::size_t i = 0; i < ports->size(); ++i)
      text += fmt::format("#define NAME_{}_{}_BYTES {}\n", which, i, (*ports)[i].bytes());
  text += "\n" + interface_text(kind);
  replace_all(text, "NAME", name);
  return text;
}

std::string fixed_opening(const ModelProgram& model, ModelKind kind, std::int64_t arena_bytes, int helpers) {
  OpeningText text;
  text.kind = kind;
  for (const PartCall& call : model.calls) text.part_names.push_back(call.name);
  text.weights_hash = fmt::format("{:#x}u", weights_hash(model));
  text.weights_bytes = model.weights.size();
  text.helpers = helpers;
  std::string sizes = fixed_sizes_text;
  replace_all(sizes, "return ARENA", fmt::format("return {}u", arena_bytes));
  replace_all(sizes, "NAME_OUTPUTS", std::to_string(model.outputs.size()));
  return shape_tables(model) + opening_text(text) + sizes;
}

}  // namespace isamap
