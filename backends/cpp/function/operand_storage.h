// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ storage of every operand: a register variable, or a pointer and a subscript.
//
// The offset of a memory operand is a sum of terms in loop variables. Terms are grouped by the innermost loop whose
// variable they contain; every group but the last becomes a pointer declared in that loop's body, as does the last one
// if several operands share it:
//   for i  { const float* A_i = A + 37*i;  for k { ... A_i[k] ... } }
//
// Rows at a distance that is an argument get pointers, too, if calls use several elements of a row: compilers see that
// each sum `2*S + 24` is the same in all steps of a loop, and keep more of them than there are registers. A row begins
// at the one before it, which takes one addition.
//   const float* A_i_row = A_i + S;  ... A_i[24] ... A_i_row[0] ... A_i_row[24] ...

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/function/runtime_numbers.h"
#include "backends/cpp/text/names.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// A named pointer: parent (another pointer, or the buffer itself) plus an offset.
struct Pointer {
  BufferId buffer;
  int parent = -1;       ///< in Places::pointers; -1: the buffer
  AffineExpr offset;     ///< elements, over loop variables
  std::string variable;  ///< innermost loop variable of the offset
  std::string name;
  int uses = 0;      ///< of a row: different elements
  bool row = false;  ///< multiples of strides beyond its parent; declared where a call is the first to use it
};

struct Place {
  enum class Kind { variable, numbered, memory, immediate, described } kind = Kind::memory;
  int variable = -1;        ///< variable: in Places::variables
  std::int64_t number = 0;  ///< numbered: the register; immediate: the value
  BufferId buffer;
  int prefix = -1;  ///< memory: pointer without the innermost group of terms; -1: the buffer
  int shared = -1;  ///< pointer with it; used when its `uses` is above 1
  int row = -1;     ///< pointer with `strides`, too; used when several of its elements are
  AffineExpr last;  ///< the innermost group; immediate operands of element statements: the index whose value is read
  std::int64_t constant = 0;
  AffineExpr strides;  ///< multiples of strides that are arguments, beside `constant`
  std::vector<std::pair<std::string, AffineExpr>> strided;  ///< subscripts with such strides, which `offset` lacks
  bool scattered = false;                                   ///< an offset beside `strided`, without pointers
  AffineExpr offset;                                        ///< the whole, instruction dims included
  AffineExpr inside;                                        ///< variable: element number, row-major
};

struct Variable {
  BufferId buffer;
  std::int64_t slot = 0;
  std::string name, type;
  std::int64_t count = 0;  ///< an array: registers of a fragment per instance
  bool in_order = false;   ///< element order of one instance
  /// The using instruction with most instances, and the operand of it.
  const Instruction* shared_by = nullptr;
  int access = 0;
};

/// A node with the storage used by it and by nested nodes.
struct Item {
  const Node* node = nullptr;
  std::vector<Place> places;  ///< calls: operands, then masks; elements: write, reads
  std::set<int> pointers, variables;
  Ranges ranges;  ///< of the loops around it
  std::vector<Item> body, otherwise;
};

struct Places {
  std::vector<Pointer> pointers;  ///< parents before children
  std::vector<Variable> variables;
  std::vector<std::string> buffers;  ///< name of each buffer
};

/// The program whose operands get storage.
struct StorageContext {
  const Program& program;
  const HardwareModel& model;
  bool instances = false;  ///< loops on units are parallel instances with their own registers
  Names& names;
  Diagnostics& diagnostics;  ///< problems are appended
  const RuntimeNumbers* numbers = nullptr;
};

/// `nodes` are expanded (backends/common/expand_loops.h).
std::vector<Item> find_places(const std::vector<Node>& nodes, const StorageContext& context, Places& places);

/// Registers of a shared variable that an instruction of fewer instances uses: first and count. Nothing: its elements
/// are not consecutive registers in order in every instance.
struct RegisterPart {
  std::int64_t first = 0, count = 0;
};
/// Use of a register variable by one operand (`access`) of an instruction.
struct SharedRegisterUse {
  const Place& place;
  const Instruction& instruction;
  int access = 0;
  const Ranges& ranges;  ///< of the loops around
};
std::optional<RegisterPart> part_of_registers(const Variable& variable, const SharedRegisterUse& use,
                                              const Program& program, const HardwareModel& model);

/// Pointer and remaining index of a memory place.
std::pair<int, AffineExpr> resolve(const Place& place, const Places& places);

}  // namespace isamap
