// SPDX-License-Identifier: Apache-2.0
#include "frontends/integer_products.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "frontends/unused_name.h"
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

/// Its number among reads, which have none twice.
int place_of(std::vector<Access>& reads, const Access& access) {
  const auto same = std::find(reads.begin(), reads.end(), access);
  const auto place = static_cast<int>(same - reads.begin());
  if (same == reads.end()) reads.push_back(access);
  return place;
}

/// A factor of a sum: s32(value) - (s32(zero) + offset).
struct Factor {
  Access value;
  std::optional<Access> zero = {};
  int offset = 0;         ///< of its other sign
  bool constant = false;  ///< the value as the model has it
};

bool is_byte(DType type) { return type == DType::s8 || type == DType::u8; }
DType other_sign(DType type) { return type == DType::u8 ? DType::s8 : DType::u8; }

ScalarExpr shifted(ScalarExpr value, int by) {
  const BinaryOp op = by < 0 ? BinaryOp::sub : BinaryOp::add;
  return by == 0 ? value : binary(op, std::move(value), constant(std::abs(by), DType::s32));
}

/// s32(zero) + offset, the zero point as a read of this number.
ScalarExpr zero_text(const Factor& factor, int number, const std::vector<DType>& types) {
  if (!factor.zero) return constant(factor.offset, DType::s32);
  return shifted(cast(DType::s32, read(number, types[static_cast<std::size_t>(number)])), factor.offset);
}

/// A model whose statements are written anew.
class Rewritten {
 public:
  explicit Rewritten(Model before) : model_(std::move(before)) {
    for (std::size_t w = 0; w < model_.weights.size(); ++w) weight_of_[model_.weights[w].tensor] = w;
    for (const Tensor& tensor : model_.kernel.tensors) names_.insert(tensor.name);
    for (std::size_t s = 0; s < model_.kernel.statements.size(); ++s) {
      statement_names_.insert(model_.kernel.statements[s].name);
      writers_[model_.kernel.statements[s].write.tensor].push_back(s);
    }
  }

  const Model& before() const { return model_; }
  const std::vector<Tensor>& tensors() const { return model_.kernel.tensors; }
  const Tensor& tensor(TensorId id) const { return model_.kernel.tensors[id.index()]; }
  bool is_constant(TensorId id) const { return weight_of_.contains(id); }

  void keep(Computation statement) {
    if (recurrence_ != nullptr) ++repeats_.back().count;
    statements_.push_back(std::move(statement));
    origins_.push_back(origin_);
  }

  /// In front of a recurrence what is the same in all of its steps.
  void add(Computation statement) {
    statement.name = unused_name(statement_names_, statement.name);
    if (recurrence_ == nullptr || statement.domain.find(recurrence_->dim) >= 0) return keep(std::move(statement));
    const auto place = static_cast<std::ptrdiff_t>(repeats_.back().first++);
    statements_.insert(statements_.begin() + place, std::move(statement));
    origins_.insert(origins_.begin() + place, origin_);
  }

  TensorId new_tensor(const std::string& wanted, DType dtype, std::vector<std::int64_t> shape) {
    Tensor made{unused_name(names_, wanted), std::move(shape), dtype};
    model_.kernel.tensors.push_back(std::move(made));
    return make_id<TensorId>(model_.kernel.tensors.size() - 1);
  }

  /// Statements of the model before that write it.
  const std::vector<std::size_t>& writers_of(TensorId id) { return writers_[id]; }

