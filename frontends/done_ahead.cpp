// SPDX-License-Identifier: Apache-2.0
#include "frontends/done_ahead.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "frontends/dropped_statements.h"
#include "frontends/linear_bodies.h"
#include "frontends/subnormal_weights.h"
#include "frontends/unused_name.h"
#include "ir/compose.h"

namespace isamap {
namespace {

constexpr std::int64_t small_weight = 1 << 20;  ///< bytes that any constant may have
constexpr std::int64_t most_growth = 4;         ///< of a constant over what it is computed from

/// Weights of a model, and new ones: results of statements over them.
class AheadWeights {
 public:
  AheadWeights(Model& model, double most_points) : model_(model), points_left_(most_points) {
    for (std::size_t w = 0; w < model_.weights.size(); ++w) weight_of_[model_.weights[w].tensor] = w;
    for (const Tensor& tensor : kernel().tensors) names_.insert(tensor.name);
  }

  Diagnostics problems;  ///< a file that cannot be read

  bool is_constant(TensorId id) const { return weight_of_.contains(id); }

  /// The values of `made` after these statements over weights; nothing: too much work, or a file that cannot be read.
  std::shared_ptr<const TensorData> evaluated(const std::vector<Computation>& statements, const Tensor& made) {
    Kernel small;
    small.name = "ahead";
    small.tensors = {made};
    std::map<TensorId, TensorId> renumbered;
    std::int64_t bytes_read = 0;
    for (Computation s : statements) {
      for (Access& read : s.reads) {
        const auto [place, is_new] = renumbered.emplace(read.tensor, make_id<TensorId>(small.tensors.size()));
        if (is_new) {
          small.tensors.push_back(tensor(read.tensor));
          bytes_read += byte_count(small.tensors.back());
        }
        read.tensor = place->second;
      }
      s.write.tensor = make_id<TensorId>(0);
      small.statements.push_back(std::move(s));
    }
    const double points = point_count(small);
    const std::int64_t size = byte_count(made);
    const bool grows = bytes_read > 0 && size > std::max(small_weight, most_growth * bytes_read);
    if (points > points_left_ || grows || !verify(small).empty()) return nullptr;
    points_left_ -= points;
    std::vector<TensorData> data(small.tensors.size());
    data[0] = make_data(made);
    for (const auto& [from, to] : renumbered)
      if (!read_values(from, data[to.index()])) return nullptr;
    if (!filled(small, data[0])) interpret(small, data);
    return std::make_shared<TensorData>(std::move(data[0]));
  }

  void add_weight(TensorId id, std::shared_ptr<const TensorData> values) {
    kernel().tensors[id.index()].constant = true;
    weight_of_[id] = model_.weights.size();
    Weight weight;
    weight.tensor = id;
    weight.bytes = static_cast<std::int64_t>(values->bytes.size());
    weight.values = std::move(values);
    model_.weights.push_back(std::move(weight));
  }

  /// A new weight; invalid: it cannot be computed ahead.
  TensorId new_weight(const std::string& wanted, const Computation& writes, const std::vector<std::int64_t>& shape) {
    Tensor made{unused_name(names_, wanted), shape, writes.body.type};
    auto values = evaluated({writes}, made);
    if (!values) return {};
    const auto id = make_id<TensorId>(kernel().tensors.size());
    kernel().tensors.push_back(std::move(made));
    add_weight(id, std::move(values));
    return id;
  }

 private:
  Kernel& kernel() { return model_.kernel; }
  const Tensor& tensor(TensorId id) { return kernel().tensors[id.index()]; }

  /// `W[i,j] = 0.5` of every element, as files without their weights have it.
  static bool filled(const Kernel& kernel, TensorData& data) {
    const Computation& statement = kernel.statements[0];
    const auto* value = std::get_if<Constant>(&statement.body.op);
    if (kernel.statements.size() != 1 || value == nullptr || statement.reduction != Reduction::assign ||
        point_count(kernel) != static_cast<double>(data.count()) || !is_float(data.dtype) || data.count() == 0)
      return false;
    data.set(0, {value->value, 0});
    for (std::size_t done = static_cast<std::size_t>(bytes(data.dtype)); done < data.bytes.size(); done *= 2)
      std::memcpy(data.bytes.data() + done, data.bytes.data(), std::min(done, data.bytes.size() - done));
    return true;
  }

