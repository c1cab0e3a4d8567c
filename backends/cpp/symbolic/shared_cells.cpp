// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/shared_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/team.h"

namespace isamap {

namespace {

const char* const distribution_helpers = R"(namespace {

// An axis whose positions are distributed over threads, between tiles, in so many shares.
struct SharedAxis {
  long extent, tile, shares;
};

// Cycles, and the axes, as bits, whose shares divide them: copies are made by each thread that reads them.
struct SharedCost {
  double cycles;
  unsigned axes;
};

template <int m, int n>
double longest_share(const SharedAxis (&axes)[m], const SharedCost (&costs)[n]) {
  double sum = 0;
  for (const SharedCost& cost : costs) {
    double cycles = cost.cycles;
    for (int a = 0; a < m; ++a) {
      const long tiles = (axes[a].extent + axes[a].tile - 1) / axes[a].tile;
      const long longest = (tiles + axes[a].shares - 1) / axes[a].shares * axes[a].tile;
      if ((cost.axes >> a & 1) != 0 && longest < axes[a].extent) cycles *= double(longest) / double(axes[a].extent);
    }
    sum += cycles;
  }
  return sum;
}

// Each prime factor of the threads goes to the axis where the longest share becomes least; all shares stay 1 where that
// saves less than it takes to start threads.
template <int m, int n>
void distribute(SharedAxis (&axes)[m], const SharedCost (&costs)[n], long threads, double start) {
  double alone = 0;
  for (const SharedCost& cost : costs) alone += cost.cycles;
  if (alone <= start) return;
  double least = alone;
  for (long left = threads, factor; left > 1; left /= factor) {
    factor = left;
    for (long d = 2; d * d <= factor; ++d)
      while (factor % d == 0 && factor > d) factor /= d;
    SharedAxis* best = nullptr;
    for (SharedAxis& axis : axes) {
      axis.shares *= factor;
      const double cycles = longest_share(axes, costs);
      axis.shares /= factor;
      if (cycles < least) least = cycles, best = &axis;
    }
    if (best != nullptr) best->shares *= factor;
  }
  if (least + start < alone) return;
  for (SharedAxis& axis : axes) axis.shares = 1;
}

)";

const char* const cell_helpers =
    R"(// Where a share begins that has about `before` positions before it; `tiles`: by number of the run, 0 where it is one
// piece.
[[maybe_unused]] inline long share_begin(const Run* runs, long many, const long* tiles, long before) {
  long at = 0;
  for (long r = 0; r < many; at += runs[r++].count) {
    const long tile = tiles[runs[r].number] > 0 ? tiles[runs[r].number] : runs[r].count;
    if (before < at + runs[r].count) return at + (before - at + tile / 2) / tile * tile;
  }
  return at;
}

// Keeps the runs of a share, whose number along this axis is the remainder of `number`; how many there are.
[[maybe_unused]] inline long own_runs(Run* runs, long many, const long* tiles, long& number, long shares) {
  const long own = number % shares;
  number /= shares;
  if (shares < 2) return many;
  long all = 0, at = 0, kept = 0;
  for (long r = 0; r < many; ++r) all += runs[r].count;
  const long begin = share_begin(runs, many, tiles, all * own / shares);
  const long end = share_begin(runs, many, tiles, all * (own + 1) / shares);
  for (long r = 0; r < many; ++r) {
    Run run = runs[r];
    const long low = at > begin ? at : begin, high = at + run.count < end ? at + run.count : end;
    run.at += low - at, at += run.count, run.count = high - low;
    if (run.count > 0) runs[kept++] = run;
  }
  return kept;
}

}  // namespace

)";

const char* const row_helpers =
    R"(// Where a share of rows begins, next to its part of all: between two of the tiles, which take as many rows as there
// are, one size after the other. `leads`: with the first tile of the last size are the rows that no tile takes.
long share_begin(long rows, const long* tiles, long many, bool leads, long share, long shares) {
  const long before = rows * share / shares;
  if (share == 0 || share == shares) return before;
  long at = 0;
  for (long n = 0; n < many; ++n) {
    const long tile = tiles[n], count = (rows - at) / tile * tile;
    const long begin = leads && n + 1 == many && count > 0 ? rows - count : at;
    if (before < begin + count) {
      const long own = before > begin ? (before - begin + tile / 2) / tile * tile : 0;
      return own > 0 ? begin + own : at;
    }
    at = begin + count;
  }
  return 2 * before < at + rows ? at : rows;
}

}  // namespace

)";

}  // namespace

std::string shared_cell_helpers() { return std::string(distribution_helpers) + cell_helpers; }
std::string shared_row_helpers() { return std::string(distribution_helpers) + row_helpers; }

std::vector<std::string> shared_words() {
  return {"SharedAxis", "SharedCost", "longest_share", "distribute", "share_begin", "own_runs", "shared",
          "costs",      "of_share",   "share",         "shares",     "number",      "first0",   "last0"};
}

bool is_shared(const Grid& grid) { return grid.shares.threads > 1; }

bool is_shared(const std::vector<Grid>& grids) {
  return std::any_of(grids.begin(), grids.end(),
                     [](const Grid& grid) { return is_shared(grid) || is_shared(grid.edges); });
}