  /// Statements that are written from here on are in place of this one.
  void begin(std::size_t statement) {
    origin_ = model_.origins[statement];
    const Repeat* const in = repeat_of(model_.kernel, statement);
    if (in != nullptr && in != recurrence_) {
      repeats_.push_back(*in);
      repeats_.back().first = statements_.size();
      repeats_.back().count = 0;
    }
    recurrence_ = in;
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

  Result<Model> result() {
    if (!problems_.empty()) return problems_;
    model_.kernel.statements = std::move(statements_);
    model_.kernel.repeats = std::move(repeats_);
    model_.origins = std::move(origins_);
    return std::move(model_);
  }

 private:
  Model model_;
  std::map<TensorId, std::size_t> weight_of_;
  std::set<std::string> names_, statement_names_;
  std::map<TensorId, std::vector<std::size_t>> writers_;
  std::vector<Computation> statements_;
  std::vector<Origin> origins_;
  std::vector<Repeat> repeats_;
  Origin origin_;
  const Repeat* recurrence_ = nullptr;  ///< of the model before, around the statement that is written
  Diagnostics problems_;
};

/// Factors in types that a machine multiplies.
class Signs {
 public:
  Signs(Rewritten& draft, const MultipliesBytes& multiplies) : draft_(draft), multiplies_(multiplies) {}

  bool takes(DType a, DType b) const { return !is_byte(a) || !is_byte(b) || multiplies_(a, b); }

  /// In types that the machine multiplies. A factor of another sign is corrected by the sums of the other factor: first
  /// a constant with a zero point, which takes these sums anyway, then the one beside a constant, whose sums are
  /// computed ahead, then the smaller one.
  bool fit(Factor& a, Factor& b) {
    const DType type_a = draft_.tensor(a.value.tensor).dtype, type_b = draft_.tensor(b.value.tensor).dtype;
    if (takes(type_a, type_b)) return true;
    const auto cost = [&](const Factor& one, const Factor& other) {
      const int sums = one.constant && one.zero ? 0 : other.constant ? 1 : 2;
      return std::pair(sums, element_count(draft_.tensor(one.value.tensor)));
    };
    const bool a_first = cost(a, b) <= cost(b, a);
    const bool other_a = takes(other_sign(type_a), type_b), other_b = takes(type_a, other_sign(type_b));
    if (other_a && (a_first || !other_b)) return turn(a);
    if (other_b) return turn(b);
    return takes(other_sign(type_a), other_sign(type_b)) && turn(a) && turn(b);
  }

 private:
  /// x - 128 as s8, or x + 128 as u8. False: its tensor changes while the model runs.
  bool turn(Factor& factor) {
    const TensorId id = factor.value.tensor;
    const Tensor of = draft_.tensor(id);
    const int offset = of.dtype == DType::u8 ? -128 : 128;
    const auto& writers = draft_.writers_of(id);
    if (of.inout || writers.size() > 1 || std::any_of(writers.begin(), writers.end(), [&](std::size_t s) {
          return repeat_of(draft_.before().kernel, s) != nullptr;
        }))
      return false;
    if (!turned_.contains(id)) {
      Computation made;
      made.name = of.name + "_other_sign";
      Access from{id, {}};
      for (std::size_t d = 0; d < of.shape.size(); ++d) {
        made.domain.dims.push_back({"i" + std::to_string(d), of.shape[d]});
        from.index.push_back(AffineExpr::dim(made.domain.dims.back().name));
      }
      made.write = {draft_.new_tensor(of.name + "_other_sign", other_sign(of.dtype), of.shape), from.index};
      made.reads = {std::move(from)};
      made.body = cast(other_sign(of.dtype), shifted(cast(DType::s32, read(0, of.dtype)), offset));
      turned_.emplace(id, made.write.tensor);
      draft_.add(std::move(made));
    }
    if (const auto outside = outside_of(factor.value, draft_.tensors())) factor.value.outside = *outside + offset;
    factor.value.tensor = turned_.at(id);
    factor.offset += offset;
    return true;
  }

  Rewritten& draft_;
  const MultipliesBytes& multiplies_;
  std::map<TensorId, TensorId> turned_;  ///< with their other signs
};

/// Sums of products without zero points.
class ZeroPoints {
 public:
  ZeroPoints(Rewritten& draft, Signs& signs) : draft_(draft), signs_(signs) {}

