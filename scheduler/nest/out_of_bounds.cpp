// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/out_of_bounds.h"

#include <algorithm>

namespace isamap {
namespace {

/// Is the tensor, or a cast of it, a factor of the whole expression? Then the expression is 0 if the tensor is.
bool is_factor(const ScalarExpr& e, const Computation& statement, TensorId tensor) {
  if (const auto* read = std::get_if<Read>(&e.op))
    return read->access < static_cast<int>(statement.reads.size()) &&
           statement.reads[static_cast<std::size_t>(read->access)].tensor == tensor;
  if (std::holds_alternative<Cast>(e.op)) return is_factor(e.args[0], statement, tensor);
  const auto* binary = std::get_if<Binary>(&e.op);
  return binary != nullptr && binary->op == BinaryOp::mul &&
         (is_factor(e.args[0], statement, tensor) || is_factor(e.args[1], statement, tensor));
}

}  // namespace

bool may_skip(const Kernel& kernel, const Computation& statement, TensorId tensor) {
  const auto outside = outside_of(statement, tensor, kernel.tensors);
  if (!outside) return false;
  if (statement.reduction == Reduction::add) return *outside == 0 && is_factor(statement.body, statement, tensor);
  return statement.reduction != Reduction::assign && std::holds_alternative<Read>(statement.body.op) &&
         is_float(statement.body.type) && *outside == identity(statement.reduction, statement.body.type).real;
}

Assumption finite_products() {
  return {Assumption::Kind::finite_inputs, "inputs are finite: products with out-of-bounds values are skipped"};
}

bool assumes_finite(const Computation& statement) {
  return statement.reduction == Reduction::add && is_float(statement.body.type) &&
         !std::holds_alternative<Read>(statement.body.op);
}

std::optional<Diagnostic> outside_problem(const Kernel& kernel, const Computation& statement,
                                          const std::string& tensor) {
  std::string inputs;
  for (const Access& read : statement.reads) {
    const Tensor& input = kernel.tensors[read.tensor.index()];
    if (input.name == tensor && outside_of(statement, read.tensor, kernel.tensors)) return std::nullopt;
    if (input.name == tensor)
      return error("outside " + tensor + ": all of it is read inside its shape",
                   "neither the kernel's tensor nor the read has an `outside`; leave it out");
    inputs += (inputs.empty() ? "" : ", ") + input.name;
  }
  return error("outside " + tensor + ": statement " + statement.name + " does not read such a tensor",
               "it reads " + (inputs.empty() ? "none" : inputs));
}

bool skips(const Nest& nest, const Tensor& tensor) {
  if (nest.lines.empty()) return false;
  const auto* last = std::get_if<Do>(&nest.lines.back().is);
  return last != nullptr && std::any_of(last->outside.begin(), last->outside.end(), [&](const auto& one) {
           return one.first == tensor.name && one.second == Outside::skip;
         });
}

}  // namespace isamap
