// SPDX-License-Identifier: Apache-2.0
#pragma once
// The points of an instruction's call, a row at a time. Where no floor division of an operand's offset mixes loop
// variables with dims of the instruction, offset = base(loop variables) + distance(dims). The distances over the box of
// a call are a table, shared by all calls of that shape; values are gathered by it, computed and combined in rows.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluation/row_expr.h"
#include "isamap/affine.h"
#include "isamap/kernel.h"

namespace isamap {

/// A buffer of a program that is interpreted.
struct Storage {
  DType dtype = DType::f32;
  std::string name;
  std::vector<Scalar> values;
};

struct SplitOffset {
  AffineExpr base, distance;
};
/// Names of instruction dims begin with '$': 8*t + 2*$i + $i/4  gives  8*t  and  2*$i + $i/4. Nothing: they are mixed.
std::optional<SplitOffset> split_offset(const AffineExpr& offset);

/// An operand's distances at the points of a box, in row-major order.
struct DistanceTable {
  std::vector<std::int64_t> distances;
  std::int64_t low = 0, high = 0;  ///< the least and the greatest
};

class DistanceTables {
 public:
  /// Null: the box has too many points for a table.
  std::shared_ptr<const DistanceTable> over(const AffineExpr& distance, const std::vector<std::string>& dims,
                                            const std::vector<std::int64_t>& extents);

 private:
  std::map<std::string, std::shared_ptr<const DistanceTable>> known_;
};

/// An operand of a call: a constant, or elements of a buffer.
struct RowOperand {
  std::size_t buffer = 0;
  CompiledAffine base = {};
  std::shared_ptr<const DistanceTable> table = nullptr;  ///< null: it is `constant`
  Scalar constant = {};
  std::optional<DType> other_sign = std::nullopt;  ///< type as which the call reads the bits
};

/// The body of an instruction's statement, and the rows that all its calls gather for it.
struct RowBody {
  explicit RowBody(const Computation& statement);
  RowExpr expression;
  Reduction reduction;
  bool has_real, has_integer;  ///< the halves of its value that mean something: both where it is a read
  struct Values {
    std::vector<double> real;
    std::vector<std::int64_t> integer;
  };
  std::vector<Values> gathered;  ///< by read
  std::vector<Row> rows;
};

/// One call. Gives what its points give one by one, because it writes nothing that it reads.
class CallRows {
 public:
  /// `operands` by access of the statement: the written one, then the reads, of which none lies in its buffer.
  CallRows(RowBody& body, std::vector<RowOperand> operands) : body_(&body), operands_(std::move(operands)) {}
  /// `values`: of loop variables. False: an operand leaves its buffer, and nothing was done.
  bool run(std::vector<Storage>& memory, const std::int64_t* values, bool from_identity);

 private:
  bool find_bases(const std::vector<Storage>& memory, const std::int64_t* values);
  void gather(std::size_t operand, const Storage& from, std::int64_t first, std::int64_t length);
  void update(Storage& out, const Row& value, std::int64_t first, std::int64_t length) const;

  RowBody* body_;
  std::vector<RowOperand> operands_;
  std::vector<std::int64_t> bases_;
};

}  // namespace isamap
