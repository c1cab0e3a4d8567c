// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule: for each statement a nest of lines, outermost first, of three kinds (docs/schedule.md).
//
//   for    a dim in tiles of a given size, looped over sequentially or distributed over the instances of a unit
//   stage  a tile of a tensor in a memory, filled and drained at this line (TVM: cache_read, cache_write)
//   do     the instruction that computes the innermost tile; scalar: element by element
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
#include "isamap/symbolic.h"

namespace isamap {

enum class Tail { none, pad, split };   ///< none: proved to divide, or the default, split
enum class First { fill, flag, load };  ///< initial value of an accumulator: filled, set by the first call, loaded
enum class Outside { pad, skip };       ///< out-of-bounds reads: padded in a copy, or guarded

struct TiledLoop {
  std::string dim;        ///< of the fused statement
  std::int64_t tile = 1;  ///< extent of the dim below this line; trip = ceil(parent / tile)
  bool operator==(const TiledLoop&) const = default;
};

/// Keywords of a `for` that hold no names: a resolved nest has them as they are written.
struct LoopKeywords {
  bool unroll = false;
  bool wrap = false;        ///< persistent: instance n computes tiles n, n + instances, ...
  std::int64_t raster = 0;  ///< rasterization: steps of the first loop in each group; 0: in order
  /// The order of the tiles depends on all loops of the line.
  bool orders_all_loops() const { return wrap || raster > 0; }
  bool operator==(const LoopKeywords&) const = default;
};

struct For : LoopKeywords {
  std::vector<TiledLoop> loops;
  std::string unit;  ///< parallel over its instances, "core", "warp", "mac.x"; empty: sequential
  Tail tail = Tail::none;
  std::string combine;  ///< split reduction: the instruction that adds the partial sums; empty: none
  bool operator==(const For&) const = default;
};

/// One digit of a buffer's layout, quasi-affine in the statement's dims: `k/32`, `p+r`, `k%32`. The linear expression
/// inside (`k`, `p+r`) is a base coordinate of the buffer, counted from the origin of the tile.
struct LayoutDigit {
  AffineExpr index;
  std::int64_t pad = 0;  ///< elements of padding after this digit's extent
  bool operator==(const LayoutDigit&) const = default;
};

struct Stage {
  std::string tensor;
  std::string memory;
  int buffers = 1;                    ///< of the circular buffer
  int ahead = 0;                      ///< prefetch distance, in steps of the loop above
  std::vector<LayoutDigit> layout;    ///< outermost first, dense; empty: the tensor's own index expressions
  std::optional<XorSwizzle> swizzle;  ///< of the addresses that the layout gives
  std::vector<std::string> via;       ///< moves that fill or drain it; empty: chosen by lowering
  bool ahead_of_time = false;         ///< packed once, before the kernel is called
  bool slide = false;                 ///< sliding window: rows shared with the previous tile are reused
  First first = First::fill;          ///< outputs only
  std::vector<std::string> then;      ///< outputs: consumers fused at the complete tile
  std::string from;                   ///< inputs: the fused producer of the tile, which is not filled then
  std::string role;                   ///< inputs: the specialized warps that only fill it; empty: its consumers fill it
  bool operator==(const Stage&) const = default;
};

struct Do {
  std::string statement;
  std::string instruction;  ///< empty: element by element on a scalar unit ("scalar")
  std::vector<std::pair<std::string, std::vector<Digit>>> dims;  ///< as in the mapping, written order
  std::vector<std::pair<std::string, std::string>> operands;     ///< instruction operand -> tensor; empty: in order
  std::vector<std::pair<std::string, double>> constants;         ///< instruction operand -> its constant value
  std::vector<std::pair<std::string, Outside>> outside;
  bool operator==(const Do&) const = default;
};

struct Line {
  std::variant<For, Stage, Do> is;
  SourceLocation where = {};  ///< in a schedule file; not compared
  bool operator==(const Line& other) const { return is == other.is; }
};

/// Splits a statement: operation number `operation` of its body (of those that read, innermost first, from 0) becomes a
/// statement before it, whose result it reads (mapper/advice/statement_splits.h).
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
  std::map<std::string, std::int64_t> sizes;  ///< values of the target's symbols it was made for; printed if any
  std::vector<SplitPart> splits;              ///< applied to the kernel in this order, before `lanes`
  std::vector<VectorizedReduction> lanes;     ///< vectorized reductions
  std::vector<Nest> nests;                    ///< one for each statement of the kernel so changed, in order
  bool operator==(const Schedule&) const = default;
};

/// The YAML text of the contract (`nest:`; several statements: `nests:`). parse_schedule(print(s)) == s.
std::string print(const Schedule& schedule);
std::string print(const Line& line);
Result<Line> parse_line(const std::string& text, const SourceLocation& where = {});

// The schedules of a program for all sizes: each with the sizes that it serves.
//
//   schedule: projection
//   kernel: projection
//   target: x86_avx512
//   versions:
//     - when: ["M <= 8"]
//       nest:
//         - for i by 8
//         ..
//     - nest:
//         ..
//
// The first version serves whose conditions all hold, else the last one. That one of them does, for every size that
// satisfies the facts of the kernel, is proved when the file is read.

class HardwareModel;

struct ScheduleVersion {
  std::vector<SizeFact> when;  ///< none: every size that no version before it serves
  /// One of the whole kernel. Where the statements are grids of blocks (include/isamap/symbolic_program.h): one for
  /// each.
  std::vector<Schedule> schedules;
  SourceLocation where = {};
};

/// The text of the file; `comments`: lines above each version, by version.
std::string print(const std::vector<ScheduleVersion>& versions, const std::vector<std::string>& comments = {});

/// Errors: a schedule that is illegal for the kernel, a condition over unknown names, sizes that no version serves,
/// with an example. Empty: the file has one schedule, without versions (include/isamap/scheduler.h).
Result<std::vector<ScheduleVersion>> parse_schedule_versions(const std::string& text, const std::string& file,
                                                             const SymbolicKernel& kernel, const HardwareModel& model);
Result<std::vector<ScheduleVersion>> load_schedule_versions(const std::string& path, const SymbolicKernel& kernel,
                                                            const HardwareModel& model);

/// Which version serves these sizes, from 0 on.
std::size_t version_at(const std::vector<ScheduleVersion>& versions, const Bindings& sizes);

}  // namespace isamap