  bool read_values(TensorId id, TensorData& into) {
    auto values = values_of(model_.weights[weight_of_.at(id)], tensor(id));
    if (!values)
      problems = values.diagnostics();
    else
      into = std::move(*values);
    return static_cast<bool>(values);
  }

  Model& model_;
  double points_left_;
  std::map<TensorId, std::size_t> weight_of_;  ///< position in Model::weights
  std::set<std::string> names_;
};

class Ahead {
 public:
  Ahead(Model model, const AheadOptions& options)
      : model_(std::move(model)), options_(options), weights_(model_, options.most_points) {
    gone_.resize(kernel().statements.size(), false);
  }

  Result<Model> run() {
    drop_dead();
    compute_constant_statements();
    if (!options_.strict_float) reassociate();
    for (std::size_t s = 0; s < kernel().statements.size(); ++s)
      if (!gone_[s]) hoist(s);
    if (!weights_.problems.empty()) return weights_.problems;
    drop_statements(model_, gone_);
    return copies_ ? composed(model_) : std::move(model_);
  }

 private:
  Kernel& kernel() { return model_.kernel; }
  Computation& statement(std::size_t s) { return kernel().statements[s]; }
  const Tensor& tensor(TensorId id) { return kernel().tensors[id.index()]; }
  bool is_constant(TensorId id) const { return weights_.is_constant(id); }

  std::vector<std::size_t> writers_of(TensorId id) {
    std::vector<std::size_t> result;
    for (std::size_t s = 0; s < gone_.size(); ++s)
      if (!gone_[s] && statement(s).write.tensor == id) result.push_back(s);
    return result;
  }

  std::size_t reads_of_tensor(TensorId id) {
    std::size_t count = 0;
    for (std::size_t s = 0; s < gone_.size(); ++s)
      if (!gone_[s])
        for (const Access& read : statement(s).reads) count += read.tensor == id ? 1 : 0;
    return count;
  }

  /// `body` over some of `dims` as a weight, and the read of it; nothing: it stays.
  std::optional<Access> weight_of(const std::string& name, const Computation& of, const ScalarExpr& body,
                                  const std::vector<Dim>& dims) {
    Computation writes = linear::statement_over(of, body, dims);
    std::vector<std::int64_t> shape;
    for (const Dim& dim : dims) shape.push_back(dim.extent);
    const TensorId id = weights_.new_weight(name, writes, shape);
    if (!id.valid()) return std::nullopt;
    writes.write.tensor = id;
    return writes.write;
  }

  // Statements of constants.

  void compute_constant_statements() {
    const std::vector<Role> roles = roles_of(kernel());
    std::map<TensorId, std::vector<std::size_t>> writers;
    for (std::size_t s = 0; s < gone_.size(); ++s) writers[statement(s).write.tensor].push_back(s);
    for (std::size_t s = 0; s < gone_.size(); ++s) {
      const TensorId id = statement(s).write.tensor;
      const std::vector<std::size_t>& all = writers[id];
      if (all.back() != s || roles[id.index()] != Role::intermediate) continue;
      const bool constant = std::all_of(all.begin(), all.end(), [&](std::size_t w) {
        const auto& reads = statement(w).reads;
        return repeat_of(kernel(), w) == nullptr && !model_.of_sizes.contains(tensor(id).name) &&
               std::all_of(reads.begin(), reads.end(), [&](const Access& read) { return is_constant(read.tensor); });
      });
      if (!constant) continue;
      std::vector<Computation> statements;
      for (const std::size_t w : all) statements.push_back(statement(w));
      auto values = weights_.evaluated(statements, tensor(id));
      if (!values) continue;
      weights_.add_weight(id, std::move(values));
      for (const std::size_t w : all) gone_[w] = true;
    }
  }

  // a*x + b

  /// Outside recurrences; its only read that is no constant, as a factor and an offset.
  std::optional<linear::Body> linear_body(std::size_t s) {
    if (gone_[s] || repeat_of(kernel(), s) != nullptr) return std::nullopt;
    return linear::body_of(statement(s), kernel().tensors, [&](TensorId id) { return is_constant(id); });
  }

