// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of one isolated instruction: their memories and layouts (home memory, scratchpad in the described layout,
// registers), and the moves that load them and store the result.

#include <map>
#include <vector>

#include "scheduler/lowering/tile_copy.h"
#include "scheduler/nest/staged_tile.h"
#include "verify/instruction_kernel.h"
#include "verify/scratch_place.h"

namespace isamap {

using Made = std::vector<Node>;

/// The order in which a result is stored from registers that no move stores as a whole: its own, if each instance's
/// share is contiguous, or that of the shares.
enum class Order { own, shares };

/// One operand: the call's reference, the code before the call and, for the result, after it.
struct Placed {
  Ref ref;
  Made before, after;
};

class IsolatedOperands {
 public:
  IsolatedOperands(const HardwareModel& model, InstructionId id, const RequestedCase& requested)
      : model_(model), instruction_(model.instruction(id)), id_(id), requested_(requested), lowering_(model) {}

 protected:
  const Computation& own() const { return instruction_.statement(); }
  const Operand& operand(int access) const {
    return instruction_.operands[operand_of_access(instruction_, access).index()];
  }
  TensorId tensor_of(int access) const { return access_of(rerolled_.statements[0], access).tensor; }
  std::vector<std::int64_t> full_extents() const {
    std::vector<std::int64_t> full;
    for (const DimRange& range : instruction_.ranges) full.push_back(range.max);
    return full;
  }

  BufferId add(Buffer buffer);
  static void add(Made& to, Made from) { to.insert(to.end(), from.begin(), from.end()); }

  /// The whole tensors as tiles, and the statement paired with the instruction.
  void prepare();
  /// Value of a dim of the statement at a use: its number, and the instruction's dim mapped to it.
  AffineExpr here(const AffineExpr& e) const;
  std::vector<AffineExpr> here(const Access& access) const;
  std::vector<AffineExpr> subscripts(int access) const;
  /// Dims of the statement around those of the instruction: vectors, and the second sum.
  std::vector<AffineExpr> around(int access) const;
  /// Number of this use among all.
  AffineExpr use() const { return requested_.twice ? number_ * 2 + again_ : number_; }
  Result<Ref> accepted(int access, Ref ref, const TileLayout& tile) const;
  /// Loops over all elements of an operand, with one element statement.
  Result<Made> each_element(int access, const ScratchPlace& place, BufferId scratch, bool fill);
  Made fence(int access) const;
  Result<Placed> at_home(int access);
  Result<Placed> in_scratch(int access);
  /// Between the registers and the tensor, by moves of the whole operand, directly or through a scratchpad.
  Result<Made> moved(int access, const TileLayout& tile, bool fill);
  /// Each instance moves its share.
  Result<Made> moved_in_shares(int access, BufferId registers, bool fill);
  /// A tile in registers; if subscripts are no plain dims, one for the operand's box.
  Result<NewTile> register_place(int access);
  Result<Placed> in_registers(int access);
  Result<Placed> placed(int access);

  const HardwareModel& model_;
  const Instruction& instruction_;
  InstructionId id_;
  const RequestedCase& requested_;
  Lowering lowering_;
  Order order_ = Order::own;
  Kernel rerolled_, kernel_;  ///< in the instruction's order; in the order of the stored result
  Mapping mapping_;
  Computation fused_;
  Pairing pairing_;
  Tiles tiles_;
  std::vector<TileLayout> home_;     ///< by tensor
  std::map<int, BufferId> scratch_;  ///< by access
  AffineExpr number_, again_;        ///< of the vector, and of the use for it
};

}  // namespace isamap