  /// The sum without zero points and what they add, into `to`. False: nothing has to leave it, or cannot.
  bool leave(const Computation& product, const Access& to) {
    if (product.body.type != DType::s32 || draft_.tensor(product.write.tensor).inout ||
        draft_.writers_of(product.write.tensor).size() > 1)
      return false;
    const auto first = centred_factor(product.body.args[0]), second = centred_factor(product.body.args[1]);
    if (!first || !second) return false;
    Factor a = factor_of(product, *first), b = factor_of(product, *second);
    const bool is_plain = !a.zero && !b.zero;
    centre_constant(product, a);
    centre_constant(product, b);
    if (!signs_.fit(a, b) || (is_plain && a.offset == 0 && b.offset == 0)) return false;
    return add_corrected(product, a, b, to);
  }

 private:
  Factor factor_of(const Computation& product, const CentredFactor& factor) {
    Factor result{product.reads[static_cast<std::size_t>(factor.value)]};
    result.constant = draft_.is_constant(result.value.tensor);
    if (factor.zero >= 0) result.zero = product.reads[static_cast<std::size_t>(factor.zero)];
    return result;
  }

  /// A constant without its zero point, if every value fits.
  void centre_constant(const Computation& product, Factor& factor) {
    if (!factor.zero || !draft_.is_constant(factor.value.tensor)) return;
    const auto centred = centred_weights(product, factor.value, *factor.zero);
    if (centred) factor = {*centred, std::nullopt, 0, true};
  }

  /// W - zw as s8, if every value fits.
  std::optional<Access> centred_weights(const Computation& product, const Access& value, const Access& zero) {
    const auto values = draft_.range_of(value.tensor), zeros = draft_.range_of(zero.tensor);
    if (!values || !zeros || values->first - zeros->second < -128 || values->second - zeros->first > 127)
      return std::nullopt;
    Computation made = over_dims_of(product, value);
    if (!uses_only(zero, dim_names_in(made))) return std::nullopt;
    made.reads = {value, zero};
    if (value == zero) return std::nullopt;
    made.body = cast(DType::s8, centred_text(0, 1, types_of(made, draft_.tensors())));
    std::vector<std::int64_t> shape;
    for (const Dim& dim : made.domain.dims) shape.push_back(dim.extent);
    made.write.tensor = draft_.new_tensor(draft_.tensor(value.tensor).name + "_centred", DType::s8, std::move(shape));
    if (!is_sound_statement(made, draft_.tensors())) return std::nullopt;
    const Access access = made.write;
    draft_.add(std::move(made));
    return access;
  }

  bool is_centred(const Factor& factor) {
    if (factor.offset != 0) return false;
    if (!factor.zero) return true;
    const auto zero = draft_.range_of(factor.zero->tensor);
    return zero && *zero == std::pair(std::int64_t{0}, std::int64_t{0});
  }

  /// I += x * w; S += w; R += x - zx; to = I - zx * S - zw * R, a constant factor as the second one.
  bool add_corrected(const Computation& product, const Factor& x, const Factor& w, const Access& to) {
    const bool constant_first = x.constant && !w.constant;
    const Factor &rows = constant_first ? w : x, &weights = constant_first ? x : w;
    Computation sum = product;
    sum.reads = {rows.value};
    const int second = place_of(sum.reads, weights.value);
    const std::vector<DType> types = types_of(sum, draft_.tensors());
    sum.body = binary(BinaryOp::mul, centred_text(0, -1, types), centred_text(second, -1, types));
    if (is_centred(x) && is_centred(w)) {
      sum.write = to;
      if (!is_sound_statement(sum, draft_.tensors())) return false;
      draft_.add(std::move(sum));
      return true;
    }
    Computation corrected = over_parallel(product);
    sum.write = draft_.new_sum(draft_.tensor(to.tensor).name, corrected);
    corrected.write = to;
    corrected.reads = {sum.write};
    corrected.body = read(0, DType::s32);
    std::vector<Computation> made;
    if (!subtract(product, rows, {weights.value}, "_weights", corrected, made)) return false;
    if (!subtract(product, weights, rows, "_rows", corrected, made)) return false;
    made.push_back(std::move(sum));
    made.push_back(std::move(corrected));
    for (const Computation& one : made)
      if (!is_sound_statement(one, draft_.tensors())) return false;
    for (Computation& one : made) draft_.add(std::move(one));
    return true;
  }

