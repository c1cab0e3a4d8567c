// SPDX-License-Identifier: Apache-2.0
#pragma once
// Addresses, elements and indices as C++, at a position of a printed function.

#include <map>
#include <string>

#include "backends/cpp/function/dialect.h"
#include "backends/cpp/function/operand_storage.h"
#include "backends/cpp/text/element_text.h"

namespace isamap {

/// The loops around the position: the range of each variable, and the names that variables are printed by.
struct OpenLoops {
  Ranges ranges;
  std::map<std::string, std::string> names;
};

class PlaceText {
 public:
  /// `dialect` may be null. All references outlive this.
  PlaceText(const Program& program, const HardwareModel& model, const Dialect* dialect, const Places& places,
            const OpenLoops& open, ElementText& elements)
      : program_(program), model_(model), dialect_(dialect), places_(places), open_(open), elements_(elements) {}

  std::string index(const AffineExpr& e, const Ranges& ranges) const;
  std::string index(const AffineExpr& e) const { return index(e, open_.ranges); }
  /// `base + offset`
  std::string sum(const std::string& base, const AffineExpr& offset, const Ranges& ranges) const;
  /// "A", "(A_k + 16)"; of the memory's pointer type, if it has one.
  std::string address(const Place& place, const Ranges& ranges) const;
  /// The same in a swizzled buffer, of the element at offset `more` (empty: 0).
  std::string permuted_address(const Place& place, const Ranges& ranges, const std::string& more) const;
  /// The lvalue of a place of one element; nothing: a register of several elements, which C++ cannot index.
  std::optional<std::string> element(const Place& place) const;
  /// `element`, which may be text of a part of a register, as a value.
  std::string value(const Place& place, const std::string& element) const;

 private:
  std::string base_name(const Place& place, int pointer) const;
  std::string scattered(const Place& place, const Ranges& ranges) const;
  std::string permuted(const Place& place, const std::string& number) const;
  std::string one_of_several(const Buffer& buffer, const Variable& variable, std::int64_t element) const;

  const Program& program_;
  const HardwareModel& model_;
  const Dialect* dialect_;
  const Places& places_;
  const OpenLoops& open_;
  ElementText& elements_;
};

}  // namespace isamap
