// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

Int linear(const Row& row, const Vec& x) {
  Int sum = 0;
  for (std::size_t d = 0; d < x.size(); ++d) sum += row.coefficients[d] * x[d];
  return sum;
}
Int value(const Row& row, const Vec& x) { return linear(row, x) + row.constant; }

bool Nest::inside(const Vec& x) const {
  for (std::size_t d = 0; d < x.size(); ++d)
    if (x[d] < 0 || x[d] >= extents[d]) return false;
  for (const Row& face : faces)
    if (value(face, x) < 0) return false;
  return true;
}

bool Nest::uses(std::size_t operand, std::size_t dim) const {
  for (const Row& row : operands[operand])
    if (row.coefficients[dim] != 0) return true;
  return false;
}

Vec element(const Nest& nest, std::size_t operand, const Vec& x) {
  Vec index;
  for (const Row& row : nest.operands[operand]) index.push_back(value(row, x));
  return index;
}

Vec image(const Nest& nest, std::size_t operand, const Vec& v) {
  Vec image;
  for (const Row& row : nest.operands[operand]) image.push_back(linear(row, v));
  return image;
}

std::vector<Vec> box(const Vec& extents) {
  std::vector<Vec> points;
  for (const Int e : extents)
    if (e <= 0) return points;
  Vec x(extents.size(), 0);
  while (true) {
    points.push_back(x);
    std::size_t d = extents.size();
    while (d > 0 && ++x[d - 1] == extents[d - 1]) x[--d] = 0;
    if (d == 0) return points;
  }
}

std::string tie_reason(const Nest& kernel, const Nest& unit, const Digit& digit, int place) {
  std::string column;
  for (std::size_t d = 0; d < digit.column.size(); ++d) {
    if (digit.column[d] == 0) continue;
    column += (column.empty() ? "" : "+") + (digit.column[d] == 1 ? "" : std::to_string(digit.column[d]) + "*");
    column += kernel.names[d];
  }
  return "tie " + unit.names[static_cast<std::size_t>(digit.places[0])] + "." +
         unit.names[static_cast<std::size_t>(place)] + " " + column;
}

Int looped(const Mapping& mapping, std::size_t m) {
  Int product = 1;
  for (const Digit& digit : mapping.digits)
    for (const int place : digit.places)
      if (place == static_cast<int>(m)) product *= digit.extent;
  return product;
}

namespace {
std::string column_text(const Vec& column, const Nest& kernel) {
  std::string text;
  for (std::size_t d = 0; d < column.size(); ++d) {
    if (column[d] == 0) continue;
    text += column[d] < 0 ? "-" : text.empty() ? "" : "+";
    const Int size = column[d] < 0 ? -column[d] : column[d];
    text += (size == 1 ? "" : std::to_string(size)) + kernel.names[d];
  }
  return text.empty() ? "0" : text;
}
}  // namespace

std::string print(const Mapping& mapping, const Nest& kernel, const Nest& unit) {
  std::string text = "operands";
  for (const int t : mapping.operands) text += " " + std::to_string(t);
  for (std::size_t m = 0; m < unit.dims(); ++m) {
    text += "; " + unit.names[m] + ":";
    for (const Digit& digit : mapping.digits)
      for (const int place : digit.places)
        if (place == static_cast<int>(m))
          text += " " + std::string(digit.places.size() > 1 ? "tied " : "") + column_text(digit.column, kernel) + "[" +
                  std::to_string(digit.extent) + "]";
  }
  text += "; loops";
  for (const Loop& loop : mapping.loops) {
    Vec column(kernel.dims(), 0);
    if (mapping.basis.empty())
      column[loop.along] = loop.stride;
    else
      for (std::size_t d = 0; d < column.size(); ++d) column[d] = mapping.basis[loop.along][d] * loop.stride;
    text += " " + column_text(column, kernel) + (loop.floats ? "[*]" : "[" + std::to_string(loop.extent) + "]");
  }
  for (const Turn& turn : mapping.turns)
    text += " " + column_text(turn.step, kernel) + (turn.floats ? "[*]" : "[" + std::to_string(turn.extent) + "]");
  if (mapping.cosets.size() > 1) text += " cosets[" + std::to_string(mapping.cosets.size()) + "]";
  for (const Carrier& carrier : mapping.carriers)
    text += "; " + carrier.reason + "->" + std::to_string(carrier.operand);
  return text;
}

}  // namespace isamap::oracle
