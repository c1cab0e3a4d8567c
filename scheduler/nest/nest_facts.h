// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the nests of a statement have in common: what a `do` line and a `stage` line determine by themselves, without
// the loops around them. A search estimates thousands of nests with the same few lines, so each is resolved once.

#include <boost/container/small_vector.hpp>
#include <boost/container_hash/hash.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"
#include "scheduler/nest/memory_axes.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/tile_layout.h"

namespace isamap {

/// Numbers of values of a quasi-affine subscript, by the extents of its dims. Filled on use.
struct KnownWidths {
  using Extents = boost::container::small_vector<std::int64_t, 4>;
  struct Hash {
    std::size_t operator()(const Extents& extents) const { return boost::hash_range(extents.begin(), extents.end()); }
  };
  std::unordered_map<Extents, double, Hash> by_extents;
};

/// One subscript: linear in dims (|coefficient|), or any quasi-affine expression.
struct FootprintAxis {
  struct Term {
    int dim = 0;               ///< of the statement
    std::size_t position = 0;  ///< among the dims of the group
    std::int64_t coefficient = 1;
  };
  std::vector<Term> terms;
  bool linear = true;
  AffineExpr expr;
  std::shared_ptr<KnownWidths> widths = {};  ///< of a quasi-affine expression
};

/// Subscripts of an access connected by shared dims: the footprint is the product over groups.
struct FootprintGroup {
  std::vector<int> dims;
  std::vector<FootprintAxis> axes;
  bool linear = true;
  bool share_dims = false;  ///< a dim occurs in several subscripts
  bool strided = false;     ///< some coefficient is neither 1 nor -1
  bool plain = false;       ///< one subscript, a dim plus a constant: as many elements as points
};

/// Subscripts of an access as the buffers of a nest hold them (scheduler/cost/access_counts.h).
struct HeldGroups {
  std::vector<FootprintGroup> held;        ///< empty: as in the facts
  std::vector<FootprintGroup> replicated;  ///< with each point of a window that layouts replicate; empty: as `held`
};

/// One access of the statement.
struct AccessFacts {
  std::string name;        ///< as `stage` lines name it
  std::vector<bool> uses;  ///< by dim
  std::vector<FootprintGroup> groups;
  int operand = -1;                   ///< number of the instruction's access; -1: none
  MemoryId operand_memory;            ///< invalid: immediate, state, or no operand (scalar code)
  std::vector<std::int64_t> padding;  ///< by dim: calls fill whole multiples of it
  int element_bytes = 1;
  int registers = 0;  ///< of one operand, if `operand_memory` is a register file
  MemoryAxes memory;  ///< where the tensor lies as it is
  /// Where calls begin that take the tensor where it lies, and the bytes that one takes.
  struct CallAddresses {
    std::int64_t apart = 0, at_once = 0;
  };
  mutable std::optional<CallAddresses> calls = {};  ///< by scheduler/cost/split_lines.h
  /// By numbers of the stages that hold the access in memories. Filled on use.
  mutable std::map<std::vector<std::int64_t>, std::shared_ptr<const HeldGroups>> held_groups = {};
};

struct KnownCalls;

/// What a `do` line determines.
struct NestFacts {
  const Kernel* kernel = nullptr;
  const HardwareModel* model = nullptr;
  StatementId id;
  Computation statement;             ///< fused
  Mapping mapping;                   ///< as the line states it
  InstructionForm instruction;       ///< nullptr: element by element
  std::vector<std::int64_t> block;   ///< per dim: extent that one call covers (1: not a digit)
  std::vector<int> instruction_dim;  ///< per dim: of the instruction, or -1
  std::vector<int> statement_dim;    ///< per dim of the instruction: of the statement, -1: virtual
  double in_bounds = 1;              ///< fraction of the points computed (scheduler/nest/in_bounds_fraction.h)
  std::vector<AccessFacts> accesses;
  std::int64_t registers_beside_operands = 0;      ///< where the result's register is: between the calls of a tree
  Diagnostics problems;                            ///< of the line, without its place
  mutable std::shared_ptr<KnownCalls> calls = {};  ///< by scheduler/cost/command_stream_model.h
};

/// A copy of a tile of one access into a packed layout.
struct PackedCopyFacts {
  /// A loop of the copy, in the order in which it runs.
  struct Loop {
    double extent = 1;
    double stride = 0;  ///< in the tensor, in elements
  };
  int access = 0;
  bool of_tensor = true;           ///< of the tensor itself, not of a tile around it
  std::vector<std::int64_t> tile;  ///< extent of each dim
  double cycles = 0;               ///< per element
  std::vector<Loop> loops;         ///< innermost first, up to the first one with an irregular stride
  bool regular = true;             ///< there is no such loop
  /// Of the whole tile, by the scalar unit of a command stream: into it, and out of it. Nothing: another machine, or
  /// moves copy.
  std::optional<double> filled = {}, drained = {};
  mutable std::optional<double> buffer = {};  ///< its elements, padding included
};

struct KnownMoves;

/// Digits of a layout by the one dim that each is a part of, outermost first: by dim of the statement, none of a dim
/// that occurs in sums only. Empty: no layout.
using DigitsByDim = std::vector<std::vector<const SplitDigit*>>;

/// What a `stage` line determines below a given `do` line.
struct StageFacts {
  Stage stage;
  MemoryId memory;                 ///< invalid: unknown
  std::vector<int> accesses;       ///< of the statement, that the stage holds
  std::vector<SplitDigit> digits;  ///< of its layout as stated; empty: none, or unsupported ones
  std::vector<AxisTerms> terms;    ///< of each digit's form
  bool of_dims = true;             ///< no digit is of a dim of the instruction ($j), or unsupported
  double copies = 1;               ///< of each element: digits of dims of the instruction repeat it
  bool clears = true;              ///< of a tile of sums: something sets it to the value at which they begin
  Diagnostics problems;            ///< wherever the line stands, without its place
  /// Layouts of the buffers of `accesses` where the line states none; empty in registers.
  std::vector<std::vector<LayoutDigit>> defaults;
  /// Of the buffer of an access, stated or not; nullptr: in registers.
  const std::vector<LayoutDigit>* layout_of(int access) const;
  std::vector<std::vector<SplitDigit>> default_digits = {};  ///< of `defaults`
  /// Digits of the stated layout, or of `default_digits`. They point into the lists of those.
  std::vector<DigitsByDim> by_dim = {};
  /// Of the layout of the buffer of an access; nullptr: in registers, or unsupported ones.
  const DigitsByDim* by_dim_of(int access) const;
  /// Each digit of the stated layout, or of `defaults`; nothing: an unsupported one.
  std::vector<std::vector<std::optional<SplitDigit>>> splits = {};
  /// Of that layout, digit by digit; empty: in registers.
  std::span<const std::optional<SplitDigit>> splits_of(int access) const;
  /// Extents of dims for which the layout is known to hold every element. Filled on use.
  mutable std::set<std::vector<std::int64_t>> laid_out;
  mutable std::vector<std::unique_ptr<const PackedCopyFacts>> packed;  ///< by scheduler/cost/packing_time.h
  mutable std::shared_ptr<KnownMoves> moves = {};                      ///< by scheduler/cost/tile_uses.h
  std::int64_t number = 0;                                             ///< among the stages of the statement
};

/// Facts of the lines of one statement, each found once. Of one thread. Kernel and model must outlive it.
class StatementFacts {
 public:
  StatementFacts(const Kernel& kernel, StatementId statement, const HardwareModel& model)
      : kernel_(&kernel), statement_(statement), model_(&model) {}

