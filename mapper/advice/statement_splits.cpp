// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/statement_splits.h"

#include <algorithm>

#include "mapper/advice/repair_proposals.h"

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
  return "`" + print_formula(statement, tensors) + "`";
}

/// The part as a separate statement over the dims that it uses; their extents are the shape of `tensor`.
Computation part_of(const Computation& whole, const ScalarExpr& body, TensorId written, Tensor& tensor) {
  Computation part = whole;
  part.reduction = Reduction::assign;
  part.body = body;
  put_reads_in_order(part);
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

/// Nothing: no such operation, or it is the whole body, or it uses no dim.
std::optional<StatementSplit> split_at(const Kernel& kernel, StatementId id, std::size_t operation) {
  const Computation& whole = kernel.statements[id.index()];
  Computation rest = whole;
  std::vector<ScalarExpr*> own;
  list_operations(rest.body, own);
  if (operation >= own.size() || !whole.domain.faces.empty() || is_irregular(whole)) return std::nullopt;
  if (own[operation] == &rest.body && rest.reduction == Reduction::assign) return std::nullopt;  // all of it
  StatementSplit split{kernel, id, make_id<StatementId>(id.index() + 1), "", {}};
  split.part = {whole.name, static_cast<std::int64_t>(operation)};
  const auto written = make_id<TensorId>(kernel.tensors.size());
  Tensor tensor;
  tensor.name = free_name(kernel, kernel.tensors[whole.write.tensor.index()].name + "_part");
  tensor.dtype = own[operation]->type;
  Computation part = part_of(whole, *own[operation], written, tensor);
  if (part.domain.dims.empty()) return std::nullopt;
  part.name = free_name(kernel, whole.name + "_part");
  *own[operation] = read(static_cast<int>(rest.reads.size()), tensor.dtype);
  rest.reads.push_back(part.write);
  put_reads_in_order(rest);
  split.kernel.tensors.push_back(std::move(tensor));
  split.text =
      "split the statement: " + line_of(part, split.kernel.tensors) + " and " + line_of(rest, split.kernel.tensors);
  auto& all = split.kernel.statements;
  all[id.index()] = std::move(rest);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(id.index()), std::move(part));
  return split;
}

std::size_t operations_of(Computation statement) {
  std::vector<ScalarExpr*> operations;
  list_operations(statement.body, operations);
  return operations.size();
}

}  // namespace

std::vector<StatementSplit> statement_splits(const Kernel& kernel, StatementId id) {
  std::vector<StatementSplit> splits;
  const std::size_t operations = operations_of(kernel.statements[id.index()]);
  for (std::size_t o = 0; o < operations && splits.size() < most_splits; ++o)
    if (auto one = split_at(kernel, id, o)) splits.push_back(std::move(*one));
  return splits;
}

Result<Kernel> split_statements(const Kernel& kernel, const std::vector<SplitPart>& parts,
                                const SourceLocation& where) {
  if (!parts.empty() && !kernel.repeats.empty())
    return error_at(where, kernel.name + " repeats statements, which are not split",
                    "write two statements with a tensor between them");
  Kernel made = kernel;
  for (const SplitPart& part : parts) {
    const auto s = std::find_if(made.statements.begin(), made.statements.end(),
                                [&](const Computation& c) { return c.name == part.statement; });
    if (s == made.statements.end())
      return error_at(where,
                      "splits " + print(part) + ": " + kernel.name + " has no statement '" + part.statement + "'");
    const auto id = make_id<StatementId>(static_cast<std::size_t>(s - made.statements.begin()));
    const std::size_t operations = operations_of(*s);
    auto one = split_at(made, id, static_cast<std::size_t>(part.operation));
    if (!one)
      return error_at(where, "splits " + print(part) + ": operation " + std::to_string(part.operation) + " of the " +
                                 std::to_string(operations) + " of " + part.statement +
                                 " cannot be a statement of its own");
    made = std::move(one->kernel);
  }
  return made;
}

}  // namespace isamap
