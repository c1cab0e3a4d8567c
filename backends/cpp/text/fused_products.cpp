// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/fused_products.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/real_functions.h"

namespace isamap {
namespace {

/// The C++ type of its registers, if it is `C[j] += A[j] * B[j]` of floats in registers of one file.
std::string type_of_fused_product(const Instruction& instruction, const HardwareModel& model) {
  const bool plain = instruction.numerics.fused && instruction.semantics.size() == 1 && instruction.masks.empty() &&
                     instruction.needs.empty() && instruction.requires_features.empty();
  if (!plain || instruction.operands.size() != 3) return "";
  const Computation& product = instruction.statement();
  if (product.reduction != Reduction::add || product.domain.dims.size() != 1 || !instruction.ranges[0].fixed() ||
      product.body != binary(BinaryOp::mul, read(0, DType::f32), read(1, DType::f32)))
    return "";
  const std::vector<AffineExpr> along{AffineExpr::dim(product.domain.dims[0].name)};
  const MemoryId file = instruction.operands[0].memory;
  const bool in_one_file = file.valid() && model.memory(file).is_register() &&
                           std::all_of(instruction.operands.begin(), instruction.operands.end(), [&](const Operand& o) {
                             return o.memory == file && o.group == 1 && o.object.empty();
                           });
  for (int access = 0; in_one_file && access < access_count(product); ++access)
    if (access_of(product, access).index != along) return "";
  if (!in_one_file || model.memory(file).size != product.domain.dims[0].extent * bytes(DType::f32)) return "";
  for (const auto& [dtype, type] : model.memory(file).value)
    if (dtype == name(DType::f32)) return type;
  return "";
}

std::string lines_of_lanes(const HardwareModel& model) {
  for (const Instruction& instruction : model.instructions()) {
    const std::string type = type_of_fused_product(instruction, model);
    if (type.empty() || instruction.emit.empty()) continue;
    const auto operand = [&](int access) {
      return instruction.operands[operand_of_access(instruction, access).index()].name;
    };
    const std::map<std::string, std::string> names{{operand(0), "z"}, {operand(1), "x"}, {operand(2), "y"}};
    bool known = true;
    const std::string text = fill(instruction.emit, [&](const Placeholder& placeholder) {
      const auto found = names.find(placeholder.text);
      known &= found != names.end();
      return known ? found->second : "";
    });
    if (!known) continue;
    return fmt::format(
        "  if constexpr (sizeof(V) == sizeof({0})) {{\n    const auto lanes = [](auto v) {{\n"
        "      if constexpr (sizeof v == sizeof(V)) return ({0})v;\n      else return ({0})(V{{}} + v);\n    }};\n"
        "    const {0} x = lanes(a), y = lanes(b);\n    {0} z = lanes(c);\n    {1}\n    return (V)z;\n  }}\n",
        type, text);
  }
  return "";
}

}  // namespace

std::string with_fused_products(std::string helpers, const HardwareModel& model) {
  const std::string body = multiply_add_body;
  const std::size_t at = helpers.find(body);
  if (at == std::string::npos) return helpers;
  const std::string lanes = lines_of_lanes(model);
  if (lanes.empty()) return helpers;
  return helpers.replace(at, body.size(),
                         "\n  using V = decltype(a * b + c);\n#ifdef __FP_FAST_FMAF\n"
                         "  if constexpr (sizeof(V) == sizeof(float)) return V(__builtin_fmaf(a, b, c));\n#endif\n" +
                             lanes + "  " + body + "\n");
}

}  // namespace isamap