std::string cycles_text(const SharedCost& cost, const EntryNames& names) {
  std::string text = fmt::format("{}", cost.cycles * static_cast<double>(cost.count.number));
  for (const AffineExpr& factor : cost.count.factors)
    text += fmt::format(" * static_cast<double>({})", size_text(factor, names.sizes));
  return text;
}

std::string begin_shares(const Grid& grid, const EntryNames& names) {
  std::string axes, costs;
  for (const auto& [axis, tile] : grid.shares.tiles)
    axes += fmt::format("{}{{{}, {}, 1}}", axes.empty() ? "" : ", ",
                        extent_text(grid.shape.axes[static_cast<std::size_t>(axis)], names.sizes), tile);
  for (const SharedCost& cost : grid.shares.costs) {
    unsigned bits = 0, bit = 1;
    for (const auto& [axis, tile] : grid.shares.tiles) {
      if (cost.axes.contains(axis)) bits |= bit;
      bit <<= 1U;
    }
    costs += fmt::format("{}{{{}, {}}}", costs.empty() ? "" : ", ", cycles_text(cost, names), bits);
  }
  return fmt::format(
      "    SharedAxis shared[] = {{{}}};  // extent, tile, shares\n    const SharedCost costs[] = {{{}}};\n"
      "    distribute(shared, costs, {}, {});\n    const auto of_share = [&]([[maybe_unused]] const long share) {{\n",
      axes, costs, grid.shares.threads, grid.shares.start);
}

std::string begin_strip_shares(const std::string& rows, const std::string& cycles, const CellShares& shares) {
  return fmt::format(
      "  SharedAxis shared[] = {{{{({0} + strip_rows - 1) / strip_rows, 1, 1}}}};  // strips, their shares\n"
      "  const SharedCost costs[] = {{{{{1}, 1}}}};\n  distribute(shared, costs, {2}, {3});\n"
      "  const auto of_share = [&](const long share) {{\n"
      "  const long first0 = shared[0].extent * share / shared[0].shares * strip_rows;\n"
      "  const long last0 = shared[0].extent * (share + 1) / shared[0].shares * strip_rows;\n",
      rows, cycles, shares.threads, shares.start);
}

std::string begin_row_shares(const RowVersion& version, const RowShareNames& names) {
  const std::size_t remainder = first_remainder(version.parts);
  std::string tiles;
  std::size_t many = 0;
  bool leads = false;
  for (; many < remainder && !leads; ++many) {
    tiles += fmt::format("{}{}", many == 0 ? "" : ", ", version.parts[many].rows);
    leads = takes_remainder(version, many);
  }
  const std::string begin = fmt::format("share_begin({}, tiles, {}, {}, share", names.rows, many, leads);
  return fmt::format(
      "  SharedAxis shared[] = {{{{({0} + {1}) / {2}, 1, 1}}}};  // tiles, their shares\n"
      "  const SharedCost costs[] = {{{{{3}, 1}}}};\n  distribute(shared, costs, {4}, {5});\n"
      "  const auto of_share = [&](const long share) {{\n"
      "  static const long tiles[] = {{{6}}};\n  long {7} = {8}, shared[0].shares);\n"
      "  const long {9} = {8} + 1, shared[0].shares);\n",
      names.rows, version.parts[remainder - 1].rows - 1, version.parts[remainder - 1].rows, names.cycles,
      version.shares.threads, version.shares.start, tiles, names.at, begin, names.end);
}

std::string end_shares(std::size_t axes, const HardwareModel& model, bool team) {
  std::string product, loop;
  for (std::size_t a = 0; a < axes; ++a) product += fmt::format("{}shared[{}].shares", a == 0 ? "" : " * ", a);
  if (team)
    return fmt::format(
        "    }};\n    for (long share = {0}.number, shares = {1}; share < shares; share += {0}.members) "
        "of_share(share);\n    {2}\n",
        member_name, product, wait_for_all);
  for (const Unit& unit : model.units())
    if (!unit.threads.loop.empty()) loop = unit.threads.loop;
  return fmt::format(
      "    }};\n    if (const long shares = {}; shares < 2) {{\n      of_share(0);\n    }} else {{\n{}\n"
      "      for (long share = 0; share < shares; ++share) of_share(share);\n    }}\n",
      product, loop);
}

std::string own_runs(const Grid& grid) {
  std::string text = "    long number = share;\n";
  std::size_t place = 0;
  for (const auto& [axis, tile] : grid.shares.tiles) {
    std::string tiles;
    for (const DimRun& run : grid.shape.axes[static_cast<std::size_t>(axis)].runs)
      tiles += fmt::format("{}{}", tiles.empty() ? "" : ", ", run.tile);
    text += fmt::format(
        "    static const long tiles{0}[] = {{{1}}};\n"
        "    many{0} = own_runs(runs{0}, many{0}, tiles{0}, number, shared[{2}].shares);\n"
        "    [[maybe_unused]] const long begin{0} = many{0} > 0 ? runs{0}[0].at : 0;\n"
        "    [[maybe_unused]] const long end{0} = many{0} > 0 ? runs{0}[many{0} - 1].at + runs{0}[many{0} - 1].count : "
        "0;"
        "\n",
        axis, tiles, place++);
  }
  return text;
}

}  // namespace isamap
