// SPDX-License-Identifier: Apache-2.0
// The matrix multiplication inside a sum of products: dims grouped by their use in output, first and second input.

#include "isamap/mapper.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// The read under widening casts, or nothing.
std::optional<int> plain_read(const ScalarExpr& e) {
  if (const auto* r = std::get_if<Read>(&e.op)) return r->access;
  if (std::holds_alternative<Cast>(e.op) && widens(e.args[0].type, e.type)) return plain_read(e.args[0]);
  return std::nullopt;
}

bool is_sum_of_products(const Computation& c) {
  const auto* product = std::get_if<Binary>(&c.body.op);
  if (c.reduction != Reduction::add || product == nullptr || product->op != BinaryOp::mul || c.reads.size() != 2 ||
      is_irregular(c))
    return false;
  const auto a = plain_read(c.body.args[0]), b = plain_read(c.body.args[1]);
  return a && b && *a != *b;
}

}  // namespace

std::optional<MatmulShape> extracted_matmul(const Kernel& kernel, StatementId statement) {
  const Computation& c = kernel.statements[statement.index()];
  if (!is_sum_of_products(c)) return std::nullopt;
  MatmulShape shape;
  for (const Dim& dim : c.domain.dims) {
    const bool out = uses(c.write, dim.name), first = uses(c.reads[0], dim.name), second = uses(c.reads[1], dim.name);
    if (out && first && second) {
      shape.outer.emplace_back(dim.name, dim.extent);
      continue;
    }
    std::int64_t* size = out && first ? &shape.m : out && second ? &shape.n : first && second ? &shape.k : nullptr;
    if (size == nullptr) return std::nullopt;
    (out && first ? shape.m_dims : out && second ? shape.n_dims : shape.k_dims).push_back(dim.name);
    const auto product = checked_mul(*size, dim.extent);
    if (!product) return std::nullopt;
    *size = *product;
  }
  if (shape.m_dims.empty() || shape.n_dims.empty() || shape.k_dims.empty()) return std::nullopt;
  return shape;
}

}  // namespace isamap
