// SPDX-License-Identifier: Apache-2.0
#include "program/call_rows.h"

#include <algorithm>

namespace isamap {
namespace {

constexpr std::int64_t most_points = 1 << 18;  // 2 MiB a table

bool names_instruction_dim(const std::string& name) { return name.starts_with('$'); }

}  // namespace

std::optional<SplitOffset> split_offset(const AffineExpr& offset) {
  SplitOffset split{offset.constant(), 0};
  for (const AffineTerm& term : offset.terms()) {
    const AffineExpr one = AffineExpr::of(term);
    const std::set<std::string> names = one.names();
    const auto dims = std::count_if(names.begin(), names.end(), names_instruction_dim);
    if (dims != 0 && dims != std::ssize(names)) return std::nullopt;
    (dims != 0 ? split.distance : split.base) += one;
  }
  return split;
}

std::shared_ptr<const DistanceTable> DistanceTables::over(const AffineExpr& distance,
                                                          const std::vector<std::string>& dims,
                                                          const std::vector<std::int64_t>& extents) {
  std::string key = print(distance);
  std::int64_t points = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    key += ", " + dims[d] + " " + std::to_string(extents[d]);
    if (extents[d] > most_points) return nullptr;
    points *= extents[d];
    if (points > most_points) return nullptr;
  }
  auto& known = known_[key];
  if (known) return known;
  auto table = std::make_shared<DistanceTable>();
  const CompiledAffine at(distance, dims);
  std::vector<std::int64_t> point(dims.size(), 0);
  for (std::int64_t p = 0; p < points; ++p) {
    table->distances.push_back(at(point.data()));
    for (std::size_t d = dims.size(); d-- > 0 && ++point[d] == extents[d];) point[d] = 0;
  }
  if (points > 0) {
    const auto [low, high] = std::minmax_element(table->distances.begin(), table->distances.end());
    table->low = *low;
    table->high = *high;
  }
  return known = std::move(table);
}

RowBody::RowBody(const Computation& statement)
    : expression(statement.body),
      reduction(statement.reduction),
      has_real(is_float(statement.body.type) || std::holds_alternative<Read>(statement.body.op)),
      has_integer(!is_float(statement.body.type) || std::holds_alternative<Read>(statement.body.op)),
      gathered(statement.reads.size()),
      rows(statement.reads.size()) {
  constexpr auto length = static_cast<std::size_t>(RowExpr::max_length);
  for (Values& values : gathered) {
    values.real.resize(length);
    values.integer.resize(length);
  }
}

bool CallRows::run(std::vector<Storage>& memory, const std::int64_t* values, bool from_identity) {
  const RowOperand& write = operands_[0];
  const std::int64_t points = std::ssize(write.table->distances);
  if (points == 0) return true;
  if (!find_bases(memory, values)) return false;
  Storage& out = memory[write.buffer];
  if (from_identity) {
    const Scalar start = identity(body_->reduction, out.dtype);
    for (const std::int64_t distance : write.table->distances)
      out.values[static_cast<std::size_t>(bases_[0] + distance)] = start;
  }
  for (std::int64_t first = 0; first < points; first += RowExpr::max_length) {
    const std::int64_t length = std::min(RowExpr::max_length, points - first);
    for (std::size_t i = 1; i < operands_.size(); ++i) gather(i, memory[operands_[i].buffer], first, length);
    update(out, body_->expression.evaluate(body_->rows, length), first, length);
  }
  return true;
}

bool CallRows::find_bases(const std::vector<Storage>& memory, const std::int64_t* values) {
  bases_.assign(operands_.size(), 0);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const RowOperand& operand = operands_[i];
    if (!operand.table) continue;
    bases_[i] = operand.base(values);
    if (bases_[i] + operand.table->low < 0 ||
        bases_[i] + operand.table->high >= std::ssize(memory[operand.buffer].values))
      return false;
  }
  return true;
}

void CallRows::gather(std::size_t number, const Storage& from, std::int64_t first, std::int64_t length) {
  const RowOperand& operand = operands_[number];
  Row& row = body_->rows[number - 1];
  if (!operand.table) {
    row = {true, &operand.constant.real, &operand.constant.integer};
    return;
  }
  RowBody::Values& to = body_->gathered[number - 1];
  const std::int64_t* distance = operand.table->distances.data() + first;
  for (std::int64_t i = 0; i < length; ++i) {
    const Scalar& value = from.values[static_cast<std::size_t>(bases_[number] + distance[i])];
    to.real[static_cast<std::size_t>(i)] = value.real;
    to.integer[static_cast<std::size_t>(i)] = value.integer;
  }
  if (operand.other_sign) wrap_row(*operand.other_sign, to.integer.data(), length);
  row = {false, to.real.data(), to.integer.data()};
}

void CallRows::update(Storage& out, const Row& value, std::int64_t first, std::int64_t length) const {
  const RowOperand& write = operands_[0];
  const std::int64_t* distance = write.table->distances.data() + first;
  const auto each = [&](const auto& with) {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t at = value.uniform ? 0 : i;
      Scalar& to = out.values[static_cast<std::size_t>(bases_[0] + distance[i])];
      to = with(to, at);
    }
  };
  if (body_->reduction == Reduction::add && out.dtype == DType::f32)
    return each([&](const Scalar& to, std::int64_t at) {
      return Scalar{static_cast<double>(static_cast<float>(to.real + value.real[at])), 0};
    });
  each([&](const Scalar& to, std::int64_t at) {
    Scalar sum = combine(body_->reduction, out.dtype, to,
                         {body_->has_real ? value.real[at] : 0, body_->has_integer ? value.integer[at] : 0});
    if (write.other_sign) sum.integer = wrap_to(out.dtype, sum.integer);
    return sum;
  });
}

}  // namespace isamap
