// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout of a tile: the affine map from elements of a tensor to places in a buffer.
//
// *Base coordinates* are linear forms of the statement's dims (`k`, `p + r`), or instruction dims that the tensor lacks
// (`$j`: replicated or virtual), relative to the origin of the tile. The buffer's axes are digits of the coordinates:
// k/32, p + r, k%32. One description covers the tensor's own layout, packed panels, halo tiles, im2col copies and
// registers.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "isamap/program.h"
#include "isamap/schedule.h"

namespace isamap {

/// The points of a dim at one place of a nest: origin .. origin + size - 1.
struct Tile {
  AffineExpr origin;  ///< over loop variables
  std::int64_t size = 1;
  bool beyond = false;  ///< may exceed the dim (`tail pad`): the excess is padding
};
using Tiles = std::map<std::string, Tile>;

struct Coordinate {
  AffineExpr form;          ///< linear in dims, no constant; or one `$dim`
  AffineExpr start;         ///< value of the form at the origin, over loop variables
  std::int64_t extent = 1;  ///< valid values
  std::int64_t padded = 1;  ///< values allocated; those from `extent` on are padding
  std::int64_t block = 1;   ///< size of the innermost digit; 1: not split
  bool pseudo() const { return form.as_dim() && form.as_dim()->front() == '$'; }
};

struct TileLayout {
  BufferId buffer;
  std::vector<Coordinate> coordinates;
  std::vector<AffineExpr> axes;             ///< one for each buffer axis, over "#0", "#1", ... (the coordinates)
  std::optional<AffineExpr> buffer_number;  ///< of a circular buffer, over loop variables: index of its last axis
  bool whole_tensor = false;                ///< an argument or intermediate: axes are the access's indices over dims
  bool zero_padded = false;                 ///< padding holds 0
  int slots = -1;                           ///< as Buffer::slots
  std::vector<std::int64_t> positions;      ///< registers: physical position of each interior point (row-major)
  std::optional<FragmentLayout>
      fragment;  ///< registers of several instances: instance and element of each interior point
};

/// Values of linear forms at one place: of dims (at a `do`) or coordinates (in a fill).
using Known = std::vector<std::pair<AffineExpr, AffineExpr>>;

/// `e` in terms of known forms: as a whole if known, else dim by dim. Nothing: a dim is unknown.
std::optional<AffineExpr> express(const AffineExpr& e, const Known& known);

/// The axes' indices at a place; nothing: a coordinate cannot be expressed in what is known.
std::optional<std::vector<AffineExpr>> index_at(const TileLayout& tile, const Known& known, const Ranges& ranges);

/// Interval of a linear form over a tile: [start, start + extent).
struct FormRange {
  AffineExpr start;         ///< smallest value, over loop variables
  std::int64_t extent = 1;  ///< number of values
};
FormRange range_over(const AffineExpr& form, const Tiles& tiles);
/// Its extent alone, for these extents of the dims of a domain, each at least 1.
std::int64_t extent_over(const AffineExpr& form, const IterationDomain& domain, std::span<const std::int64_t> sizes);

/// Splits a layout digit into its base form and the digit over "#": k%32 gives (k, # - 32*(#/32)). Nothing: not of the
/// forms f, f/c, f%c, f/c%m.
struct SplitDigit {
  AffineExpr form, digit;
  std::int64_t divide = 1, modulo = 0;  ///< (# / divide) % modulo; modulo 0: none
};
std::optional<SplitDigit> split_digit(const AffineExpr& digit);
/// Number of values of a digit for # in [0, extent).
std::int64_t digit_extent(const SplitDigit& digit, std::int64_t extent);

/// The coordinates of the tensor's own layout: each linear index without its constant, and the dims of indices that are
/// not linear (fused dims).
std::vector<AffineExpr> natural_forms(const Access& access);

/// Row-major strides; one for each extent.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& extents);

}  // namespace isamap
