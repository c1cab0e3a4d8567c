// SPDX-License-Identifier: Apache-2.0
// `${...}`: arithmetic at load time over parameters, in values and in keys.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/load/fields.h"
#include "isamap/expression.h"

namespace isamap::loader {

namespace {

constexpr std::size_t max_text = std::size_t{64} << 10;
constexpr std::size_t max_expression = 1024;
constexpr int max_nesting = 8;
constexpr const char* former_window = "stream_window";  // key of earlier versions

bool is_name(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string trim(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

class Substitution {
 public:
  Substitution(Parameters& parameters, Problems& problems, const SourceLocation& where)
      : parameters_(parameters), problems_(problems), where_(where) {}

  /// Every `${...}` of the text replaced; nothing after an error, which is reported.
  std::optional<std::string> text(const std::string& in, int nesting = 0) {
    if (nesting > max_nesting)
      return fail("parameters refer to each other more than " + std::to_string(max_nesting) + " deep");
    std::string out;
    std::size_t done = 0;
    for (std::size_t open = in.find("${"); open != std::string::npos; open = in.find("${", done)) {
      const std::size_t close = in.find('}', open);
      if (close == std::string::npos) return fail("'${' without its '}'");
      const auto value = expression(trim(in.substr(open + 2, close - open - 2)), nesting);
      if (!value) return std::nullopt;
      out += in.substr(done, open - done) + *value;
      *parameters_.text_left -= std::min(*parameters_.text_left, value->size());
      if (*parameters_.text_left == 0) return fail("replacing parameters makes more than 32 MiB of text");
      if (out.size() > max_text) return fail("the text grows beyond " + std::to_string(max_text) + " characters");
      done = close + 1;
    }
    return out + in.substr(done);
  }

 private:
  std::nullopt_t fail(std::string message, std::string hint = "") {
    problems_.error(where_, std::move(message), std::move(hint));
    return std::nullopt;
  }

  std::optional<std::string> value_of(const std::string& name, int nesting) {
    const auto found = parameters_.values.find(name);
    if (found == parameters_.values.end()) {
      std::vector<std::string> known;
      for (const auto& [parameter, value] : parameters_.values) known.push_back(parameter);
      const std::string guess = yaml::nearest(name, known);
      problems_.error(where_, "'${" + name + "}' is no parameter",
                      guess.empty() ? "" : "did you mean '${" + guess + "}'?",
                      {"known parameters: " + (known.empty() ? "none" : join(known))});
      return std::nullopt;
    }
    parameters_.used.insert(name);
    if (const auto first = std::find(open_.begin(), open_.end(), name); first != open_.end()) {
      std::string circle;
      for (auto one = first; one != open_.end(); ++one) circle += *one + " -> ";
      return fail(first + 1 == open_.end() ? "parameter '" + name + "' refers to itself"
                                           : "parameters refer to each other in a circle: " + circle + name,
                  "give one of them a value of its own");
    }
    open_.push_back(name);
    auto value = text(found->second, nesting + 1);
    open_.pop_back();
    return value;
  }

  std::optional<std::string> expression(const std::string& in, int nesting) {
    if (is_name(in)) return value_of(in, nesting);
    if (in.size() > max_expression)
      return fail("an expression of more than " + std::to_string(max_expression) + " characters");
    std::string plain = in;  // `//`, written by some for a division that rounds down, is `/` here
    for (std::size_t at = plain.find("//"); at != std::string::npos; at = plain.find("//")) plain.erase(at, 1);
    const Result<IntExpr> parsed = parse_int_expr(plain, where_);
    if (!parsed) {
      problems_.add(parsed.diagnostics(), "write a parameter's name or + - * / % over parameters");
      return std::nullopt;
    }
    bool reported = false;
    const auto number = evaluate(*parsed, [&](const Reference& r) -> std::optional<std::int64_t> {
      const auto value = reported ? std::nullopt : value_of(r.object, nesting);
      Node node;
      node.kind = Kind::scalar;
      node.scalar = value.value_or("");
      const auto integer = yaml::to_integer(node);
      if (value && !integer)
        fail("'${" + in + "}' needs numbers; " + r.object + " is '" + *value + "'",
             "${" + r.object + "} alone stands for its text");
      reported |= !integer;
      return integer;
    });
    if (!number && !reported)
      return fail("'${" + in + "}' divides by zero or does not fit 64 bits", "divide by a number from 1 on");
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
  }

  Parameters& parameters_;
  Problems& problems_;
  SourceLocation where_;
  std::vector<std::string> open_;  ///< parameters under evaluation
};

void substitute_scalar(Node& node, Parameters& parameters, Problems& problems) {
  if (node.scalar.find("${") == std::string::npos) return;
  const bool whole = node.scalar.starts_with("${") && node.scalar.find('}') == node.scalar.size() - 1;
  auto text = Substitution(parameters, problems, text_where(node)).text(node.scalar);
  if (!text) problems.settle(node);
  node.scalar = text ? std::move(*text) : "";
  if (whole) node.quoted = false;  // "${n}" is the number n
}

void substitute_keys(Node& node, Parameters& parameters, Problems& problems) {
  bool any = false;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    std::string& key = node.entries[i].first;
    if (key.find("${") == std::string::npos) continue;
    any = true;
    if (auto text = Substitution(parameters, problems, node.key_where[i]).text(key)) key = std::move(*text);
  }
  if (!any) return;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < node.entries.size(); ++i)
    if (!keys.insert(node.entries[i].first).second)
      problems.error(node.key_where[i], "duplicate key '" + node.entries[i].first + "' once parameters are replaced");
}

}  // namespace

Parameters read_parameters(const Node& root, const std::map<std::string, std::string>& overrides, Problems& problems) {
  Parameters parameters;
  if (const Node* params = top_level(root, "params", problems)) {
    if (params->kind != Kind::map) problems.error(params->where, "'params' must be a map", "write {name: value}");
    for (std::size_t i = 0; i < params->entries.size(); ++i) {
      const auto& [name, value] = params->entries[i];
      if (name == former_window)
        problems.error(params->key_where[i], fmt::format("parameter '{}' means nothing", name),
                       "the window of a command stream is a key: program: {window: 32}");
      if (value.kind != Kind::scalar && value.kind != Kind::null)
        problems.error(value.where, "parameter '" + name + "' must be a number or text");
      parameters.values[name] = value.scalar;
    }
  }
  for (const auto& [name, value] : overrides) {
    if (!parameters.values.count(name)) {
      std::vector<std::string> known;
      for (const auto& [parameter, ignored] : parameters.values) known.push_back(parameter);
      problems.error({root.where.file, 0, 0}, "there is no parameter '" + name + "' to set",
                     name == former_window ? "the window of a command stream is a key: program: {window: 32}" : "",
                     {"known parameters: " + (known.empty() ? "none" : join(known))});
    }
    parameters.values[name] = value;
  }
  return parameters;
}

void substitute(Node& node, Parameters& parameters, Problems& problems) {
  if (node.kind == Kind::scalar) substitute_scalar(node, parameters, problems);
  for (Node& item : node.items) substitute(item, parameters, problems);
  substitute_keys(node, parameters, problems);
  for (auto& [key, value] : node.entries) substitute(value, parameters, problems);
}

}  // namespace isamap::loader
