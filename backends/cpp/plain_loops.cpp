// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/plain_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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
constexpr int most_lanes = 16;  ///< partial sums of a reduction along memory, and sums beside each other
constexpr int few_lanes = 4;
constexpr int rows_together = 4;  ///< of sums that share what is read along memory: with 16 lanes half of 16 registers

/// What the nests of a kernel share.
struct LoopContext {
  const SymbolicKernel& kernel;
  const HardwareModel& machine;
  ElementText& elements;
  const Spelled& sizes;
  const std::vector<std::string>& tensors;
  bool in_order;  ///< sums in the order of the statement
};

/// The nest of one statement as it is printed, and how its accesses move.
class StatementNest {
 public:
  StatementNest(const LoopContext& context, std::size_t s)
      : context_(context),
        kernel_(context.kernel),
        number_(s),
        symbolic_(kernel_.statements[s]),
        statement_(kernel_.sample.statements[s]),
        machine_(context.machine),
        text_of_(kernel_, s, context.elements, context.sizes, context.tensors),
        in_order_(context.in_order) {
    const Repeat* const repeat = repeat_of(kernel_.sample, s);
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      if (repeat != nullptr && statement_.domain.dims[d].name == repeat->dim)
        step_ = d;
      else
        (statement_.domain.dims[d].kind == DimKind::parallel ? parallel_ : reduced_).push_back(d);
  }

 protected:
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

  const std::string& dim_name(std::size_t d) const { return text_of_.dim_name(d); }
  /// Where a group of positions begins: no dim has this name, whatever it is called.
  std::string first_name(std::size_t d) const { return "first_" + dim_name(d); }
  std::string symbolic_name(std::size_t d) const { return symbolic_dim(statement_.domain.dims[d].name); }

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

  const LoopContext context_;
  const SymbolicKernel& kernel_;
  std::size_t number_;
  const SymbolicStatement& symbolic_;
  const Computation& statement_;
  const HardwareModel& machine_;
  StatementText text_of_;
  bool in_order_;
  std::vector<std::size_t> parallel_, reduced_;
  std::optional<std::size_t> step_;  ///< the dim of the recurrence, which the caller walks
  int depth_ = 2;
  std::string text_;
};

/// A sum whose innermost loop is along memory: tiles of sums stay in registers, each in the order of the statement.
class SumTiles : private StatementNest {
 public:
  using StatementNest::StatementNest;

  bool serve(std::size_t inner) const {
    const DType type = kernel_.sample.tensors[statement_.write.tensor.index()].dtype;
    bool reads_result = false;
    for (const Access& read : statement_.reads) reads_result = reads_result || read.tensor == statement_.write.tensor;
    return !step_ && !reads_result && statement_.reduction == Reduction::add && !moves_across(inner) &&
           (type == DType::f32 || type == DType::f64 || type == DType::s32);
  }

  std::string print(std::size_t inner) {
    const auto rows = rows_beside(inner);
    std::string parameters, arguments;
    std::vector<std::size_t> outer;
    for (const std::size_t d : parallel_) {
      const bool is_tiled = d == inner || d == rows.value_or(d + 1);
      const std::string name = is_tiled ? first_name(d) : dim_name(d);
      if (!is_tiled) outer.push_back(d);
      parameters += ", [[maybe_unused]] long " + name;
      arguments += ", " + name;
    }
    define_tile(inner, rows, parameters);
    for (const std::size_t d : outer) open(d);
    if (rows) line(fmt::format("long {} = 0;", first_name(*rows)));
    for (const int many : rows ? std::vector<int>{rows_together, 1} : std::vector<int>{1}) {
      if (rows) open_tiles(*rows, many);
      line(fmt::format("long {} = 0;", first_name(inner)));
      for (const int lanes : {most_lanes, few_lanes, 1}) {
        open_tiles(inner, lanes);
        line(fmt::format("tile(std::integral_constant<long, {}>{{}}, std::integral_constant<long, {}>{{}}{});", many,
                         lanes, arguments));
        close();
      }
      if (rows) close();
    }
    while (depth_ > 2) close();
    return "  {\n" + text_ + "  }\n";
  }

 private:
  /// Another parallel dim that does not move what is read along memory.
  std::optional<std::size_t> rows_beside(std::size_t inner) const {
    for (const std::size_t d : parallel_) {
      bool shares = false, moves = d == inner;
      for (int a = 1; a < access_count(statement_); ++a)
        if (movement(a, inner) == 1) shares = true, moves = moves || movement(a, d) != 0;
      if (shares && !moves) return d;
    }
    return std::nullopt;
  }

  /// `code` for each row and lane of a tile.
  void for_each_sum(std::size_t inner, std::optional<std::size_t> rows, const std::string& code) {
    line("for (long row = 0; row < row_n; ++row) {");
    ++depth_;
    line(not_vectorized);
    line("for (long lane = 0; lane < lane_n; ++lane) {");
    ++depth_;
    line(fmt::format("[[maybe_unused]] const long {} = {} + lane{};", dim_name(inner), first_name(inner),
                     rows ? fmt::format(", {} = {} + row", dim_name(*rows), first_name(*rows)) : ""));
    line(code);
    close();
    close();
  }

