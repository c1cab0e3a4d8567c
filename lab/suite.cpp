// SPDX-License-Identifier: Apache-2.0
#include "lab/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "ir/verify/recurrence.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "support/yaml.h"

namespace isamap::lab {

namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(const fs::path& file, const std::vector<std::string>& models, Diagnostics& problems)
      : file_(file), models_(models), problems_(problems) {
    models_.insert(models_.begin(), file.parent_path().string());
  }

  void read(const yaml::Node& root, Suite& suite) {
    yaml::MapReader top(root, "a suite", problems_);
    const auto name = top.text("suite", true);
    const auto about = top.text("about");
    if (suite.name.empty() && name) suite.name = *name;
    if (suite.about.empty() && about) suite.about = *about;
    if (const yaml::Node* list = top.required("instances")) {
      if (list->kind != yaml::Kind::list)
        problems_.push_back(error_at(list->where, "instances is a list"));
      else
        for (const yaml::Node& item : list->items) instance(item, suite);
    }
    top.finish();
  }

 private:
  void instance(const yaml::Node& node, Suite& suite) {
    const auto before = errors();
    yaml::MapReader read(node, "an instance", problems_);
    Instance made;
    made.where = node.where;
    made.name = read.text("name", true).value_or("");
    made.group = read.text("group").value_or("all");
    const auto target = read.text("target", true);
    std::map<std::string, std::string> params;
    if (const yaml::Node* set = read.child("set"))
      for (const auto& [key, value] : set->entries) params[key] = value.scalar;
    objective(read, made);
    space(read, made);
    made.noise = read.real("noise").value_or(0);
    if (made.noise < 0 || made.noise > 1) wrong(node, "noise is a relative standard deviation from 0 to 1");
    made.optimum = read.real("optimum");
    made.proof = read.text("proof").value_or("");
    kernel(read, node, made);
    read.finish();
    if (errors() == before) machine(node, *target, params, made);
    if (errors() == before) add(node, *target, std::move(made), suite);
  }

  void wrong(const yaml::Node& node, const std::string& message, const std::string& hint = "") {
    problems_.push_back(error_at(node.where, message, hint));
  }

  void objective(yaml::MapReader& read, Instance& made) {
    const yaml::Node* node = read.child("objective");
    if (!node) return;
    std::vector<std::string_view> known;
    for (const Objective objective : all_objectives) {
      if (node->scalar == name(objective)) return void(made.objective = objective);
      known.push_back(name(objective));
    }
    wrong(*node, fmt::format("'{}' is none of: {}", node->scalar, fmt::join(known, ", ")));
  }

  void space(yaml::MapReader& read, Instance& made) {
    const yaml::Node* node = read.child("space");
    for (const std::string& word : read.texts("space"))
      if (const std::string problem = set_space_word(made.space, word); !problem.empty()) wrong(*node, problem);
  }

  /// A kernel file relative to the suite, or a one-line formula.
  void kernel(yaml::MapReader& read, const yaml::Node& node, Instance& made) {
    const auto file = read.text("kernel");
    const auto compute = read.text("compute"), dims = read.text("dims"), dtypes = read.text("dtypes");
    if (file.has_value() == compute.has_value())
      return wrong(node, "an instance has either kernel: FILE or compute: with dims:");
    Diagnostics warnings;
    auto kernel = file ? load_kernel((file_.parent_path() / *file).string(), &warnings)
                       : kernel_from_formula(*compute, dims.value_or(""), dtypes.value_or(""), &warnings);
    complain(node, kernel ? warnings : kernel.diagnostics());
    if (!kernel) return;
    made.kernel = one_step_of(*kernel);
    if (!file) made.kernel.name = made.name;
    const yaml::Node* which = read.child("statement");
    for (std::size_t s = 0; which && s < made.kernel.statements.size(); ++s)
      if (made.kernel.statements[s].name == which->scalar) made.statement = make_id<StatementId>(s);
    one_statement_ = which || made.kernel.statements.size() == 1;
    if (which && made.kernel.statements[made.statement.index()].name != which->scalar)
      wrong(*which, fmt::format("the kernel has no statement '{}'", which->scalar), statements_of(made.kernel));
    if (!one_statement_ && made.optimum)
      wrong(node, "an optimum is of one statement; the kernel has several", statements_of(made.kernel));
  }

  static std::string statements_of(const Kernel& kernel) {
    std::string names;
    for (const Computation& statement : kernel.statements) names += (names.empty() ? "" : ", ") + statement.name;
    return "statement: one of " + names;
  }

