// SPDX-License-Identifier: Apache-2.0
#pragma once
// Number formats, scalar expressions of statements, integer expressions of descriptions, and templates of text.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isamap/result.h"

namespace isamap {

// Number formats and their arithmetic, rounded as the format specifies.
//
// A value is a Scalar: floats as double, integers as 64 bits. Every format here but f64 has at most 24 bits of
// significand, so + - * / sqrt in double followed by one rounding is correctly rounded
// (Figueroa, "When is double rounding innocuous?", SIGNUM 1995).

/// boolean is a truth value in a byte, 0 or 1, `bool` in texts; b1 one bit of a mask; b8..b64 are bits of any type
/// (moves).
enum class DType {
  f64,
  f32,
  tf32,
  bf16,
  f16,
  e4m3,
  e5m2,
  s64,
  s32,
  s16,
  s8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  b1,
  b8,
  b16,
  b32,
  b64
};

enum class DTypeKind { real, integer, truth, bits };

/// What is known of a format: a row of the table in ir/scalar/dtype.cpp. A new format is an enumerator and a row; where
/// printed code shall convert it faster than any float of 8 or 16 bits, also helpers (backends/cpp/text/helpers.cpp).
struct DTypeFormat {
  DType type;
  std::string_view name;
  DTypeKind kind;
  int storage;              ///< bits in memory; a byte at least is taken
  bool is_signed;           ///< integers
  int precision;            ///< reals: bits of significand with the hidden one; integers: bits of magnitude
  int emin, emax;           ///< reals: exponents of the smallest normal and of the largest finite number
  bool has_infinity;        ///< reals; without, all ones in the exponent are numbers, but for one NaN
  std::string_view c_type;  ///< of an element in printed code that names no other
  int onnx;                 ///< TensorProto.DataType; 0: none
};

const std::vector<DTypeFormat>& dtype_formats();
const DTypeFormat& format_of(DType type);
std::vector<std::string> dtype_names();

std::string_view name(DType type);
std::optional<DType> parse_dtype(std::string_view text);
std::optional<DType> dtype_of_onnx(int element_type);

bool is_float(DType type);
bool is_integer(DType type);  ///< s64..u8
/// u64, whose values Scalar::integer has as their 64 bits.
bool is_wide_unsigned(DType type);
bool is_truth(DType type);  ///< boolean, b1
bool is_bits(DType type);   ///< b8..b64
int bits(DType type);       ///< storage: tf32 32, b1 1
/// The integer format of this size; nothing: there is none.
std::optional<DType> integer_of(int bits, bool is_signed);
/// The largest finite number of a float type.
double largest_finite(DType type);
/// Does `sat_T(x)` yield finite numbers only? The floats of at most 8 bits.
bool saturates(DType type);
inline int bytes(DType type) { return (bits(type) + 7) / 8; }

/// Smallest and largest value of an integer type; of u64 the largest that a std::int64_t has.
std::int64_t integer_min(DType type);
std::int64_t integer_max(DType type);

/// The smallest type with every value of both, or nothing (f32 with s32: f64; s64 with f64: none). join(s8, u8) = s16;
/// join(bf16, f16) = f32; join(s8, bf16) = bf16 (8 significant bits suffice).
std::optional<DType> join(DType a, DType b);
/// Are they integers of one width? Sums, differences and products of these wrap to the same bits (the ring of integers
/// modulo 2^width), for signed and unsigned types: s16 and u16.
bool same_ring(DType a, DType b);
/// Can `to` represent every value of `from`?
bool widens(DType from, DType to);

/// One number. `real` is meaningful for float types, `integer` for the others; a value of u64 above 2^63 - 1 is
/// negative there (its 64 bits).
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool operator==(const Scalar&) const = default;
};

/// The number as a double, the nearest one to integers of more than 53 bits.
double as_double(DType type, Scalar value);
/// An integer in digits.
std::string integer_text(DType type, Scalar value);
/// Is it a value of this integer type? Types of 64 bits have the ends of their range as doubles, too: 2^63, 2^64.
bool is_value_of(DType type, double number);

/// Rounds a double to the nearest value of a float type, ties to even; overflow gives infinity
/// (e4m3 has none: NaN). Subnormals are kept.
double round_to(DType type, double value);
/// Wraps to the low bits of an integer type (two's complement).
std::int64_t wrap_to(DType type, std::int64_t value);
/// The cast `T(x)`: float to integer truncates towards zero and wraps; `saturate` clamps instead
/// (NaN gives 0; floats of 8 bits clamp to the largest finite value).
Scalar convert(Scalar value, DType from, DType to, bool saturate);

/// The value in memory, low bits first, and back. e4m3 is OCP FP8 E4M3 (bias 7, no infinity, S.1111.111 is NaN).
std::uint64_t encode(DType type, Scalar value);
Scalar decode(DType type, std::uint64_t raw);

// Arithmetic at one iteration point: a typed expression tree whose leaves are reads and constants.
//
// Types are explicit in the tree: `elaborate` (ir/scalar/scalar_typing.cpp) inserts the widening casts that the text
// omits, so bodies of equal meaning are equal trees. C[i,j] += A*B with u8, s8 and s32 becomes s32(A) * s32(B).

