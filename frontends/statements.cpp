// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frontends/statements_internal.h"
#include "ir/text/cursor.h"

namespace isamap {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void add_names(const ParsedAccess& access, std::set<std::string>& names) {
  for (const AffineExpr& index : access.index) names.merge(index.names());
}

/// The sizes that an iterator indexes alone in one access, as (dimension, size).
std::vector<std::pair<std::size_t, std::int64_t>> followed(const ParsedAccess& access, const Tensor& tensor,
                                                           const std::string& iterator) {
  std::vector<std::pair<std::size_t, std::int64_t>> result;
  if (access.index.size() != tensor.shape.size()) return result;
  for (std::size_t d = 0; d < access.index.size(); ++d)
    if (access.index[d].as_dim() == iterator) result.emplace_back(d, tensor.shape[d]);
  return result;
}

}  // namespace

bool is_identifier(const std::string& text) {
  return !text.empty() && text.size() <= 64 && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_iterator_name(const std::string& text) {
  return is_identifier(text) && std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string known_dtypes_note() {
  std::string names;
  for (const DTypeFormat& f : dtype_formats())
    if (is_float(f.type) || is_integer(f.type) || f.type == DType::boolean)
      names += (names.empty() ? "" : ", ") + std::string(f.name);
  return "known dtypes: " + names;
}

SourceLocation text_place(const yaml::Node& node) {
  SourceLocation where = node.where;
  if (node.quoted && node.scalar.ends_with('\n')) return {where.file, where.line + 1, 1};
  if (node.quoted) ++where.column;
  return where;
}

std::set<std::string> names_in(const ParsedStatement& parsed) {
  std::set<std::string> names;
  add_names(parsed.write, names);
  for (const ParsedAccess& access : parsed.reads) add_names(access, names);
  for (const AffineExpr& value : parsed.values) names.merge(value.names());
  return names;
}

Diagnostics refused_in_kernels(const ParsedStatement& parsed, const SourceLocation& where) {
  if (parsed.reduction != Reduction::saturating_add) return {};
  return {error_at(where,
                   "`sat+=` is of instructions: a sum that saturates depends on the order of its terms, and statements "
                   "of kernels have none",
                   "write +=")};
}

Diagnostics contradictions(const ParsedStatement& parsed, const std::vector<Tensor>& tensors,
                           const std::map<std::string, std::int64_t>& extents, const SourceLocation& where) {
  std::vector<ParsedAccess> accesses = parsed.reads;
  accesses.insert(accesses.begin(), parsed.write);
  Diagnostics result;
  for (const auto& [iterator, extent] : extents) {
    std::string found;
    bool confirmed = false;
    for (const ParsedAccess& access : accesses)
      for (const Tensor& tensor : tensors) {
        if (tensor.name != access.tensor) continue;
        for (const auto& [dimension, size] : followed(access, tensor, iterator)) {
          confirmed = confirmed || size == extent;
          if (found.empty())
            found = "dimension " + std::to_string(dimension) + " of tensor '" + tensor.name + "', whose size is " +
                    std::to_string(size);
        }
      }
    const auto first = parsed.name_offsets.find(iterator);
    if (!confirmed && !found.empty() && first != parsed.name_offsets.end())
      result.push_back(error_at(
          place_in(where, static_cast<std::size_t>(first->second)),
          "iterator '" + iterator + "' is given the extent " + std::to_string(extent) + ", but it indexes " + found,
          "leave the extent out, or index with an expression"));
  }
  return result;
}

}  // namespace isamap