  /// The function of a tile: a number of rows and of lanes that the compiler knows, and where it begins.
  void define_tile(std::size_t inner, std::optional<std::size_t> rows, const std::string& parameters) {
    line(fmt::format("const auto tile = [&](auto rows, auto lanes{}) {{", parameters));
    const int outer = depth_++;
    line("constexpr long row_n = decltype(rows)::value, lane_n = decltype(lanes)::value;");
    line(element_type(machine_, kernel_.sample.tensors[statement_.write.tensor.index()].dtype) +
         " sums[row_n][lane_n];");
    for_each_sum(inner, rows, "sums[row][lane] = " + text_of_.element(0) + ";");
    const int inside = depth_;
    for (const std::size_t d : reduced_) open(d);
    for_each_sum(inner, rows, text_of_.combined("sums[row][lane]", "sums[row][lane]"));
    while (depth_ > inside) close();
    for_each_sum(inner, rows, text_of_.element(0) + " = sums[row][lane];");
    depth_ = outer;
    line("};");
  }

  /// Tiles of `most` positions from where a loop over the dim is, as many as there are.
  void open_tiles(std::size_t d, int most) {
    line(fmt::format("for (; {0} + {1} <= {2}; {0} += {1}) {{", first_name(d), most, text_of_.extent(d)));
    ++depth_;
    line(not_vectorized);
  }
};

/// One statement as a nest.
class StatementLoops : private StatementNest {
 public:
  using StatementNest::StatementNest;

  /// Of a recurrence: the parameter that says which step it is.
  std::string step() const { return step_ ? ", [[maybe_unused]] long " + dim_name(*step_) : ""; }

  std::string print() {
    const auto scatter = scatter_of(kernel_, number_);
    if (scatter && !(step_ && scatter->has(symbolic_name(*step_)))) return print_scatter(*scatter);
    const bool sums = !reduced_.empty();
    const auto inner = innermost();
    const bool inner_sums = inner && statement_.domain.dims[*inner].kind == DimKind::reduction;
    if (SumTiles tiles(context_, number_); sums && inner && !inner_sums && tiles.serve(*inner)) {
      has_tiles_ = true;
      return tiles.print(*inner);
    }
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
  bool has_tiles() const { return has_tiles_; }

 private:
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
  bool has_own_elements(std::size_t d) const {
    const auto& write = symbolic_.index[0];
    return std::find(write.begin(), write.end(), AffineExpr::dim(symbolic_name(d))) != write.end();
  }
  bool follows_positions(std::size_t d, const Scatter& scatter) const {
    return std::any_of(scatter.operands.begin(), scatter.operands.end(), [&](int operand) {
      return operand + 1 < access_count(statement_) && movement(operand + 1, d) == 1;
    });
  }

  /// The dim that moves most accesses along memory and the fewest across it. Nothing: no dims.
  std::optional<std::size_t> innermost() const {
    std::optional<std::size_t> best;
    int best_score = 0;
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d) {
      if (d == step_) continue;
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
    if (lanes) line(fmt::format("{} lanes[{}] = {{}};", type, most_lanes));
    const int outer = depth_;
    for (const std::size_t d : reduced_)
      if (d != inner) open(d);
    const std::string name = dim_name(inner), first = first_name(inner), extent = text_of_.extent(inner);
    line(fmt::format("long {} = 0;", first));
    if (lanes) {
      line(fmt::format("for (; {0} + {1} <= {2}; {0} += {1})", first, most_lanes, extent));
      line(fmt::format("  for (long lane = 0; lane < {}; ++lane) {{", most_lanes));
      line(fmt::format("    const long {} = {} + lane;", name, first));
      line("    " + text_of_.combined("lanes[lane]", "lanes[lane]"));
      line("  }");
    }
    line(fmt::format("for (long {0} = {1}; {0} < {2}; ++{0}) {{", name, first, extent));
    if (across) line(std::string("  ") + not_vectorized);
    line("  " + text_of_.combined("sum", "sum"));
    line("}");
    while (depth_ > outer) close();
    if (lanes) line(fmt::format("for (long lane = 0; lane < {}; ++lane) sum += lanes[lane];", most_lanes));
    line(text_of_.element(0) + " = sum;");
  }

  bool has_tiles_ = false;
};

/// What a function of loops calls its arguments.
struct LoopArguments {
  std::vector<std::string> tensors;  ///< by tensor; empty: it is no argument
  Spelled sizes;
  std::string list;
};
LoopArguments loop_arguments(const SymbolicKernel& kernel, const HardwareModel& machine,
                             const std::vector<TensorId>& tensors) {
  LoopArguments arguments;
  arguments.tensors.resize(kernel.sample.tensors.size());
  Names taken;
  for (const TensorId id : tensors) {
    const Tensor& tensor = kernel.sample.tensors[id.index()];
    const bool input = role_of(kernel.sample, id) == Role::input;
    arguments.tensors[id.index()] = taken.unique("t_" + identifier(tensor.name));
    arguments.list += fmt::format("{}{}{}* __restrict {}", arguments.list.empty() ? "" : ", ", input ? "const " : "",
                                  element_type(machine, tensor.dtype), arguments.tensors[id.index()]);
  }
  for (const SymbolicSize& size : kernel.facts.sizes) {
    arguments.sizes[size.name] = taken.unique("n_" + identifier(size.name));
    arguments.list +=
        fmt::format("{}[[maybe_unused]] long {}", arguments.list.empty() ? "" : ", ", arguments.sizes[size.name]);
  }
  return arguments;
}

void take_needs(const ElementText& elements, Surroundings& around) {
  around.helpers.insert(elements.used_helpers().begin(), elements.used_helpers().end());
  around.includes.insert(elements.includes().begin(), elements.includes().end());
}

bool is_written_before(const SymbolicKernel& kernel, std::size_t statement) {
  const auto& statements = kernel.sample.statements;
  return std::any_of(statements.begin(), statements.begin() + static_cast<std::ptrdiff_t>(statement),
                     [&](const Computation& one) { return one.write.tensor == statements[statement].write.tensor; });
}

}  // namespace

