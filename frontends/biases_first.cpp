// SPDX-License-Identifier: Apache-2.0
#include "frontends/biases_first.h"

#include <algorithm>
#include <map>

#include "frontends/dropped_statements.h"
#include "ir/begun_sums.h"

namespace isamap {
namespace {

/// The addition of a bias in the body of the statement that reads a sum.
struct Addition {
  std::size_t sum = 0, reader = 0;  ///< statements
  int of_sum = 0, of_bias = 0;      ///< reads of the reader
  ScalarExpr node;                  ///< sum + bias
};

bool is_read_of(const ScalarExpr& e, int access) {
  const auto* leaf = std::get_if<Read>(&e.op);
  return leaf != nullptr && leaf->access == access;
}

int mention_count(const ScalarExpr& e, int access) {
  int count = is_read_of(e, access) ? 1 : 0;
  for (const ScalarExpr& arg : e.args) count += mention_count(arg, access);
  return count;
}

/// The node that adds the sum to another read; null: there is none.
const ScalarExpr* addition_to(const ScalarExpr& e, int sum) {
  const auto* op = std::get_if<Binary>(&e.op);
  if (op != nullptr && op->op == BinaryOp::add)
    for (const std::size_t side : {0, 1})
      if (is_read_of(e.args[side], sum) && std::holds_alternative<Read>(e.args[1 - side].op)) return &e;
  for (const ScalarExpr& arg : e.args)
    if (const ScalarExpr* found = addition_to(arg, sum)) return found;
  return nullptr;
}

/// The body without its reads from `gone` on renumbered: read `gone` is left out.
void leave_out_read(Computation& statement, int gone) {
  statement.reads.erase(statement.reads.begin() + gone);
  const auto renumber = [&](ScalarExpr& e, const auto& again) -> void {
    if (auto* leaf = std::get_if<Read>(&e.op); leaf != nullptr && leaf->access > gone) --leaf->access;
    for (ScalarExpr& arg : e.args) again(arg, again);
  };
  renumber(statement.body, renumber);
}

class BiasMover {
 public:
  BiasMover(Model model, const FillsAccumulators& fills, const BiasOptions& options)
      : model_(std::move(model)), fills_(fills), options_(options) {}

  Model run() {
    if (!kernel().repeats.empty()) return std::move(model_);
    for (std::size_t s = 0; s < kernel().statements.size(); ++s)
      if (const auto addition = addition_behind(s); addition && move(*addition)) ++s;  // the copy stands before it
    return std::move(model_);
  }

 private:
  Kernel& kernel() { return model_.kernel; }
  Tensor& tensor(TensorId id) { return kernel().tensors[id.index()]; }

  std::vector<std::size_t> those_that(TensorId id, bool write) {
    std::vector<std::size_t> found;
    for (std::size_t s = 0; s < kernel().statements.size(); ++s) {
      const Computation& one = kernel().statements[s];
      const bool reads =
          std::any_of(one.reads.begin(), one.reads.end(), [&](const Access& a) { return a.tensor == id; });
      if (write ? one.write.tensor == id : reads) found.push_back(s);
    }
    return found;
  }

  std::optional<Addition> addition_behind(std::size_t s) {
    const Computation& sum = kernel().statements[s];
    const TensorId id = sum.write.tensor;
    const Tensor& of = tensor(id);
    if (sum.reduction != Reduction::add || role_of(kernel(), id) != Role::intermediate || of.inout || of.output ||
        !sum.domain.faces.empty() || !fills_(of.dtype) || (options_.strict_float && is_float(of.dtype)) ||
        options_.biases_behind.contains(sum.name))
      return std::nullopt;
    const auto readers = those_that(id, false);
    if (those_that(id, true).size() != 1 || readers.size() != 1 || readers[0] < s) return std::nullopt;
    const Computation& reader = kernel().statements[readers[0]];
    if (reader.reduction != Reduction::assign || is_irregular(reader) || !reader.domain.faces.empty())
      return std::nullopt;
    for (std::size_t r = 0; r < reader.reads.size(); ++r) {
      if (reader.reads[r].tensor != id || mention_count(reader.body, static_cast<int>(r)) != 1) continue;
      const ScalarExpr* node = addition_to(reader.body, static_cast<int>(r));
      if (node == nullptr || node->type != of.dtype) return std::nullopt;
      const std::size_t side = is_read_of(node->args[0], static_cast<int>(r)) ? 1 : 0;
      const int bias = std::get<Read>(node->args[side].op).access;
      const Access& from = reader.reads[static_cast<std::size_t>(bias)];
      if (!tensor(from.tensor).constant || tensor(from.tensor).dtype != of.dtype || from.outside ||
          mention_count(reader.body, bias) != 1)
        return std::nullopt;
      return Addition{s, readers[0], static_cast<int>(r), bias, *node};
    }
    return std::nullopt;
  }

