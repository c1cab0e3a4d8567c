// SPDX-License-Identifier: Apache-2.0
#include "frontends/integer_products.h"

#include <algorithm>
#include <set>

#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

using Substitution = std::map<std::string, AffineExpr>;

/// An integer factor: s32(value) or s32(value) - s32(zero); numbers of reads.
struct CentredFactor {
  int value = -1, zero = -1;
};

int cast_read(const ScalarExpr& e) {
  const auto* leaf = std::holds_alternative<Cast>(e.op) ? std::get_if<Read>(&e.args[0].op) : nullptr;
  return leaf != nullptr && e.type == DType::s32 ? leaf->access : -1;
}

std::optional<CentredFactor> centred_factor(const ScalarExpr& e) {
  if (const int value = cast_read(e); value >= 0) return CentredFactor{value, -1};
  const auto* op = std::get_if<Binary>(&e.op);
  if (op == nullptr || op->op != BinaryOp::sub || e.type != DType::s32) return std::nullopt;
  const CentredFactor found{cast_read(e.args[0]), cast_read(e.args[1])};
  return found.value >= 0 && found.zero >= 0 ? std::optional(found) : std::nullopt;
}

/// Integers of a byte times a scale: f32(factor) * scale.
struct Dequantised {
  CentredFactor factor;
  int scale = -1;
};

std::optional<Dequantised> dequantised(const Computation& statement, const std::vector<Tensor>& tensors) {
  const auto* op = std::get_if<Binary>(&statement.body.op);
  if (statement.reduction != Reduction::assign || op == nullptr || op->op != BinaryOp::mul ||
      statement.body.type != DType::f32 || is_irregular(statement) || !statement.domain.faces.empty())
    return std::nullopt;
  const ScalarExpr &number = statement.body.args[0], &scale = statement.body.args[1];
  if (!std::holds_alternative<Read>(scale.op) || !std::holds_alternative<Cast>(number.op)) return std::nullopt;
  Dequantised found{{}, std::get<Read>(scale.op).access};
  const ScalarExpr& inner = number.args[0];
  if (const auto* leaf = std::get_if<Read>(&inner.op))
    found.factor.value = leaf->access;
  else if (const auto factor = centred_factor(inner))
    found.factor = *factor;
  else
    return std::nullopt;
  const DType type = tensors[statement.reads[static_cast<std::size_t>(found.factor.value)].tensor.index()].dtype;
  if (type != DType::u8 && type != DType::s8) return std::nullopt;
  return found;
}

/// By dim of the writer: the reader's subscript. Nothing: the writer does not write every element once.
std::optional<Substitution> subscripts_of(const Computation& writer, const Access& read, const Tensor& tensor) {
  Substitution by;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const auto dim = writer.write.index[d].as_dim();
    if (!dim && tensor.shape[d] == 1 && writer.write.index[d] == AffineExpr(0)) continue;
    if (!dim || by.contains(*dim)) return std::nullopt;
    if (writer.domain.dims[static_cast<std::size_t>(writer.domain.find(*dim))].extent != tensor.shape[d])
      return std::nullopt;
    by.emplace(*dim, read.index[d]);
  }
  return by.size() == writer.domain.dims.size() ? std::optional(by) : std::nullopt;
}

bool uses_only(const Access& access, const std::set<std::string>& dims) {
  for (const AffineExpr& e : access.index)
    for (const std::string& name : e.names())
      if (!dims.contains(name)) return false;
  return true;
}

ScalarExpr centred_text(int value, int zero, const std::vector<DType>& types) {
  ScalarExpr result = cast(DType::s32, read(value, types[static_cast<std::size_t>(value)]));
  if (zero < 0) return result;
  return binary(BinaryOp::sub, result, cast(DType::s32, read(zero, types[static_cast<std::size_t>(zero)])));
}

bool is_plain_product(const Computation& s) {
  const auto* op = std::get_if<Binary>(&s.body.op);
  return s.reduction == Reduction::add && op != nullptr && op->op == BinaryOp::mul && !is_irregular(s) &&
         s.domain.faces.empty();
}

/// Factors of at most 255 in 32 bits.
bool sums_fit(const Computation& product) {
  double terms = 1;
  for (const Dim& dim : product.domain.dims)
    if (dim.kind == DimKind::reduction) terms *= static_cast<double>(dim.extent);
  return terms * 255 * 255 < 2147483648.0;
}

/// `[write] = ` over the parallel dims.
Computation over_parallel(const Computation& product) {
  Computation result = product;
  result.reduction = Reduction::assign;
  std::erase_if(result.domain.dims, [](const Dim& dim) { return dim.kind == DimKind::reduction; });
  return result;
}