std::vector<TensorId> plain_statement_tensors(const SymbolicKernel& kernel, std::size_t statement) {
  std::set<TensorId> used;
  const Computation& computation = kernel.sample.statements[statement];
  for (int a = 0; a < access_count(computation); ++a) used.insert(access_of(computation, a).tensor);
  return {used.begin(), used.end()};
}

std::string first_values_text(const SymbolicKernel& kernel, std::size_t s, const HardwareModel& machine,
                              const std::string& array, const Spelled& sizes, Surroundings& around) {
  const Computation& statement = kernel.sample.statements[s];
  const std::size_t to = statement.write.tensor.index();
  const Tensor& tensor = kernel.sample.tensors[to];
  if (is_written_before(kernel, s) || tensor.inout ||
      (statement.reduction == Reduction::assign && writes_whole(kernel, s)))
    return "";
  ElementText elements(machine);
  const double value = as_double(tensor.dtype, identity(statement.reduction, tensor.dtype));
  std::string loops, at;
  const std::vector<AffineExpr>& strides = kernel.strides[to];
  if (strides.empty()) {
    loops = fmt::format("for (long e = 0; e < {}; ++e) ", count_text(kernel.shapes[to], sizes)), at = "e";
  } else {
    for (std::size_t d = 0; d < strides.size(); ++d) {
      loops += fmt::format("for (long e{0} = 0; e{0} < {1}; ++e{0}) ", d, affine_text(kernel.shapes[to][d], sizes));
      at += fmt::format("{}e{} * {}", d == 0 ? "" : " + ", d, affine_text(strides[d], sizes));
    }
  }
  const std::string text =
      "  " + loops +
      elements.statement(Reduction::assign, tensor.dtype, fmt::format("{}[{}]", array, at.empty() ? "0" : at),
                         constant(value, tensor.dtype), {}) +
      "\n";
  take_needs(elements, around);
  return text;
}

std::string print_plain_statement(const SymbolicKernel& kernel, std::size_t statement, const HardwareModel& machine,
                                  const std::string& name, bool in_order, Surroundings& around) {
  const LoopArguments arguments = loop_arguments(kernel, machine, plain_statement_tensors(kernel, statement));
  ElementText elements(machine, !in_order);
  StatementLoops loops({kernel, machine, elements, arguments.sizes, arguments.tensors, in_order}, statement);
  const std::string text =
      comment(print_formula(kernel.sample.statements[statement], kernel.sample.tensors), " ") +
      fmt::format("{} void {}({}{}) {{\n{}}}\n", own_frame, name, arguments.list, loops.step(), loops.print());
  if (loops.has_tiles()) around.includes.insert("<type_traits>");
  take_needs(elements, around);
  return text;
}

Result<std::string> print_plain_loops(const SymbolicKernel& kernel, const HardwareModel& machine,
                                      const std::string& name, bool in_order, Surroundings& around) {
  if (!kernel.sample.repeats.empty()) return error("a recurrence has no loops for all sizes");
  std::vector<TensorId> all;
  for (std::size_t t = 0; t < kernel.sample.tensors.size(); ++t) all.push_back(make_id<TensorId>(t));
  const LoopArguments arguments = loop_arguments(kernel, machine, all);
  ElementText elements(machine, !in_order);
  std::string text = fmt::format("static void {}({}) {{\n", name, arguments.list);
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.sample.statements[s];
    text += comment(print_formula(statement, kernel.sample.tensors), "   ");
    text += first_values_text(kernel, s, machine, arguments.tensors[statement.write.tensor.index()], arguments.sizes,
                              around);
    StatementLoops loops({kernel, machine, elements, arguments.sizes, arguments.tensors, in_order}, s);
    text += loops.print();
    if (loops.has_tiles()) around.includes.insert("<type_traits>");
  }
  take_needs(elements, around);
  return text + "}\n";
}

}  // namespace isamap
