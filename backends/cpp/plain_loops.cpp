// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/plain_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

using Spelled = std::map<std::string, std::string>;

const char* const not_vectorized = "asm volatile(\"\");";
constexpr int kLanes = 16;  ///< partial sums of a reduction along memory

struct NoLoops {
  std::string why;
};

/// What the nests of a kernel share.
struct LoopContext {
  const SymbolicKernel& kernel;
  const HardwareModel& machine;
  ElementText& elements;
  const Spelled& sizes;
  const std::vector<std::string>& tensors;
  bool in_order;  ///< sums in the order of the statement
};

/// One statement as a nest.
class StatementLoops {
 public:
  StatementLoops(const LoopContext& context, std::size_t s)
      : kernel_(context.kernel),
        symbolic_(kernel_.statements[s]),
        statement_(kernel_.sample.statements[s]),
        machine_(context.machine),
        elements_(context.elements),
        names_(context.sizes),
        tensors_(context.tensors),
        in_order_(context.in_order) {
    for (const Dim& dim : statement_.domain.dims) names_[symbolic_dim(dim.name)] = "i_" + identifier(dim.name);
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      (statement_.domain.dims[d].kind == DimKind::parallel ? parallel_ : reduced_).push_back(d);
  }

  std::string print() {
    const bool sums = !reduced_.empty();
    const auto inner = innermost();
    const bool inner_sums = inner && statement_.domain.dims[*inner].kind == DimKind::reduction;
    for (const std::size_t d : parallel_)
      if (d != inner.value_or(d + 1)) open(d);
    if (sums && inner_sums) {
      accumulate(*inner);
    } else {
      for (const std::size_t d : reduced_)
        if (d != inner.value_or(d + 1)) open(d);
      if (inner) open(*inner, !moves_across(*inner));
      line(combined(place(0), place(0)));
    }
    while (depth_ > 2) close();
    return "  {\n" + text_ + "  }\n";
  }