  const Kernel& kernel() const { return *kernel_; }
  StatementId statement() const { return statement_; }
  const HardwareModel& model() const { return *model_; }

  /// Of the nest's last line. Diagnostics, without a place: it states no mapping.
  Result<std::shared_ptr<const NestFacts>> of_do(const Nest& nest);
  /// Of a line above that one; valid until the next one is asked for.
  const std::shared_ptr<const StageFacts>& of_stage(const std::shared_ptr<const NestFacts>& facts, const Stage& stage);

 private:
  /// Equal `do` lines. An instruction with compile-time extents has a form for each extents of the innermost tiles.
  struct KnownDo {
    Do line;
    std::shared_ptr<const NestFacts> facts;
    std::vector<std::pair<FixedExtents, std::shared_ptr<const NestFacts>>> forms;
  };
  using KnownStage = std::pair<std::shared_ptr<const NestFacts>, std::shared_ptr<const StageFacts>>;
  const Kernel* kernel_;
  StatementId statement_;
  const HardwareModel* model_;
  std::vector<std::unique_ptr<KnownDo>> dos_;                        ///< last used first
  std::unordered_map<std::size_t, std::vector<KnownStage>> stages_;  ///< by a hash of the line and its facts
  std::int64_t numbered_ = 0;                                        ///< stages so far
};

/// A prefetch distance of n needs n + 1 buffers, except in caches. Nothing: the stage has enough.
std::optional<Diagnostic> missing_buffers(const Stage& stage, const Memory& memory);

}  // namespace isamap
