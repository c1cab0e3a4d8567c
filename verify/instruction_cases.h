// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for one instruction: moves of the description load its operands, the instruction executes, moves store its
// result. The statement of the instruction over one more dim `v`, the test vectors, is a kernel; the program must
// compute the same as that kernel.

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
  Kernel rerolled;   ///< kernel of the nest: `kernel`, or with an unrolled sum of the instruction rerolled to a dim
  Nest nest;
  std::optional<Program>
      program;                 ///< without a nest: a program built operand by operand (isolated_program.h), of `kernel`
  std::set<std::size_t> uses;  ///< instructions of the model that its program calls
};

struct InstructionCases {
  std::vector<InstructionCase> cases;
  std::string why_not;  ///< no case: the reason
};

/// Cases of one instruction: every dim at its largest extent, ranged dims at smaller ones too, and a cleared
/// accumulator where the instruction can clear it. Each has been lowered separately.
InstructionCases instruction_cases(const HardwareModel& model, InstructionId id, std::int64_t vectors);

/// The program of an executable instruction with an input loaded by this move: errors of a move whose result cannot be
/// stored show in that instruction's result. Nothing: no such program.
std::optional<InstructionCase> case_through(const HardwareModel& model, InstructionId move, std::int64_t vectors);

/// All cases in one program, so that a target is compiled once. Tensor t of case c is tensor `first[c] + t`.
struct CaseProgram {
  Program program;
  std::vector<std::size_t> first;
};
Result<CaseProgram> program_of(const std::vector<InstructionCase>& cases, const HardwareModel& model);

}  // namespace isamap