std::set<std::string> dim_names_in(const Computation& statement) {
  std::set<std::string> names;
  for (const Dim& dim : statement.domain.dims) names.insert(dim.name);
  return names;
}

/// A statement over the dims of an access, in order of its subscripts, that writes them plainly.
Computation over_dims_of(const Computation& product, const Access& access) {
  Computation result;
  result.name = product.name + "_constant";
  for (const AffineExpr& e : access.index)
    for (const std::string& name : e.names()) {
      if (result.domain.find(name) >= 0) continue;
      Dim dim = product.domain.dims[static_cast<std::size_t>(product.domain.find(name))];
      dim.kind = DimKind::parallel;
      result.domain.dims.push_back(dim);
      result.write.index.push_back(AffineExpr::dim(name));
    }
  return result;
}

std::vector<DType> types_of(const Computation& statement, const std::vector<Tensor>& tensors) {
  std::vector<DType> types;
  for (const Access& read : statement.reads) types.push_back(tensors[read.tensor.index()].dtype);
  return types;
}

bool is_sound_statement(const Computation& statement, const std::vector<Tensor>& tensors) {
  Diagnostics problems;
  check_statement(statement, tensors, "", {}, problems);
  return problems.empty();
}

/// What a product reads in place of a dequantised tensor.
struct BytesOperand {
  Access value, scale;
  std::optional<Access> zero;
};

class IntegerProducts {
 public:
  IntegerProducts(Model model, bool strict) : model_(std::move(model)), strict_(strict) {
    for (std::size_t w = 0; w < model_.weights.size(); ++w) weight_of_[model_.weights[w].tensor] = w;
    for (const Tensor& tensor : model_.kernel.tensors) names_.insert(tensor.name);
    for (std::size_t s = 0; s < model_.kernel.statements.size(); ++s) {
      statement_names_.insert(model_.kernel.statements[s].name);
      writers_[model_.kernel.statements[s].write.tensor].push_back(s);
    }
  }

  Result<Model> run() {
    const std::vector<Computation> before = model_.kernel.statements;
    std::vector<std::size_t> number(before.size() + 1, 0);
    for (std::size_t s = 0; s < before.size(); ++s) {
      origin_ = model_.origins[s];
      const bool apart = repeat_of(model_.kernel, s) == nullptr && is_plain_product(before[s]);
      if (!apart || !(by_scales(before, s) || without_zeros(before[s], before[s].write))) keep(before[s]);
      number[s + 1] = statements_.size();
    }
    if (!problems_.empty()) return problems_;
    model_.kernel.statements = std::move(statements_);
    model_.origins = std::move(origins_);
    for (Repeat& repeat : model_.kernel.repeats) repeat.first = number[repeat.first];
    return std::move(model_);
  }

 private:
  const Tensor& tensor(TensorId id) const { return model_.kernel.tensors[id.index()]; }
  bool is_constant(TensorId id) const { return weight_of_.contains(id); }

  void keep(Computation statement) {
    statements_.push_back(std::move(statement));
    origins_.push_back(origin_);
  }

  void add(Computation statement) {
    const std::string wanted = statement.name;
    for (int n = 1; !statement_names_.insert(statement.name).second; ++n)
      statement.name = wanted + "_" + std::to_string(n);
    keep(std::move(statement));
  }

  TensorId new_tensor(const std::string& wanted, DType dtype, std::vector<std::int64_t> shape) {
    Tensor made{wanted, std::move(shape), dtype};
    for (int n = 1; !names_.insert(made.name).second; ++n) made.name = wanted + "_" + std::to_string(n);
    model_.kernel.tensors.push_back(std::move(made));
    return make_id<TensorId>(model_.kernel.tensors.size() - 1);
  }

  // Scales.

  /// What the read of a dequantised tensor reads instead; 0 outside is the zero point there.
  std::optional<BytesOperand> operand_of(const std::vector<Computation>& all, const Computation& product, int r) {
    const Access& read = product.reads[static_cast<std::size_t>(r)];
    const auto writers = writers_.find(read.tensor);
    if (writers == writers_.end() || writers->second.size() != 1) return std::nullopt;
    const Computation& writer = all[writers->second[0]];
    const auto found = dequantised(writer, model_.kernel.tensors);
    const auto by = found ? subscripts_of(writer, read, tensor(read.tensor)) : std::nullopt;
    if (!by) return std::nullopt;
    const auto through = [&](int number) {
      Access access = writer.reads[static_cast<std::size_t>(number)];
      for (AffineExpr& e : access.index) e = simplify(substitute(e, *by), ranges_of(product.domain));
      return access;
    };
    BytesOperand operand{through(found->factor.value), through(found->scale), std::nullopt};
    if (found->factor.zero >= 0) operand.zero = through(found->factor.zero);
    if (const auto outside = outside_of(read, model_.kernel.tensors)) {
      const auto zero =
          operand.zero ? range_of(operand.zero->tensor) : std::optional(std::pair(std::int64_t{0}, std::int64_t{0}));
      if (*outside != 0 || !zero || zero->first != zero->second || outside_of(operand.value, model_.kernel.tensors))
        return std::nullopt;
      operand.value.outside = static_cast<double>(zero->first);
    }
    return operand;
  }

