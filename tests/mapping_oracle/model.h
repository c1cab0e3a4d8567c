// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels, instructions and mappings as plain integers: a second reading of docs/mapping.md that shares no code with
// the mapper. Only convert.h knows the compiler's types.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isamap::oracle {

using Int = std::int64_t;
using Vec = std::vector<Int>;

/// coefficients . x + constant
struct Row {
  Vec coefficients;
  Int constant = 0;
};
Int value(const Row& row, const Vec& x);
Int linear(const Row& row, const Vec& x);  ///< without the constant

enum class Body { product, sum, abs_diff, squared_diff };
enum class Reduction { add, max };

/// out[operands[0](x)] (+)= body(in1[operands[1](x)], ...) over 0 <= x < extents and faces(x) >= 0.
struct Nest {
  std::vector<std::string> names;
  Vec extents;
  std::vector<Row> faces;
  std::vector<std::string> face_names;  ///< of `faces`: "i - k>=0"
  std::vector<std::vector<Row>> operands;
  Body body = Body::product;
  Reduction reduction = Reduction::add;
  int constant_operand = -1;  ///< an input that the kernel does not have: `constant` everywhere
  Int constant = 0;
  bool anew = false;   ///< of an instruction: each call begins its output at the identity, whatever stands there
  bool holds = false;  ///< of a kernel: the output holds values that are added to

  std::size_t dims() const { return extents.size(); }
  bool inside(const Vec& x) const;
  bool uses(std::size_t operand, std::size_t dim) const;
};

Vec element(const Nest& nest, std::size_t operand, const Vec& x);
/// By how much the operand's element moves when the point moves by `v`.
Vec image(const Nest& nest, std::size_t operand, const Vec& v);
/// All points of the box 0 <= x < extents, last dim fastest.
std::vector<Vec> box(const Vec& extents);

/// One step adds `column` to the kernel's point; it counts on every dim of `places` (more than one: tied).
struct Digit {
  Vec column;
  Int extent = 1;
  std::vector<int> places;
  bool operator==(const Digit&) const = default;
};

/// A loop outside the calls along direction `along` of the mapping's basis: 0 <= z < extent, or every integer when it
/// floats (a digit of another direction moves its coordinate too).
struct Loop {
  std::size_t along = 0;
  Int stride = 1, extent = 1;
  bool floats = false;
};

/// A loop as a mapping prints it: any step, 0 <= z < extent, or every integer when it floats.
struct Turn {
  Vec step;
  Int extent = 1;
  bool floats = false;
};

/// `reason` ("fill j", "s>=0", "s<=2", "tie j.k c") is neutralised by instruction operand `operand`.
struct Carrier {
  std::string reason;
  int operand = 0;
};

struct Mapping {
  std::vector<int> operands;  ///< kernel operand on each instruction operand
  std::vector<Digit> digits;  ///< on each dim the earlier digit is the outer one
  std::vector<Vec> basis;     ///< directions of the loops; empty: the unit vectors
  std::vector<Vec> cosets;    ///< one representative for each coset of the basis; empty: only 0
  std::vector<Loop> loops;    ///< x = coset + sum of stride * z * direction + sum of column * d
  std::vector<Turn> turns;    ///< printed loops; they stand for basis, cosets and loops when `printed`
  bool printed = false;
  std::vector<Carrier> carriers;
  bool partial = false;
};

/// "tie j.k c": a tied digit that differs on two of its dims.
std::string tie_reason(const Nest& kernel, const Nest& unit, const Digit& digit, int place);

/// Product of the digit extents on instruction dim m.
Int looped(const Mapping& mapping, std::size_t m);
std::string print(const Mapping& mapping, const Nest& kernel, const Nest& unit);

}  // namespace isamap::oracle
