// SPDX-License-Identifier: Apache-2.0
// Splits a sum of products of three or more factors into two statements.
//
//   O += A*B*C   becomes   T[x_I] = sum over R of A*B ;  O += T[x_I] * C
//
// R: the dims that neither C nor O uses; I: the other dims of A and B. Multiplication distributes over the sum, so this
// is an identity of the ring of the output's type, as long as no face couples a dim of R with a dim outside I and R:
// T would then depend on more than x_I.

#include <algorithm>

#include "isamap/mapper.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::size_t max_factors = 8, max_factorings = 64;

void flatten(const ScalarExpr& e, DType type, std::vector<ScalarExpr>& factors) {
  const auto* op = std::get_if<Binary>(&e.op);
  if (op != nullptr && op->op == BinaryOp::mul && e.type == type) {
    flatten(e.args[0], type, factors);
    flatten(e.args[1], type, factors);
  } else {
    factors.push_back(e);
  }
}

std::set<std::string> dims_of(const Access& access) {
  std::set<std::string> names;
  for (const AffineExpr& index : access.index) names.merge(index.names());
  return names;
}

/// A product under construction: its reads are numbered in the order of their first use.
class Product {
 public:
  Product(const Computation& source, DType type) : source_(source), type_(type) {}

  void multiply(const ScalarExpr& factor) { put(renumbered(factor)); }
  void multiply(const Access& access) { put(read(number(access), type_)); }
  std::vector<Access> reads;
  std::optional<ScalarExpr> body;

 private:
  int number(const Access& access) {
    const auto found = std::find(reads.begin(), reads.end(), access);
    if (found != reads.end()) return static_cast<int>(found - reads.begin());
    reads.push_back(access);
    return static_cast<int>(reads.size()) - 1;
  }
  ScalarExpr renumbered(ScalarExpr e) {
    if (auto* r = std::get_if<Read>(&e.op)) r->access = number(source_.reads[static_cast<std::size_t>(r->access)]);
    for (ScalarExpr& arg : e.args) arg = renumbered(std::move(arg));
    return e;
  }
  void put(ScalarExpr factor) {
    body = body ? binary(BinaryOp::mul, std::move(*body), std::move(factor)) : std::move(factor);
  }

  const Computation& source_;
  DType type_;
};

/// The factors of the first statement, and the dims that follow from them.
struct Split {
  std::vector<ScalarExpr> first, rest;
  std::vector<Dim> inner, summed;  // I, R
};

std::set<std::string> dims_of(const Computation& c, const std::vector<ScalarExpr>& factors) {
  std::set<std::string> names;
  for (const ScalarExpr& factor : factors) {
    for (const int r : reads_of(factor)) names.merge(dims_of(c.reads[static_cast<std::size_t>(r)]));
  }
  return names;
}

/// Dims in the order of the factors' indices: T has the layout of its first operand.
std::vector<Dim> in_order_of_use(const Computation& c, const std::vector<ScalarExpr>& factors, std::vector<Dim> dims) {
  std::vector<Dim> ordered;
  for (const ScalarExpr& factor : factors) {
    for (const int r : reads_of(factor)) {
      for (const AffineExpr& index : c.reads[static_cast<std::size_t>(r)].index) {
        const auto names = index.names();
        for (const Dim& dim : dims) {
          if (names.count(dim.name) > 0 && std::find(ordered.begin(), ordered.end(), dim) == ordered.end())
            ordered.push_back(dim);
        }
      }
    }
  }
  return ordered;
}

std::optional<Split> split(const Computation& c, const std::vector<ScalarExpr>& factors, unsigned chosen) {
  Split result;
  for (std::size_t f = 0; f < factors.size(); ++f)
    ((chosen >> f & 1U) != 0 ? result.first : result.rest).push_back(factors[f]);
  const auto mine = dims_of(c, result.first), theirs = dims_of(c, result.rest), kept = dims_of(c.write);
  std::set<std::string> summed, known;
  for (const Dim& dim : c.domain.dims) {
    if (mine.count(dim.name) == 0) continue;
    known.insert(dim.name);
    const bool needed = theirs.count(dim.name) > 0 || kept.count(dim.name) > 0;
    (needed ? result.inner : result.summed).push_back(dim);
    if (!needed) summed.insert(dim.name);
  }
  result.inner = in_order_of_use(c, result.first, std::move(result.inner));
  for (const AffineExpr& face : c.domain.faces) {
    const auto names = face.names();
    const bool sums =
        std::any_of(names.begin(), names.end(), [&](const std::string& n) { return summed.count(n) > 0; });
    if (sums && !std::includes(known.begin(), known.end(), names.begin(), names.end())) return std::nullopt;
  }
  return result;
}

std::string fresh_name(const Kernel& kernel) {
  for (int n = 0;; ++n) {
    const std::string name = n == 0 ? "T" : "T" + std::to_string(n);
    if (std::none_of(kernel.tensors.begin(), kernel.tensors.end(), [&](const Tensor& t) { return t.name == name; }))
      return name;
  }
}

