// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/sign_shift.h"

#include <algorithm>

#include "mapper/match/expansion.h"

namespace isamap {
namespace {

std::string fresh_name(const Kernel& kernel, const std::string& base) {
  for (int n = 0;; ++n) {
    const std::string name = n == 0 ? base : base + std::to_string(n);
    if (std::none_of(kernel.tensors.begin(), kernel.tensors.end(), [&](const Tensor& t) { return t.name == name; }))
      return name;
  }
}

/// Reads a and b of a plain product with +=, whatever the values: no conversion on the way loses any.
bool is_integer_sum_of_products(const Kernel& kernel, const Computation& c) {
  if (c.reduction != Reduction::add || c.reads.size() != 2 || !c.domain.faces.empty() || !is_integer(c.body.type))
    return false;
  std::vector<Interval> values;
  for (const Access& read : c.reads) values.push_back(values_of(kernel.tensors[read.tensor.index()].dtype));
  const auto expansion = expand(c.body, values);
  return expansion && expansion->losses.empty() && expansion->polynomial == Polynomial{{{0, 1}, 1}};
}

/// The product alone, with the new types.
ScalarExpr product(DType a, DType b, DType result) {
  const auto factor = [&](int r, DType type) { return type == result ? read(r, type) : cast(result, read(r, type)); };
  return binary(BinaryOp::mul, factor(0, a), factor(1, b));
}

struct Parts {
  const Kernel& kernel;
  const Computation& statement;
  std::size_t shifted;  // the read whose signedness changes
  std::int64_t shift;
  DType type;  // its new type

