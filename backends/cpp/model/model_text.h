// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C text around the parts of a model: its interface, what opens and closes it, and the main of a traced run. One
// text serves models whose sizes are numbers and models whose calls bring them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/expression.h"

namespace isamap {

/// `text` with the lines that begin with "fixed|" (or "sized|") only for models of that kind, without these words.
std::string lines_for(bool sized, std::string_view text);

/// Every `word` becomes `by`.
void replace_all(std::string& text, const std::string& word, const std::string& by);

/// A string literal of C.
std::string c_string(const std::string& text);

/// The declarations of NAME.h behind its macros, with NAME for the model's name.
std::string interface_text(bool sized);

struct OpeningText {
  bool sized = false;
  std::vector<std::string> part_names;
  std::string weights_hash;
  std::size_t weights_bytes = 0;
  int helpers = 0;  ///< threads beside the caller's
};

/// The model's state, NAME_open, NAME_close and what a profile needs, with NAME for the model's name.
std::string opening_text(const OpeningText& opening);

/// Refuses null pointers, and those that are at no multiple of these bytes.
std::string pointer_checks(const std::vector<std::int64_t>& inputs, const std::vector<std::int64_t>& outputs,
                           std::int64_t arena);

/// Elements become `value`: `at` is a pointer, `bytes` an expression.
std::string fill_statement(DType dtype, const Scalar& value, const std::string& at, const std::string& bytes);

}  // namespace isamap