/// What each means stands in the table of ir/scalar/scalar_functions.cpp, its text in docs/kernels.md.
enum class UnaryOp {
  negate,
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  erf,
  sigmoid,
  abs,
  round,
  floor,
  ceil,
  trunc,
  sign,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  expm1,
  log1p,
  is_nan,
  is_inf,
  logical_not,
  bit_not
};
enum class BinaryOp {
  add,
  sub,
  mul,
  div,
  min,
  max,
  pow,
  mod,
  fmod,
  less_equal,
  less,
  greater_equal,
  greater,
  equal,
  not_equal,
  logical_and,
  logical_or,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right
};

struct Constant {
  double value = 0;
  bool operator==(const Constant&) const = default;
};
struct Read {
  int access = 0;
  bool operator==(const Read&) const = default;
};  ///< index into Computation::reads
struct Unary {
  UnaryOp op = UnaryOp::negate;
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryOp op = BinaryOp::add;
  bool operator==(const Binary&) const = default;
};
struct Select {
  bool operator==(const Select&) const = default;
};  ///< select(c, a, b): a where c is not 0
struct Cast {
  bool saturate = false;
  bool operator==(const Cast&) const = default;
};

struct ScalarExpr {
  std::variant<Constant, Read, Unary, Binary, Select, Cast> op;
  DType type = DType::f32;  ///< of the result; for an unelaborated constant, its context's type
  std::vector<ScalarExpr> args;
  bool operator==(const ScalarExpr&) const = default;
};

ScalarExpr constant(double value, DType type);
ScalarExpr read(int access, DType type);
ScalarExpr unary(UnaryOp op, ScalarExpr a);
ScalarExpr binary(BinaryOp op, ScalarExpr a, ScalarExpr b);
ScalarExpr cast(DType to, ScalarExpr a, bool saturate = false);

/// Inserts widening casts at the leaves so that every node's type is the context's (the output type at the root, the
/// operands' join inside an explicit cast and in a comparison, whose own type is boolean). Narrowing without a cast is
/// an error with both types, located at the first read concerned if `read_where` has the places of reads, else at
/// `where`.
Result<ScalarExpr> elaborate(const ScalarExpr& raw, DType output, const SourceLocation& where,
                             const std::vector<SourceLocation>& read_where = {});

/// The value at one point; `operands[i]` is the value of read i. Rounds after every node to the node's type.
Scalar evaluate(const ScalarExpr& e, const Scalar* operands);

/// Exactly the reads that occur, in order of first occurrence.
std::vector<int> reads_of(const ScalarExpr& e);
/// `names[i]` is the text of read i: print(mul(read 0, read 1), {"A[i,k]", "B[k,j]"}) gives "A[i,k] * B[k,j]".
std::string print(const ScalarExpr& e, const std::vector<std::string>& names);

// Integer expressions of hardware files: in needs, pack, encoding, timing, dims and inside placeholders.
//
// `+ - * / %` (division rounds down), `<< >> & |`, min(a,b), max(a,b), bits(x); leaves are numbers and references:
//   extent[j]  start[C]  C  C.stride[i]  C.pitch[i]  C.coord[j]  C.index  VB  ld.stride  mask[j]

/// `C.pitch[i]` is {"C", "pitch", "i"}; `extent[j]` is {"extent", "", "j"}; `VB` is {"VB", "", ""}.
struct Reference {
  std::string object, property, argument;
  bool operator==(const Reference&) const = default;
};

/// What a reference asks of an operand. `none` is `C`, its address or register number, as is `index`; `stride` counts
/// elements and `pitch` bytes along the reference's argument; `coord` is the position along it; `field` is any other
/// word, a field of the operand's memory (`C.bank`).
enum class OperandProperty { none, index, type, group, stride, pitch, coord, field };
OperandProperty property_of(const Reference& reference);
/// `C` or `C.index`: an address or the number of a register.
bool is_position(const Reference& reference);
/// `C.stride[i]` or `C.pitch[i]`: the distance of neighbours.
bool is_distance(const Reference& reference);

struct IntExpr {
  enum class Op { number, reference, add, sub, mul, div, mod, shl, shr, band, bor, min, max, bits };
  Op op = Op::number;
  std::int64_t number = 0;
  Reference reference;
  std::vector<IntExpr> args;
  bool operator==(const IntExpr&) const = default;
};

Result<IntExpr> parse_int_expr(const std::string& text, const SourceLocation& where = {});
std::string print(const IntExpr& e);
std::vector<Reference> references(const IntExpr& e);

/// nullopt from `lookup` makes the result nullopt; so does a division by zero or an overflow.
std::optional<std::int64_t> evaluate(const IntExpr& e,
                                     const std::function<std::optional<std::int64_t>(const Reference&)>& lookup);

// `emit:` and `asm:` texts: literal text with {placeholders}, each an integer expression or an operand.
// `{{` and `}}` are braces; `{X:x}` prints hexadecimal.

struct Placeholder {
  IntExpr expr;      ///< `{C}` is the reference C; `{C + 4}` a sum
  std::string text;  ///< as written, without format
  bool hexadecimal = false;
  int offset = 0;  ///< of its brace in the text, for diagnostics
  bool operator==(const Placeholder&) const = default;
};

struct Template {
  std::vector<std::variant<std::string, Placeholder>> parts;
  bool empty() const { return parts.empty(); }
  bool operator==(const Template&) const = default;
};

Result<Template> parse_template(const std::string& text, const SourceLocation& where = {});
/// The text, with `value` of each placeholder.
std::string fill(const Template& t, const std::function<std::string(const Placeholder&)>& value);
std::string print(const Template& t);

}  // namespace isamap
