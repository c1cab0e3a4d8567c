// SPDX-License-Identifier: Apache-2.0
#pragma once
// The address of an operand of a call, as one expression over instruction points.
//
// The element offset of a point is the operand's index dotted with the buffer's strides. The base address is that
// offset with every instruction dim at 0; a stride is the difference between two points.

#include <optional>
#include <string>

#include "isamap/affine.h"
#include "isamap/program.h"

namespace isamap {

/// Name of an instruction dim in an index: `$j`.
inline std::string point_name(const std::string& dim) { return "$" + dim; }

/// `loops` and, for each instruction dim, [0, extent of this call - 1]; of access 0 also the points beyond it that the
/// call sets.
Ranges ranges_of_call(const Ranges& loops, const Instruction& instruction, const Call& call, int access = -1);

/// The element offset of an index from the first element of a memory buffer, over all names of the index.
AffineExpr element_offset(const Buffer& buffer, const Ref& ref, const Ranges& ranges);

/// `e` with every instruction dim at 0.
AffineExpr at_origin(const AffineExpr& e, const Ranges& ranges);

/// Can the instruction of `mover` write or read what is held for `user` without a conversion? Their types are equal,
/// one is not stated, or the mover takes bits of any type.
bool same_type(const Operand& mover, const Operand& user);

/// The position of an access whose operand has this name (0: the write), or -1.
int access_named(const Instruction& instruction, const Call& call, const std::string& operand);
const Operand& operand_of(const Instruction& instruction, int access);

/// The mask of a dim in this call; nullptr: it has none.
const Ref* mask_of(const Instruction& instruction, const Call& call, const std::string& dim);

/// Elements of the buffer between neighbours along a term of the operand's layout: a dim `k`, a part of one (`k/4`,
/// `k%4`), or the number of a subscript. Nothing when the difference is no constant. A term outside the call has stride
/// 0 if its difference is no constant.
std::optional<std::int64_t> stride_along(const AffineExpr& offset, const Instruction& instruction, const Call& call,
                                         int access, const std::string& term, const Ranges& ranges);

/// Number of the register slot that an index selects (row-major over the slot axes), if it is a constant.
std::optional<std::int64_t> slot_of(const Buffer& buffer, const Ref& ref, const Ranges& ranges);
/// Slots of a register buffer.
std::int64_t slot_count(const Buffer& buffer);

/// Does the call overwrite the written operand completely?
bool overwrites(const Instruction& instruction, const Call& call);
/// Does the call read the old content of the written operand's points?
bool updates(const Instruction& instruction, const Call& call);

}  // namespace isamap
