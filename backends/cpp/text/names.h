// SPDX-License-Identifier: Apache-2.0
#pragma once
// Identifiers of an emitted file: valid, unique, and as close to the given names as possible.

#include <map>
#include <set>
#include <string>

namespace isamap {

/// Letters, digits and single underscores: "a.b-c" gives "a_b_c", "1x" gives "x1x", "" gives "x".
std::string identifier(const std::string& name);

/// The `extern "C"` name of a program: its identifier, with suffix "_kernel" if reserved by the language or its
/// library.
std::string entry_name(const std::string& program);
/// The name of a model's type, and prefix of its functions: the same, with suffix "_model" for names in the text of
/// emitted models, as of a file that is called "model".
std::string model_name(const std::string& model);

/// For macros.
std::string upper(std::string text);
/// Text inside a C comment, escaped so that it cannot end it.
std::string comment_text(std::string text);

class Names {
 public:
  /// A fresh identifier: "C", "C_2", "C_3".
  std::string unique(const std::string& wish);
  /// The scope of a name has ended.
  void release(const std::string& name) { taken_.erase(name), numbers_.clear(); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int>
      numbers_;  ///< by name without a number: those below are taken, so that none is asked again
};

}  // namespace isamap
