#pragma once
// From a printed command back to the instruction and its values: the inverse of filling a template.
//
// A placeholder that is one reference gives its value at once. A sum such as {C + 4} and a need such as `st.stride =
// D.pitch[i]` are equations with one unknown, linear in it, and are solved by two evaluations.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/assembly/state.h"
#include "hwdesc/hardware_model.h"

namespace isamap {

/// One decoded command. Values by the text of the reference: "C", "extent[i]", "S.pitch[i]", "start[C]".
struct Command {
  const Instruction* instruction = nullptr;
  std::map<std::string, std::int64_t> values;

  std::optional<std::int64_t> value(const Reference& reference) const;
};

std::string key(const Reference& reference);

class Decoder {
 public:
  explicit Decoder(const HardwareModel& model);

  /// Why a line cannot be decoded is told in words: no template matches, or the state holds another value than is
  /// needed. Fields that the command sets are in `state` afterwards.
  Result<Command> decode(std::string_view line, KnownState& state) const;

 private:
  struct Piece {
    std::string literal, before, after;
    const Placeholder* placeholder = nullptr;
  };
  struct Pattern {
    const Instruction* instruction = nullptr;
    std::vector<Piece> pieces;
  };

  std::optional<std::vector<std::int64_t>> match(const Pattern& pattern, std::string_view line) const;
  std::optional<Diagnostic> understand(const Pattern& pattern, const std::vector<std::int64_t>& numbers,
                                       KnownState& state, Command& command) const;

  const HardwareModel& model_;
  std::vector<Pattern> patterns_;
};

}  // namespace isamap
