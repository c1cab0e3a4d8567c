// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "backends/cpp/text/definitions.h"
#include "backends/cpp/text/dtype_conversion_text.h"
#include "backends/cpp/text/real_functions.h"
#include "isamap/result.h"

namespace isamap {
namespace {

struct Helper {
  std::string name;
  std::vector<std::string> uses, includes;
  std::string text;
};

// Order: a helper stands behind those it uses. The arithmetic is that of ir/scalar/dtype.cpp.
std::vector<Helper> written_helpers() {
  return {
      {"floor_div", {}, {}, R"(// Division that rounds down, for indices that may be negative.
inline long floor_div(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
)"},
      {"clamped_index", {}, {}, R"(// A computed index, inside its axis.
inline long clamped_index(long at, long last) { return at < 0 ? 0 : at > last ? last : at; }
)"},
      {"permuted",
       {},
       {},
       R"(// Where element `at` lies when bits [To, To+Bits) of its byte address are changed by bits [From, From+Bits).
template <int Bits, int From, int To, int Size> inline long permuted(long at) {
  return (at * Size ^ (at * Size >> From & ((1 << Bits) - 1)) << To) / Size;
}
)"},
      {"part_of", {}, {}, R"(// One of the elements that a register holds side by side.
template <class T, int Number> struct part_of {
  std::uint32_t& held;
  inline explicit part_of(std::uint32_t& at) : held(at) {}
  inline operator T() const { return T(held >> (8 * sizeof(T) * Number)); }
  inline void operator=(T value) {
    constexpr std::uint32_t shift = 8 * sizeof(T) * Number, ones = (1U << 8 * sizeof(T)) - 1;
    held = (held & ~(ones << shift)) | (std::uint32_t(value) & ones) << shift;
  }
};
)"},
      {"wrap_add", {}, {}, R"(// Integer arithmetic modulo 2^bits.
template <class T> inline T wrap_add(T a, T b) { return T(std::uint64_t(a) + std::uint64_t(b)); }
)"},
      {"wrap_sub",
       {},
       {},
       "template <class T> inline T wrap_sub(T a, T b) { return T(std::uint64_t(a) - std::uint64_t(b)); }\n"},
      {"wrap_mul",
       {},
       {},
       "template <class T> inline T wrap_mul(T a, T b) { return T(std::uint64_t(a) * std::uint64_t(b)); }\n"},
      {"wrap_neg", {}, {}, "template <class T> inline T wrap_neg(T a) { return T(0 - std::uint64_t(a)); }\n"},
      {"wrap_abs", {"wrap_neg"}, {}, "template <class T> inline T wrap_abs(T a) { return a < 0 ? wrap_neg(a) : a; }\n"},
      {"wrap_div",
       {"wrap_neg"},
       {"<type_traits>"},
       R"(template <class T> inline T wrap_div(T a, T b) {  // towards zero; 0 for a zero divisor
  return b == 0 ? T(0) : std::is_signed_v<T> && b == T(-1) ? wrap_neg(a) : T(a / b);
}
)"},
      {"wrap_rem",
       {},
       {"<type_traits>"},
       R"(template <class T> inline T wrap_rem(T a, T b) {  // with the sign of a; 0 for a zero divisor
  return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
}
)"},
      {"floored_remainder",
       {"wrap_rem"},
       {},
       R"(template <class T> inline T floored_remainder(T a, T b) {  // with the sign of b
  const T rest = wrap_rem(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
}
)"},
      {"floored_rest",
       {},
       {"<cmath>"},
       R"(template <class T> inline T floored_rest(T a, T b) {  // the remainder with the sign of b
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
)"},
      {"wrap_pow",
       {},
       {},
       R"(template <class T> inline T wrap_pow(T a, T n) {  // a negative power of other than 1 and -1 is 0
  if (n < T(0)) return T(a == T(1) ? 1 : a == T(-1) ? (n % 2 == 0 ? 1 : -1) : 0);
  std::uint64_t result = 1, factor = std::uint64_t(a);
  for (std::uint64_t left = std::uint64_t(n); left > 0; left >>= 1, factor *= factor)
    if (left % 2 == 1) result *= factor;
  return T(result);
}
)"},
      {"wrap_shl",
       {},
       {},
       R"(template <class T> inline T wrap_shl(T a, T n) { return std::uint64_t(n) >= 64 ? T(0) : T(std::uint64_t(a) << n); }
)"},
      {"wrap_shr",
       {},
       {"<type_traits>"},
       R"(template <class T> inline T wrap_shr(T a, T n) {  // rounds down
  if constexpr (std::is_unsigned_v<T>) return std::uint64_t(n) >= 64 ? T(0) : T(std::uint64_t(a) >> n);
  return T(std::int64_t(a) >> (std::uint64_t(n) >= 64 ? 63 : int(n)));
}
)"},
      {"sign_of", {}, {}, R"(template <class T> inline T sign_of(T a) {  // 0 for both zeros; NaN stays
  return a == a ? T((a > 0) - (a < 0)) : a;
}
)"},
      // Two choices of values that are both there: one of a condition with "or" becomes branches, and no vector code.
      {"smaller", {}, {}, R"(template <class T> inline T smaller(T a, T b) {  // NaN wins
  const T least = a < b ? a : b;
  return a == a ? least : a;
}
)"},
      {"larger", {}, {}, R"(template <class T> inline T larger(T a, T b) {  // NaN wins
  const T most = a > b ? a : b;
  return a == a ? most : a;
}
)"},
      // Both alternatives are values before one is chosen: GCC 12 makes masked loads of `c ? x[i] : y[i]` and mixes up
      // the masks of rows whose length is no multiple of its vectors (5 of 21 elements of a 7x3 tile wrong at -O3).
      {"selected",
       {},
       {},
       "template <class T> inline T selected(bool first, T a, T b) { return first ? a : b; }  // both are read "
       "first\n"},
      {"bits_as",
       {},
       {"<cstring>"},
       R"(template <class To, class From> inline To bits_as(From from) {  // the same bytes
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
)"},
      {"ends", {}, {}, ends_text},
      {"clamp_to", {"ends"}, {}, clamp_to_text},
      {"truncate_clamped", {"ends"}, {"<type_traits>"}, truncate_clamped_text},
      {"choose", {}, {}, choose_text},
      {"truncate_wrapped", {"bits_as", "choose"}, {"<cmath>", "<type_traits>"}, truncate_wrapped_text},
      {"odd_double",
       {},
       {},
       R"(// A 64-bit integer as a double with a sticky last bit, so that a second rounding is right.
template <class T> inline double odd_double(T x) {
  std::uint64_t m = x < 0 ? 0 - std::uint64_t(x) : std::uint64_t(x);
  int excess = 0;
  while (m >> excess >= std::uint64_t(1) << 53) ++excess;
  if (excess > 0) {
    const std::uint64_t lost = m & ((std::uint64_t(1) << excess) - 1);
    m = (m - lost) | (lost != 0 ? std::uint64_t(1) << excess : 0);
  }
  return x < 0 ? -double(m) : double(m);
}
)"},
      {"round_small",
       {},
       {"<cmath>", "<limits>"},
       R"(// To the nearest number of `precision` bits and exponents from emin, ties to even.
inline float round_small(double x, int precision, int emin, double largest, bool infinity) {
  if (x == 0 || x != x) return float(x);
  double r = x;
  if (!std::isinf(x)) {
    const int e = std::ilogb(x);
    const int quantum = (e < emin ? emin : e) - (precision - 1);
    r = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  }
  if (std::fabs(r) <= largest) return float(r);
  return infinity ? std::copysign(std::numeric_limits<float>::infinity(), float(x)) : std::numeric_limits<float>::quiet_NaN();
}
)"},
      {"small_value",
       {},
       {"<cmath>", "<limits>"},
       R"(inline float small_value(unsigned raw, int storage, int precision, int emin, bool infinity) {
  const int bits = precision - 1, ones = (1 << (storage - precision)) - 1, field = int(raw >> bits) & ones;
  const unsigned fraction = raw & ((1u << bits) - 1);
  float m = std::ldexp(float(fraction | (field != 0 ? 1u << bits : 0)), (field != 0 ? field - (1 - emin) : emin) - bits);
  if (field == ones && infinity)
    m = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  else if (field == ones && fraction == 7)
    m = std::numeric_limits<float>::quiet_NaN();
  return ((raw >> (storage - 1)) & 1) != 0 ? -m : m;
}
)"},
      {"small_bits",
       {},
       {"<cmath>"},
       R"(inline unsigned small_bits(float x, int storage, int precision, int emin, bool infinity) {  // x is a number of the format
  const int bits = precision - 1;
  const unsigned sign = std::signbit(x) ? 1u << (storage - 1) : 0, ones = ((1u << (storage - precision)) - 1) << bits;
  if (x != x) return ones | (infinity ? 1u << (bits - 1) : 7u);
  if (std::isinf(x)) return sign | ones;
  if (x == 0) return sign;
  const int e = std::ilogb(x) < emin ? emin : std::ilogb(x);
  const unsigned significand = unsigned(std::ldexp(std::fabs(x), bits - e));
  const unsigned field = (significand >> bits) != 0 ? unsigned(e + 1 - emin) : 0;
  return sign | (field << bits) | (significand & ((1u << bits) - 1));
}
)"},
      {"round_bf16",
       {"bits_as", "round_small"},
       {},
       R"([[maybe_unused]] inline float round_bf16(double x) { return round_small(x, 8, -126, 0x1.fep127, true); }
[[maybe_unused]] inline float round_bf16(float x) {
  const std::uint32_t u = bits_as<std::uint32_t>(x);
  return x != x ? x : bits_as<float>((u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u);
}
)"},
      {"bf16_value",
       {"bits_as"},
       {},
       "inline float bf16_value(std::uint16_t raw) { return bits_as<float>(std::uint32_t(raw) << 16); }\n"},
      {"bf16_bits", {"bits_as"}, {}, R"(inline std::uint16_t bf16_bits(float x) {  // x is a bf16 number
  return x != x ? std::uint16_t(0x7fc0) : std::uint16_t(bits_as<std::uint32_t>(x) >> 16);
}
)"},
      {"round_tf32",
       {"round_small"},
       {},
       "inline float round_tf32(double x) { return round_small(x, 11, -126, 0x1.ffcp127, true); }\n"},
      {"tf32_value",
       {"bits_as"},
       {},
       R"(inline float tf32_value(float x) { return bits_as<float>(bits_as<std::uint32_t>(x) & 0xffffe000u); }
)"},
      {"tf32_bits", {}, {}, "inline float tf32_bits(float x) { return x; }\n"},
      {"round_f16", {"bits_as", "choose", "round_small"}, {"<cmath>"}, round_f16_text},
      {"f16_value", {"bits_as", "choose"}, {}, f16_value_text},
      {"f16_bits", {"bits_as", "choose"}, {}, f16_bits_text},
  };
}

