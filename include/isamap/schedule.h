// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where and when: a list of lines, outermost first, of three kinds (docs/schedule.md).
//
//   for loops a dim in tiles of a stated size; stage says that a tile of a tensor lives in a memory from here
//   inwards; do says which instruction does the rest.
//
// Dims are those of the fused statement (include/isamap/mapping.h), so a loop over fused digits is `for n.p by 48`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isamap/affine.h"
#include "isamap/instruction.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"
#include "isamap/result.h"

namespace isamap {

enum class Tail { none, pad, split };   ///< none: proved to divide, or the default, split
enum class First { fill, flag, load };  ///< how an accumulator starts
enum class Outside { pad, skip };       ///< reads beyond a tensor's shape

struct TiledLoop {
  std::string dim;        ///< of the fused statement
  std::int64_t tile = 1;  ///< extent of the dim below this line; trip = ceil(parent / tile)
  bool operator==(const TiledLoop&) const = default;
};

struct For {
  std::vector<TiledLoop> loops;
  std::string unit;  ///< empty: time. "core", "warp", "mac.x"
  Tail tail = Tail::none;
  bool unroll = false;
  std::string combine;      ///< name of a combine on a reduction run over a unit; empty: none
  bool wrap = false;        ///< instances take turns: number n does steps n, n + instances, ...
  std::int64_t raster = 0;  ///< so many steps of the first loop come before the next step of the second; 0: in order
  bool operator==(const For&) const = default;
};

/// One digit of a buffer's layout, quasi-affine in the statement's dims: `k/32`, `p+r`, `k%32`. The linear expression
/// inside (`k`, `p+r`) is a base coordinate of the buffer, counted from where the tile begins.
struct LayoutDigit {
  AffineExpr index;
  std::int64_t pad = 0;  ///< extra elements after this digit's extent
  bool operator==(const LayoutDigit&) const = default;
};

struct Stage {
  std::string tensor;
  std::string memory;
  int buffers = 1;
  int ahead = 0;
  std::vector<LayoutDigit> layout;    ///< outermost first, dense; empty: the tensor's own index expressions
  std::optional<XorSwizzle> swizzle;  ///< of the addresses that the layout gives
  std::vector<std::string> via;       ///< moves; empty: derived
  bool ahead_of_time = false;
  bool slide = false;             ///< overlapping rows of consecutive tiles are kept: a step moves only what is new
  First first = First::fill;      ///< outputs only
  std::vector<std::string> then;  ///< outputs: statements whose nests go on with each finished tile
  std::string from;               ///< inputs: the statement whose nest hands the tile over, so nothing is filled
  std::string role;               ///< inputs: those who fill it and do nothing else; empty: those who use it
  bool operator==(const Stage&) const = default;
};

struct Do {
  std::string statement;
  std::string instruction;  ///< empty: element by element on a scalar unit ("scalar")
  std::vector<std::pair<std::string, std::vector<Digit>>> dims;  ///< as in the mapping, written order
  std::vector<std::pair<std::string, std::string>> operands;     ///< instruction operand -> tensor; empty: in order
  std::vector<std::pair<std::string, double>> constants;         ///< instruction operand -> the number it holds
  std::vector<std::pair<std::string, Outside>> outside;
  bool operator==(const Do&) const = default;
};

struct Line {
  std::variant<For, Stage, Do> is;
  SourceLocation where = {};  ///< of a line that somebody wrote; no part of its value
  bool operator==(const Line& other) const { return is == other.is; }
};

/// A statement in two: operation number `operation` of its body (those that read something, innermost first, from 0)
/// becomes a statement of its own before it, whose result it reads (mapper/statement_splits.h).
struct SplitPart {
  std::string statement;
  std::int64_t operation = 0;
  bool operator==(const SplitPart&) const = default;
};
std::string print(const SplitPart& part);  ///< "s0 1"
Result<SplitPart> parse_split_part(const std::string& text, const SourceLocation& where = {});

/// The lines of one statement.
struct Nest {
  std::vector<Line> lines;
  bool operator==(const Nest&) const = default;
};

struct Schedule {
  std::string name, kernel, target;
  std::map<std::string, std::int64_t> sizes;  ///< of the target's symbols, for which it is meant; printed if not empty
  std::vector<SplitPart> splits;              ///< the nests are for the kernel with these statements in two, one by one
  std::vector<VectorizedReduction> lanes;     ///< and with these reductions in lanes
  std::vector<Nest> nests;                    ///< one for each statement of the kernel, in order
  bool operator==(const Schedule&) const = default;
};

/// The YAML text of the contract (`nest:`; several statements: `nests:`). parse_schedule(print(s)) == s.
std::string print(const Schedule& schedule);
std::string print(const Line& line);
Result<Line> parse_line(const std::string& text, const SourceLocation& where = {});

}  // namespace isamap
