// SPDX-License-Identifier: Apache-2.0
// A second opinion on exact cover, by a library for integer sets (isl, Verdoolaege 2010) that knows nothing of chains:
// the relation from (loops, tiles, instruction point) to statement point, written down from the printed mapping alone,
// must be a function, injective, and onto the domain.

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "tests/mapper/cases.h"

#ifdef ISAMAP_WITH_ISL
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#endif

namespace isamap::testing {
namespace {

#ifdef ISAMAP_WITH_ISL

struct Context {
  isl_ctx* ctx = isl_ctx_alloc();
  Context() {
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, 20'000'000);
  }
  ~Context() { isl_ctx_free(ctx); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}
std::string within(const std::string& x, std::int64_t extent) {
  return " and 0 <= " + x + " < " + std::to_string(extent);
}
std::string plus(std::int64_t factor, const std::string& x) {
  return (factor < 0 ? " - " : " + ") + std::to_string(factor < 0 ? -factor : factor) + "*" + x;
}
/// Isl reads quasi-affine text only in its own spelling; the kernels here have linear indices and faces.
std::string domain_text(const Computation& statement) {
  std::string text = "0 = 0";
  for (const Dim& dim : statement.domain.dims) text += within(dim.name, dim.extent);
  for (const AffineExpr& face : statement.domain.faces) text += " and " + print(face) + " >= 0";
  return text;
}

/// { [z.., t.., y..] -> [x..] : digits that spell the counters lead there }
std::string relation_text(const Computation& statement, const Instruction& instruction, const Mapping& mapping) {
  const std::vector<Dim>& unit_dims = instruction.statement().domain.dims;
  std::vector<std::string> from, to, digits;
  std::string where = domain_text(statement);
  std::map<std::string, std::string> sums;  // of each statement dim
  for (std::size_t l = 0; l < mapping.loops.size(); ++l) {
    const ResidualLoop& loop = mapping.loops[l];
    from.push_back("z" + std::to_string(l));
    if (!loop.floating) where += within(from.back(), loop.extent);
    for (const Dim& dim : statement.domain.dims) sums[dim.name] += plus(loop.step.coefficient(dim.name), from.back());
  }
  std::vector<std::pair<Digit, std::string>> tied;  // digits with their variables
  for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
    const std::string t = "t" + std::to_string(m), y = "y" + std::to_string(m);
    from.push_back(t);
    from.push_back(y);
    where += within(y, unit_dims[m].extent);
    std::string counter = "0";
    std::int64_t weight = 1;
    for (auto digit = mapping.dims[m].rbegin(); digit != mapping.dims[m].rend(); ++digit) {
      std::string name;
      for (const auto& [other, variable] : tied)
        if (other == *digit) name = variable;
      if (name.empty()) {
        name = "d" + std::to_string(digits.size());
        digits.push_back(name);
        tied.emplace_back(*digit, name);
        where += within(name, digit->extent);
        for (const Dim& dim : statement.domain.dims) sums[dim.name] += plus(digit->column.coefficient(dim.name), name);
      }
      counter += plus(weight, name);
      weight *= digit->extent;
    }
    where += " and " + std::to_string(unit_dims[m].extent) + " * " + t + " + " + y + " = " + counter;
  }
  for (const Dim& dim : statement.domain.dims) {
    to.push_back(dim.name);
    where += " and " + dim.name + " = 0" + sums[dim.name];
  }
  const std::string quantified = digits.empty() ? where : "exists (" + list(digits) + " : " + where + ")";
  return "{ [" + list(from) + "] -> [" + list(to) + "] : " + quantified + " }";
}

std::string verdict(const Computation& statement, const Instruction& instruction, const Mapping& mapping) {
  const Context context;
  std::vector<std::string> names;
  for (const Dim& dim : statement.domain.dims) names.push_back(dim.name);
  isl_map* relation = isl_map_read_from_str(context.ctx, relation_text(statement, instruction, mapping).c_str());
  isl_set* domain =
      isl_set_read_from_str(context.ctx, ("{ [" + list(names) + "] : " + domain_text(statement) + " }").c_str());
  std::string problem;
  if (isl_map_is_single_valued(relation) != isl_bool_true) problem += "one place has two points; ";
  if (isl_map_is_injective(relation) != isl_bool_true) problem += "one point has two places; ";
  isl_set* reached = isl_map_range(relation);
  if (isl_set_is_equal(reached, domain) != isl_bool_true) problem += "the range is not the domain; ";
  isl_set_free(reached);
  isl_set_free(domain);
  if (isl_ctx_last_error(context.ctx) != isl_error_none) problem += "isl failed; ";
  return problem;
}

int check(const Kernel& kernel, const Instruction& instruction, Rule rule, std::size_t most) {
  const PairMappings found = map_one(kernel, instruction, rule);
  const std::size_t step = std::max<std::size_t>(1, found.mappings.size() / most);
  int checked = 0;
  for (std::size_t i = 0; i < found.mappings.size(); i += step, ++checked) {
    EXPECT_EQ(verdict(kernel.statements[0], instruction, found.mappings[i]), "")
        << shown(found.mappings[i], kernel, instruction) << "\n"
        << relation_text(kernel.statements[0], instruction, found.mappings[i]);
  }
  return checked;
}

/// Of each kernel a `part` of the mappings.
void covers_are_exact(std::size_t part) {
  const Instruction matrix = matrix_unit(4, 2, 4);
  int checked = 0;
  checked += check(gemm(5, 3, 6), matrix, Rule::all, 8 / part);
  checked += check(conv1d(), matrix, Rule::all, 12 / part);
  checked += check(conv2d(), matrix, Rule::all, 10 / part);
  checked += check(depthwise2d(), matrix, Rule::all, 24 / part);
  checked += check(depthwise2d(), instruction_of("C[i] += A[x] * B[i,x]", {{"i", 4}, {"x", 4}}), Rule::all, 12 / part);
  checked += check(kernel_of("O[q] += I[q+s] * F[s]", {{"q", 17}, {"s", 3}}), matrix, Rule::all, 20 / part);
  checked += check(kernel_of("O[p] += I[2*p+3*r] * F[r]", {{"p", 9}, {"r", 4}}), matrix, Rule::all, 20 / part);
  checked += check(kernel_of("O[2*p+r] += I[p] * F[r]", {{"p", 9}, {"r", 3}}), matrix, Rule::all, 20 / part);
  // No order of the coordinates: both columns are directions of a lattice of index 2.
  checked += check(kernel_of("O[p,r] += I[p+r] * F[p-r+3]", {{"p", 5}, {"r", 4}}), matrix, Rule::all, 20 / part);
  EXPECT_GT(checked, 100 / static_cast<int>(part));
}

TEST(Isl, CoversAreExact) { covers_are_exact(3); }
TEST(HeavyIsl, CoversAreExact) { covers_are_exact(1); }

TEST(Isl, SeesWhatIsWrong) {
  const Kernel kernel = kernel_of("O[q] += I[q+s] * F[s]", {{"q", 17}, {"s", 3}});
  const Instruction matrix = matrix_unit(4, 2, 4);
  int changed = 0;
  for (const Mapping& mapping : map_one(kernel, matrix, Rule::all).mappings) {
    for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
      if (mapping.dims[m].empty() || mapping.dims[m][0].extent < 2) continue;
      Mapping shorter = mapping;
      shorter.dims[m][0].extent -= 1;
      // With one step less, points are left out, unless the digit was longer than its dim.
      if (verdict(kernel.statements[0], matrix, shorter) != "") ++changed;
    }
  }
  EXPECT_GT(changed, 5);
}

#else

TEST(Isl, CoversAreExact) { GTEST_SKIP() << "built without isl (Debian: libisl-dev)"; }

#endif

}  // namespace
}  // namespace isamap::testing