  /// T[n,k] = B[k], over the dims at which the reader has them; nothing: the bias has other dims.
  std::optional<Computation> copy_of(const Addition& addition) {
    const Computation& reader = kernel().statements[addition.reader];
    Computation copy;
    copy.name = copy_of_bias(kernel().statements[addition.sum].name);
    copy.write = reader.reads[static_cast<std::size_t>(addition.of_sum)];
    copy.reads = {reader.reads[static_cast<std::size_t>(addition.of_bias)]};
    copy.body = read(0, addition.node.type);
    for (const Dim& dim : reader.domain.dims)
      if (uses(copy.write, dim.name))
        copy.domain.dims.push_back({dim.name, dim.extent, DimKind::parallel});
      else if (uses(copy.reads[0], dim.name))
        return std::nullopt;
    return copy;
  }

  /// False: nothing has changed.
  bool move(const Addition& addition) {
    auto copy = copy_of(addition);
    if (!copy) return false;
    const Model before = model_;
    Computation& reader = kernel().statements[addition.reader];
    const auto replace = [&](ScalarExpr& e, const auto& again) -> void {
      if (e == addition.node)
        e = read(addition.of_sum, addition.node.type);
      else
        for (ScalarExpr& arg : e.args) again(arg, again);
    };
    replace(reader.body, replace);
    leave_out_read(reader, addition.of_bias);
    const bool only_addition = std::holds_alternative<Read>(reader.body.op);
    if (only_addition && !writes_result_itself(*copy, addition)) {
      model_ = before;
      return false;
    }
    const auto at = static_cast<std::ptrdiff_t>(addition.sum);
    model_.origins.insert(model_.origins.begin() + at, model_.origins[addition.reader]);
    kernel().statements.insert(kernel().statements.begin() + at, std::move(*copy));
    if (begun_by(kernel(), addition.sum + 1) != std::optional(addition.sum)) {
      model_ = before;
      return false;
    }
    if (only_addition) drop(addition.reader + 1, addition.sum + 1);
    return true;
  }

  /// What the reader wrote is written by the copy and the sum.
  bool writes_result_itself(Computation& copy, const Addition& addition) {
    const Computation& reader = kernel().statements[addition.reader];
    const TensorId result = reader.write.tensor;
    Computation& sum = kernel().statements[addition.sum];
    if (reader.write.index != reader.reads[0].index || tensor(result).shape != tensor(sum.write.tensor).shape ||
        tensor(result).dtype != tensor(sum.write.tensor).dtype || tensor(result).inout ||
        those_that(result, true).size() != 1)
      return false;
    copy.write.tensor = sum.write.tensor = result;
    return true;
  }

  void drop(std::size_t reader, std::size_t sum) {
    take_origin(model_, reader, sum);
    std::vector<bool> gone(kernel().statements.size(), false);
    gone[reader] = true;
    drop_statements(model_, gone);
  }

  Model model_;
  const FillsAccumulators& fills_;
  const BiasOptions& options_;
};

}  // namespace

Model biases_first(Model model, const FillsAccumulators& fills, const BiasOptions& options) {
  return BiasMover(std::move(model), fills, options).run();
}

std::string copy_of_bias(const std::string& sum) { return sum + "_begins"; }

std::vector<std::string> sums_with_biases_first(const Kernel& kernel) {
  std::vector<std::string> sums;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    if (const auto copy = begun_by(kernel, s);
        copy && kernel.statements[*copy].name == copy_of_bias(kernel.statements[s].name))
      sums.push_back(kernel.statements[s].name);
  return sums;
}

}  // namespace isamap
