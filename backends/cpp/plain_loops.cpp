// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/plain_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/statement_text.h"
#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "ir/symbolic/write_coverage.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

using Spelled = std::map<std::string, std::string>;

const char* const not_vectorized = "asm volatile(\"\");";
constexpr int kLanes = 16;  ///< partial sums of a reduction along memory

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
        number_(s),
        symbolic_(kernel_.statements[s]),
        statement_(kernel_.sample.statements[s]),
        machine_(context.machine),
        text_of_(kernel_, s, context.elements, context.sizes, context.tensors),
        in_order_(context.in_order) {
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      (statement_.domain.dims[d].kind == DimKind::parallel ? parallel_ : reduced_).push_back(d);
  }

  std::string print() {
    if (const auto scatter = scatter_of(kernel_, number_)) return print_scatter(*scatter);
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
      line(text_of_.combined(text_of_.place(0), text_of_.place(0)));
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
    line(fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {{", name, text_of_.extent(d)));
    ++depth_;
    if (!along_memory) line(not_vectorized);
  }
  void close() {
    --depth_;
    line("}");
  }

  /// Each update at its place (ir/scatter.h): the loops that positions depend on, with one along which they are
  /// neighbours in memory last; digits; loops over rows of elements with one position.
  std::string print_scatter(const Scatter& scatter) {
    std::vector<std::size_t> loops = parallel_, inner, row;
    loops.insert(loops.end(), reduced_.begin(), reduced_.end());
    std::erase_if(loops, [&](std::size_t d) {
      const bool digit = scatter.has(symbolic_name(d)), apart = has_own_elements(d),
                 in_row = apart && !scatter.fixed.contains(symbolic_name(d)),
                 next = apart && inner.empty() && follows_positions(d, scatter);
      if (!digit && in_row) row.push_back(d);
      if (!digit && !in_row && next) inner.push_back(d);
      return digit || in_row || next;
    });
    loops.insert(loops.end(), inner.begin(), inner.end());
    for (const std::size_t d : loops) open(d);
    open_digits(scatter);
    for (const std::size_t d : row) open(d, d == row.back() && !moves_across(d));
    line(text_of_.combined(text_of_.place(0), text_of_.place(0), scatter.term));
    while (depth_ > 2) close();
    return "  {\n" + text_ + "  }\n";
  }
  void open_digits(const Scatter& scatter) {
    std::string count;
    std::vector<std::size_t> dims;
    for (const NamedExtent& digit : scatter.digits) {
      std::size_t d = 0;
      while (symbolic_name(d) != digit.first) ++d;
      dims.push_back(d);
      count += (count.empty() ? "static_cast<std::uint64_t>(" : " * ") + text_of_.extent(d);
    }
    line(fmt::format("if (const std::uint64_t at = {}; at < {})) {{", text_of_.position_in(scatter), count));
    ++depth_;
    for (std::size_t n = 0; n < dims.size(); ++n) {
      const std::int64_t weight = scatter.weight(n);
      line(fmt::format("const long {} = static_cast<long>({}{});", dim_name(dims[n]),
                       weight == 1 ? "at" : fmt::format("at / {}", weight),
                       n == 0 ? "" : fmt::format(" % {}", scatter.digits[n].second)));
    }
  }
  std::string symbolic_name(std::size_t d) const { return symbolic_dim(statement_.domain.dims[d].name); }
  bool has_own_elements(std::size_t d) const {
    const auto& write = symbolic_.index[0];
    return std::find(write.begin(), write.end(), AffineExpr::dim(symbolic_name(d))) != write.end();
  }
  bool follows_positions(std::size_t d, const Scatter& scatter) const {
    return std::any_of(scatter.operands.begin(), scatter.operands.end(), [&](int operand) {
      return operand + 1 < access_count(statement_) && movement(operand + 1, d) == 1;
    });
  }
  const std::string& dim_name(std::size_t d) const { return text_of_.dim_name(d); }

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

  /// The innermost dim is summed over: in a register, and in lanes where sums may be in any order.
  void accumulate(std::size_t inner) {
    const Tensor& tensor = kernel_.sample.tensors[statement_.write.tensor.index()];
    const std::string type = element_type(machine_, tensor.dtype);
    const bool across = moves_across(inner), lanes = !in_order_ && !across && statement_.reduction == Reduction::add &&
                                                     (tensor.dtype == DType::f32 || tensor.dtype == DType::f64);
    line(fmt::format("{} sum = {};", type, text_of_.element(0)));
    if (lanes) line(fmt::format("{} lanes[{}] = {{}};", type, kLanes));
    const int outer = depth_;
    for (const std::size_t d : reduced_)
      if (d != inner) open(d);
    const std::string name = dim_name(inner), extent = text_of_.extent(inner);
    line(fmt::format("long {}_0 = 0;", name));
    if (lanes) {
      line(fmt::format("for (; {0}_0 + {1} <= {2}; {0}_0 += {1})", name, kLanes, extent));
      line(fmt::format("  for (long lane = 0; lane < {}; ++lane) {{", kLanes));
      line(fmt::format("    const long {0} = {0}_0 + lane;", name));
      line("    " + text_of_.combined("lanes[lane]", "lanes[lane]"));
      line("  }");
    }
    line(fmt::format("for (long {0} = {0}_0; {0} < {1}; ++{0}) {{", name, extent));
    if (across) line(std::string("  ") + not_vectorized);
    line("  " + text_of_.combined("sum", "sum"));
    line("}");
    while (depth_ > outer) close();
    if (lanes) line(fmt::format("for (long lane = 0; lane < {}; ++lane) sum += lanes[lane];", kLanes));
    line(text_of_.element(0) + " = sum;");
  }

  const SymbolicKernel& kernel_;
  std::size_t number_;
  const SymbolicStatement& symbolic_;
  const Computation& statement_;
  const HardwareModel& machine_;
  StatementText text_of_;
  bool in_order_;
  std::vector<std::size_t> parallel_, reduced_;
  int depth_ = 2;
  std::string text_;
};

}  // namespace

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
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.sample.statements[s];
    const std::size_t to = statement.write.tensor.index();
    const Tensor& tensor = kernel.sample.tensors[to];
    text += comment(print_formula(statement, kernel.sample.tensors), "   ");
    if (!begun[to] && !tensor.inout && (statement.reduction != Reduction::assign || !writes_whole(kernel, s))) {
      const double value = as_double(tensor.dtype, identity(statement.reduction, tensor.dtype));
      text += fmt::format(
          "  for (long e = 0; e < {}; ++e) {}\n", count_text(kernel.shapes[to], sizes),
          elements.statement(Reduction::assign, tensor.dtype, tensors[to] + "[e]", constant(value, tensor.dtype), {}));
    }
    begun[to] = true;
    text += StatementLoops({kernel, machine, elements, sizes, tensors, in_order}, s).print();
  }
  around.helpers.insert(elements.used_helpers().begin(), elements.used_helpers().end());
  around.includes.insert(elements.includes().begin(), elements.includes().end());
  return text + "}\n";
}

}  // namespace isamap
