// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C text around the parts of a model: its interface, what opens and closes it, and the main of a traced run. One
// text serves models whose sizes are numbers and models whose calls bring them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/expression.h"
#include "program/model_program.h"

namespace isamap {

/// Models whose sizes are numbers, models whose calls bring them, and models (of known sizes) in the memory of a
/// device.
enum class ModelKind { fixed, sized, device };

/// `text` with the lines that begin with "fixed|" ("sized|", "device|", "fixed,device|", ...) only for models of these
/// kinds, without these words.
std::string lines_for(ModelKind kind, std::string_view text);

/// Every `word` becomes `by`.
void replace_all(std::string& text, const std::string& word, const std::string& by);
/// NAME becomes the model's name.
std::string with_name(std::string text, const std::string& name);

/// A string literal of C.
std::string c_string(const std::string& text);

/// Where an argument of a part begins. `in_arena`: bytes from the start of the arena; `rows`: " + 64 * band", or
/// nothing.
std::string pointer_text(const ModelPlace& place, const std::string& in_arena, const std::string& rows);

/// The declarations of NAME.h behind its macros, with NAME for the model's name.
std::string interface_text(ModelKind kind);

struct OpeningText {
  ModelKind kind = ModelKind::fixed;
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
