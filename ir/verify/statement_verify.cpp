// SPDX-License-Identifier: Apache-2.0
// Checks of one tensor and of one statement.
//
// Bounds of indices are intervals over the box of the domain. They are exact for linear indices; where faces cut the
// domain, e <= e + f for every face f >= 0 tightens them; if still undecided, small domains are enumerated.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ir/scalar/scalar_functions.h"
#include "ir/verify/limits.h"
#include "ir/verify/overlap.h"
#include "ir/verify/verify_internal.h"
#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {
namespace {

constexpr std::int64_t max_enumerated = 1 << 18;
constexpr std::int64_t max_number = std::int64_t{1} << 50;  // of a coefficient; sums of products stay below 2^63

std::string joined(const std::vector<std::int64_t>& numbers, const char* separator) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : separator) + std::to_string(n);
  return text;
}

std::optional<std::int64_t> product(const std::vector<std::int64_t>& factors) {
  if (std::count(factors.begin(), factors.end(), 0) > 0) return 0;
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    const auto next = checked_mul(result, factor);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

bool holds(DType type, double value) { return is_float(type) ? !std::isnan(value) : is_value_of(type, value); }

bool is_test(const ScalarExpr& e) {
  if (const auto* u = std::get_if<Unary>(&e.op)) return function_of(u->op).common.operands == Operands::of_any;
  const auto* b = std::get_if<Binary>(&e.op);
  return b != nullptr && function_of(b->op).common.operands == Operands::of_any;
}

/// A statement with its places, and the problems found in it.
class StatementProblems {
 public:
  StatementProblems(const Computation& statement, const std::vector<Tensor>& tensors, std::string who,
                    const StatementPlaces& places, Diagnostics& problems)
      : s_(statement), tensors_(tensors), who_(std::move(who)), places_(places), problems_(problems) {}

 protected:
  void fail(std::string message, std::string hint = "") {
    fail_at(places_.statement, std::move(message), std::move(hint));
  }

  void fail_at(const SourceLocation& where, std::string message, std::string hint = "") {
    problems_.push_back(error_at(where, who_ + "statement " + s_.name + ": " + std::move(message), std::move(hint)));
  }

  const SourceLocation& place_of(int access, std::size_t subscript) const {
    const auto a = static_cast<std::size_t>(access);
    const bool known = a < places_.index.size() && subscript < places_.index[a].size();
    return known ? places_.index[a][subscript] : places_.statement;
  }

  /// The first subscript that uses a dim.
  const SourceLocation& place_of(const std::string& dim) const {
    for (int a = 0; a < access_count(s_); ++a)
      for (std::size_t d = 0; d < access_of(s_, a).index.size(); ++d)
        if (access_of(s_, a).index[d].names().count(dim) > 0) return place_of(a, d);
    return places_.statement;
  }

  /// The first subscript of an access.
  const SourceLocation& place_of(const Access& access) const {
    int number = 0;
    while (number < access_count(s_) && !(access_of(s_, number) == access)) ++number;
    return place_of(number, 0);
  }

  const Tensor& tensor_of(const Access& access) const { return tensors_[access.tensor.index()]; }

  std::string shown(const Access& access) const {
    std::string text;
    for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
      const bool computed = access.computed && access.computed->axis == static_cast<int>(axis);
      text += (text.empty() ? "" : ", ") + (computed ? "at(..)" : print(access.index[axis]));
    }
    return tensor_of(access).name + "[" + text + "]";
  }

  bool is_empty() const {
    return std::any_of(s_.domain.dims.begin(), s_.domain.dims.end(), [](const Dim& dim) { return dim.extent == 0; });
  }

  const Computation& s_;
  const std::vector<Tensor>& tensors_;
  std::string who_;
  const StatementPlaces& places_;
  Diagnostics& problems_;
};

/// Indices inside their tensors, and values beyond these.
class BoundsCheck : StatementProblems {
 public:
  using StatementProblems::StatementProblems;

  void run() {
    check_outside();
    for (int a = 0; a < access_count(s_); ++a) check_bounds(a);
  }