// Vectorizable forms of functions (float_NAME): printed instead of calls of the library for f32.
std::vector<Helper> function_helpers() {
  return {
      {"word_of", {}, {}, word_of_text},
      {"multiply_add", {}, {}, multiply_add_text()},
      {"split_exponent", {"bits_as", "word_of", "multiply_add"}, {}, split_exponent_text},
      {"magnitude", {"bits_as", "word_of"}, {}, magnitude_text},
      {"with_sign", {"bits_as", "word_of"}, {}, with_sign_text},
      {"each_lane",
       {"word_of"},
       {"<type_traits>"},
       R"(// A function of floats on each lane of a register; at once if it takes vectors of them.
template <class V, class F> [[gnu::always_inline]] inline V each_lane(V v, F f) {
  using lanes = typename lanes_of<sizeof(V)>::real;
  lanes x;
  __builtin_memcpy(&x, &v, sizeof v);
  if constexpr (std::is_invocable_r_v<lanes, F, lanes>)
    x = f(x);
  else
    for (unsigned i = 0; i < sizeof(V) / sizeof(float); ++i) x[i] = f(x[i]);
  __builtin_memcpy(&v, &x, sizeof v);
  return v;
}
)"},
      {"float_exp", {"split_exponent"}, {}, float_exp_text},
      {"float_sigmoid", {"float_exp", "magnitude"}, {}, float_sigmoid_text},
      {"float_tanh", {"split_exponent", "multiply_add", "magnitude", "with_sign"}, {}, float_tanh_text},
      {"float_erf", {"split_exponent", "multiply_add", "magnitude", "with_sign"}, {}, float_erf_text},
      {"float_log", {"bits_as", "word_of", "multiply_add"}, {}, float_log_text},
      {"quarter_turns", {"bits_as", "word_of", "multiply_add"}, {}, quarter_turns_text},
      {"small_angles", {"bits_as", "word_of", "magnitude"}, {"<cstring>"}, small_angles_text},
      {"float_sin", {"quarter_turns", "small_angles"}, {"<cmath>"}, float_sin_text},
      {"float_cos", {"quarter_turns", "small_angles"}, {"<cmath>"}, float_cos_text},
      {"float_atan", {"multiply_add", "magnitude", "with_sign"}, {}, float_atan_text},
  };
}

