// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inserts the setters that establish the state each command needs.
//
// Setters of the needed state precede a call. Two cases go beyond setters:
// - Twins: instructions that do the same and differ in the state they need ("multiply with the fresh weights", "with
//   those of before"). The one that needs the fewest setters is printed.
// - A command that itself sets a field to any value (`sets: {ex.c: any}` of one that loads weights) is held back until
//   a later one needs the field: only then is its text known.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/assembly/straight_line.h"
#include "backends/assembly/token_plan.h"
#include "backends/common/state.h"
#include "isamap/hardware.h"

namespace isamap {

class CommandStream {
 public:
  /// `plan`: the tokens of every call, or empty.
  CommandStream(const Program& program, const HardwareModel& model, std::vector<CallTokens> plan);

  void line(const std::string& text);
  /// Nothing, or the diagnostic.
  std::optional<Diagnostic> command(const CallSite& site, const std::int64_t* loops);
  Result<std::string> finish();

 private:
  using Fields = std::map<std::string, std::optional<std::int64_t>>;
  /// A use of an instruction in the stream; `known`: the state before it, `fields`: its free fields (`sets: any`).
  struct Use {
    const Instruction& instruction;
    const CallSite& site;
    const std::int64_t* loops;
    const KnownState& known;
    const Fields& fields;
    const Tokens& tokens;
  };
  struct Held {
    const Instruction* instruction = nullptr;
    CallSite site;
    std::vector<std::int64_t> loops;
    KnownState known;
    Fields fields;  ///< nothing: not decided yet
    const Tokens* tokens = nullptr;
  };
  struct Choice {
    const Instruction* instruction = nullptr;
    KnownState needed, after;
    std::vector<SetterUse> setters;
  };

  const std::vector<const Instruction*>& twins(const Instruction& instruction);
  Result<Choice> choose(const CallSite& site, const std::int64_t* loops);
  Result<Choice> choice_of(const Instruction& instruction, const CallSite& site, const std::int64_t* loops) const;
  void decide(const KnownState& needed);
  std::optional<Diagnostic> release();
  std::optional<Diagnostic> put(const CallSite& site, const std::int64_t* loops, const Tokens& tokens);
  std::optional<Diagnostic> print(const NoOp& noop);
  void token_lines(const std::vector<std::string>& objects, const std::string& what);
  std::optional<Diagnostic> print(const Use& use);
  std::optional<Diagnostic> print(const SetterUse& use);
  std::string spelled(const Reference& r, const Use& use) const;

  const Program& program_;
  const HardwareModel& model_;
  std::vector<CallTokens> plan_;
  std::size_t calls_ = 0;
  std::size_t loop_count_;
  KnownState known_;
  std::map<const Instruction*, std::vector<const Instruction*>> twins_;
  std::string text_;
  std::optional<Held> held_;
  std::string behind_held_;  ///< printed since then
};

}  // namespace isamap
