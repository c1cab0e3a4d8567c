// SPDX-License-Identifier: Apache-2.0
#pragma once
// A value, or the diagnostics that say why there is none.

#include <utility>
#include <variant>

#include "support/check.h"
#include "support/diagnostic.h"

namespace isamap {

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