// Conversions of floats that have none of their own above.
void add_conversions(const DTypeFormat& f, std::vector<Helper>& all) {
  const std::string type(f.name), c_type(f.c_type), infinity = f.has_infinity ? "true" : "false";
  const std::string layout = fmt::format("{}, {}, {}, {}", f.storage, f.precision, f.emin, infinity);
  const std::string largest = fmt::format("{}", largest_finite(f.type));
  all.push_back({"round_" + type,
                 {"round_small"},
                 {},
                 fmt::format("inline float round_{}(double x) {{ return round_small(x, {}, {}, {}, {}); }}\n", type,
                             f.precision, f.emin, largest, infinity)});
  if (saturates(f.type))
    all.push_back({"clamp_" + type,
                   {"round_" + type},
                   {},
                   fmt::format("inline float clamp_{0}(double x) {{ return round_{0}(x < -{1} ? -{1} : x > {1} ? {1} : "
                               "x); }}\n",
                               type, largest)});
  all.push_back(
      {type + "_value",
       {"small_value"},
       {},
       fmt::format("inline float {}_value({} raw) {{ return small_value(raw, {}); }}\n", type, c_type, layout)});
  all.push_back(
      {type + "_bits",
       {"small_bits"},
       {},
       fmt::format("inline {1} {0}_bits(float x) {{ return {1}(small_bits(x, {2})); }}\n", type, c_type, layout)});
}

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> all = [] {
    std::vector<Helper> list = written_helpers();
    for (const DTypeFormat& f : dtype_formats()) {
      const auto is_own = [&](const Helper& helper) { return helper.name == "round_" + std::string(f.name); };
      const bool is_small = f.kind == DTypeKind::real && f.precision < format_of(DType::f32).precision;
      if (is_small && std::none_of(list.begin(), list.end(), is_own)) add_conversions(f, list);
    }
    for (Helper& helper : function_helpers()) list.push_back(std::move(helper));
    return list;
  }();
  return all;
}

