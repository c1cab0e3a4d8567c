// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a statement over symbolic sizes reads and writes, as expressions of C++: loops around it, or threads, give its
// dims their values.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/cpp/text/element_text.h"
#include "ir/scatter.h"
#include "isamap/symbolic.h"

namespace isamap {

/// `a*M + b`, with `isamap_floor_div` for divisions. `names`: what names become; others stay.
std::string affine_text(const AffineExpr& e, const std::map<std::string, std::string>& names);
/// A product of such expressions: the elements of a shape.
std::string count_text(const std::vector<AffineExpr>& shape, const std::map<std::string, std::string>& names);
/// The definition of isamap_floor_div and isamap_clamped.
std::string affine_helpers();
/// Of isamap_clamped alone.
extern const std::string clamping_helper;

class StatementText {
 public:
  /// `sizes`: what sizes become; `tensors`: names of arrays, by tensor. All references outlive this.
  StatementText(const SymbolicKernel& kernel, std::size_t statement, ElementText& elements,
                const std::map<std::string, std::string>& sizes, const std::vector<std::string>& tensors);

  const std::string& dim_name(std::size_t dim) const;
  std::string extent(std::size_t dim) const;

  std::string element(int access) const;  ///< "t_A[(i_i) * (n_K) + i_k]"
  std::string place(int access) const;    ///< the same; reads beyond the shape yield their value
  /// `to = old (+) value;`
  std::string combined(const std::string& to, const std::string& old);
  /// The same with a part of the body for the value.
  std::string combined(const std::string& to, const std::string& old, const ScalarExpr& value);
  /// Where an update of a scatter lies among the elements, unsigned: beyond them if it is negative.
  std::string position_in(const Scatter& scatter);

  /// Around each read of an array: of a language whose arrays are objects.
  std::function<std::string(TensorId tensor, const std::string& element)> read;

 private:
  void find_places();
  const std::vector<AffineExpr>& shape_of(int access) const;
  std::string address(int access) const;
  bool within(const AffineExpr& index, const AffineExpr& extent) const;
  std::string value_of(int access) const;

  const SymbolicKernel& kernel_;
  const SymbolicStatement& symbolic_;
  const Computation& statement_;
  ElementText& elements_;
  std::map<std::string, std::string> names_;
  const std::vector<std::string>& tensors_;
  std::vector<std::string> places_;  ///< of reads, in order
};

}  // namespace isamap