/// Faces whose dims are all among `dims`.
std::vector<AffineExpr> faces_over(const Computation& c, const std::vector<Dim>& dims) {
  std::vector<AffineExpr> faces;
  for (const AffineExpr& face : c.domain.faces) {
    const auto names = face.names();
    const bool over = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.name == name; });
    });
    if (over) faces.push_back(face);
  }
  return faces;
}

Computation first_step(const Computation& c, const Split& parts, const Access& intermediate) {
  Computation step;
  step.name = c.name + "_first";
  step.domain.dims = parts.inner;
  for (Dim& dim : step.domain.dims) dim.kind = DimKind::parallel;
  for (Dim dim : parts.summed) {
    dim.kind = DimKind::reduction;
    step.domain.dims.push_back(dim);
  }
  step.domain.faces = faces_over(c, step.domain.dims);
  step.reduction = parts.summed.empty() ? Reduction::assign : Reduction::add;
  step.write = intermediate;
  Product product(c, c.body.type);
  for (const ScalarExpr& factor : parts.first) product.multiply(factor);
  step.reads = product.reads;
  step.body = *product.body;
  return step;
}

/// T replaces the first factor that it contains.
Computation second_step(const Computation& c, const Split& parts, const Access& intermediate, bool leads) {
  Computation step = c;
  const auto summed = [&](const Dim& dim) {
    return std::any_of(parts.summed.begin(), parts.summed.end(), [&](const Dim& d) { return d.name == dim.name; });
  };
  std::erase_if(step.domain.dims, summed);
  step.domain.faces = faces_over(c, step.domain.dims);
  Product product(c, c.body.type);
  if (leads) product.multiply(intermediate);
  for (const ScalarExpr& factor : parts.rest) product.multiply(factor);
  if (!leads) product.multiply(intermediate);
  step.reads = product.reads;
  step.body = *product.body;
  return step;
}

std::string operand_names(const Kernel& kernel, const Computation& c) {
  std::string text;
  for (const Access& read : c.reads) text += (text.empty() ? "" : ", ") + kernel.tensors[read.tensor.index()].name;
  return text;
}

/// "matmul(T, W)", "depthwise(I, D)", "product(D, W)", "sum(A, B)".
std::string step_in_words(const Kernel& kernel, std::size_t statement) {
  const Computation& c = kernel.statements[statement];
  const bool sums = std::any_of(c.domain.dims.begin(), c.domain.dims.end(),
                                [](const Dim& d) { return d.kind == DimKind::reduction; });
  std::string what = sums ? "sum" : "product";
  if (const auto shape = extracted_matmul(kernel, make_id<StatementId>(statement))) {
    what = shape->outer.empty() ? "matmul" : "batched matmul";
  } else if (sums && c.reads.size() == 2) {
    const auto out = dims_of(c.write), a = dims_of(c.reads[0]), b = dims_of(c.reads[1]);
    const bool shared =
        std::any_of(out.begin(), out.end(), [&](const std::string& d) { return a.count(d) > 0 && b.count(d) > 0; });
    if (shared) what = "depthwise";
  }
  return what + "(" + operand_names(kernel, c) + ")";
}

std::optional<Factoring> factored(const Kernel& kernel, std::size_t statement, const std::vector<ScalarExpr>& factors,
                                  unsigned chosen) {
  const Computation& c = kernel.statements[statement];
  const auto parts = split(c, factors, chosen);
  if (!parts) return std::nullopt;
  Tensor intermediate;
  intermediate.name = fresh_name(kernel);
  intermediate.dtype = c.body.type;
  Access access{make_id<TensorId>(kernel.tensors.size()), {}};
  std::int64_t elements = bytes(intermediate.dtype);
  for (const Dim& dim : parts->inner) {
    intermediate.shape.push_back(dim.extent);
    access.index.push_back(AffineExpr::dim(dim.name));
    const auto product = checked_mul(elements, std::max<std::int64_t>(dim.extent, 1));
    if (!product) return std::nullopt;
    elements = *product;
  }
  Factoring result;
  result.kernel = kernel;
  result.kernel.tensors.push_back(intermediate);
  auto& statements = result.kernel.statements;
  statements[statement] = second_step(c, *parts, access, (chosen & 1U) != 0);
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(statement), first_step(c, *parts, access));
  result.description = step_in_words(result.kernel, statement) + " then " + step_in_words(result.kernel, statement + 1);
  return result;
}

}  // namespace

std::vector<Factoring> factorings(const Kernel& kernel) {
  std::vector<Factoring> found;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& c = kernel.statements[s];
    std::vector<ScalarExpr> factors;
    flatten(c.body, c.body.type, factors);
    if (is_irregular(c) || c.reduction != Reduction::add || factors.size() < 3 || factors.size() > max_factors)
      continue;
    if (std::any_of(c.reads.begin(), c.reads.end(), [&](const Access& r) { return r.tensor == c.write.tensor; }))
      continue;
    for (unsigned chosen = 0; chosen < 1U << factors.size() && found.size() < max_factorings; ++chosen) {
      const int count = __builtin_popcount(chosen);
      if (count < 2 || count == static_cast<int>(factors.size())) continue;
      if (auto factoring = factored(kernel, s, factors, chosen)) found.push_back(std::move(*factoring));
    }
  }
  return found;
}

}  // namespace isamap