  /// Smallest and largest value of a constant of integers.
  std::optional<std::pair<std::int64_t, std::int64_t>> range_of(TensorId id) {
    if (!is_constant(id) || !is_integer(tensor(id).dtype)) return std::nullopt;
    const auto values = values_of(model_.weights[weight_of_.at(id)], tensor(id));
    if (!values) {
      problems_ = values.diagnostics();
      return std::nullopt;
    }
    if (values->count() == 0) return std::nullopt;
    std::pair<std::int64_t, std::int64_t> range{INT64_MAX, INT64_MIN};
    for (std::int64_t i = 0; i < values->count(); ++i) {
      const std::int64_t value = values->get(i).integer;
      range = {std::min(range.first, value), std::max(range.second, value)};
    }
    return range;
  }

  bool by_scales(const std::vector<Computation>& all, std::size_t s) {
    const Computation& product = all[s];
    const Tensor& written = tensor(product.write.tensor);
    if (strict_ || product.body.type != DType::f32 || product.reads.size() != 2 || written.inout ||
        writers_[product.write.tensor].size() != 1)
      return false;
    for (const ScalarExpr& arg : product.body.args)
      if (!std::holds_alternative<Read>(arg.op)) return false;
    const auto a = operand_of(all, product, 0), b = operand_of(all, product, 1);
    if (!a || !b || !sums_fit(product)) return false;
    const std::set<std::string> kept = dim_names_in(over_parallel(product));
    if (!uses_only(a->scale, kept) || !uses_only(b->scale, kept)) return false;
    Computation sum = product;
    sum.reads = {a->value};
    const auto place = [&](const Access& access) {
      const auto same = std::find(sum.reads.begin(), sum.reads.end(), access);
      if (same == sum.reads.end()) sum.reads.push_back(access);
      return static_cast<int>(std::find(sum.reads.begin(), sum.reads.end(), access) - sum.reads.begin());
    };
    const int zero_a = a->zero ? place(*a->zero) : -1;
    const int value_b = place(b->value), zero_b = b->zero ? place(*b->zero) : -1;
    const std::vector<DType> types = types_of(sum, model_.kernel.tensors);
    sum.body = binary(BinaryOp::mul, centred_text(0, zero_a, types), centred_text(value_b, zero_b, types));
    Computation scaled = over_parallel(product);
    const Access whole = new_sum(written.name, scaled);
    sum.write = whole;
    scaled.reads = {whole, a->scale, b->scale};
    scaled.body = binary(BinaryOp::mul, cast(DType::f32, read(0, DType::s32)),
                         binary(BinaryOp::mul, read(1, DType::f32), read(2, DType::f32)));
    if (a->scale == b->scale) {
      scaled.reads.pop_back();
      scaled.body.args[1].args[1] = read(1, DType::f32);
    }
    if (!is_sound_statement(sum, model_.kernel.tensors) || !is_sound_statement(scaled, model_.kernel.tensors))
      return false;
    if (!without_zeros(sum, whole)) add(std::move(sum));
    add(std::move(scaled));
    return true;
  }

  /// A tensor of s32 over the dims of a statement.
  Access new_sum(const std::string& name, const Computation& statement) {
    Access access;
    std::vector<std::int64_t> shape;
    for (const Dim& dim : statement.domain.dims) {
      shape.push_back(dim.extent);
      access.index.push_back(AffineExpr::dim(dim.name));
    }
    access.tensor = new_tensor(name + "_sum", DType::s32, std::move(shape));
    return access;
  }

  // Zero points.

