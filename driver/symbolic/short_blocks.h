// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which cells of a grid get blocks with short tiles (program/short_tiles.h).
//
// Tiles of rows leave 1 .. 13 rows, and tiles of columns leave masks: a block for each pair is most of the code of a
// product. A remainder of rows gets one block for whole and short tiles of columns in their place, for each cell where
// the cost model says that it costs about what a block for that cell alone does.

#include <functional>
#include <map>

#include "driver/symbolic/grid_price.h"

namespace isamap {

/// Positions of a cell where it is priced, and the tiles before it that pack what it needs, too.
struct PricedCell {
  std::vector<std::int64_t> counts;
  std::optional<PositionsBefore> before;
};

/// How the cells of a grid are lowered and priced.
struct CellWork {
  std::function<std::vector<const Schedule*>(std::size_t cell)> by_price;  ///< the cheapest schedule first
  std::function<std::optional<Block>(std::size_t cell, bool adding, const Schedule&)> block;
  std::function<PricedCell(std::size_t cell)> priced;
  BlockCosts& costs;
};

/// The cell with tiles whose block may serve this one, which has what tiles of another axis leave, too; nothing: none.
std::optional<std::size_t> cell_of_short_tiles(const Grid& grid, std::size_t cell);

class ShortBlocks {
 public:
  /// Cells are asked for in order, and those of tiles are in the grid before their remainders.
  ShortBlocks(const Grid& grid, const HardwareModel& model, CellWork work)
      : grid_(grid), model_(model), work_(std::move(work)) {}

  /// Nothing: the cell gets a block of its own.
  std::optional<Block> serving(std::size_t cell, bool adding);

 private:
  std::optional<Block> made(std::size_t cell, std::size_t axis, bool adding) const;
  bool is_worth(std::size_t cell, std::size_t axis, const Block& block) const;
  bool shares_copies(std::size_t cell, std::size_t axis, const Block& block) const;

  const Grid& grid_;
  const HardwareModel& model_;
  CellWork work_;
  std::map<std::pair<std::size_t, bool>, std::optional<Block>> made_;  ///< by cell of tiles, whether it adds
};

}  // namespace isamap
