// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the operands of one instruction stand when it is executed by itself, what brings them there and what takes its
// result out: at home, in a scratchpad as the description says, or in registers that moves fill.

#include <map>
#include <vector>

#include "scheduler/lowering/tile_copy.h"
#include "scheduler/nest/staged_tile.h"
#include "verify/instruction_kernel.h"
#include "verify/scratch_place.h"

namespace isamap {

using Made = std::vector<Node>;

/// In whose order the result leaves registers that no move takes out as a whole: its own, where each instance's share
/// lies together, or that of the shares.
enum class Order { own, shares };

/// One operand: what the call is given, what comes before it and, for the result, behind it.
struct Placed {
  Ref ref;
  Made before, after;
};

class IsolatedOperands {
 public:
  IsolatedOperands(const HardwareModel& model, InstructionId id, const RequestedCase& wanted)
      : model_(model), instruction_(model.instruction(id)), id_(id), wanted_(wanted), lowering_(model) {}

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

  /// The whole tensors as tiles, and the statement beside the instruction.
  void prepare();
  /// What a dim of the statement is at a use: its number, and the instruction's dim that runs over it.
  AffineExpr here(const AffineExpr& e) const;
  std::vector<AffineExpr> here(const Access& access) const;
  std::vector<AffineExpr> subscripts(int access) const;
  /// Dims of the statement around those of the instruction: vectors, and the second sum.
  std::vector<AffineExpr> around(int access) const;
  /// Which use this is, among all.
  AffineExpr use() const { return wanted_.twice ? number_ * 2 + again_ : number_; }
  Result<Ref> accepted(int access, Ref ref, const TileLayout& tile) const;
  /// Loops over all of an operand, with one element statement.
  Result<Made> each_element(int access, const ScratchPlace& place, BufferId scratch, bool fill);
  Made fence(int access) const;
  Result<Placed> at_home(int access);
  Result<Placed> in_scratch(int access);
  /// Between the registers and the tensor, by moves of the whole, directly or by way of a scratchpad.
  Result<Made> moved(int access, const TileLayout& tile, bool fill);
  /// Each instance moves its share.
  Result<Made> moved_in_shares(int access, BufferId registers, bool fill);
  /// A tile in registers; where subscripts are no plain dims, one that holds the operand's box.
  Result<NewTile> register_place(int access);
  Result<Placed> in_registers(int access);
  Result<Placed> placed(int access);

  const HardwareModel& model_;
  const Instruction& instruction_;
  InstructionId id_;
  const RequestedCase& wanted_;
  Lowering lowering_;
  Order order_ = Order::own;
  Kernel rerolled_, kernel_;  ///< as the instruction says it; in the order in which the result leaves
  Mapping mapping_;
  Computation fused_;
  Pairing pairing_;
  Tiles tiles_;
  std::vector<TileLayout> home_;     ///< by tensor
  std::map<int, BufferId> scratch_;  ///< by access
  AffineExpr number_, again_;        ///< of the vector, and of the use for it
};

}  // namespace isamap
