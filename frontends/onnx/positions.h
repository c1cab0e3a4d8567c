// SPDX-License-Identifier: Apache-2.0
#pragma once
// A dimension whose elements come from known positions: the list becomes few statements with affine reads.

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// Refuses lists that are too long to look at one by one.
void check_positions(std::int64_t count);

/// Elements [first, first + count) of the list are at this expression of the iterator, which counts from 0.
struct Piece {
  std::int64_t first = 0, count = 0;
  std::int64_t factor = 1, offset = 0, divisor = 1;  ///< (factor*i + offset) / divisor
};
/// The fewest pieces found: one floor division where it fits, else runs of equal strides.
std::vector<Piece> pieces_of(const std::vector<std::int64_t>& positions);
std::string text_of(const Piece& piece, const std::string& iterator);

/// Positions that are an affine function of their own places in a list of the shape `of`, whatever its length:
/// `0 + 11*i + 1*k` of iterators i, j, k. Nothing: they are not.
std::optional<std::string> affine_text(const std::vector<std::int64_t>& positions, const Sizes& of, const Names& names);

/// `(f/stride)%size` for each of the first `count` sizes: the place of element f of them as one dimension.
Names digits_of(const std::string& f, const Sizes& sizes, std::size_t count);

/// target[.., p, ..] = source[.., positions[p], ..] along `axis`. The list may fill `axes` dimensions of the target.
void say_positions(Maker& m, const std::string& target, const std::string& source, std::size_t axis,
                   const std::vector<std::int64_t>& positions, std::size_t axes = 1);

}  // namespace isamap::importing