 private:
  // Copies of a tensor hold one value beyond it, so that the reads of a statement cannot have two.
  void check_outside() {
    std::map<TensorId, const Access*> stated;
    for (const Access& read : s_.reads) {
      if (!outside_of(read, tensors_) || (!read.outside && stays_inside(read))) continue;
      const auto [first, is_new] = stated.emplace(read.tensor, &read);
      const double a = *outside_of(*first->second, tensors_), b = *outside_of(read, tensors_);
      if (is_new || a == b) continue;
      fail_at(place_of(read),
              fmt::format("reads '{}' with `outside` {} and with `outside` {}", tensor_of(read).name, a, b),
              "one value for each tensor in a statement: compute one of the reads in a statement of its own");
    }
  }

  bool stays_inside(const Access& access) const {
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const std::int64_t size = tensor_of(access).shape[d];
      const Interval found = index_bounds(access.index[d], size);
      if (found.low <= found.high && (found.low < 0 || found.high >= size)) return false;
    }
    return true;
  }

  void check_bounds(int number) {
    const Access& access = access_of(s_, number);
    const bool is_read = number > 0;
    if (is_empty() || (is_read && outside_of(access, tensors_))) return;
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const std::int64_t size = tensor_of(access).shape[d];
      const Interval found = index_bounds(access.index[d], size);
      if (found.low > found.high || (found.low >= 0 && found.high < size)) continue;
      fail_at(place_of(number, d),
              fmt::format("{} {}, whose subscript {} runs from {} to {}, but dimension {} of '{}' has size {}",
                          is_read ? "reads" : "writes", shown(access), print(access.index[d]), found.low, found.high, d,
                          tensor_of(access).name, size),
              is_read ? "change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` "
                        "at the read"
                      : "change the shape");
    }
  }

  // The best interval without enumeration; the exact one if it matters and the domain is small.
  Interval index_bounds(const AffineExpr& e, std::int64_t size) const {
    const Ranges ranges = ranges_of(s_.domain);
    Interval found = bounds(e, ranges).value_or(Interval{});
    const auto inside = [&] { return found.low >= 0 && found.high < size; };
    AffineExpr raised = e, lowered = e;
    for (const AffineExpr& face : s_.domain.faces) {
      const auto above = bounds(raised + face, ranges);
      const auto below = bounds(lowered - face, ranges);
      if (above && above->high < found.high) {
        found.high = above->high;
        raised += face;
      }
      if (below && below->low > found.low) {
        found.low = below->low;
        lowered += -face;
      }
    }
    if (inside() || (e.is_linear() && s_.domain.faces.empty())) return found;
    return enumerated(e).value_or(found);
  }

  // Over all points of the relevant dims; nothing when there are too many.
  std::optional<Interval> enumerated(const AffineExpr& e) const {
    std::set<std::string> used = e.names();
    for (const AffineExpr& face : s_.domain.faces) used.merge(face.names());
    std::vector<std::string> names(used.begin(), used.end());
    std::vector<std::int64_t> extents, point(names.size(), 0);
    for (const std::string& name : names)
      extents.push_back(s_.domain.dims[static_cast<std::size_t>(s_.domain.find(name))].extent);
    const auto count = product(extents);
    if (!count || *count > max_enumerated) return std::nullopt;
    const CompiledAffine value(e, names);
    std::vector<CompiledAffine> faces;
    for (const AffineExpr& face : s_.domain.faces) faces.emplace_back(face, names);
    Interval found{1, 0};
    for (std::int64_t p = 0; p < *count; ++p) {
      const bool inside =
          std::all_of(faces.begin(), faces.end(), [&](const auto& face) { return face(point.data()) >= 0; });
      if (inside) {
        const std::int64_t v = value(point.data());
        found = found.low > found.high ? Interval{v, v} : Interval{std::min(found.low, v), std::max(found.high, v)};
      }
      advance(point, extents);
    }
    return found;
  }
};

class StatementCheck : StatementProblems {
 public:
  using StatementProblems::StatementProblems;