 private:
  void line(const std::string& code) { text_ += std::string(2 * static_cast<std::size_t>(depth_), ' ') + code + "\n"; }
  /// Only loops along memory may be vectorized: for others GCC 12 loads groups of elements that reach beyond the last
  /// one, into what may be another page.
  void open(std::size_t d, bool along_memory = false) {
    const std::string& name = dim_name(d);
    line(fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {{", name, affine_text(symbolic_.extents[d], names_)));
    ++depth_;
    if (!along_memory) line(not_vectorized);
  }
  void close() {
    --depth_;
    line("}");
  }
  const std::string& dim_name(std::size_t d) const { return names_.at(symbolic_dim(statement_.domain.dims[d].name)); }

  /// How the access moves with a dim: 0 not at all, 1 to the next element, 2 otherwise.
  int movement(int access, std::size_t d) const {
    const std::string name = symbolic_dim(statement_.domain.dims[d].name);
    const auto& index = symbolic_.index[static_cast<std::size_t>(access)];
    int found = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      for (const AffineTerm& term : index[axis].terms()) {
        if (const FloorDiv* div = division(term)) {
          if (div->numerator->names().contains(name)) return 2;
        } else if (std::get<std::string>(term.atom) == name) {
          if (axis + 1 != index.size() || term.coefficient != 1) return 2;
          found = 1;
        }
      }
    return found;
  }

  bool moves_across(std::size_t d) const {
    for (int a = 0; a < access_count(statement_); ++a)
      if (movement(a, d) == 2) return true;
    return false;
  }

  /// The dim that moves most accesses along memory and the fewest across it. Nothing: no dims.
  std::optional<std::size_t> innermost() const {
    std::optional<std::size_t> best;
    int best_score = 0;
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d) {
      const bool sums = statement_.domain.dims[d].kind == DimKind::reduction;
      if (sums && in_order_ && d != reduced_.back()) continue;
      int score = sums ? 0 : 1;
      for (int a = 0; a < access_count(statement_); ++a) {
        const int how = movement(a, d);
        score += how == 1 ? 4 : how == 2 ? -16 : 0;
        if (a == 0 && how == 1) score += 4;
      }
      if (!best || score > best_score) best = d, best_score = score;
    }
    return best;
  }

  const std::vector<AffineExpr>& shape_of(int access) const {
    return kernel_.shapes[access_of(statement_, access).tensor.index()];
  }

  /// Row-major position of an access.
  std::string address(int access) const {
    const Access& sample = access_of(statement_, access);
    const auto& index = symbolic_.index[static_cast<std::size_t>(access)];
    const auto& shape = shape_of(access);
    std::string at;
    for (std::size_t d = 0; d < index.size(); ++d) {
      std::string one = affine_text(index[d], names_);
      if (sample.computed && sample.computed->axis == static_cast<int>(d))
        one = fmt::format("isamap_clamped(static_cast<long>({}), {})",
                          places_[static_cast<std::size_t>(sample.computed->read)], affine_text(shape[d], names_));
      at = at.empty() ? one : fmt::format("({}) * ({}) + {}", at, affine_text(shape[d], names_), one);
    }
    return at.empty() ? "0" : at;
  }

  std::string element(int access) const {
    return fmt::format("{}[{}]", tensors_[access_of(statement_, access).tensor.index()], address(access));
  }

  /// An access as an expression; reads beyond the shape yield their value.
  std::string place(int access) const {
    const Access& sample = access_of(statement_, access);
    const auto outside = access == 0 ? std::nullopt : outside_of(sample, kernel_.sample.tensors);
    if (!outside) return element(access);
    std::string inside;
    const auto& index = symbolic_.index[static_cast<std::size_t>(access)];
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (within(index[d], shape_of(access)[d])) continue;
      const std::string at = affine_text(index[d], names_);
      inside += fmt::format("{}{} >= 0 && {} < {}", inside.empty() ? "" : " && ", at, at,
                            affine_text(shape_of(access)[d], names_));
    }
    if (inside.empty()) return element(access);
    return fmt::format("({} ? {} : {})", inside, element(access), outside_text(*outside, sample.tensor));
  }

  /// Is it a dim with this extent?
  bool within(const AffineExpr& index, const AffineExpr& extent) const {
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      if (index == AffineExpr::dim(symbolic_dim(statement_.domain.dims[d].name))) return symbolic_.extents[d] == extent;
    return false;
  }

  std::string outside_text(double value, TensorId id) const {
    const DType type = kernel_.sample.tensors[id.index()].dtype;
    if (element_type(machine_, type) != portable_type(type) || (is_float(type) && bits(type) < 32))
      throw NoLoops{fmt::format("values beyond the shape of {}", kernel_.sample.tensors[id.index()].name)};
    return elements_.value(constant(value, type), {});
  }

  /// `place = old (+) value;`
  std::string combined(const std::string& to, const std::string& old) {
    places_.clear();
    for (int a = 1; a < access_count(statement_); ++a) places_.push_back(place(a));
    for (const AffineExpr& value : symbolic_.values)
      places_.push_back(fmt::format("static_cast<std::int32_t>({})", affine_text(value, names_)));
    const Tensor& tensor = kernel_.sample.tensors[statement_.write.tensor.index()];
    return elements_.statement(statement_.reduction, tensor.dtype, to, statement_.body, places_, old);
  }

  /// The innermost dim is summed over: in a register, and in lanes where sums may be in any order.
  void accumulate(std::size_t inner) {
    const Tensor& tensor = kernel_.sample.tensors[statement_.write.tensor.index()];
    const std::string type = element_type(machine_, tensor.dtype);
    const bool across = moves_across(inner), lanes = !in_order_ && !across && statement_.reduction == Reduction::add &&
                                                     (tensor.dtype == DType::f32 || tensor.dtype == DType::f64);
    line(fmt::format("{} sum = {};", type, element(0)));
    if (lanes) line(fmt::format("{} lanes[{}] = {{}};", type, kLanes));
    const int outer = depth_;
    for (const std::size_t d : reduced_)
      if (d != inner) open(d);
    const std::string name = dim_name(inner), extent = affine_text(symbolic_.extents[inner], names_);
    line(fmt::format("long {}_0 = 0;", name));
    if (lanes) {
      line(fmt::format("for (; {0}_0 + {1} <= {2}; {0}_0 += {1})", name, kLanes, extent));
      line(fmt::format("  for (long lane = 0; lane < {}; ++lane) {{", kLanes));
      line(fmt::format("    const long {0} = {0}_0 + lane;", name));
      line("    " + combined("lanes[lane]", "lanes[lane]"));
      line("  }");
    }
    line(fmt::format("for (long {0} = {0}_0; {0} < {1}; ++{0}) {{", name, extent));
    if (across) line(std::string("  ") + not_vectorized);
    line("  " + combined("sum", "sum"));
    line("}");
    while (depth_ > outer) close();
    if (lanes) line(fmt::format("for (long lane = 0; lane < {}; ++lane) sum += lanes[lane];", kLanes));
    line(element(0) + " = sum;");
  }

  const SymbolicKernel& kernel_;
  const SymbolicStatement& symbolic_;
  const Computation& statement_;
  const HardwareModel& machine_;
  ElementText& elements_;
  Spelled names_;
  const std::vector<std::string>& tensors_;
  bool in_order_;
  std::vector<std::size_t> parallel_, reduced_;
  std::vector<std::string> places_;
  int depth_ = 2;
  std::string text_;
};

/// Does the statement write every element of its tensor?
bool writes_all(const SymbolicKernel& kernel, std::size_t s) {
  const Computation& statement = kernel.sample.statements[s];
  const auto& shape = kernel.shapes[statement.write.tensor.index()];
  std::vector<AffineExpr> seen;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const AffineExpr& index = kernel.statements[s].index[0][axis];
    bool whole = index.is_constant() && index.constant() == 0 && shape[axis] == AffineExpr(1);
    for (std::size_t d = 0; d < statement.domain.dims.size(); ++d)
      if (index == AffineExpr::dim(symbolic_dim(statement.domain.dims[d].name)))
        whole = kernel.statements[s].extents[d] == shape[axis];
    if (!whole || (!index.is_constant() && std::find(seen.begin(), seen.end(), index) != seen.end())) return false;
    seen.push_back(index);
  }
  return true;
}

}  // namespace

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