  /// The zero point of one factor times the sums of the other, out of `from`. False: the sums have too few dims.
  bool subtract(const Computation& product, const Factor& one, const Factor& other, const std::string& suffix,
                Computation& from, std::vector<Computation>& made) {
    if (is_centred(one)) return true;
    const std::set<std::string> kept = dim_names_in(from);
    if (one.zero && !uses_only(*one.zero, kept)) return false;
    for (const Dim& dim : product.domain.dims)  // the sum has a term for each point
      if (dim.kind == DimKind::reduction && !uses(other.value, dim.name)) return false;
    auto sums = sums_of(product, other, suffix);
    if (!sums) return false;
    const int zero = one.zero ? place_of(from.reads, *one.zero) : -1, sum = place_of(from.reads, sums->write);
    const ScalarExpr factor = zero_text(one, zero, types_of(from, draft_.tensors()));
    from.body = binary(BinaryOp::sub, from.body, binary(BinaryOp::mul, factor, read(sum, DType::s32)));
    made.push_back(std::move(*sums));
    return true;
  }

  /// S[..] += w, or w - zw. Nothing: the zero point has dims that the values have not.
  std::optional<Computation> sums_of(const Computation& product, const Factor& factor, const std::string& suffix) {
    Computation result;
    result.name = product.name + suffix;
    result.reduction = Reduction::add;
    result.reads = {factor.value};
    std::vector<std::int64_t> shape;
    for (const Dim& dim : product.domain.dims) {
      if (!uses(factor.value, dim.name)) continue;
      result.domain.dims.push_back(dim);
      if (dim.kind == DimKind::reduction) continue;
      shape.push_back(dim.extent);
      result.write.index.push_back(AffineExpr::dim(dim.name));
    }
    if (factor.zero) {
      if (!uses_only(*factor.zero, dim_names_in(result)) || *factor.zero == factor.value) return std::nullopt;
      result.reads.push_back(*factor.zero);
    }
    const std::vector<DType> types = types_of(result, draft_.tensors());
    result.body = cast(DType::s32, read(0, types[0]));
    if (is_centred(factor))
      result.reads.resize(1);
    else
      result.body = binary(BinaryOp::sub, result.body, zero_text(factor, 1, types));
    result.write.tensor =
        draft_.new_tensor(draft_.tensor(factor.value.tensor).name + "_sums", DType::s32, std::move(shape));
    return result;
  }

  Rewritten& draft_;
  Signs& signs_;
};

class IntegerProducts {
 public:
  IntegerProducts(Model model, bool strict, const MultipliesBytes& multiplies)
      : draft_(std::move(model)), signs_(draft_, multiplies), zeros_(draft_, signs_), strict_(strict) {}

  Result<Model> run() {
    const std::vector<Computation> before = draft_.before().kernel.statements;
    for (std::size_t s = 0; s < before.size(); ++s) {
      draft_.begin(s);
      if (!rewrites(before, s)) draft_.keep(before[s]);
    }
    return draft_.result();
  }

 private:
  bool rewrites(const std::vector<Computation>& all, std::size_t s) {
    if (!is_plain_product(all[s])) return false;
    if (const Repeat* repeat = repeat_of(draft_.before().kernel, s))
      return reads_same_in_all_steps(all[s], *repeat) && zeros_.leave(all[s], all[s].write);
    return by_scales(all, s) || zeros_.leave(all[s], all[s].write);
  }

  /// Does what it reads without the recurrence's dim stay as it is in all steps?
  bool reads_same_in_all_steps(const Computation& product, const Repeat& repeat) {
    return std::all_of(product.reads.begin(), product.reads.end(), [&](const Access& read) {
      const auto& writers = draft_.writers_of(read.tensor);
      return uses(read, repeat.dim) ||
             std::none_of(writers.begin(), writers.end(), [&](std::size_t s) { return repeat.contains(s); });
    });
  }