  void run() {
    const std::size_t before = problems_.size();
    check_domain();
    check_access(s_.write, "writes");
    for (const Access& read : s_.reads) check_access(read, "reads");
    for (const AffineExpr& value : s_.values) check_index(value, "value(" + print(value) + ")");
    for (const AffineExpr& face : s_.domain.faces) check_index(face, "the condition " + print(face) + " >= 0");
    if (problems_.size() > before) return;
    check_kinds();
    check_body();
    for (std::size_t r = 0; r < s_.reads.size(); ++r) check_computed(r);
    check_values();
    if (s_.write.computed) fail_at(place_of(0, 0), "writes at a computed subscript");
    if (s_.write.outside) fail_at(place_of(0, 0), "`outside` is of reads; what is written lies inside");
    BoundsCheck(s_, tensors_, who_, places_, problems_).run();
  }

 private:
  void check_domain() {
    const std::vector<Dim>& dims = s_.domain.dims;
    if (dims.size() > most_dims) fail(fmt::format("{} dims; at most {} are supported", dims.size(), most_dims));
    std::set<std::string> names;
    std::vector<std::int64_t> extents;
    for (const Dim& dim : dims) {
      if (!names.insert(dim.name).second) fail(fmt::format("two dims are named {}", dim.name));
      if (dim.extent < 0) fail(fmt::format("dim {} has extent {}", dim.name, dim.extent), "extents are 0 or more");
      extents.push_back(std::max<std::int64_t>(dim.extent, 0));
    }
    if (!product(extents)) {
      fail(fmt::format("the domain has {} points, which is more than 2^63 - 1", joined(extents, " * ")));
    }
  }

  void check_access(const Access& access, const std::string& does) {
    if (!access.tensor.valid() || access.tensor.index() >= tensors_.size()) {
      fail(does + " a tensor that does not exist");
      return;
    }
    const Tensor& tensor = tensor_of(access);
    if (access.index.size() != tensor.shape.size()) {
      fail(fmt::format("{} {}, which has {} subscripts, but '{}' has {} dimensions", does, shown(access),
                       access.index.size(), tensor.name, tensor.shape.size()));
    }
    for (const AffineExpr& e : access.index) check_index(e, shown(access));
    if (access.outside && !holds(tensor.dtype, *access.outside))
      fail_at(place_of(access), fmt::format("{} {}, whose `outside` {} is not a value of {}", does, shown(access),
                                            *access.outside, name(tensor.dtype)));
  }

  void check_index(const AffineExpr& e, const std::string& in) {
    for (const std::string& name : e.names()) {
      if (s_.domain.find(name) < 0) fail(fmt::format("{} uses {}, which is no dim of the statement", in, name));
    }
    check_numbers(e, in);
  }

  void check_numbers(const AffineExpr& e, const std::string& in) {
    bool small = e.constant() <= max_number && e.constant() >= -max_number;
    for (const AffineTerm& term : e.terms()) {
      small = small && term.coefficient <= max_number && term.coefficient >= -max_number;
      if (const FloorDiv* div = std::get_if<FloorDiv>(&term.atom)) {
        check_numbers(*div->numerator, in);
        continue;
      }
      const int dim = s_.domain.find(std::get<std::string>(term.atom));
      const std::int64_t extent = dim < 0 ? 0 : s_.domain.dims[static_cast<std::size_t>(dim)].extent;
      const auto reach = checked_mul(extent, term.coefficient);
      small = small && reach && *reach <= (max_number << 8) && *reach >= -(max_number << 8);
    }
    if (!small) fail(fmt::format("{} holds numbers whose products do not fit 64 bits", in));
  }

  // A reduction dim is one that the write does not use; `kind` must agree.
  void check_kinds() {
    std::set<std::string> written, used;
    for (const AffineExpr& e : s_.write.index) written.merge(e.names());
    used = written;
    for (const Access& read : s_.reads) {
      for (const AffineExpr& e : read.index) used.merge(e.names());
    }
    for (const AffineExpr& value : s_.values) used.merge(value.names());
    for (const Dim& dim : s_.domain.dims) {
      const bool reduces = written.count(dim.name) == 0;
      if (reduces != (dim.kind == DimKind::reduction)) {
        fail(fmt::format("dim {} is marked {}, but the write {} it", dim.name, reduces ? "parallel" : "reduction",
                         reduces ? "does not use" : "uses"));
      }
      if (used.count(dim.name) == 0) fail(fmt::format("dim {} is used by no access", dim.name), "remove it");
      if (reduces && s_.reduction == Reduction::assign && dim.extent > 1) {
        fail_at(place_of(dim.name),
                fmt::format("`=` writes each element {} times, once for each {}", dim.extent, dim.name),
                "use `+=`, `*=`, `max=` or `min=`");
      }
    }
  }

