// SPDX-License-Identifier: Apache-2.0
#pragma once
// A scalar body evaluated over rows of points: one loop over the row for each node, then one that rounds. Equivalent to
// evaluate(ScalarExpr) in another order.

#include <cstdint>
#include <vector>

#include "isamap/expression.h"

namespace isamap {

/// The values of one node over a row: one number for all points, or one for each. `real` for float types, else
/// `integer`.
struct Row {
  bool uniform = false;
  const double* real = nullptr;
  const std::int64_t* integer = nullptr;
};

class RowExpr {
 public:
  static constexpr std::int64_t max_length = 512;

  explicit RowExpr(const ScalarExpr& body);
  /// `reads[i]`: values of read i; length <= max_length. The result is valid until the next call.
  Row evaluate(const std::vector<Row>& reads, std::int64_t length);

 private:
  struct Node {
    ScalarExpr op;  ///< without arguments
    std::vector<std::size_t> args;
    std::vector<DType> arg_types;
    Row value;
    std::vector<double> real;
    std::vector<std::int64_t> integer;
  };
  std::size_t add(const ScalarExpr& e);
  void run(Node& node, const std::vector<Row>& reads, std::int64_t length);
  void run_cast(Node& node, bool saturate, std::int64_t length);
  void run_select(Node& node, std::int64_t length);
  const Row& argument(const Node& node, std::size_t i) const { return nodes_[node.args[i]].value; }
  std::vector<Node> nodes_;  ///< arguments before users
};

/// Rounds every value to the format.
void round_row(DType type, double* values, std::int64_t length);
void wrap_row(DType type, std::int64_t* values, std::int64_t length);

}  // namespace isamap