  /// Nothing but this one access reads it, nothing but one statement writes it: that one.
  std::optional<std::size_t> only_producer(const Access& read, std::size_t before) {
    const Tensor& of = tensor(read.tensor);
    const auto writers = writers_of(read.tensor);
    if (of.inout || of.output || writers.size() != 1 || writers[0] >= before || reads_of_tensor(read.tensor) != 1)
      return std::nullopt;
    return repeat_of(kernel(), writers[0]) == nullptr ? std::optional(writers[0]) : std::nullopt;
  }

  void reassociate() {
    for (std::size_t s = 0; s < gone_.size(); ++s)
      while (merge_with_producer(s)) {
      }
    for (std::size_t s = 0; s < gone_.size(); ++s)
      if (const auto body = linear_body(s)) into_product(s, *body);
  }

  bool merge_with_producer(std::size_t s) {
    const auto outer = linear_body(s);
    if (!outer) return false;
    const Access& read = statement(s).reads[static_cast<std::size_t>(outer->read)];
    const auto producer = only_producer(read, s);
    if (!producer) return false;
    const auto inner = linear_body(*producer);
    if (!inner || !lies_inside(read, statement(s), tensor(read.tensor))) return false;
    const TensorId source = statement(*producer).reads[static_cast<std::size_t>(inner->read)].tensor;
    for (const std::size_t w : writers_of(source))
      if (w > *producer) return false;
    auto merged = linear::merged(statement(s), *outer, statement(*producer), *inner, kernel().tensors, read.tensor);
    if (!merged || !keeps_digits(*merged)) return false;
    statement(s) = std::move(merged->statement);
    take_origin(model_, *producer, s);
    gone_[*producer] = true;
    return true;
  }

  /// Constants of one statement in place of two, rounded to its type. A mask of a sequence, (1 - m)*-3e38 + b, is b
  /// where m is 1, and -3e38 + b has no digit of b: of few elements that is chance, as of a small bias of one channel.
  bool keeps_digits(const linear::Merged& merged) {
    const DType type = merged.statement.body.type;
    const auto factors = values_of_term(merged, merged.factor), inner = values_of_term(merged, merged.inner_offset),
               outer = values_of_term(merged, merged.offset);
    if (!factors || !inner || !outer) return false;
    const double half_of_the_digits = std::exp2(format_of(type).precision / 2.0);
    const double largest = std::sqrt(largest_finite(type));  // half of the exponents: products with it are finite
    std::int64_t lost = 0;
    for (std::int64_t i = 0; i < outer->count(); ++i) {
      const double factor = std::abs(factors->get(i).real), a = inner->get(i).real, b = outer->get(i).real;
      const bool fits = (factor == 0 || factor >= 1 / largest) && factor <= largest && std::abs(a + b) <= largest;
      if (!fits) return false;
      lost += b != 0 && std::abs(a) > half_of_the_digits * std::abs(b) ? 1 : 0;
    }
    return lost * 8 <= outer->count();
  }

  /// Over all dims that the terms use. Nothing: too much work.
  std::shared_ptr<const TensorData> values_of_term(const linear::Merged& merged, const ScalarExpr& term) {
    const ScalarExpr all =
        binary(BinaryOp::add, merged.factor, binary(BinaryOp::add, merged.inner_offset, merged.offset));
    const std::vector<Dim> dims = linear::dims_of(merged.over, all);
    Tensor values{"term", {}, DType::f64};
    for (const Dim& dim : dims) values.shape.push_back(dim.extent);
    return weights_.evaluated({linear::statement_over(merged.over, term, dims)}, values);
  }

