// SPDX-License-Identifier: Apache-2.0
// Every quantity of the language: the loader accepts the range of the table of keys and nothing else.

#include "hwdesc/keys/quantities.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "support/yaml.h"
#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const std::string& machine_text() {
  static const std::string text = text_of(data_folder + "/quantities.yaml");
  return text;
}

/// The first scalar at a path such as "units.*.count".
const yaml::Node* scalar_at(const yaml::Node& node, const std::string& path) {
  if (path.empty()) return node.kind == yaml::Kind::scalar ? &node : nullptr;
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string key = path.substr(0, dot), rest = dot == path.size() ? "" : path.substr(dot + 1);
  if (key != "*") {
    const yaml::Node* child = node.find(key);
    return child != nullptr ? scalar_at(*child, rest) : nullptr;
  }
  for (const yaml::Node& item : node.items)
    if (const yaml::Node* found = scalar_at(item, rest)) return found;
  for (const auto& [name, value] : node.entries)
    if (const yaml::Node* found = scalar_at(value, rest)) return found;
  return nullptr;
}

/// The file with another text in place of a scalar.
std::string with(const yaml::Node& scalar, const std::string& value) {
  std::string text = machine_text();
  std::size_t line = 0;
  for (int n = 1; n < scalar.where.line; ++n) line = text.find('\n', line) + 1;
  text.replace(line + static_cast<std::size_t>(scalar.where.column) - 1, scalar.scalar.size(), value);
  return text;
}

std::string unit_of(const std::string& scalar) {
  const std::size_t end = scalar.find_last_of("0123456789.");
  return end == std::string::npos ? "" : scalar.substr(end + 1);
}

TEST(Quantities, AreRefusedWithTheirPlaceOutsideOfTheirRange) {
  const auto tree = yaml::parse_text(machine_text(), "quantities.yaml");
  ASSERT_TRUE(tree);
  const auto good = load_text(machine_text());
  ASSERT_TRUE(good) << render(good.diagnostics());
  for (const keys::Quantity& quantity : keys::quantities()) {
    const yaml::Node* scalar = scalar_at(*tree, quantity.path);
    ASSERT_NE(scalar, nullptr) << quantity.path << " is in no entry of quantities.yaml";
    const std::string unit = unit_of(scalar->scalar);
    const auto refused = [&](const std::string& value) {
      const auto loaded = load_text(with(*scalar, value));
      EXPECT_FALSE(loaded) << quantity.path << ": " << value;
      if (loaded) return;
      const Diagnostics& found = loaded.diagnostics();
      EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                              [&](const Diagnostic& d) {
                                return d.severity == Severity::error && d.where.line == scalar->where.line &&
                                       !d.hint.empty();
                              }))
          << quantity.path << ": " << value << "\n"
          << render(found);
    };
    for (const std::string& value : {"-1" + unit, std::string(".nan"), "1e30" + unit, std::string("1parsec")})
      refused(value);
    if (quantity.key->range.zero.empty()) {
      refused("0" + unit);
      continue;
    }
    const auto zero = load_text(with(*scalar, "0" + unit));
    EXPECT_TRUE(zero) << quantity.path << "\n" << render(zero.diagnostics());
  }
}

}  // namespace
}  // namespace isamap