std::set<std::string> closure(const std::set<std::string>& used) {
  std::set<std::string> all = used;
  const auto& list = helpers();
  for (auto it = list.rbegin(); it != list.rend(); ++it)
    if (all.contains(it->name)) all.insert(it->uses.begin(), it->uses.end());
  return all;
}

}  // namespace

std::vector<std::string> helper_names() {
  std::vector<std::string> names;
  for (const Helper& helper : helpers()) names.push_back(helper.name);
  return names;
}

std::set<std::string> helpers_in(const std::string& code) {
  std::set<std::string> said;
  for (const Helper& helper : helpers())
    if (says(code, helper.name)) said.insert(helper.name);
  return said;
}

bool is_helper(const std::string& name) {
  return std::any_of(helpers().begin(), helpers().end(), [&](const Helper& helper) { return helper.name == name; });
}

std::string helper_text(const std::set<std::string>& used, const std::string& code) {
  const auto all = closure(used);
  std::string text;
  for (const Helper& helper : helpers())
    if (all.contains(helper.name)) text += helper.text;
  text = unused_functions_dropped(text, code);
  return text.empty() ? text : "namespace {\n\n" + text + "\n}  // namespace\n\n";
}

std::set<std::string> helper_includes(const std::set<std::string>& used) {
  const auto all = closure(used);
  std::set<std::string> includes;
  for (const Helper& helper : helpers())
    if (all.contains(helper.name)) includes.insert(helper.includes.begin(), helper.includes.end());
  return includes;
}

bool says(const std::string& code, const std::string& name) {
  const auto in_word = [&](std::size_t at) {
    return at < code.size() && (std::isalnum(static_cast<unsigned char>(code[at])) != 0 || code[at] == '_');
  };
  for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1))
    if (!in_word(at + name.size()) && (at == 0 || !in_word(at - 1))) return true;
  return false;
}

std::string machine_helpers(const ProgramText& program, const std::string& code) {
  std::string named;
  for (std::size_t h = program.named_helpers.size(); h-- > 0;) {  // each may use those before it
    const NamedHelper& helper = program.named_helpers[h];
    if (says(code, helper.name) || says(named, helper.name) || says(program.helpers, helper.name))
      named = helper.text + named;
  }
  const std::string text = unused_functions_dropped(program.helpers + named, code);
  return text.empty() ? "" : text + (text.back() == '\n' ? "\n" : "\n\n");
}

}  // namespace isamap