  /// Statements are searched independently: each mapped one is an instance.
  void add(const yaml::Node& node, const std::string& target, Instance made, Suite& suite) {
    const MapResult mapped = std::move(made.mapped);
    bool any = false;
    for (std::size_t s = 0; s < made.kernel.statements.size(); ++s) {
      const auto id = make_id<StatementId>(s);
      if (one_statement_ && id != made.statement) continue;
      Instance one = made;
      one.statement = id;
      one.mapped.limit_reached = mapped.limit_reached;
      for (const Mapping& mapping : mapped.mappings)
        if (mapping.statement == id) one.mapped.mappings.push_back(mapping);
      if (one.mapped.mappings.empty()) continue;  // scalar code: no search
      if (!one_statement_) one.name += "." + made.kernel.statements[s].name;
      any = true;
      for (const Instance& other : suite.instances)
        if (other.name == one.name) wrong(node, fmt::format("there are two instances '{}'", one.name));
      if (const SearchSpace space = one.search_space();
          one.space.double_buffered && !space.hierarchy_point(space.first()))
        wrong(node, fmt::format("double-buffered requires a linear memory hierarchy, which {} does not have", target));
      suite.instances.push_back(std::move(one));
    }
    if (!any) wrong(node, fmt::format("nothing maps {} onto {}: there is nothing to search", made.name, target));
  }

  std::ptrdiff_t errors() const {
    return std::count_if(problems_.begin(), problems_.end(),
                         [](const Diagnostic& d) { return d.severity == Severity::error; });
  }

  void complain(const yaml::Node& node, const Diagnostics& found) {
    for (Diagnostic d : found) {
      if (d.where.file.empty() || d.where.file == "--compute") d.where = node.where;
      const bool known = std::any_of(problems_.begin(), problems_.end(), [&](const Diagnostic& other) {
        return other.where == d.where && other.message == d.message;
      });
      if (known) continue;
      problems_.push_back(std::move(d));
    }
  }

  /// Loaded once for all instances of a file.
  void machine(const yaml::Node& node, const std::string& target, const std::map<std::string, std::string>& params,
               Instance& made) {
    auto& known = loaded_[{target, params}];
    if (!known.model) {
      const fs::path beside = file_.parent_path() / target;
      std::error_code ignored;
      const bool is_file = fs::is_regular_file(beside, ignored);
      auto hardware = load_hardware(is_file ? beside.string() : target, models_, {params});
      if (!hardware) return complain(node, hardware.diagnostics());
      known.model = std::make_shared<const HardwareModel>(std::move(hardware->model));
      known.text = std::make_shared<const std::string>(std::move(hardware->resolved));
    }
    made.model = known.model;
    made.target_text = known.text;
    auto mapped = enumerate_mappings(made.kernel, *made.model, MapOptions{});
    if (!mapped) return complain(node, mapped.diagnostics());
    made.mapped = std::move(*mapped);
  }

  fs::path file_;
  std::vector<std::string> models_;
  Diagnostics& problems_;
  bool one_statement_ = true;  ///< of the instance that is read
  struct Machine {
    std::shared_ptr<const HardwareModel> model;
    std::shared_ptr<const std::string> text;
  };
  std::map<std::pair<std::string, std::map<std::string, std::string>>, Machine> loaded_;
};

/// The suite files of a path or name; empty: none.
std::vector<fs::path> files_of(const std::string& path, const std::vector<std::string>& suites) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return {path};
  std::vector<fs::path> found;
  if (fs::is_directory(path, ignored))
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto text = yaml::read_text_file(entry.path().string());
      if (text && text->find("\nsuite:") == std::string::npos && !text->starts_with("suite:")) continue;  // a machine
      found.push_back(entry.path());
    }
  std::sort(found.begin(), found.end());
  if (!found.empty() || path.find('/') != std::string::npos) return found;
  for (const std::string& folder : suites)
    if (const fs::path file = fs::path(folder) / (path + ".yaml"); fs::is_regular_file(file, ignored)) return {file};
  return {};
}

std::string names_in(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders)
    for (const fs::path& file : files_of(folder, {})) names.insert(file.stem().string());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<Suite> load_suite(const std::string& path, const std::vector<std::string>& suites,
                         const std::vector<std::string>& models) {
  const std::vector<fs::path> files = files_of(path, suites);
  if (files.empty())
    return error_at({path, 0, 0}, "is neither a suite, a folder of suites, nor the name of one",
                    "those that come with isamap: " + names_in(suites));
  Suite suite;
  Diagnostics problems;
  for (const fs::path& file : files) {
    const auto root = yaml::parse_file(file.string());
    if (!root)
      problems.insert(problems.end(), root.diagnostics().begin(), root.diagnostics().end());
    else
      Reader(file, models, problems).read(*root, suite);
  }
  if (has_errors(problems)) return problems;
  if (suite.instances.empty()) return error_at({path, 0, 0}, "has no instances");
  suite.warnings = std::move(problems);
  return suite;
}

}  // namespace isamap::lab
