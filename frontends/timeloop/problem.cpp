// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

const yaml::Node* find(const yaml::Node& node, const std::string& key) {
  if (const yaml::Node* found = node.find(key)) return found;
  std::string hyphens = key;
  std::replace(hyphens.begin(), hyphens.end(), '_', '-');
  return node.find(hyphens);
}

class ProblemReader {
 public:
  explicit ProblemReader(Diagnostics& problems) : reader_(problems) {}

  std::optional<Problem> read(const yaml::Node& root) {
    const yaml::Node* top = root.find("problem");
    if (!top) return reader_.wrong(root, "there is no problem:");
    reader_.only(*top, "the problem", {"version", "name", "shape", "instance"});
    const yaml::Node* shape = find(*top, "shape");
    const yaml::Node* instance = find(*top, "instance");
    if (!shape || !instance) return reader_.wrong(*top, "a problem has shape: and instance:");
    reader_.only(*shape, "the shape", {"version", "name", "dimensions", "coefficients", "data_spaces"});
    const yaml::Node* dims = find(*shape, "dimensions");
    const yaml::Node* spaces = find(*shape, "data_spaces");
    if (!dims || !spaces) return reader_.wrong(*shape, "a shape has dimensions: and data_spaces:");
    if (const yaml::Node* name = find(*shape, "name")) made_.name = name->scalar;
    if (const yaml::Node* densities = find(*instance, "densities"))
      reader_.wrong(*densities, "sparse problems are not imported");
    coefficients(*shape, *instance);
    for (const yaml::Node& dim : reader_.items_of(dims, "dimensions")) {
      if (made_.extent(dim.scalar)) reader_.wrong(dim, fmt::format("dimension {} is listed twice", dim.scalar));
      if (const auto value = number(*instance, dim.scalar, dim)) made_.dims.emplace_back(dim.scalar, *value);
    }
    Keys sizes{"densities"};
    for (const auto& [dim, extent] : made_.dims) sizes.push_back(underscores(dim));
    for (const auto& [coefficient, value] : coefficients_) sizes.push_back(underscores(coefficient));
    if (!reader_.failed()) reader_.only(*instance, "the instance", sizes);
    for (const yaml::Node& space : reader_.items_of(spaces, "data_spaces")) data_space(space);
    if (!reader_.failed()) check();
    if (reader_.failed()) return {};
    return made_;
  }

 private:
  std::optional<std::int64_t> number(const yaml::Node& map, const std::string& key, const yaml::Node& asked) {
    const yaml::Node* node = map.find(key);
    if (!node) return reader_.wrong(asked, fmt::format("the instance says no value for {}", key));
    const auto value = yaml::to_integer(*node);
    if (!value || *value < 1) return reader_.wrong(*node, fmt::format("{} is a whole number from 1 on", key));
    return value;
  }

  void coefficients(const yaml::Node& shape, const yaml::Node& instance) {
    for (const yaml::Node& item : reader_.items_of(find(shape, "coefficients"), "coefficients")) {
      if (!reader_.only(item, "a coefficient", {"name", "default"})) continue;
      const auto name = reader_.name_of(item, "a coefficient");
      if (!name) continue;
      const yaml::Node* fallback = item.find("default");
      const yaml::Node* value = instance.find(*name);
      if (!value) value = fallback;
      const auto n = value ? yaml::to_integer(*value) : std::nullopt;
      if (!n || *n < 1)
        reader_.wrong(value ? *value : item, fmt::format("coefficient {} has no whole number from 1 on", *name));
      else
        coefficients_.emplace_back(*name, *n);
    }
  }

  void data_space(const yaml::Node& node) {
    DataSpace made;
    made.where = node.where;
    if (!reader_.only(node, "a data space", {"name", "projection", "read_write"})) return;
    const yaml::Node* name = node.find("name");
    const yaml::Node* projection = node.find("projection");
    if (!name || !projection || projection->kind != yaml::Kind::list) {
      reader_.wrong(node, "a data space has name: and projection:, a list of ranks");
      return;
    }
    made.name = name->scalar;
    for (const DataSpace& other : made_.spaces)
      if (identifier(other.name) == identifier(made.name))
        reader_.wrong(*name, fmt::format("two data spaces are called {}", made.name));
    if (const yaml::Node* output = find(node, "read_write")) {
      const std::string value = underscores(output->scalar);
      made.output = value == "true" || value == "True";
      if (!made.output && value != "false" && value != "False") reader_.wrong(*output, "read_write is true or false");
    }
    for (const yaml::Node& rank : projection->items) {
      std::vector<Term> sum;
      for (const yaml::Node& product : rank.items) term(product, sum);
      if (sum.empty()) reader_.wrong(rank, "a rank is a list of products: [[C]] or [[R, dilation], [P, stride]]");
      made.ranks.push_back(std::move(sum));
    }
    made_.spaces.push_back(std::move(made));
  }

  void term(const yaml::Node& product, std::vector<Term>& sum) {
    if (product.kind != yaml::Kind::list || product.items.empty() || product.items.size() > 2) {
      reader_.wrong(product, "a product is a dim, or a dim and a coefficient: [R] or [R, dilation]");
      return;
    }
    Term term{product.items[0].scalar, 1};
    if (!made_.extent(term.dim)) reader_.wrong(product.items[0], fmt::format("{} is none of the dimensions", term.dim));
    if (product.items.size() == 2) {
      const std::string& name = product.items[1].scalar;
      const auto known =
          std::find_if(coefficients_.begin(), coefficients_.end(), [&](const auto& c) { return c.first == name; });
      if (known == coefficients_.end())
        reader_.wrong(product.items[1], fmt::format("{} is none of the coefficients", name));
      else
        term.coefficient = known->second;
    }
    sum.push_back(std::move(term));
  }

  void check() {
    const auto outputs =
        std::count_if(made_.spaces.begin(), made_.spaces.end(), [](const auto& s) { return s.output; });
    if (outputs != 1 || made_.spaces.size() != 3) {
      reader_.report(
          error(fmt::format("the problem has {} data spaces, {} of them read_write", made_.spaces.size(), outputs),
                "only one output that sums products of two inputs is imported"));
      return;
    }
    for (const auto& [dim, extent] : made_.dims) {
      const bool used = std::any_of(made_.spaces.begin(), made_.spaces.end(), [&, d = dim](const DataSpace& s) {
        return std::any_of(s.ranks.begin(), s.ranks.end(), [&](const auto& rank) {
          return std::any_of(rank.begin(), rank.end(), [&](const Term& t) { return t.dim == d; });
        });
      });
      if (!used && extent > 1)
        reader_.report(error(fmt::format("no data space uses dimension {} of {} steps", dim, extent)));
    }
  }

  Reader reader_;
  Problem made_;
  std::vector<std::pair<std::string, std::int64_t>> coefficients_;
};

}  // namespace

std::optional<std::int64_t> Problem::extent(const std::string& dim) const {
  for (const auto& [known, extent] : dims)
    if (known == dim) return extent;
  return {};
}

std::optional<Problem> read_problem(const yaml::Node& root, Diagnostics& problems) {
  return ProblemReader(problems).read(root);
}

}  // namespace isamap::timeloop
