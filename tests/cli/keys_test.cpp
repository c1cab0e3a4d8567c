// SPDX-License-Identifier: Apache-2.0
// No key is read by nobody: after a change of each, something is another, or it is an error (data/keys.txt).

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string data = ISAMAP_SOURCE_DIR "/tests/cli/data/keys.txt";

struct Row {
  std::string key, model, from, to;
};

std::string unescaped(std::string text) {
  for (const auto& [written, meant] : {std::pair("\\n", "\n"), {"\\|", "|"}})
    for (std::size_t at = text.find(written); at != std::string::npos; at = text.find(written, at + 1))
      text.replace(at, 2, meant);
  return text;
}

std::vector<Row> rows() {
  std::vector<Row> all;
  std::istringstream lines(read_file(data));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t bar = std::min(line.find(" | ", at), line.size());
      cells.push_back(unescaped(line.substr(at, bar - at)));
      at = bar + 3;
    }
    if (cells.size() >= 3) all.push_back({cells[0], cells[1], cells[2], cells.size() > 3 ? cells[3] : ""});
  }
  return all;
}

/// Keys of the schema. What stands in rows of tables and variants stands in instructions too, a text is one key.
class SchemaKeys {
 public:
  SchemaKeys() : schema_(nlohmann::json::parse(read_file(ISAMAP_SOURCE_DIR "/hwdesc/schema.json"))) {
    collect(schema_, "", {});
  }
  /// Those that hold no other keys.
  std::set<std::string> leaves() const {
    std::set<std::string> found;
    for (const std::string& key : keys_) {
      const auto next = keys_.lower_bound(key + ".");
      if (next == keys_.end() || !next->starts_with(key + ".")) found.insert(key);
    }
    return found;
  }

 private:
  void collect(const nlohmann::json& node, const std::string& path, std::set<std::string> open) {
    if (node.contains("$ref")) {
      const std::string name = node["$ref"].get<std::string>().substr(8);
      if (!open.insert(name).second) return;
      collect(schema_["$defs"][name], path, open);
    }
    for (const char* several : {"anyOf", "oneOf", "allOf"})
      for (const auto& one : node.value(several, nlohmann::json::array())) collect(one, path, open);
    const auto properties = node.value("properties", nlohmann::json::object());
    for (const auto& [key, value] : properties.items()) {
      if (key == "asm" && properties.size() <= 2 && path.find('.') != std::string::npos) continue;  // a text's form
      if (key == "then") continue;
      const std::string own = path.empty() ? key : path + "." + key;
      keys_.insert(own);
      const bool rows = key == "tables" || key == "layouts" || key == "variants" || own == "memories.*.fields" ||
                        own == "instructions.*.requires" || own == "program.shim.flags";
      if (!rows) collect(value, own, open);
    }
    for (const char* each : {"additionalProperties", "items"})
      if (const auto at = node.find(each); at != node.end() && at->is_object()) collect(*at, path + ".*", open);
  }
  nlohmann::json schema_;
  std::set<std::string> keys_;
};

TEST(Keys, TheListHasEachKeyOfTheSchema) {
  std::set<std::string> listed;
  for (const Row& row : rows()) listed.insert(row.key);
  for (const std::string& key : SchemaKeys().leaves())
    EXPECT_TRUE(listed.contains(key)) << key << " is in no row of " << data;
}

/// What the check, a schedule and the printed program of a product say of a target.
std::string observed(const std::string& file, bool compiled) {
  const std::string types = compiled ? "A=f32,B=f32,C=f32" : "A=s8,B=s8,C=s32", side = compiled ? "96" : "40";
  std::string all;
  const auto add = [&](const std::vector<std::string>& arguments) {
    const Said said = isamap(arguments);
    all += std::to_string(said.code) + "\n" + said.out + said.err;
    for (std::size_t at = all.find(file); at != std::string::npos; at = all.find(file)) all.erase(at, file.size());
    return said.code;
  };
  if (add({"hw", "check", file}) != 0) return all;
  const std::vector<std::string> product{"--compute", "C[i,j] += A[i,k] * B[k,j]",
                                         "--dims",    "i=" + side + ",j=" + side + ",k=" + side,
                                         "--dtypes",  types,
                                         "--target",  file,
                                         "--budget",  "evals=40"};
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"schedule"}, {"schedule", "--cost", "latency"}, {"emit"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), product.begin(), product.end());
    add(arguments);
  }
  return all;
}

TEST(KeysHeavy, AChangeOfEachChangesSomethingOrIsAnError) {
  std::map<std::string, std::string> before;
  const Folder folder;
  for (const Row& row : rows()) {
    if (row.model == "elsewhere") continue;
    const std::string text = read_file(ISAMAP_SOURCE_DIR "/hardware_models/" + row.model + ".yaml");
    const bool compiled = row.model.starts_with("x86") || row.model.starts_with("arm");
    if (!before.contains(row.model))
      before[row.model] = observed(folder.write(row.model + "_copy.yaml", text), compiled);
    const std::size_t at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.key << ": " << row.from;
    const std::string changed = text.substr(0, at) + row.to + text.substr(at + row.from.size());
    EXPECT_NE(observed(folder.write(row.model + "_copy.yaml", changed), compiled), before[row.model])
        << row.key << ": nobody sees " << row.to << " in place of " << row.from;
  }
}

}  // namespace
}  // namespace isamap::cli_test
