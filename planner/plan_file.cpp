// SPDX-License-Identifier: Apache-2.0
#include "planner/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "support/yaml.h"

namespace isamap {
namespace {

class PlanReader {
 public:
  PlanReader(const std::string& text, const std::string& file, const Kernel& kernel, const std::string& machine)
      : source_(text), text_(text), file_(file), kernel_(kernel), machine_(machine) {}

  Result<ModelPlan> read() {
    const auto root = yaml::parse_text(text_, file_, problems_);
    if (!root) return problems_;
    if (root->kind != yaml::Kind::map)
      return error_at({file_, root->where.line, root->where.column},
                      "a plan is expected, found " + yaml::kind_text(*root),
                      "`isamap explain MODEL --target HW` prints one");
    yaml::MapReader map(*root, "a plan", problems_);
    map.text("plan");
    map.text("machine");
    same_name(map.child("plan"), "the model", "plan", kernel_.name);
    if (!machine_.empty()) same_name(map.child("machine"), "the target", "machine", machine_);
    if (has_errors(problems_)) return attached();  // none of its names need be known here
    if (const yaml::Node* order = map.child("order")) read_orders(*order);
    const yaml::Node* parts = map.required("parts");
    if (parts) read_parts(*parts);
    if (const yaml::Node* bands = map.child("bands"); bands && !has_errors(problems_)) read_bands(*bands);
    map.finish();
    if (!has_errors(problems_)) add_at(*parts, verify_parts(plan_, kernel_));
    for (std::size_t group = 0; group < groups_.size() && !has_errors(problems_); ++group)
      add_at(*groups_[group], verify_bands(plan_, kernel_, group));
    if (has_errors(problems_)) return attached();
    return std::move(plan_);
  }

 private:
  Diagnostics attached() {
    for (Diagnostic& problem : problems_) source_.attach(problem);
    return problems_;
  }

  void add_at(const yaml::Node& node, Diagnostics found) {
    for (Diagnostic& problem : found) {
      problem.where = node.where;
      problem.where.file = file_;
      problems_.push_back(std::move(problem));
    }
  }

  /// A plan of another model or machine has other statements, or prices that do not hold here.
  void same_name(const yaml::Node* node, const char* what, const char* key, const std::string& name) {
    if (node != nullptr && node->scalar != name)
      problem(*node, fmt::format("a plan of '{}', and {} is '{}'", node->scalar, what, name),
              fmt::format("'{}: {}', or without this line, if the plan is meant for it", key, name));
  }

  void problem(const yaml::Node& node, const std::string& message, const std::string& hint = "") {
    problems_.push_back(error_at(node.where, message, hint));
  }

  void read_orders(const yaml::Node& node) {
    if (node.kind != yaml::Kind::map)
      return problem(node, "expected tensors with their axes, found " + yaml::kind_text(node),
                     "order: {T: [0, 2, 3, 1]}");
    plan_.order.resize(kernel_.tensors.size());
    std::vector<std::string> names;
    for (const Tensor& tensor : kernel_.tensors) names.push_back(tensor.name);
    for (const auto& [name, axes] : node.entries) {
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) {
        problem(axes, fmt::format("the model has no tensor '{}'", name), yaml::did_you_mean(name, names));
        continue;
      }
      const auto t = static_cast<std::size_t>(at - names.begin());
      if (role_of(kernel_, make_id<TensorId>(t)) != Role::intermediate && !kernel_.tensors[t].constant) {
        problem(axes, fmt::format("'{}' is an input or output, whose order is the caller's", name));
        continue;
      }
      for (const yaml::Node& axis : axes.items)
        if (const auto number = yaml::to_integer(axis); number && std::in_range<int>(*number))
          plan_.order[t].push_back(static_cast<int>(*number));
        else
          problem(axis, "expected the number of an axis, found " + yaml::kind_text(axis));
    }
  }

  void read_parts(const yaml::Node& node) {
    if (node.kind != yaml::Kind::list)
      return problem(node, "expected a list of parts, found " + yaml::kind_text(node), "- [conv_1, relu_1]");
    std::map<std::string, std::size_t> number;
    std::vector<std::string> names;
    std::set<std::size_t> placed;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      number[kernel_.statements[s].name] = s;
      names.push_back(kernel_.statements[s].name);
    }
    for (const yaml::Node& item : node.items) {
      Part& part = plan_.parts.emplace_back();
      if (item.kind != yaml::Kind::list || item.items.empty())
        problem(item, "expected the statements of a part, found " + yaml::kind_text(item), "[conv_1, relu_1]");
      for (const yaml::Node& statement : item.items)
        if (const auto known = number.find(statement.scalar); known != number.end()) {
          if (!placed.insert(known->second).second)
            problem(statement, fmt::format("statement '{}' is in a part already", statement.scalar),
                    "each statement is in one part");
          part.statements.push_back(known->second);
        } else
          problem(statement, fmt::format("the model has no statement '{}'", statement.scalar),
                  yaml::did_you_mean(statement.scalar, names));
      std::sort(part.statements.begin(), part.statements.end());
    }
  }

