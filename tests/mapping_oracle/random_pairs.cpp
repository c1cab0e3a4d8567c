// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/random_pairs.h"

#include "tests/mapper/cases.h"
#include "tests/mapping_oracle/convert.h"

namespace isamap::oracle {
namespace {

using testing::Sizes;

struct Form {
  std::string reduction, before, between, after;
  DType type;
};
const std::vector<Form> all_forms = {
    {" += ", "", " * ", "", DType::s32},      {" += ", "", " * ", "", DType::s32},
    {" += ", "", " * ", "", DType::s32},      {" max= ", "", " + ", "", DType::f32},
    {" += ", "abs(", " - ", ")", DType::s32},
};

std::string list(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return "[" + text + "]";
}

/// An index and the constant that keeps it from being negative.
struct Index {
  std::string text;
  Int low = 0;
  int terms = 0;
};
std::string with_offset(const Index& index) {
  return index.low < 0 ? index.text + " + " + std::to_string(-index.low) : index.text;
}

void add_term(Index& index, Int factor, const std::string& name, Int extent) {
  const Int size = factor < 0 ? -factor : factor;
  index.text += factor < 0 ? (index.text.empty() ? "-" : " - ") : (index.text.empty() ? "" : " + ");
  index.text += (size == 1 ? "" : std::to_string(size) + "*") + name;
  ++index.terms;
  index.low += factor < 0 ? factor * (extent - 1) : 0;
}

Int random_factor(Random& random, bool wide) {
  if (wide && random.between(0, 3) == 0) return random.between(0, 1) == 0 ? 3 : -3;
  const Int kind = random.between(0, 9);
  return kind < 6 ? 1 : kind < 8 ? 2 : kind == 8 ? -1 : -2;
}

/// `name0, name1, ...` spread over three operands; the statement's text.
std::string statement(Random& random, const Form& form, int dims, const std::string& name, bool windows, Sizes& sizes,
                      bool one_read, bool wide) {
  const int most_terms = wide ? 3 : 2;
  std::vector<std::vector<Index>> operands(3);
  for (int d = 0; d < dims; ++d) {
    const std::string dim = name + std::to_string(d);
    const Int set = one_read ? random.between(2, 3) : random.between(1, 7);
    for (std::size_t t = 0; t < 3; ++t) {
      if ((set >> t & 1) == 0 || (set == 1 && t == 0 && dims > 1 && random.between(0, 1) == 0)) continue;
      std::vector<Index>& indices = operands[t];
      if (windows && !indices.empty() && indices.back().terms < most_terms && random.between(0, 2) == 0) {
        add_term(indices.back(), random_factor(random, wide), dim, sizes[dim]);
      } else {
        indices.emplace_back();
        add_term(indices.back(), windows && random.between(0, 4) == 0 ? random_factor(random, wide) : 1, dim,
                 sizes[dim]);
        if (windows && random.between(0, 5) == 0) indices.back().low -= 1;
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& indices : operands) {
    std::vector<std::string> parts;
    for (const Index& index : indices) parts.push_back(with_offset(index));
    texts.push_back(list(parts));
  }
  if (one_read) return "C" + texts[0] + form.reduction + "A" + texts[1];
  return "C" + texts[0] + form.reduction + form.before + "A" + texts[1] + form.between + "B" + texts[2] + form.after;
}

/// Dims of an instruction on non-empty sets of operands; now and then two dims are added in an input's index.
std::string unit_statement(Random& random, const Form& form, int dims, bool windows, bool wide) {
  std::vector<std::vector<std::string>> operands(3);
  for (int d = 0; d < dims; ++d) {
    const Int set = wide && random.between(0, 1) == 0 ? random.between(1, 7)
                    : random.between(1, 10) <= 8      ? random.between(3, 7)
                                                      : random.between(2, 7);
    for (std::size_t t = 0; t < 3; ++t) {
      if ((set >> t & 1) == 0) continue;
      if (windows && t > 0 && !operands[t].empty() && random.between(0, 1) == 0)
        operands[t].back() += " + m" + std::to_string(d);
      else
        operands[t].push_back("m" + std::to_string(d));
    }
  }
  return "C" + list(operands[0]) + form.reduction + form.before + "A" + list(operands[1]) + form.between + "B" +
         list(operands[2]) + form.after;
}

Sizes random_sizes(Random& random, int dims, const std::string& name, const PairLimits& limits) {
  Sizes sizes;
  for (int d = 0; d < dims; ++d) sizes[name + std::to_string(d)] = random.between(limits.smallest, limits.largest);
  return sizes;
}

std::string sized(const std::string& statement, const Sizes& sizes) {
  std::string text = statement;
  for (const auto& [name, extent] : sizes) text += " " + name + "=" + std::to_string(extent);
  return text;
}

}  // namespace

Pair random_pair(Random& random, const PairLimits& limits) {
  while (true) {
    const Form& form = all_forms[static_cast<std::size_t>(random.between(0, static_cast<Int>(all_forms.size()) - 1))];
    const int kernel_dims = static_cast<int>(random.between(1, limits.kernel_dims));
    const int unit_dims = static_cast<int>(random.between(1, limits.unit_dims));
    Sizes kernel_sizes = random_sizes(random, kernel_dims, "d", limits),
          unit_sizes = random_sizes(random, unit_dims, "m", limits);
    const bool one_read = form.before.empty() && random.between(0, 7) == 0;
    for (auto& [name, extent] : kernel_sizes)
      if (limits.kernel_extent > 0) extent = limits.kernel_extent;
    const std::string kernel = statement(random, form, kernel_dims, "d", true, kernel_sizes, one_read, limits.wide);
    const std::string unit =
        unit_statement(random, form, unit_dims, limits.windows && random.between(0, 3) == 0, limits.wide);
    Pair pair{testing::kernel_of(kernel, kernel_sizes, {}, form.type),
              testing::instruction_of(unit, unit_sizes, {}, form.type),
              {},
              {},
              true,
              true,
              sized(kernel, kernel_sizes) + "  on  " + sized(unit, unit_sizes)};
    IterationDomain& domain = pair.kernel.statements[0].domain;
    if (limits.cuts && domain.dims.size() > 1 && random.between(0, 4) == 0) {
      domain.faces.push_back(AffineExpr::dim(domain.dims[0].name) - AffineExpr::dim(domain.dims.back().name));
      pair.box_domain = false;
      pair.text += " cut " + print(domain.faces[0]) + ">=0";
    }
    const auto statement_nest = nest_of(pair.kernel.statements[0]), unit_nest = nest_of(pair.instruction.statement());
    if (!statement_nest || !unit_nest) continue;
    pair.statement = *statement_nest;
    if (one_read) add_constant_operand(pair.statement);
    pair.unit = *unit_nest;
    for (const auto& rows : pair.unit.operands)
      for (const Row& row : rows) {
        int terms = 0;
        for (const Int c : row.coefficients) terms += c != 0 ? 1 : 0;
        pair.projection = pair.projection && terms <= 1;
      }
    return pair;
  }
}

PairMappings mapped(const Pair& pair, Rule rule) {
  MapOptions options;
  options.rule = rule;
  return map_statement(pair.kernel, StatementId{0}, pair.instruction, InstructionId{0}, options);
}

}  // namespace isamap::oracle