  const Access& a() const { return statement.reads[shifted]; }
  const Access& b() const { return statement.reads[1 - shifted]; }
  const Tensor& tensor(const Access& access) const { return kernel.tensors[access.tensor.index()]; }
};

std::vector<std::string> iterators(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("x" + std::to_string(i));
  return names;
}

/// U[x0,..] = u8(s16(A[x0,..]) + 128), all of A, padding included.
Computation shift_all(const Parts& parts, TensorId to) {
  Computation c;
  c.name = parts.statement.name + "_shift";
  c.write.tensor = to;
  Access from{parts.a().tensor, {}};
  const std::vector<std::int64_t>& shape = parts.tensor(parts.a()).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::string name = iterators(shape.size())[d];
    c.domain.dims.push_back({name, shape[d], DimKind::parallel});
    c.write.index.push_back(AffineExpr::dim(name));
    from.index.push_back(AffineExpr::dim(name));
  }
  c.reads = {from};
  ScalarExpr wide = cast(DType::s16, read(0, parts.tensor(parts.a()).dtype));
  c.body =
      cast(parts.type, binary(BinaryOp::add, std::move(wide), constant(static_cast<double>(parts.shift), DType::s16)));
  return c;
}

/// Dims of the other factor, those of the output first: R[j] += B[k,j].
Computation sum_of_other(const Parts& parts, TensorId to) {
  const Computation& s = parts.statement;
  Computation c;
  c.name = s.name + "_sum";
  c.reduction = Reduction::add;
  c.write.tensor = to;
  for (const DimKind kind : {DimKind::parallel, DimKind::reduction}) {
    for (const Dim& dim : s.domain.dims) {
      if (!uses(s.write, dim.name) != (kind == DimKind::reduction)) continue;
      if (kind == DimKind::parallel && !uses(parts.b(), dim.name)) continue;
      c.domain.dims.push_back({dim.name, dim.extent, kind});
      if (kind == DimKind::parallel) c.write.index.push_back(AffineExpr::dim(dim.name));
    }
  }
  c.reads = {parts.b()};
  const DType from = parts.tensor(parts.b()).dtype;
  c.body = from == s.body.type ? read(0, from) : cast(s.body.type, read(0, from));
  return c;
}

/// O[i,j] = -128 * R[j], before the products are added.
Computation take_back(const Parts& parts, const Computation& sum) {
  const Computation& s = parts.statement;
  Computation c;
  c.name = s.name + "_correct";
  c.reduction = Reduction::add;
  c.write = s.write;
  for (const Dim& dim : s.domain.dims)
    if (uses(s.write, dim.name)) c.domain.dims.push_back({dim.name, dim.extent, DimKind::parallel});
  c.reads = {sum.write};
  c.body = binary(BinaryOp::mul, constant(static_cast<double>(-parts.shift), s.body.type), read(0, s.body.type));
  return c;
}

std::string description(const Parts& parts, const Computation& sum) {
  std::string dims;
  for (const Dim& dim : sum.domain.dims)
    if (dim.kind == DimKind::reduction) dims += (dims.empty() ? "" : ", ") + dim.name;
  const std::string number = std::to_string(std::abs(parts.shift)), a = parts.tensor(parts.a()).name,
                    correction = number + " * (sum of " + parts.tensor(parts.b()).name +
                                 (dims.empty() ? ")" : " over " + dims + ")");
  return parts.shift > 0 ? "add " + number + " to " + a + " and subtract " + correction
                         : "subtract " + number + " from " + a + " and add " + correction;
}

SignShift shifted(const Kernel& kernel, StatementId statement, std::size_t which) {
  const Computation& s = kernel.statements[statement.index()];
  const DType from = kernel.tensors[s.reads[which].tensor.index()].dtype;
  const Parts parts{kernel, s, which, from == DType::s8 ? 128 : -128, from == DType::s8 ? DType::u8 : DType::s8};
  SignShift result;
  result.kernel = kernel;
  Tensor whole = parts.tensor(parts.a());
  whole.name = fresh_name(result.kernel, "U");
  whole.dtype = parts.type;
  whole.inout = false;
  whole.output = false;
  if (whole.outside) *whole.outside += static_cast<double>(parts.shift);
  whole.range.reset();
  const auto u = make_id<TensorId>(result.kernel.tensors.size());
  result.kernel.tensors.push_back(whole);
  const auto r = make_id<TensorId>(result.kernel.tensors.size());
  const Computation sum = sum_of_other(parts, r);
  Tensor sums{fresh_name(result.kernel, "R"), {}, s.body.type, {}, false, {}};
  for (const Dim& dim : sum.domain.dims)
    if (dim.kind == DimKind::parallel) sums.shape.push_back(dim.extent);
  result.kernel.tensors.push_back(sums);
  Computation main = s;
  main.reads[which].tensor = u;
  if (main.reads[which].outside) *main.reads[which].outside += static_cast<double>(parts.shift);
  main.body = product(result.kernel.tensors[main.reads[0].tensor.index()].dtype,
                      result.kernel.tensors[main.reads[1].tensor.index()].dtype, s.body.type);
  auto& statements = result.kernel.statements;
  statements[statement.index()] = std::move(main);
  const auto at = statements.begin() + static_cast<std::ptrdiff_t>(statement.index());
  statements.insert(at, {shift_all(parts, u), sum, take_back(parts, sum)});
  result.product = make_id<StatementId>(statement.index() + 3);
  result.description = description(parts, sum);
  return result;
}

}  // namespace

std::vector<SignShift> sign_shifts(const Kernel& kernel, StatementId statement) {
  const Computation& s = kernel.statements[statement.index()];
  std::vector<SignShift> result;
  if (is_irregular(s) || !is_integer_sum_of_products(kernel, s)) return result;
  const bool reads_itself =
      std::any_of(s.reads.begin(), s.reads.end(), [&](const Access& read) { return read.tensor == s.write.tensor; });
  for (std::size_t r = 0; r < 2 && !reads_itself; ++r) {
    const DType type = kernel.tensors[s.reads[r].tensor.index()].dtype;
    if (type == DType::s8 || type == DType::u8) result.push_back(shifted(kernel, statement, r));
  }
  return result;
}

}  // namespace isamap