  /// Reads and, behind them, values, in order of first occurrence; a read that computes a subscript precedes its user.
  std::vector<int> operands_of_body() const {
    const auto count = static_cast<int>(s_.reads.size());
    std::vector<int> reads, values;
    const auto add = [](std::vector<int>& to, int number) {
      if (std::find(to.begin(), to.end(), number) == to.end()) to.push_back(number);
    };
    const std::function<void(int)> add_read = [&](int number) {
      const auto& computed = s_.reads[static_cast<std::size_t>(number)].computed;
      if (computed && computed->read < number) add_read(computed->read);
      add(reads, number);
    };
    for (const int number : reads_of(s_.body)) number < count ? add_read(number) : add(values, number);
    reads.insert(reads.end(), values.begin(), values.end());
    return reads;
  }

  void check_body() {
    const std::vector<int> read = operands_of_body();
    bool in_order = read.size() == s_.reads.size() + s_.values.size();
    for (std::size_t r = 0; in_order && r < read.size(); ++r) in_order = read[r] == static_cast<int>(r);
    if (!in_order) {
      fail("the reads are not those of the body in order of first occurrence");
      return;
    }
    for (std::size_t r = 0; r < s_.reads.size(); ++r) {
      if (std::count(s_.reads.begin(), s_.reads.end(), s_.reads[r]) > 1) fail("reads " + shown(s_.reads[r]) + " twice");
    }
    check_types(s_.body);
    const DType output = tensor_of(s_.write).dtype;
    if (s_.body.type != output) {
      fail(fmt::format("the body is {}, but '{}' is {}", name(s_.body.type), tensor_of(s_.write).name, name(output)));
    }
    if (is_bits(output) && s_.reduction != Reduction::assign) {
      fail(fmt::format("`{}` is not defined on {}", symbol(s_.reduction), name(output)), "bits can only be copied");
    }
    const bool is_sum =
        s_.reduction == Reduction::add || s_.reduction == Reduction::mul || s_.reduction == Reduction::saturating_add;
    if (output == DType::boolean && is_sum)
      fail(fmt::format("`{}` is not defined on {}", symbol(s_.reduction), name(output)),
           "write max= (whether one is true) or min= (whether all are)");
    if (is_float(output) && s_.reduction == Reduction::saturating_add)
      fail(fmt::format("`{}` is not defined on {}", symbol(s_.reduction), name(output)), "write +=");
  }

  void check_types(const ScalarExpr& e) {
    if (const Read* r = std::get_if<Read>(&e.op); r && r->access >= static_cast<int>(s_.reads.size())) {
      if (e.type != DType::s32) fail(fmt::format("the value of a dim is s32, but is used as {}", name(e.type)));
    } else if (r) {
      const Tensor& tensor = tensor_of(s_.reads[static_cast<std::size_t>(r->access)]);
      if (e.type != tensor.dtype)
        fail(fmt::format("'{}' is {}, but is read as {}", tensor.name, name(tensor.dtype), name(e.type)));
    }
    const bool converts = std::holds_alternative<Cast>(e.op), compares = e.type == DType::boolean && is_test(e);
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      const bool is_condition = i == 0 && std::holds_alternative<Select>(e.op);
      const DType wanted = compares ? e.args[0].type : e.type;
      if (!converts && !is_condition && e.args[i].type != wanted) {
        fail(fmt::format("the body mixes {} and {} without a cast", name(wanted), name(e.args[i].type)));
      }
      check_types(e.args[i]);
    }
  }

  // E[at(I[i]),d]: I is read before E, and is of integers.
  void check_computed(std::size_t r) {
    const Access& read = s_.reads[r];
    if (!read.computed) return;
    const auto& [axis, from] = *read.computed;
    const bool exists =
        axis >= 0 && axis < static_cast<int>(read.index.size()) && from >= 0 && from < static_cast<int>(r);
    if (!exists || read.index[static_cast<std::size_t>(axis)] != AffineExpr(0))
      return fail("a computed subscript is not the value of an earlier read");
    const SourceLocation& where = place_of(static_cast<int>(r) + 1, static_cast<std::size_t>(axis));
    const Tensor& indices = tensor_of(s_.reads[static_cast<std::size_t>(from)]);
    if (!is_integer(indices.dtype))
      fail_at(where,
              fmt::format("'{}' is {} and cannot be a subscript of '{}'", indices.name, name(indices.dtype),
                          tensor_of(read).name),
              "subscripts are integers: cast it in a statement before");
    if (read.tensor == s_.write.tensor)
      fail_at(where, fmt::format("reads '{}', which it writes, at a computed place", tensor_of(read).name),
              "write to another tensor");
  }

  void check_values() {
    for (const AffineExpr& value : s_.values) {
      const auto range = bounds(value, ranges_of(s_.domain));
      if (is_empty() || (range && range->low >= integer_min(DType::s32) && range->high <= integer_max(DType::s32)))
        continue;
      fail(fmt::format("value({}) exceeds 32 bits", print(value)));
    }
  }
};

}  // namespace

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), part);
}

