// SPDX-License-Identifier: Apache-2.0
#include "ir/compose.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

/// `Y[..] = X[..]` without arithmetic, computed places, values of dims or a recurrence.
bool is_copy(const Kernel& kernel, std::size_t s) {
  const Computation& statement = kernel.statements[s];
  return statement.reduction == Reduction::assign && statement.reads.size() == 1 && statement.values.empty() &&
         std::holds_alternative<Read>(statement.body.op) && statement.domain.faces.empty() &&
         !statement.reads[0].computed && statement.reads[0].tensor != statement.write.tensor &&
         repeat_of(kernel, s) == nullptr;
}

/// The dim that each subscript of an access is, each another one and as long as its axis: the access visits every
/// element once. Axes of size 1 may be indexed by 0. Nothing otherwise.
std::optional<std::vector<std::string>> plain_dims(const Access& access, const Computation& statement,
                                                   const Tensor& tensor) {
  std::vector<std::string> dims;
  std::set<std::string> seen;
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const auto dim = access.index[d].as_dim();
    if (!dim && access.index[d] == AffineExpr(0) && tensor.shape[d] == 1) {
      dims.emplace_back();
      continue;
    }
    if (!dim || !seen.insert(*dim).second) return std::nullopt;
    const int position = statement.domain.find(*dim);
    if (position < 0 || statement.domain.dims[static_cast<std::size_t>(position)].extent != tensor.shape[d])
      return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

/// The expressions with `dims` replaced by `by`, in the ranges of the statement that they then stand in.
std::vector<AffineExpr> replaced_in(const std::vector<AffineExpr>& index, const std::vector<std::string>& dims,
                                    const std::vector<AffineExpr>& by, const Computation& statement) {
  std::map<std::string, AffineExpr> map;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (!dims[d].empty()) map.emplace(dims[d], by[d]);
  const Ranges ranges = ranges_of(statement.domain);
  std::vector<AffineExpr> result;
  for (const AffineExpr& e : index) result.push_back(simplify(substitute(e, map), ranges));
  return result;
}

void renumber_operands(ScalarExpr& body, const std::vector<int>& numbers) {
  if (auto* read = std::get_if<Read>(&body.op)) read->access = numbers[static_cast<std::size_t>(read->access)];
  for (ScalarExpr& arg : body.args) renumber_operands(arg, numbers);
}

/// Equal reads become one, in order of first occurrence.
void merge_reads(Computation& statement) {
  std::vector<Access> reads;
  std::vector<int> numbers;
  for (Access read : statement.reads) {
    if (read.computed) read.computed->read = numbers[static_cast<std::size_t>(read.computed->read)];
    const auto same = std::find(reads.begin(), reads.end(), read);
    numbers.push_back(static_cast<int>(same - reads.begin()));
    if (same == reads.end()) reads.push_back(std::move(read));
  }
  for (std::size_t v = 0; v < statement.values.size(); ++v) numbers.push_back(static_cast<int>(reads.size() + v));
  renumber_operands(statement.body, numbers);
  statement.reads = std::move(reads);
}

class Composing {
 public:
  explicit Composing(const Kernel& kernel)
      : kernel_(kernel), gone_(kernel.statements.size(), false), taken_(kernel.statements.size()) {}

  Composed run() {
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (is_copy(kernel_, s)) forward(s);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (!gone_[s] && is_copy(kernel_, s)) backward(s);
    return without_the_gone();
  }

 private:
  const Tensor& tensor(TensorId id) const { return kernel_.tensors[id.index()]; }

  std::vector<std::size_t> writers_of(TensorId id) const {
    std::vector<std::size_t> result;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (!gone_[s] && kernel_.statements[s].write.tensor == id) result.push_back(s);
    return result;
  }

  std::vector<std::size_t> readers_of(TensorId id) const {
    std::vector<std::size_t> result;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const auto& reads = kernel_.statements[s].reads;
      if (!gone_[s] && std::any_of(reads.begin(), reads.end(), [&](const Access& a) { return a.tensor == id; }))
        result.push_back(s);
    }
    return result;
  }

  bool is_sound(const Computation& statement) const {
    Diagnostics problems;
    check_statement(statement, kernel_.tensors, "", {}, problems);
    return problems.empty();
  }

  void forward(std::size_t s) {
    const Computation copy = kernel_.statements[s];
    const TensorId target = copy.write.tensor, source = copy.reads[0].tensor;
    const auto dims = plain_dims(copy.write, copy, tensor(target));
    if (!dims || tensor(target).inout || writers_of(target).size() != 1) return;
    for (const std::size_t w : writers_of(source))
      if (w > s) return;
    const std::vector<std::size_t> readers = readers_of(target);
    bool all = !readers.empty() && !tensor(target).output;
    for (const std::size_t r : readers)
      if (auto composed = read_through(copy, *dims, kernel_.statements[r]); composed && keeps_steps(*composed, r)) {
        kernel_.statements[r] = std::move(*composed);
        take(s, r);
      } else {
        all = false;
      }
    gone_[s] = all;
  }

  /// As the verifier demands of a recurrence.
  bool keeps_steps(const Computation& statement, std::size_t s) const {
    const Repeat* repeat = repeat_of(kernel_, s);
    return repeat == nullptr || std::all_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
             if (!step_faults(read, *repeat, tensor(read.tensor)).empty()) return false;
             // Slices of an input are contiguous, or a copy makes them so.
             return role_of(kernel_, read.tensor) != Role::input ||
                    std::all_of(read.index.begin() + (read.index.empty() ? 0 : 1), read.index.end(),
                                [&](const AffineExpr& e) { return !e.names().contains(repeat->dim); });
           });
  }

  void take(std::size_t copy, std::size_t into) {
    taken_[into].push_back(copy);
    taken_[into].insert(taken_[into].end(), taken_[copy].begin(), taken_[copy].end());
  }

  /// The reader with reads of the copy's source in place of the copy.
  std::optional<Computation> read_through(const Computation& copy, const std::vector<std::string>& dims,
                                          const Computation& reader) const {
    const TensorId target = copy.write.tensor, source = copy.reads[0].tensor;
    const std::optional<double> padding = outside_of(copy.reads[0], kernel_.tensors);
    const bool pads = padding && !lies_inside(copy.reads[0], copy, tensor(source));
    Computation result = reader;
    for (Access& read : result.reads) {
      if (read.tensor != target) continue;
      std::optional<double> outside = pads ? padding : std::nullopt;
      if (!lies_inside(read, reader, tensor(target))) {
        outside = outside_of(read, kernel_.tensors);
        if (pads || !outside || !same_outside(copy, dims, read, reader)) return std::nullopt;
      }
      std::optional<ComputedIndex> computed;
      if (read.computed) {
        const int axis = axis_of(copy.reads[0], dims[static_cast<std::size_t>(read.computed->axis)]);
        if (axis < 0 || tensor(source).shape[static_cast<std::size_t>(axis)] !=
                            tensor(target).shape[static_cast<std::size_t>(read.computed->axis)])
          return std::nullopt;
        computed = ComputedIndex{axis, read.computed->read};
      }
      read.index = replaced_in(copy.reads[0].index, dims, read.index, reader);
      read.tensor = source;
      read.outside = outside;
      read.computed = computed;
    }
    if (!one_outside(result, source, tensor(source))) return std::nullopt;
    merge_reads(result);
    if (!is_sound(result)) return std::nullopt;
    return result;
  }

  /// The subscript that is this dim and the only one that uses it; -1: none.
  static int axis_of(const Access& access, const std::string& dim) {
    int found = -1;
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      if (access.index[d].names().count(dim) == 0) continue;
      if (found >= 0 || access.index[d].as_dim() != dim) return -1;
      found = static_cast<int>(d);
    }
    return dim.empty() ? -1 : found;
  }

  /// Is a place outside the copy outside its source, too, and only then? An axis along which the reader may leave the
  /// copy must be one of the source, of the same size: `T[c,p+1]` of `T[c,p] = X[c/4 + 34*(c%4),p]`.
  bool same_outside(const Computation& copy, const std::vector<std::string>& dims, const Access& read,
                    const Computation& reader) const {
    const Ranges ranges = ranges_of(reader.domain);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::int64_t size = tensor(copy.write.tensor).shape[d];
      const auto found = bounds(read.index[d], ranges);
      if (found && found->low >= 0 && found->high < size) continue;
      const int axis = axis_of(copy.reads[0], dims[d]);
      if (axis < 0 || tensor(copy.reads[0].tensor).shape[static_cast<std::size_t>(axis)] != size) return false;
    }
    return true;
  }

  /// A statement reads a tensor with one value outside: reads inside take that of the others.
  static bool one_outside(Computation& statement, TensorId id, const Tensor& tensor) {
    std::optional<double> common;
    for (const Access& read : statement.reads) {
      if (read.tensor != id || (!read.outside && (!tensor.outside || lies_inside(read, statement, tensor)))) continue;
      const double value = read.outside ? *read.outside : *tensor.outside;
      if (common && *common != value) return false;
      common = value;
    }
    for (Access& read : statement.reads)
      if (read.tensor == id && common) read.outside = common;
    return true;
  }

  void backward(std::size_t s) {
    const Computation copy = kernel_.statements[s];
    const TensorId target = copy.write.tensor, source = copy.reads[0].tensor;
    const auto dims = plain_dims(copy.reads[0], copy, tensor(source));
    const auto writers = writers_of(source);
    if (!dims || writers.size() != 1 || writers[0] > s || readers_of(source).size() != 1) return;
    if (tensor(source).inout || tensor(source).output || tensor(target).inout) return;
    const std::size_t p = writers[0];
    Computation producer = kernel_.statements[p];
    if (repeat_of(kernel_, p) != nullptr || !starts_alike(producer, target, s)) return;
    for (const std::size_t r : readers_of(target))
      if (r < s) return;
    for (const Dim& dim : copy.domain.dims)
      if (std::find(dims->begin(), dims->end(), dim.name) == dims->end()) return;
    producer.write.index = replaced_in(copy.write.index, *dims, producer.write.index, producer);
    producer.write.tensor = target;
    if (!is_sound(producer)) return;
    kernel_.statements[p] = std::move(producer);
    take(s, p);
    gone_[s] = true;
  }

  /// Do the two statements write boxes without a common element?
  bool apart(const Computation& a, const Computation& b) const {
    const Ranges of_a = ranges_of(a.domain), of_b = ranges_of(b.domain);
    for (std::size_t d = 0; d < a.write.index.size(); ++d) {
      const auto one = bounds(a.write.index[d], of_a), two = bounds(b.write.index[d], of_b);
      if (one && two && (one->high < two->low || two->high < one->low)) return true;
    }
    return false;
  }

  /// Does what the producer reduces start where the target's elements start, untouched by other statements?
  bool starts_alike(const Computation& producer, TensorId target, std::size_t copy) const {
    const auto from_zero = [](Reduction r) { return r == Reduction::assign || r == Reduction::add; };
    for (const std::size_t w : writers_of(target)) {
      if (w == copy) continue;
      if (!from_zero(producer.reduction) || !from_zero(kernel_.statements[w].reduction) ||
          !apart(kernel_.statements[w], kernel_.statements[copy]))
        return false;
    }
    return true;
  }

  Composed without_the_gone() {
    Composed result;
    std::vector<bool> used(kernel_.tensors.size(), false);
    const std::vector<Role> roles = roles_of(kernel_);
    for (std::size_t t = 0; t < used.size(); ++t) used[t] = roles[t] != Role::intermediate;
    std::vector<std::size_t> number(kernel_.statements.size() + 1, 0);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      number[s + 1] = number[s] + (gone_[s] ? 0 : 1);
      if (gone_[s]) continue;
      for (int a = 0; a < access_count(kernel_.statements[s]); ++a)
        used[access_of(kernel_.statements[s], a).tensor.index()] = true;
      result.statements.push_back({s});
      result.statements.back().insert(result.statements.back().end(), taken_[s].begin(), taken_[s].end());
    }
    result.kernel = kernel_;
    result.kernel.tensors.clear();
    result.kernel.statements.clear();
    result.tensors.resize(used.size());
    for (std::size_t t = 0; t < used.size(); ++t) {
      if (!used[t]) continue;
      result.tensors[t] = make_id<TensorId>(result.kernel.tensors.size());
      result.kernel.tensors.push_back(kernel_.tensors[t]);
    }
    for (const std::vector<std::size_t>& from : result.statements) {
      Computation statement = kernel_.statements[from.front()];
      statement.write.tensor = result.tensors[statement.write.tensor.index()];
      for (Access& read : statement.reads) read.tensor = result.tensors[read.tensor.index()];
      result.kernel.statements.push_back(std::move(statement));
    }
    for (Repeat& repeat : result.kernel.repeats) repeat.first = number[repeat.first];
    return result;
  }

  Kernel kernel_;
  std::vector<bool> gone_;
  std::vector<std::vector<std::size_t>> taken_;  ///< by statement: copies that it took in
};

}  // namespace

bool lies_inside(const Access& access, const Computation& statement, const Tensor& tensor) {
  const Ranges ranges = ranges_of(statement.domain);
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const auto found = bounds(access.index[d], ranges);
    if (!found || found->low < 0 || found->high >= tensor.shape[d]) return false;
  }
  return true;
}

Composed composed(const Kernel& kernel) { return Composing(kernel).run(); }

}  // namespace isamap
