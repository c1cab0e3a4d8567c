// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/statement_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"

namespace isamap {

std::string affine_text(const AffineExpr& e, const std::map<std::string, std::string>& names) {
  std::string text;
  for (const AffineTerm& term : e.terms()) {
    std::string atom;
    if (const FloorDiv* div = division(term)) {
      atom = fmt::format("isamap_floor_div({}, {})", affine_text(*div->numerator, names), div->divisor);
    } else {
      const auto& name = std::get<std::string>(term.atom);
      const auto known = names.find(name);
      atom = known == names.end() ? name : known->second;
    }
    text +=
        (text.empty() ? "" : " + ") + (term.coefficient == 1 ? atom : fmt::format("{} * {}", term.coefficient, atom));
  }
  if (e.constant() != 0 || text.empty()) text += fmt::format("{}{}", text.empty() ? "" : " + ", e.constant());
  return e.terms().size() + (e.constant() != 0 ? 1 : 0) > 1 ? "(" + text + ")" : text;
}

std::string count_text(const std::vector<AffineExpr>& shape, const std::map<std::string, std::string>& names) {
  std::string text;
  for (const AffineExpr& axis : shape) text += (text.empty() ? "" : " * ") + affine_text(axis, names);
  return text.empty() ? "1" : text;
}

const std::string clamping_helper = R"(namespace {

[[maybe_unused]] inline long isamap_clamped(long at, long extent) { return at < 0 ? 0 : at < extent ? at : extent - 1; }

}  // namespace

)";

std::string affine_helpers() {
  return R"(namespace {

[[maybe_unused]] inline long isamap_floor_div(long a, long b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

)" + clamping_helper;
}

StatementText::StatementText(const SymbolicKernel& kernel, std::size_t statement, ElementText& elements,
                             const std::map<std::string, std::string>& sizes, const std::vector<std::string>& tensors)
    : kernel_(kernel),
      symbolic_(kernel.statements[statement]),
      statement_(kernel.sample.statements[statement]),
      elements_(elements),
      names_(sizes),
      tensors_(tensors) {
  for (const Dim& dim : statement_.domain.dims) names_[symbolic_dim(dim.name)] = "i_" + identifier(dim.name);
}

const std::string& StatementText::dim_name(std::size_t dim) const {
  return names_.at(symbolic_dim(statement_.domain.dims[dim].name));
}

std::string StatementText::extent(std::size_t dim) const { return affine_text(symbolic_.extents[dim], names_); }

const std::vector<AffineExpr>& StatementText::shape_of(int access) const {
  return kernel_.shapes[access_of(statement_, access).tensor.index()];
}

/// Position of an access: row-major, or by the strides of the tensor.
std::string StatementText::address(int access) const {
  const Access& sample = access_of(statement_, access);
  const auto& index = symbolic_.index[static_cast<std::size_t>(access)];
  const auto& shape = shape_of(access);
  const auto& strides = kernel_.strides[sample.tensor.index()];
  std::string at;
  for (std::size_t d = 0; d < index.size(); ++d) {
    std::string one = affine_text(index[d], names_);
    if (sample.computed && sample.computed->axis == static_cast<int>(d))
      one = fmt::format("isamap_clamped(static_cast<long>({}), {})",
                        places_[static_cast<std::size_t>(sample.computed->read)], affine_text(shape[d], names_));
    if (!strides.empty())
      at += fmt::format("{}({}) * ({})", at.empty() ? "" : " + ", one, affine_text(strides[d], names_));
    else
      at = at.empty() ? one : fmt::format("({}) * ({}) + {}", at, affine_text(shape[d], names_), one);
  }
  return at.empty() ? "0" : at;
}

std::string StatementText::element(int access) const {
  return fmt::format("{}[{}]", tensors_[access_of(statement_, access).tensor.index()], address(access));
}

std::string StatementText::value_of(int access) const {
  return access > 0 && read ? read(access_of(statement_, access).tensor, element(access)) : element(access);
}

std::string StatementText::place(int access) const {
  const Access& sample = access_of(statement_, access);
  const auto outside = access == 0 ? std::nullopt : outside_of(sample, kernel_.sample.tensors);
  if (!outside) return value_of(access);
  std::string inside;
  const auto& index = symbolic_.index[static_cast<std::size_t>(access)];
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (within(index[d], shape_of(access)[d])) continue;
    const std::string at = affine_text(index[d], names_);
    inside += fmt::format("{}{} >= 0 && {} < {}", inside.empty() ? "" : " && ", at, at,
                          affine_text(shape_of(access)[d], names_));
  }
  if (inside.empty()) return value_of(access);
  const DType type = kernel_.sample.tensors[sample.tensor.index()].dtype;
  return fmt::format("({} ? {} : {})", inside, value_of(access), elements_.stored(*outside, type));
}

/// Is it a dim with this extent?
bool StatementText::within(const AffineExpr& index, const AffineExpr& extent) const {
  for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
    if (index == AffineExpr::dim(symbolic_dim(statement_.domain.dims[d].name))) return symbolic_.extents[d] == extent;
  return false;
}

void StatementText::find_places() {
  places_.clear();
  for (int a = 1; a < access_count(statement_); ++a) places_.push_back(place(a));
  for (const AffineExpr& value : symbolic_.values)
    places_.push_back(fmt::format("static_cast<std::int32_t>({})", affine_text(value, names_)));
}

std::string StatementText::combined(const std::string& to, const std::string& old) {
  return combined(to, old, statement_.body);
}

std::string StatementText::combined(const std::string& to, const std::string& old, const ScalarExpr& value) {
  find_places();
  const Tensor& tensor = kernel_.sample.tensors[statement_.write.tensor.index()];
  return elements_.statement(statement_.reduction, tensor.dtype, to, value, places_, old);
}

std::string StatementText::position_in(const Scatter& scatter) {
  find_places();
  const std::string place = fmt::format("static_cast<std::uint64_t>({})", elements_.value(scatter.place, places_));
  if (scatter.offset == AffineExpr()) return place;
  return fmt::format("{} - static_cast<std::uint64_t>({})", place, affine_text(scatter.offset, names_));
}

}  // namespace isamap
