// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that bit fields can encode: fields of states, and of command words.

#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// The element type of a move: the type of an operand that has one; else the only type of compute instructions in the
/// memory it writes, or reads. Nothing: several, or none.
std::optional<DType> moved_type(const Instruction& move, const std::vector<Instruction>& all);

/// The state with this instance: `ld0` is one of a state `ld` with count 3, `ld` the only one of a state with count 1.
/// Null: there is none.
const State* find_state(const std::vector<State>& states, const std::string& instance);
/// The declaration of "ld0.stride" (of a state's instance) or "tile3.rows" (of a register's own field); null: there is
/// none.
const StateField* state_field(const HardwareModel& model, const std::string& field);

/// The range of the field; nothing: all of 64 bits.
std::optional<Interval> range_of(const FormatField& field);
/// Why the field cannot encode the value, "which holds 0..65535"; empty: it can.
std::string refused_by(const StateField& field, std::int64_t value);
std::string refused_by(const FormatField& field, std::int64_t value);

}  // namespace isamap