  /// What the read of a dequantised tensor reads instead; 0 outside is the zero point there.
  std::optional<BytesOperand> operand_of(const std::vector<Computation>& all, const Computation& product, int r) {
    const Access& read = product.reads[static_cast<std::size_t>(r)];
    const auto& writers = draft_.writers_of(read.tensor);
    if (writers.size() != 1) return std::nullopt;
    const Computation& writer = all[writers[0]];
    const auto found = dequantised(writer, draft_.tensors());
    const auto by = found ? subscripts_of(writer, read, draft_.tensor(read.tensor)) : std::nullopt;
    if (!by) return std::nullopt;
    const auto through = [&](int number) {
      Access access = writer.reads[static_cast<std::size_t>(number)];
      for (AffineExpr& e : access.index) e = simplify(substitute(e, *by), ranges_of(product.domain));
      return access;
    };
    BytesOperand operand{through(found->factor.value), through(found->scale), std::nullopt};
    if (found->factor.zero >= 0) operand.zero = through(found->factor.zero);
    if (const auto outside = outside_of(read, draft_.tensors())) {
      const auto zero = operand.zero ? draft_.range_of(operand.zero->tensor)
                                     : std::optional(std::pair(std::int64_t{0}, std::int64_t{0}));
      if (*outside != 0 || !zero || zero->first != zero->second || outside_of(operand.value, draft_.tensors()))
        return std::nullopt;
      operand.value.outside = static_cast<double>(zero->first);
    }
    return operand;
  }

  bool by_scales(const std::vector<Computation>& all, std::size_t s) {
    const Computation& product = all[s];
    const Tensor& written = draft_.tensor(product.write.tensor);
    if (strict_ || product.body.type != DType::f32 || product.reads.size() != 2 || written.inout ||
        draft_.writers_of(product.write.tensor).size() != 1)
      return false;
    for (const ScalarExpr& arg : product.body.args)
      if (!std::holds_alternative<Read>(arg.op)) return false;
    const auto a = operand_of(all, product, 0), b = operand_of(all, product, 1);
    if (!a || !b || !sums_fit(product)) return false;
    const std::set<std::string> kept = dim_names_in(over_parallel(product));
    if (!uses_only(a->scale, kept) || !uses_only(b->scale, kept)) return false;
    Computation sum = product;
    sum.reads = {a->value};
    const int zero_a = a->zero ? place_of(sum.reads, *a->zero) : -1;
    const int value_b = place_of(sum.reads, b->value), zero_b = b->zero ? place_of(sum.reads, *b->zero) : -1;
    const std::vector<DType> types = types_of(sum, draft_.tensors());
    sum.body = binary(BinaryOp::mul, centred_text(0, zero_a, types), centred_text(value_b, zero_b, types));
    Computation scaled = over_parallel(product);
    const Access whole = draft_.new_sum(written.name, scaled);
    sum.write = whole;
    scaled.reads = {whole, a->scale, b->scale};
    scaled.body = binary(BinaryOp::mul, cast(DType::f32, read(0, DType::s32)),
                         binary(BinaryOp::mul, read(1, DType::f32), read(2, DType::f32)));
    if (a->scale == b->scale) {
      scaled.reads.pop_back();
      scaled.body.args[1].args[1] = read(1, DType::f32);
    }
    if (!is_sound_statement(sum, draft_.tensors()) || !is_sound_statement(scaled, draft_.tensors())) return false;
    if (!zeros_.leave(sum, whole)) {
      if (zero_a >= 0 || zero_b >= 0 || !signs_.takes(types[0], types[static_cast<std::size_t>(value_b)])) return false;
      draft_.add(std::move(sum));
    }
    draft_.add(std::move(scaled));
    return true;
  }

  Rewritten draft_;
  Signs signs_;
  ZeroPoints zeros_;
  const bool strict_;
};

}  // namespace

Result<Model> integer_products(const Model& model, bool strict_float, const MultipliesBytes& multiplies) {
  return IntegerProducts(model, strict_float, multiplies).run();
}

}  // namespace isamap
