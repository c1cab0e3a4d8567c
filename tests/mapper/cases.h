// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels and instructions from one line of text, for tests.

#include <map>
#include <string>

#include "ir/text/parse.h"
#include "isamap/mapper.h"

namespace isamap::testing {

using Sizes = std::map<std::string, std::int64_t>;
using Types = std::map<std::string, DType>;
inline const Types s8_types{{"A", DType::s8}, {"B", DType::s8}}, u8_s8_types{{"A", DType::u8}, {"B", DType::s8}};

inline DType type_of(const Types& types, const std::string& tensor, DType otherwise) {
  const auto found = types.find(tensor);
  return found == types.end() ? otherwise : found->second;
}

/// Tensors of a statement, shapes just large enough; the written one first.
inline std::vector<Tensor> tensors_of(const ParsedStatement& parsed, const Sizes& sizes, const Types& types,
                                      DType otherwise) {
  Ranges ranges;
  for (const auto& [name, extent] : sizes) ranges[name] = {0, std::max<std::int64_t>(extent, 1) - 1};
  std::vector<Tensor> tensors;
  const auto add = [&](const ParsedAccess& access) {
    std::size_t position = 0;
    while (position < tensors.size() && tensors[position].name != access.tensor) ++position;
    if (position == tensors.size()) {
      Tensor tensor;
      tensor.name = access.tensor;
      tensor.shape.assign(access.index.size(), 1);
      tensor.dtype = type_of(types, access.tensor, otherwise);
      tensors.push_back(tensor);
    }
    for (std::size_t i = 0; i < access.index.size(); ++i) {
      tensors[position].shape[i] = std::max(tensors[position].shape[i], bounds(access.index[i], ranges)->high + 1);
    }
  };
  add(parsed.write);
  for (const ParsedAccess& read : parsed.reads) add(read);
  return tensors;
}

/// kernel_of("C[i,j] += A[i,k] * B[k,j]", {{"i", 4}, {"j", 5}, {"k", 6}})
inline Kernel kernel_of(const std::string& text, const Sizes& sizes, const Types& types = {},
                        DType otherwise = DType::s32) {
  const auto parsed = parse_statement(text);
  ISAMAP_CHECK(static_cast<bool>(parsed), render(parsed.diagnostics()));
  Kernel kernel;
  kernel.name = "k";
  kernel.tensors = tensors_of(*parsed, sizes, types, otherwise);
  const auto bound = bind(*parsed, kernel.tensors, sizes, {}, {});
  ISAMAP_CHECK(static_cast<bool>(bound), render(bound.diagnostics()));
  kernel.statements = {*bound};
  return kernel;
}

inline Instruction instruction_of(const std::string& text, const Sizes& sizes, const Types& types = {},
                                  DType otherwise = DType::s32) {
  const Kernel kernel = kernel_of(text, sizes, types, otherwise);
  Instruction instruction;
  instruction.name = "unit";
  instruction.tensors = kernel.tensors;
  instruction.semantics = kernel.statements;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    Operand operand;
    operand.name = kernel.tensors[t].name;
    operand.memory = MemoryId{0};
    operand.dtype = kernel.tensors[t].dtype;
    instruction.operands.push_back(operand);
  }
  for (const Dim& dim : kernel.statements[0].domain.dims)
    instruction.ranges.push_back({dim.extent, dim.extent, dim.extent, false, {}});
  return instruction;
}

inline PairMappings map_one(const Kernel& kernel, const Instruction& instruction, Rule rule, bool use_z3 = false) {
  MapOptions options;
  options.rule = rule;
  options.use_z3 = use_z3;
  return map_statement(kernel, StatementId{0}, instruction, InstructionId{0}, options);
}

inline std::vector<Mapping> written_order(const std::vector<Mapping>& mappings) {
  std::vector<Mapping> plain;
  for (const Mapping& mapping : mappings)
    if (mapping.kinds.count(Kind::exchange) == 0) plain.push_back(mapping);
  return plain;
}

inline std::string shown(const Mapping& mapping, const Kernel& kernel, const Instruction& instruction) {
  std::vector<std::string> dims;
  for (const Dim& dim : instruction.statement().domain.dims) dims.push_back(dim.name);
  std::string text = print(mapping, kernel, dims, instruction.name) + " kinds";
  for (const Kind kind : mapping.kinds) text += " " + std::string(name(kind));
  for (const Carrier& carrier : mapping.carriers)
    text += "; " + carrier.reason + " -> " + std::to_string(carrier.access);
  return text;
}

inline Instruction matrix_unit(std::int64_t i, std::int64_t j, std::int64_t k, DType type = DType::s32) {
  return instruction_of("C[i,j] += A[i,k] * B[k,j]", {{"i", i}, {"j", j}, {"k", k}}, {}, type);
}
inline Kernel gemm(std::int64_t i, std::int64_t j, std::int64_t k, DType type = DType::s32) {
  return kernel_of("C[i,j] += A[i,k] * B[k,j]", {{"i", i}, {"j", j}, {"k", k}}, {}, type);
}
inline Kernel conv1d(DType type = DType::s32) {
  return kernel_of("O[n,k,p] += I[n,c,p+r] * F[k,c,r]", {{"n", 2}, {"k", 5}, {"c", 3}, {"p", 6}, {"r", 3}}, {}, type);
}
inline Kernel conv2d(DType type = DType::s32) {
  return kernel_of("O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]",
                   {{"n", 2}, {"k", 5}, {"c", 3}, {"p", 4}, {"q", 5}, {"r", 3}, {"s", 2}}, {}, type);
}
inline Kernel depthwise2d(DType type = DType::s32) {
  return kernel_of("O[n,c,p,q] += I[n,c,p+r,q+s] * F[c,r,s]",
                   {{"n", 2}, {"c", 5}, {"p", 4}, {"q", 5}, {"r", 3}, {"s", 2}}, {}, type);
}

}  // namespace isamap::testing