  /// The sum without zero points and what they add, into `to`. False: it has none, or they cannot leave it.
  bool without_zeros(const Computation& product, const Access& to) {
    if (product.body.type != DType::s32 || tensor(product.write.tensor).inout ||
        (writers_.contains(product.write.tensor) && writers_[product.write.tensor].size() != 1))
      return false;
    const auto first = centred_factor(product.body.args[0]), second = centred_factor(product.body.args[1]);
    if (!first || !second || (first->zero < 0 && second->zero < 0)) return false;
    const auto read_of = [&](int r) { return product.reads[static_cast<std::size_t>(r)]; };
    const bool swapped = !is_constant(read_of(second->value).tensor);  // the constant operand is the second one
    const CentredFactor x = swapped ? *second : *first, w = swapped ? *first : *second;
    if (!is_constant(read_of(w.value).tensor)) return false;
    const auto weights = w.zero < 0 ? std::optional(read_of(w.value)) : centred_weights(product, w);
    if (!weights) return false;
    Computation sum = product;
    sum.reads = {read_of(x.value), *weights};
    const std::vector<DType> types = types_of(sum, model_.kernel.tensors);
    sum.body = binary(BinaryOp::mul, centred_text(0, -1, types), centred_text(1, -1, types));
    if (x.zero < 0) {
      sum.write = to;
      if (!is_sound_statement(sum, model_.kernel.tensors)) return false;
      add(std::move(sum));
      return true;
    }
    return add_corrected(product, std::move(sum), read_of(x.zero), to);
  }

  /// W - zw as s8, if every value fits.
  std::optional<Access> centred_weights(const Computation& product, const CentredFactor& w) {
    const Access value = product.reads[static_cast<std::size_t>(w.value)],
                 zero = product.reads[static_cast<std::size_t>(w.zero)];
    const auto values = range_of(value.tensor), zeros = range_of(zero.tensor);
    if (!values || !zeros || values->first - zeros->second < -128 || values->second - zeros->first > 127)
      return std::nullopt;
    Computation made = over_dims_of(product, value);
    if (!uses_only(zero, dim_names_in(made))) return std::nullopt;
    made.reads = {value, zero};
    if (value == zero) return std::nullopt;
    made.body = cast(DType::s8, centred_text(0, 1, types_of(made, model_.kernel.tensors)));
    std::vector<std::int64_t> shape;
    for (const Dim& dim : made.domain.dims) shape.push_back(dim.extent);
    made.write.tensor = new_tensor(tensor(value.tensor).name + "_centred", DType::s8, std::move(shape));
    if (!is_sound_statement(made, model_.kernel.tensors)) return std::nullopt;
    const Access access = made.write;
    add(std::move(made));
    return access;
  }

  /// I += x * w; S += w; to = I - z * S.
  bool add_corrected(const Computation& product, Computation sum, const Access& zero, const Access& to) {
    const std::set<std::string> kept = dim_names_in(over_parallel(product));
    if (!uses_only(zero, kept)) return false;
    for (const Dim& dim : product.domain.dims)  // a sum of weights has a term for each point
      if (dim.kind == DimKind::reduction && !uses(sum.reads[1], dim.name)) return false;
    Computation of_weights = weight_sums(product, sum.reads[1]);
    Computation corrected = over_parallel(product);
    const std::string name = tensor(to.tensor).name;
    sum.write = new_sum(name, corrected);
    const Access sums = of_weights.write;
    corrected.write = to;
    corrected.reads = {sum.write, zero, sums};
    corrected.body =
        binary(BinaryOp::sub, read(0, DType::s32),
               binary(BinaryOp::mul, cast(DType::s32, read(1, tensor(zero.tensor).dtype)), read(2, DType::s32)));
    if (!is_sound_statement(sum, model_.kernel.tensors) || !is_sound_statement(of_weights, model_.kernel.tensors) ||
        !is_sound_statement(corrected, model_.kernel.tensors))
      return false;
    add(std::move(of_weights));
    add(std::move(sum));
    add(std::move(corrected));
    return true;
  }

  /// S[..] += w
  Computation weight_sums(const Computation& product, const Access& weights) {
    Computation result;
    result.name = product.name + "_weights";
    result.reduction = Reduction::add;
    result.reads = {weights};
    result.body = cast(DType::s32, read(0, tensor(weights.tensor).dtype));
    std::vector<std::int64_t> shape;
    for (const Dim& dim : product.domain.dims) {
      if (!uses(weights, dim.name)) continue;
      result.domain.dims.push_back(dim);
      if (dim.kind == DimKind::reduction) continue;
      shape.push_back(dim.extent);
      result.write.index.push_back(AffineExpr::dim(dim.name));
    }
    result.write.tensor = new_tensor(tensor(weights.tensor).name + "_sums", DType::s32, std::move(shape));
    return result;
  }

  Model model_;
  const bool strict_;
  std::map<TensorId, std::size_t> weight_of_;
  std::set<std::string> names_, statement_names_;
  std::map<TensorId, std::vector<std::size_t>> writers_;
  std::vector<Computation> statements_;
  std::vector<Origin> origins_;
  Origin origin_;
  Diagnostics problems_;
};

}  // namespace

Result<Model> integer_products(const Model& model, bool strict_float) {
  return IntegerProducts(model, strict_float).run();
}

}  // namespace isamap
