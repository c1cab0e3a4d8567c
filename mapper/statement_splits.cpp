// SPDX-License-Identifier: Apache-2.0
#include "mapper/statement_splits.h"

#include <algorithm>

#include "mapper/changes.h"

namespace isamap {
namespace {

constexpr std::size_t most_splits = 12;  // of one statement

bool is_operation(const ScalarExpr& e) {
  return std::holds_alternative<Unary>(e.op) || std::holds_alternative<Binary>(e.op) ||
         std::holds_alternative<Select>(e.op);
}

/// Operations that read something, innermost first.
void list_operations(ScalarExpr& e, std::vector<ScalarExpr*>& found) {
  for (ScalarExpr& arg : e.args) list_operations(arg, found);
  if (is_operation(e) && !reads_of(e).empty()) found.push_back(&e);
}

std::string free_name(const Kernel& kernel, std::string name) {
  const auto taken = [&] {
    return std::any_of(kernel.tensors.begin(), kernel.tensors.end(), [&](const Tensor& t) { return t.name == name; }) ||
           std::any_of(kernel.statements.begin(), kernel.statements.end(),
                       [&](const Computation& s) { return s.name == name; });
  };
  while (taken()) name += "_";
  return name;
}

std::string line_of(const Computation& statement, const std::vector<Tensor>& tensors) {
  Computation bare = statement;
  bare.domain.dims.clear();
  const std::string text = print(bare, tensors);
  return "`" + text.substr(0, text.find(" over")) + "`";
}

/// What is read in the order in which the body names it.
void renumber(Computation& statement) {
  std::vector<int> order(statement.reads.size() + 1, 0);
  std::vector<Access> reads;
  for (const int r : reads_of(statement.body)) {
    reads.push_back(statement.reads[static_cast<std::size_t>(r)]);
    order[static_cast<std::size_t>(r) + 1] = static_cast<int>(reads.size());
  }
  statement.reads = std::move(reads);
  renumber_reads(statement.body, order);
}

/// The part as a statement of its own, over the dims that it uses; its extents are the shape of `tensor`.
Computation part_of(const Computation& whole, const ScalarExpr& body, TensorId written, Tensor& tensor) {
  Computation part = whole;
  part.reduction = Reduction::assign;
  part.body = body;
  renumber(part);
  part.write = {written, {}};
  part.domain.dims.clear();
  for (Dim dim : whole.domain.dims) {
    const auto used = [&](const Access& read) { return uses(read, dim.name); };
    if (std::none_of(part.reads.begin(), part.reads.end(), used)) continue;
    dim.kind = DimKind::parallel;
    part.write.index.push_back(AffineExpr::dim(dim.name));
    tensor.shape.push_back(dim.extent);
    part.domain.dims.push_back(std::move(dim));
  }
  return part;
}

}  // namespace

std::vector<StatementSplit> statement_splits(const Kernel& kernel, StatementId id) {
  std::vector<StatementSplit> splits;
  const Computation& whole = kernel.statements[id.index()];
  if (!whole.domain.faces.empty()) return splits;
  Computation probe = whole;
  std::vector<ScalarExpr*> operations;
  list_operations(probe.body, operations);
  for (std::size_t o = 0; o < operations.size() && splits.size() < most_splits; ++o) {
    Computation rest = whole;
    std::vector<ScalarExpr*> own;
    list_operations(rest.body, own);
    if (own[o] == &rest.body && rest.reduction == Reduction::assign) continue;  // all of it
    StatementSplit split{kernel, id, make_id<StatementId>(id.index() + 1), ""};
    const auto written = make_id<TensorId>(kernel.tensors.size());
    Tensor tensor;
    tensor.name = free_name(kernel, kernel.tensors[whole.write.tensor.index()].name + "_part");
    tensor.dtype = own[o]->type;
    Computation part = part_of(whole, *own[o], written, tensor);
    if (part.domain.dims.empty()) continue;
    part.name = free_name(kernel, whole.name + "_part");
    *own[o] = read(static_cast<int>(rest.reads.size()), tensor.dtype);
    rest.reads.push_back(part.write);
    renumber(rest);
    split.kernel.tensors.push_back(std::move(tensor));
    split.text =
        "split the statement: " + line_of(part, split.kernel.tensors) + " and " + line_of(rest, split.kernel.tensors);
    auto& all = split.kernel.statements;
    all[id.index()] = std::move(rest);
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(id.index()), std::move(part));
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace isamap
