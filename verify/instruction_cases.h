// SPDX-License-Identifier: Apache-2.0
#pragma once
// One instruction as a program of its own: its operands fetched from memory by the moves of the description, the
// instruction, its result brought back. The statement of the instruction over one more dim `v`, the test vectors, is a
// kernel; what the program computes must be what that kernel says.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/schedule.h"

namespace isamap {

struct InstructionCase {
  InstructionId instruction;
  std::string what;  ///< "", "5 of 16 along j", "started afresh, then added to"
  Kernel kernel;     ///< one statement; its tensors are those of the instruction, in order, with vectors outermost
  Kernel rerolled;   ///< what the nest runs over: `kernel`, or with a sum that the instruction writes out as a dim
  Nest nest;
  std::optional<Program> program;  ///< no nest does it: put together by hand (isolated_program.h), and of `kernel`
  std::set<std::size_t> uses;      ///< instructions of the model that its program calls
};

struct InstructionCases {
  std::vector<InstructionCase> cases;
  std::string why_not;  ///< no case: what stands in the way, in words
};

/// Cases of one instruction: every dim at its largest extent, ranged dims at smaller ones too, and an accumulator that
/// is cleared first where the instruction can do so. Each has been lowered by itself.
InstructionCases instruction_cases(const HardwareModel& model, InstructionId id, std::int64_t vectors);

/// The program of another instruction that gets an input by this move: what is wrong in a move whose result nothing
/// brings out shows in that one's. Nothing: no program does.
std::optional<InstructionCase> case_through(const HardwareModel& model, InstructionId move, std::int64_t vectors);

/// All cases in one program, so that a target is compiled once. Tensor t of case c is tensor `first[c] + t`.
struct CaseProgram {
  Program program;
  std::vector<std::size_t> first;
};
Result<CaseProgram> program_of(const std::vector<InstructionCase>& cases, const HardwareModel& model);

}  // namespace isamap
