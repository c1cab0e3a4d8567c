// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar arithmetic as C++ expressions, bit-identical to the semantics in include/isamap/expression.h.
//
// f64 is computed in double; f32 and smaller floats in float, rounded to their format after each operation (double
// rounding is innocuous: see include/isamap/expression.h). Integers are computed modulo 2^64 and narrowed. Only our
// vectorizable math functions may differ in the last digits.

#include <set>
#include <string>
#include <vector>

#include "isamap/expression.h"
#include "isamap/hardware.h"

namespace isamap {

struct ScalarFunction;

class ElementText {
 public:
  /// `own_functions`: exp, tanh etc. of f32 are vectorizable helpers (backends/cpp/text/real_functions.h) that differ
  /// from libm in the last digits.
  explicit ElementText(const HardwareModel& model, bool own_functions = false)
      : model_(model), own_functions_(own_functions) {}

  /// `places[i]`: the lvalue of read i in its storage type: "A[k]".
  std::string value(const ScalarExpr& e, const std::vector<std::string>& places);
  /// The statement that combines a value into a place, without indentation. `old`: expression that reads the place;
  /// empty: the place itself.
  std::string statement(Reduction reduction, DType type, const std::string& place, const ScalarExpr& body,
                        const std::vector<std::string>& places, const std::string& old = "");
  /// A number in the storage type of elements of `type`.
  std::string stored(double number, DType type);
  /// A computed index, at least 0 and at most `last`.
  std::string clamped_index(const std::string& value, std::int64_t last);
  /// Floor division of indices.
  std::string floor_div(const std::string& numerator, std::int64_t divisor);
  /// Lvalue of element `number` packed in one register, lowest bits first.
  std::string part_of_register(const std::string& type, const std::string& held, std::int64_t number);
  /// Index of an element in a swizzled buffer.
  std::string permuted(const XorSwizzle& swizzle, int size, const std::string& number);

  const std::set<std::string>& used_helpers() const { return used_; }
  const std::set<std::string>& includes() const { return includes_; }

 private:
  std::string helper(const std::string& name);
  std::string load(DType type, const std::string& place);
  std::string store(DType type, const std::string& value);
  std::string rounded(DType type, const std::string& value);
  std::string constant(double value, DType type);
  std::string cast(const Cast& how, DType from, DType to, const std::string& value);
  std::string function(const ScalarFunction& f, DType type, const std::string& a, const std::string& b);
  std::string unary(UnaryOp op, DType type, const std::string& a);
  std::string binary(BinaryOp op, DType type, const std::string& a, const std::string& b);

  const HardwareModel& model_;
  bool own_functions_;
  std::set<std::string> used_, includes_;
};

}  // namespace isamap
