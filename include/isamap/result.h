// SPDX-License-Identifier: Apache-2.0
#pragma once
// Result<T>: a value or diagnostics; and checks of our own invariants.

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define ISAMAP_CHECK(condition, text) ((condition) ? void(0) : ::isamap::internal_error(__FILE__, __LINE__, (text)))

namespace isamap {

// A problem of an input: the place, what was found, what was expected, what would work.

struct SourceLocation {
  std::string file;  ///< as the user gave it
  int line = 0;      ///< from 1; 0: the whole file
  int column = 0;    ///< from 1; 0: the whole line
  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { error, warning };

/// One problem. `message` is lower case, without a full stop, with names and numbers.
struct Diagnostic {
  SourceLocation where;
  std::string message;
  std::string hint;                ///< what would work; may be empty
  std::vector<std::string> notes;  ///< facts that help: "declared memories: dram, spad"
  std::string source_line;         ///< the line of the file, printed with a caret; may be empty
  Severity severity = Severity::error;
};

using Diagnostics = std::vector<Diagnostic>;

/// `toy.yaml:14:8: operand 'C' names memory 'L2', ...` and, below it, source line, caret, notes and hint.
std::string render(const Diagnostic& diagnostic);
std::string render(const Diagnostics& diagnostics);

/// A diagnostic without a location.
Diagnostic error(std::string message, std::string hint = "");
Diagnostic error_at(SourceLocation where, std::string message, std::string hint = "");

bool has_errors(const Diagnostics& diagnostics);

// Our own invariants. A failed check is a bug of isamap, never the user's error.

/// Thrown by a failed check. A host of the library may catch it; the program prints the text and exits with 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with the text and the place.
[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

// A value, or the diagnostics that explain its absence.

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}                                  // NOLINT: implicit on purpose
  Result(Diagnostic diagnostic) : state_(Diagnostics{std::move(diagnostic)}) {}  // NOLINT
  Result(Diagnostics diagnostics) : state_(std::move(diagnostics)) {}            // NOLINT

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return value(); }
  const T& operator*() const { return const_cast<Result*>(this)->value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  /// Empty when there is a value.
  const Diagnostics& diagnostics() const {
    static const Diagnostics none;
    return state_.index() == 1 ? std::get<1>(state_) : none;
  }

 private:
  T& value() {
    ISAMAP_CHECK(state_.index() == 0, "value of a failed result:\n" + render(diagnostics()));
    return std::get<0>(state_);
  }
  std::variant<T, Diagnostics> state_;
};

}  // namespace isamap