std::string affine_helpers() {
  return R"(namespace {

[[maybe_unused]] inline long isamap_floor_div(long a, long b) { return a / b - (a % b < 0 ? 1 : 0); }
[[maybe_unused]] inline long isamap_clamped(long at, long extent) { return at < 0 ? 0 : at < extent ? at : extent - 1; }

}  // namespace

)";
}

Result<std::string> print_plain_loops(const SymbolicKernel& kernel, const HardwareModel& machine,
                                      const std::string& name, bool in_order, Surroundings& around) {
  if (!kernel.sample.repeats.empty()) return error("a recurrence has no loops for all sizes");
  Names taken;
  Spelled sizes;
  std::vector<std::string> tensors;
  std::string list;
  for (std::size_t t = 0; t < kernel.sample.tensors.size(); ++t) {
    const Tensor& tensor = kernel.sample.tensors[t];
    const bool input = role_of(kernel.sample, make_id<TensorId>(t)) == Role::input;
    tensors.push_back(taken.unique("t_" + identifier(tensor.name)));
    list += fmt::format("{}{}{}* __restrict {}", list.empty() ? "" : ", ", input ? "const " : "",
                        element_type(machine, tensor.dtype), tensors.back());
  }
  for (const SymbolicSize& size : kernel.facts.sizes) {
    sizes[size.name] = taken.unique("n_" + identifier(size.name));
    list += fmt::format("{}[[maybe_unused]] long {}", list.empty() ? "" : ", ", sizes[size.name]);
  }
  ElementText elements(machine, !in_order);
  std::string text = fmt::format("static void {}({}) {{\n", name, list);
  std::vector<bool> begun(tensors.size(), false);
  try {
    for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
      const Computation& statement = kernel.sample.statements[s];
      const std::size_t to = statement.write.tensor.index();
      const Tensor& tensor = kernel.sample.tensors[to];
      text += comment(print_formula(statement, kernel.sample.tensors), "   ");
      if (!begun[to] && !tensor.inout && (statement.reduction != Reduction::assign || !writes_all(kernel, s))) {
        const Scalar start = identity(statement.reduction, tensor.dtype);
        const double value = is_float(tensor.dtype) ? start.real : double(start.integer);
        text += fmt::format("  for (long e = 0; e < {}; ++e) {}\n", count_text(kernel.shapes[to], sizes),
                            elements.statement(Reduction::assign, tensor.dtype, tensors[to] + "[e]",
                                               constant(value, tensor.dtype), {}));
      }
      begun[to] = true;
      text += StatementLoops({kernel, machine, elements, sizes, tensors, in_order}, s).print();
    }
  } catch (const NoLoops& problem) {
    return error(problem.why);
  }
  around.helpers.insert(elements.used_helpers().begin(), elements.used_helpers().end());
  around.includes.insert(elements.includes().begin(), elements.includes().end());
  return text + "}\n";
}

}  // namespace isamap