  void read_bands(const yaml::Node& node) {
    if (node.kind != yaml::Kind::list)
      return problem(node, "expected groups of parts, found " + yaml::kind_text(node), band_hint);
    for (const yaml::Node& item : node.items) {
      yaml::MapReader map(item, "a group of bands", problems_);
      const yaml::Node* parts = map.required("parts");
      const yaml::Node* by = map.required("by");
      const yaml::Node* halo = map.child("halo");
      const yaml::Node* along = map.child("along");
      map.finish();
      if (halo && halo->scalar != "kept")
        problem(*halo,
                fmt::format("expected 'kept', found '{}': rows of a window are not computed again", halo->scalar));
      if (!parts || !by) continue;
      const auto rows = yaml::to_integer(*by);
      if (!rows || *rows < 1) problem(*by, "expected rows of a band, found " + yaml::kind_text(*by), "by: 4");
      if (along && along->kind != yaml::Kind::scalar)
        problem(*along, "expected a dim, found " + yaml::kind_text(*along), "along: h");
      read_group(*parts, {0, 0, rows.value_or(1), along ? along->scalar : ""});
    }
  }

  void read_group(const yaml::Node& node, const BandGroup& group) {
    if (node.kind != yaml::Kind::list || node.items.size() < 2)
      return problem(node, "expected two parts or more, by their first statements", band_hint);
    std::vector<std::string> names;
    for (const Part& part : plan_.parts) names.push_back(kernel_.statements[part.statements.front()].name);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const yaml::Node& item = node.items[i];
      const auto at = std::find(names.begin(), names.end(), item.scalar);
      if (at == names.end())
        return problem(item, fmt::format("no part begins with '{}'", item.scalar),
                       yaml::did_you_mean(item.scalar, names));
      const auto part = static_cast<std::size_t>(at - names.begin());
      if (i == 0) {
        plan_.bands.push_back({part, node.items.size(), group.by, group.along});
        groups_.push_back(&node);
      }
      if (part != plan_.bands.back().first + i)
        return problem(item, fmt::format("'{}' is not the part behind '{}'", item.scalar, node.items[i - 1].scalar),
                       "bands are of parts that follow each other");
    }
  }

  static constexpr const char* band_hint = "- {parts: [conv_1, conv_2], by: 4, halo: kept}";
  yaml::Source source_;
  const std::string& text_;
  const std::string& file_;
  const Kernel& kernel_;
  const std::string& machine_;
  Diagnostics problems_;
  ModelPlan plan_;
  std::vector<const yaml::Node*> groups_;  ///< by group of the plan: its list of parts
};

}  // namespace

std::string print(const ModelPlan& plan, const Kernel& kernel, const std::string& machine) {
  std::string text = fmt::format("plan: {}\nmachine: {}\n", kernel.name, machine);
  std::string orders;
  for (std::size_t t = 0; t < plan.order.size(); ++t)
    if (!plan.order[t].empty())
      orders += fmt::format("  {}: [{}]\n", kernel.tensors[t].name, fmt::join(plan.order[t], ", "));
  if (!orders.empty()) text += "order:\n" + orders;
  text += "parts:\n";
  for (const Part& part : plan.parts) {
    std::vector<std::string> names;
    for (const std::size_t s : part.statements) names.push_back(kernel.statements[s].name);
    text += fmt::format("  - [{}]\n", fmt::join(names, ", "));
  }
  if (!plan.bands.empty()) text += "bands:\n";
  for (const BandGroup& group : plan.bands) {
    std::vector<std::string> names;
    for (std::size_t p = group.first; p < group.first + group.count; ++p)
      names.push_back(kernel.statements[plan.parts[p].statements.front()].name);
    const std::string along = group.along.empty() ? "" : fmt::format("along: {}, ", group.along);
    text += fmt::format("  - {{parts: [{}], {}by: {}, halo: kept}}\n", fmt::join(names, ", "), along, group.by);
  }
  return text;
}

Result<ModelPlan> parse_plan(const std::string& text, const std::string& file, const Kernel& kernel,
                             const std::string& machine) {
  return PlanReader(text, file, kernel, machine).read();
}

Result<ModelPlan> load_plan(const std::string& path, const Kernel& kernel, const std::string& machine) {
  const auto text = yaml::read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_plan(*text, path, kernel, machine);
}

}  // namespace isamap
