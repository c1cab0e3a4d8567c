// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_kernel.h"

#include <algorithm>

#include "ir/start.h"
#include "isamap/program.h"
#include "scheduler/space/operand_routes.h"

namespace isamap {
namespace {

constexpr std::int64_t max_elements = 1 << 22;  // of one tensor

/// Bits of any type are compared as unsigned numbers, those as wide as `wide` in its type.
DType as_number(DType type, DType wide) {
  if (!is_bits(type)) return type;
  return bits(type) == bits(wide) ? wide : integer_of(bits(type), false).value_or(wide);
}

ScalarExpr hold(const ScalarExpr& e, int read, double value) {
  if (const auto* r = std::get_if<Read>(&e.op)) {
    if (r->access == read) return constant(value, e.type);
    return isamap::read(r->access - (r->access > read ? 1 : 0), e.type);
  }
  ScalarExpr copy = e;
  for (ScalarExpr& arg : copy.args) arg = hold(arg, read, value);
  return copy;
}

/// Inserts the number into the statement and removes its tensor.
void hold_number(Kernel& kernel, Computation& statement, const Instruction& instruction) {
  const int a = number_operand(instruction);
  if (a == 0) return;
  const auto at = static_cast<std::ptrdiff_t>(a - 1);
  const TensorId gone = statement.reads[static_cast<std::size_t>(at)].tensor;
  statement.body = hold(statement.body, a - 1, number_for(instruction.operands[gone.index()]));
  statement.reads.erase(statement.reads.begin() + at);
  kernel.tensors.erase(kernel.tensors.begin() + static_cast<std::ptrdiff_t>(gone.index()));
  const auto moved = [&](TensorId& id) { id = id.index() > gone.index() ? make_id<TensorId>(id.index() - 1) : id; };
  moved(statement.write.tensor);
  for (Access& access : statement.reads) moved(access.tensor);
}

/// A tensor is large enough for all its reads: A[j,1] and A[j,0].
void enlarge(std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& by) {
  shape.resize(by.size(), 0);
  for (std::size_t d = 0; d < by.size(); ++d) shape[d] = std::max(shape[d], by[d]);
}

}  // namespace

std::string unused_name(std::string wish, const Computation& statement) {
  while (statement.domain.find(wish) >= 0) wish += "v";
  return wish;
}

int number_operand(const Instruction& instruction) {
  for (int a = 1; a < access_count(instruction.statement()); ++a)
    if (!instruction.operands[operand_of_access(instruction, a).index()].memory.valid()) return a;
  return 0;
}

double number_for(const Operand& operand) {
  const bool real = operand.dtype && is_float(*operand.dtype);
  if (!operand.immediate.empty() && real)
    return constant_value(operand, Ref{BufferId{}, {AffineExpr(operand.immediate.front())}})->real;
  if (!operand.immediate.empty()) return static_cast<double>(operand.immediate.front());
  return real ? 0.25 : 1;
}

Result<Kernel> kernel_of(const Instruction& instruction, const RequestedCase& requested, std::int64_t vectors) {
  Kernel kernel;
  kernel.name = instruction.name;
  kernel.tensors = instruction.tensors;
  Computation statement = instruction.statement();
  statement.name = "s0";
  const std::string v = unused_name(vector_dim, statement), again = unused_name("r", statement);
  for (std::size_t d = 0; d < requested.extents.size(); ++d) statement.domain.dims[d].extent = requested.extents[d];
  const Ranges ranges = ranges_of(statement.domain);
  Ranges touched = ranges;
  const std::vector<std::int64_t> box = touched_extents(instruction, requested.extents);
  for (std::size_t d = 0; d < box.size(); ++d) touched[statement.domain.dims[d].name].high = box[d] - 1;
  std::vector<std::vector<std::int64_t>> shapes(kernel.tensors.size());
  for (int a = 0; a < access_count(statement); ++a) {
    Access& access = a == 0 ? statement.write : statement.reads[static_cast<std::size_t>(a - 1)];
    Tensor& tensor = kernel.tensors[access.tensor.index()];
    const Operand& operand = instruction.operands[access.tensor.index()];
    tensor.dtype = as_number(operand.dtype.value_or(requested.type), requested.wide);
    std::vector<std::int64_t> shape{vectors};
    std::vector<AffineExpr> index = {AffineExpr::dim(v)};
    if (requested.twice && a > 0) {
      index.push_back(AffineExpr::dim(again));
      shape.push_back(2);
    }
    double elements = static_cast<double>(vectors) * 2;
    // Elements that it sets to zero in memory beyond its extents belong to the tensor.
    const bool all_of_it = a == 0 && instruction.inactive == Inactive::zero;
    for (const AffineExpr& e : access.index) {
      const auto range = bounds(e, all_of_it ? touched : ranges);
      if (!range || range->low < 0) return error("a subscript has no bounds");
      shape.push_back(range->high + 1);
      elements *= static_cast<double>(range->high + 1);
      index.push_back(e);
    }
    if (elements > static_cast<double>(max_elements)) return error("its operands are too large to be tried");
    access.index = std::move(index);
    enlarge(shapes[access.tensor.index()], shape);
  }
  for (std::size_t t = 0; t < shapes.size(); ++t) kernel.tensors[t].shape = shapes[t];
  if (requested.twice) statement.domain.dims.insert(statement.domain.dims.begin(), {again, 2, DimKind::reduction});
  statement.domain.dims.insert(statement.domain.dims.begin(), {v, vectors, DimKind::parallel});
  kernel.tensors[statement.write.tensor.index()].inout =
      statement.reduction != Reduction::assign && !requested.twice && !always_overwrites(instruction);
  // Operands without a type get the case's type, so the body is typed again.
  if (std::any_of(instruction.operands.begin(), instruction.operands.end(),
                  [](const Operand& o) { return !o.dtype || is_bits(*o.dtype); }))
    if (is_move(instruction)) statement.body = read(0, kernel.tensors[statement.write.tensor.index()].dtype);
  hold_number(kernel, statement, instruction);
  kernel.statements = {std::move(statement)};
  if (const Diagnostics problems = verify(kernel); has_errors(problems)) return problems;
  return kernel;
}

Mapping identity(const Instruction& instruction, InstructionId id) {
  Mapping mapping;
  mapping.statement = make_id<StatementId>(0);
  mapping.instruction = id;
  mapping.operands.clear();
  const int number = number_operand(instruction), accesses = access_count(instruction.statement());
  for (int a = 0; a < accesses; ++a)
    mapping.operands.push_back(number == 0 || a < number ? a : a == number ? accesses - 1 : a - 1);
  if (number > 0) mapping.constant = number_for(instruction.operands[operand_of_access(instruction, number).index()]);
  return mapping;
}

}  // namespace isamap