  /// The factor of a sum of products becomes one of its constant operand.
  void into_product(std::size_t s, const linear::Body& body) {
    if (linear::is_number(body.factor, 1)) return;
    const Access read = statement(s).reads[static_cast<std::size_t>(body.read)];
    const auto producer = only_producer(read, s);
    if (!producer || !lies_inside(read, statement(s), tensor(read.tensor))) return;
    const Computation& sum = statement(*producer);
    for (std::size_t r = 0; r < sum.reads.size(); ++r) {
      if (!is_constant(sum.reads[r].tensor)) continue;
      const auto scaled = linear::scaled_operand(sum, static_cast<int>(r), statement(s), body, kernel().tensors);
      if (!scaled) continue;
      const auto weight =
          weight_of(tensor(sum.reads[r].tensor).name + "_scaled", *scaled, scaled->body, scaled->domain.dims);
      if (!weight) continue;
      statement(*producer).reads[r] = *weight;
      const ScalarExpr one = linear::number(1, DType::f64);
      statement(s) = linear::with_body(statement(s), body, one, body.offset);
      copies_ = copies_ || linear::is_number(body.offset, 0);
      take_origin(model_, *producer, s);
      return;
    }
  }

  // Constant parts of bodies.

  void hoist(std::size_t s) {
    if (is_irregular(statement(s)) || !statement(s).domain.faces.empty()) return;
    for (std::size_t tried = 0;;) {
      const auto parts = linear::constant_parts(statement(s), [&](TensorId id) { return is_constant(id); });
      if (tried >= parts.size()) return;
      if (!replace_part(s, parts[tried])) ++tried;
    }
  }

  bool replace_part(std::size_t s, const ScalarExpr& part) {
    Computation& of = statement(s);
    const std::vector<Dim> dims = linear::dims_of(of, part);
    std::int64_t size = 1, largest = small_weight / most_growth / bytes(part.type);
    for (const Dim& dim : dims) size *= dim.extent;
    for (const int r : reads_of(part))
      largest = std::max(largest, element_count(tensor(of.reads[static_cast<std::size_t>(r)].tensor)));
    if (size > largest) return false;
    const auto weight = weight_of(tensor(of.write.tensor).name + "_constant", of, part, dims);
    if (!weight) return false;
    of = linear::with_part(of, part, *weight);
    return true;
  }

  /// What no statement reads and the caller does not ask for, as a mask of dropout.
  void drop_dead() {
    std::vector<int> readers(kernel().tensors.size(), 0);
    for (const TensorId id : model_.outputs) ++readers[id.index()];
    for (std::size_t s = 0; s < gone_.size(); ++s)
      if (!gone_[s])
        for (const Access& read : statement(s).reads) ++readers[read.tensor.index()];
    for (std::size_t s = gone_.size(); s-- > 0;) {
      if (gone_[s] || readers[statement(s).write.tensor.index()] > 0 || repeat_of(kernel(), s) != nullptr) continue;
      gone_[s] = true;
      for (const Access& read : statement(s).reads) --readers[read.tensor.index()];
    }
  }

  Model model_;
  const AheadOptions options_;
  AheadWeights weights_;  ///< of `model_`
  std::vector<bool> gone_;
  bool copies_ = false;  ///< a statement became a copy
};

/// Weights of bytes with values of 7 bits say so (Tensor::range): instructions that saturate the sum of two products at
/// 16 bits are exact then. Quantisers keep to them for that reason (`reduce_range` of ONNX Runtime's). One range for
/// all, so that equal layers stay equal.
Diagnostics state_ranges_of_bytes(Model& model) {
  for (const Weight& weight : model.weights) {
    Tensor& tensor = model.kernel.tensors[weight.tensor.index()];
    if (weight.drawn || tensor.range || (tensor.dtype != DType::s8 && tensor.dtype != DType::u8)) continue;
    const auto values = values_of(weight, tensor);
    if (!values) return values.diagnostics();
    const bool whole = tensor.dtype == DType::s8;
    const int low = whole ? -64 : 0, high = whole ? 64 : 127;
    const auto fits = [&](std::uint8_t byte) {
      const int value = whole ? static_cast<std::int8_t>(byte) : byte;
      return low <= value && value <= high;
    };
    if (std::all_of(values->bytes.begin(), values->bytes.end(), fits)) tensor.range = {low, high};
  }
  return {};
}

}  // namespace

Result<Model> done_ahead(const Model& model, const AheadOptions& options) {
  auto made = Ahead(model, options).run();
  if (!made) return made;
  if (auto problems = state_ranges_of_bytes(*made); !problems.empty()) return problems;
  if (options.strict_float) return made;
  if (auto problems = drop_subnormal_weights(*made); !problems.empty()) return problems;
  return made;
}

}  // namespace isamap
