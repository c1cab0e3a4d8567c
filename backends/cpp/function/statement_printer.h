// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prints what a function does at one place: calls, element statements, barriers, comments, and the declarations that
// they need. Blocks, loops and guards around them are those of backends/cpp/function/printer.h.

#include <set>
#include <string>
#include <vector>

#include "backends/cpp/function/place_text.h"
#include "backends/cpp/function/program_state.h"
#include "backends/cpp/function/register_hints.h"
#include "ir/scatter.h"

namespace isamap {

/// What is known of a function when it is printed. All references outlive the printers.
struct PrintedFunction {
  const Program& program;
  const HardwareModel& model;
  const Dialect* dialect;                  ///< null: C++
  const std::set<std::int32_t>& constant;  ///< buffers that are `const`
  const RuntimeNumbers* numbers;           ///< null: there are none
  Places& places;
  Names& names;
  ElementText& elements;
  Diagnostics& diagnostics;
  const std::set<BufferId>& overlapping;  ///< arguments that may have the storage of another one
  RegisterHints hints;
};

/// Lines of a body so far. A deeper block is indented by two more spaces.
struct TextLines {
  std::string text;
  int depth = 1;

  void line(const std::string& s) { text += std::string(static_cast<std::size_t>(2 * depth), ' ') + s + "\n"; }
  /// Each line that is not empty.
  void lines(const std::string& s);
};

class StatementPrinter {
 public:
  /// `open`: the loops around; names of subscripts that a statement computes are added.
  StatementPrinter(const PrintedFunction& function, OpenLoops& open, TextLines& out);
  StatementPrinter(const StatementPrinter&) = delete;
  StatementPrinter& operator=(const StatementPrinter&) = delete;

  /// `fresh`: variables that the item is the first to use. Declares pointers of rows that it is the first to use, too.
  void call(const Call& call, const Item& item, const std::set<int>& fresh);
  void element(const Element& element, const Item& item, const std::set<int>& fresh);
  /// The place that an element statement writes.
  std::string written(const Item& element) { return element_place(element.places[0]); }
  /// Element statements combine into this place in place of their own; empty: into their own.
  void write_to(const std::string& place) { target_ = place; }
  /// Where an update of a scatter lies among the elements, unsigned: beyond them if it is negative.
  std::string position_in(const Item& element, const Scatter& scatter);
  /// `opened`: variables that it opens; `in_unit`: inside of a loop over instances, which run one after another.
  void sync(const Sync& sync, const std::set<int>& opened, bool in_unit);
  void comment(const Comment& comment);
  /// What has to be forgotten before the item.
  void forget_before(const Item& item);
  void pin(BufferId id, int variable);

  /// `float c;`, one line for each type.
  void declare(const std::set<int>& variables);
  /// A pointer is declared in the outermost block with its loop variable and an unguarded use: a pointer used under
  /// guards only is computed behind the guard, where it is inside the buffer.
  void declare_pointers(const std::vector<Item>& items);
  /// Those that are declared here, which leave with their block.
  std::set<int>& pointers() { return pointers_; }

  const PlaceText& places() const { return place_; }
  ProgramState& state() { return state_; }

 private:
  void declare_pointer(int number);
  std::string block_of(const Word& word);
  std::string element_place(const Place& place);
  std::string value_at(const Place& place) { return place_.value(place, element_place(place)); }
  std::string read_of(const Element& element, const Item& item, std::size_t read,
                      const std::vector<std::string>& before);
  void name_computed(const Ref& ref, const std::vector<std::string>& reads);
  std::string pointer_type(BufferId id) const;

  const PrintedFunction& function_;
  OpenLoops& open_;
  TextLines& out_;
  PlaceText place_;
  CallContext context_;
  ProgramState state_;
  std::set<int> pointers_;  ///< that are declared
  std::string target_;      ///< of element statements; empty: their own place
};

}  // namespace isamap
