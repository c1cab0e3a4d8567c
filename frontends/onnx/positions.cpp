// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/positions.h"

#include <fmt/format.h>

#include <numeric>

namespace isamap::importing {
namespace {

constexpr std::int64_t max_positions = 1 << 20;
constexpr std::size_t max_pieces = 256;

bool fits(const std::vector<std::int64_t>& positions, const Piece& piece) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t value = piece.factor * static_cast<std::int64_t>(i) + piece.offset;
    const std::int64_t quotient = value >= 0 ? value / piece.divisor : -((-value + piece.divisor - 1) / piece.divisor);
    if (quotient != positions[i]) return false;
  }
  return true;
}

/// One expression for the whole list, as of a picture enlarged by a ratio.
std::optional<Piece> one_division(const std::vector<std::int64_t>& positions) {
  const auto n = static_cast<std::int64_t>(positions.size());
  if (n < 2) return std::nullopt;
  for (std::int64_t divisor = 1; divisor <= 32; ++divisor) {
    const std::int64_t rise = (positions.back() - positions.front()) * divisor;
    for (std::int64_t factor = rise / (n - 1) - 2; factor <= rise / (n - 1) + 2; ++factor)
      for (std::int64_t rest = 0; rest < divisor; ++rest) {
        const Piece piece{0, n, factor, positions.front() * divisor + rest, divisor};
        if (fits(positions, piece)) return piece;
      }
  }
  return std::nullopt;
}

}  // namespace

void check_positions(std::int64_t count) {
  if (count < 0 || count > max_positions) throw Refused{fmt::format("a list of {} positions", count), ""};
}

std::vector<Piece> pieces_of(const std::vector<std::int64_t>& positions) {
  check_positions(static_cast<std::int64_t>(positions.size()));
  if (const auto whole = one_division(positions)) return {*whole};
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < positions.size();) {
    const std::int64_t stride = i + 1 < positions.size() ? positions[i + 1] - positions[i] : 1;
    std::size_t end = i + 1;
    while (end < positions.size() && positions[end] - positions[end - 1] == stride) ++end;
    if (end == i + 2) end = i + 1;  // two elements are no run: the second may start one
    pieces.push_back({static_cast<std::int64_t>(i), static_cast<std::int64_t>(end - i), stride, positions[i], 1});
    i = end;
  }
  if (pieces.size() > max_pieces)
    throw Refused{fmt::format("{} positions follow no rule", positions.size()), "pass them as an input"};
  return pieces;
}

std::string text_of(const Piece& piece, const std::string& iterator) {
  const std::string sum = fmt::format("{}*{} + {}", piece.factor, iterator, piece.offset);
  return piece.divisor == 1 ? sum : fmt::format("({})/{}", sum, piece.divisor);
}

std::optional<std::string> affine_text(const std::vector<std::int64_t>& positions, const Sizes& of,
                                       const Names& names) {
  if (positions.empty()) return std::nullopt;
  std::vector<std::int64_t> strides(of.size(), 1), factors(of.size(), 0);  // of a dimension of 1: none
  for (std::size_t d = of.size(); d-- > 0;) {
    if (d + 1 < of.size()) strides[d] = strides[d + 1] * of[d + 1];
    if (of[d] > 1) factors[d] = positions[static_cast<std::size_t>(strides[d])] - positions.front();
  }
  for (std::size_t n = 0; n < positions.size(); ++n) {
    std::int64_t position = positions.front();
    for (std::size_t d = 0; d < of.size(); ++d)
      position += factors[d] * (static_cast<std::int64_t>(n) / strides[d] % of[d]);
    if (position != positions[n]) return std::nullopt;
  }
  std::string text = std::to_string(positions.front());
  for (std::size_t d = 0; d < of.size(); ++d)
    if (factors[d] != 0) text += fmt::format(" + {}*{}", factors[d], names[d]);
  return text;
}

Names digits_of(const std::string& f, const Sizes& sizes, std::size_t count) {
  Names digits;
  for (std::size_t d = 0; d < count; ++d) {
    const std::int64_t stride = std::max<std::int64_t>(product_of(sizes, d + 1, count), 1);
    digits.push_back(count == 1 ? f : fmt::format("({}/{})%{}", f, stride, std::max<std::int64_t>(sizes[d], 1)));
  }
  return digits;
}

void say_positions(Maker& m, const std::string& target, const std::string& source, std::size_t axis,
                   const std::vector<std::int64_t>& positions, std::size_t axes) {
  const Sizes shape = m.shape_of(target);
  const Names names = iterators(shape.size());
  const auto at = [](const Names& n, std::size_t d) { return n.begin() + static_cast<std::ptrdiff_t>(d); };
  Names from(names.begin(), at(names, axis));
  from.emplace_back();
  from.insert(from.end(), at(names, axis + axes), names.end());
  for (const Piece& piece : pieces_of(positions)) {
    Names to = names;
    Extents extents = extents_of(names, shape);
    const bool whole = piece.count == static_cast<std::int64_t>(positions.size());
    if (axes == 1) {
      if (!whole) extents[names[axis]] = piece.count;
      if (piece.first > 0) to[axis] = fmt::format("{} + {}", names[axis], piece.first);
      from[axis] = text_of(piece, names[axis]);
    } else if (whole) {  // the list's own place is row-major in these dimensions
      std::string flat = "0";
      for (std::size_t d = axis; d < axis + axes; ++d) flat = fmt::format("({})*{} + {}", flat, shape[d], names[d]);
      from[axis] = text_of(piece, "(" + flat + ")");
    } else {  // each element of a piece is a statement
      for (std::int64_t k = 0; k < piece.count; ++k) {
        std::int64_t place = piece.first + k;
        for (std::size_t d = axis + axes; d-- > axis;) {
          extents.erase(names[d]);
          to[d] = std::to_string(place % shape[d]);
          place /= shape[d];
        }
        from[axis] = std::to_string((piece.factor * k + piece.offset) / piece.divisor);
        m.say(access(target, to) + " = " + access(source, from), extents);
      }
      continue;
    }
    m.say(access(target, to) + " = " + access(source, from), extents);
  }
}

}  // namespace isamap::importing
