// SPDX-License-Identifier: Apache-2.0
#pragma once
// Identifiers of an emitted file: valid, unique, and as close to the given names as both allow.

#include <set>
#include <string>

namespace isamap {

/// Letters, digits and single underscores: "a.b-c" gives "a_b_c", "1x" gives "x1x", "" gives "x".
std::string identifier(const std::string& name);

/// The `extern "C"` name of a program: its identifier, with "_kernel" behind it where the language or its library owns
/// it.
std::string entry_name(const std::string& program);

class Names {
 public:
  /// An identifier that was not given before: "C", "C_2", "C_3".
  std::string unique(const std::string& wish);
  /// The scope of a name has ended.
  void release(const std::string& name) { taken_.erase(name); }

 private:
  std::set<std::string> taken_;
};

}  // namespace isamap
