// SPDX-License-Identifier: Apache-2.0
#include "frontends/inlined_producers.h"

#include <algorithm>
#include <cmath>

#include "frontends/dropped_statements.h"
#include "frontends/linear_bodies.h"

namespace isamap {
namespace {

constexpr int most_operations = 16;  ///< of a body
constexpr std::size_t most_reads = 6;

int operations_of(const ScalarExpr& e) {
  int count = e.args.empty() ? 0 : 1;
  for (const ScalarExpr& arg : e.args) count += operations_of(arg);
  return count;
}

int mentions(const ScalarExpr& e, int access) {
  const auto* leaf = std::get_if<Read>(&e.op);
  int count = leaf != nullptr && leaf->access == access ? 1 : 0;
  for (const ScalarExpr& arg : e.args) count += mentions(arg, access);
  return count;
}

bool is_element_wise(const Computation& statement) {
  return statement.reduction == Reduction::assign && statement.domain.faces.empty() && !is_irregular(statement) &&
         std::all_of(statement.domain.dims.begin(), statement.domain.dims.end(),
                     [](const Dim& dim) { return dim.kind == DimKind::parallel; });
}

/// `S[i] += A[i,k]`: the sum of what one access reads.
bool is_plain_sum(const Computation& statement) {
  return statement.reduction == Reduction::add && is_float(statement.body.type) && statement.domain.faces.empty() &&
         !is_irregular(statement) && std::holds_alternative<Read>(statement.body.op);
}

bool multiplies_two_reads(const ScalarExpr& e) {
  const auto* op = std::get_if<Binary>(&e.op);
  return op != nullptr && op->op == BinaryOp::mul && std::holds_alternative<Read>(e.args[0].op) &&
         std::holds_alternative<Read>(e.args[1].op);
}

class Inlining {
 public:
  Inlining(Model model, const ComputesWhole& computes_whole, bool products_in_sums)
      : model_(std::move(model)),
        computes_whole_(computes_whole),
        products_in_sums_(products_in_sums),
        roles_(roles_of(kernel())),
        writers_(kernel().tensors.size()),
        readers_(kernel().tensors.size()),
        gone_(kernel().statements.size(), false) {}

  Model run() {
    for (std::size_t s = 0; s < gone_.size(); ++s) {
      writers_[statement(s).write.tensor.index()].push_back(s);
      for (const Access& read : statement(s).reads) ++readers_[read.tensor.index()];
    }
    for (std::size_t s = 0; s < gone_.size(); ++s) {
      if (repeat_of(kernel(), s) != nullptr) continue;
      if (products_in_sums_ && is_plain_sum(statement(s))) take_in_a_producer(s);
      if (!is_element_wise(statement(s))) continue;
      literal_bounds(s);
      while (take_in_a_producer(s)) {
      }
    }
    drop_statements(model_, gone_);
    return std::move(model_);
  }

 private:
  Kernel& kernel() { return model_.kernel; }
  Computation& statement(std::size_t s) { return kernel().statements[s]; }
  const Tensor& tensor(TensorId id) { return kernel().tensors[id.index()]; }

  /// The statement that alone writes what this access alone reads; nothing: others do too, or the caller does.
  std::optional<std::size_t> only_producer(const Access& read, std::size_t before) {
    const std::size_t t = read.tensor.index();
    const bool kept = roles_[t] != Role::intermediate || tensor(read.tensor).inout || tensor(read.tensor).output;
    if (kept || writers_[t].size() != 1 || readers_[t] != 1 || writers_[t][0] >= before ||
        repeat_of(kernel(), writers_[t][0]) != nullptr)
      return std::nullopt;
    return writers_[t][0];
  }

  /// Is all that the producer reads still there, and the same, at the consumer?
  bool reads_what_stays(std::size_t producer) {
    return std::all_of(statement(producer).reads.begin(), statement(producer).reads.end(), [&](const Access& read) {
      const auto& writers = writers_[read.tensor.index()];
      return !tensor(read.tensor).inout && (writers.empty() || writers.back() < producer);
    });
  }

  bool take_in_a_producer(std::size_t s) {
    for (std::size_t r = 0; r < statement(s).reads.size(); ++r) {
      const auto producer = only_producer(statement(s).reads[r], s);
      if (!producer || !is_element_wise(statement(*producer)) || !reads_what_stays(*producer) ||
          mentions(statement(s).body, static_cast<int>(r)) != 1 ||
          (!is_element_wise(statement(s)) && !multiplies_two_reads(statement(*producer).body)))
        continue;
      auto made = linear::inlined(statement(s), static_cast<int>(r), statement(*producer), kernel().tensors);
      if (!made || operations_of(made->body) > most_operations || made->reads.size() > most_reads ||
          !computes_whole_(*made, kernel().tensors))
        continue;
      replace(s, std::move(*made), *producer);
      return true;
    }
    return false;
  }

  void replace(std::size_t s, Computation made, std::size_t producer) {
    for (const std::size_t changed : {s, producer})
      for (const Access& read : statement(changed).reads) --readers_[read.tensor.index()];
    for (const Access& read : made.reads) ++readers_[read.tensor.index()];
    statement(s) = std::move(made);
    take_origin(model_, producer, s);
    gone_[producer] = true;
  }

  // Bounds.

  void literal_bounds(std::size_t s) {
    std::vector<std::pair<ScalarExpr, double>> bounds;
    const auto visit = [&](const ScalarExpr& e, const auto& again) -> void {
      const auto* op = std::get_if<Binary>(&e.op);
      for (const ScalarExpr& arg : e.args) {
        const auto* leaf = std::get_if<Read>(&arg.op);
        if (op == nullptr || (op->op != BinaryOp::min && op->op != BinaryOp::max) || leaf == nullptr) {
          again(arg, again);
          continue;
        }
        if (const auto value = scalar_weight(model_, statement(s).reads[static_cast<std::size_t>(leaf->access)].tensor))
          bounds.emplace_back(arg, *value);
      }
    };
    visit(statement(s).body, visit);
    if (bounds.empty()) return;
    for (const Access& read : statement(s).reads) --readers_[read.tensor.index()];
    statement(s) = linear::with_numbers(statement(s), bounds);
    for (const Access& read : statement(s).reads) ++readers_[read.tensor.index()];
  }

  Model model_;
  const ComputesWhole& computes_whole_;
  const bool products_in_sums_;
  const std::vector<Role> roles_;
  std::vector<std::vector<std::size_t>> writers_;  ///< by tensor: its statements
  std::vector<int> readers_;                       ///< by tensor: accesses
  std::vector<bool> gone_;
};

}  // namespace

Model inlined_producers(Model model, const ComputesWhole& computes_whole, bool products_in_sums) {
  return Inlining(std::move(model), computes_whole, products_in_sums).run();
}

}  // namespace isamap
