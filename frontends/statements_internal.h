// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the kernel file, the one-line form and the ONNX import: names, locations, and checks around `bind`.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/text/parse.h"
#include "support/yaml.h"

namespace isamap {

/// A letter or '_', then letters, digits or '_'; at most 64 characters: valid in every target language.
bool is_identifier(const std::string& text);
/// An identifier without upper-case letters.
bool is_iterator_name(const std::string& text);
/// "known dtypes: f64, f32, ..."
std::string known_dtypes_note();

/// Location of the first character of a scalar's text: after an opening quote, in the line after `|`.
SourceLocation text_place(const yaml::Node& node);

/// All names inside index brackets.
std::set<std::string> names_in(const ParsedStatement& parsed);

/// Operators allowed only in instructions.
Diagnostics refused_in_kernels(const ParsedStatement& parsed, const SourceLocation& where);

/// Stated extents that equal no dimension although the iterator alone indexes some.
Diagnostics contradictions(const ParsedStatement& parsed, const std::vector<Tensor>& tensors,
                           const std::map<std::string, std::int64_t>& extents, const SourceLocation& where);

}  // namespace isamap