void check_tensor(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems) {
  const auto fail = [&](std::string message, std::string hint = "") {
    problems.push_back(error_at(where, who + "tensor '" + tensor.name + "': " + std::move(message), std::move(hint)));
  };
  if (!is_name(tensor.name)) fail("this is no name", "letters, digits and _, starting with a letter");
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] < 0) fail(fmt::format("dimension {} has size {}", d, tensor.shape[d]), "sizes are 0 or more");
  }
  if (tensor.shape.size() > most_dims)
    fail(fmt::format("{} dimensions; at most {} are supported", tensor.shape.size(), most_dims));
  std::vector<std::int64_t> factors = tensor.shape;
  for (std::int64_t& factor : factors) factor = std::max<std::int64_t>(factor, 0);
  factors.push_back(8);  // bits of the widest element, in bytes
  if (!product(factors)) {
    fail(
        fmt::format("{} elements of {} take more than 2^63 - 1 bytes", joined(tensor.shape, " * "), name(tensor.dtype)),
        "at most 2^60 - 1 elements");
  }
  if (tensor.outside && !holds(tensor.dtype, *tensor.outside)) {
    fail(fmt::format("`outside` {} is not a value of {}", *tensor.outside, name(tensor.dtype)));
  }
  if (tensor.range && !(tensor.range->first <= tensor.range->second)) {
    fail(fmt::format("`range` [{}, {}] is empty", tensor.range->first, tensor.range->second));
  }
}

void check_strides(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems) {
  if (tensor.strides.empty()) return;
  const auto fail = [&](std::string message, std::string hint) {
    problems.push_back(error_at(where, who + "tensor '" + tensor.name + "': " + std::move(message), std::move(hint)));
  };
  const std::string found = joined(tensor.strides, ", "), shape = joined(tensor.shape, ", ");
  if (tensor.strides.size() != tensor.shape.size())
    return fail(fmt::format("{} dimensions, found {} strides", tensor.shape.size(), tensor.strides.size()),
                "one for each dimension, in elements");
  std::vector<std::int64_t> reach;  // upper bound on the bytes of an array that contains it
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] < 0 || (tensor.strides[d] == 0 && tensor.shape[d] > 1))
      return fail(fmt::format("stride {} is {}", d, tensor.strides[d]), "strides are positive, in elements");
    reach.push_back(std::max<std::int64_t>(tensor.shape[d], 1));
    if (!product({reach.back(), std::max<std::int64_t>(tensor.strides[d], 1), 8 * most_dims}))
      return fail(fmt::format("strides [{}] reach further than 2^63 - 1 bytes", found), "strides are in elements");
  }
  const bool none = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  if (!none && !elements_lie_apart(tensor.shape, tensor.strides))
    fail(fmt::format("elements share places with strides [{}] of shape [{}]", found, shape),
         "every dimension steps over all that those with smaller strides reach; windows are indices: A[i + k]");
}

void check_statement(const Computation& statement, const std::vector<Tensor>& tensors, const std::string& who,
                     const StatementPlaces& places, Diagnostics& problems) {
  StatementCheck(statement, tensors, who, places, problems).run();
}

}  // namespace isamap
