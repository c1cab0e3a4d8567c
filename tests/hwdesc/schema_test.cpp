// SPDX-License-Identifier: Apache-2.0
// hwdesc/schema.json, which editors use, and the loader agree on structure: keys, types, missing keys.

#include "tests/hwdesc/schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "backends/common/process.h"
#include "hwdesc/load/skeletons.h"
#include "isamap/hardware.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;
using yaml::Kind;

const std::string root = ISAMAP_SOURCE_DIR;
const std::vector<std::string> folders{root + "/tests/hwdesc/data", root + "/hardware_models"};

const nlohmann::json& schema() {
  static const nlohmann::json text = nlohmann::json::parse(std::ifstream(root + "/hwdesc/schema.json"));
  return text;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(root + "/" + folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  return files;
}

/// The node as text that means the same.
std::string written(const yaml::Node& node) {
  std::string text;
  if (node.kind == Kind::list) {
    for (const yaml::Node& item : node.items) text += (text.empty() ? "" : ", ") + written(item);
    return "[" + text + "]";
  }
  if (node.kind == Kind::map) {
    for (const auto& [key, value] : node.entries)
      text += (text.empty() ? "" : ", ") + nlohmann::json(key).dump() + ": " + written(value);
    return "{" + text + "}";
  }
  if (node.kind == Kind::null) return "";
  const bool plain =
      !node.quoted && node.scalar.find_first_of("\n\t:#{}[],\"'&*!|>%@ ") == std::string::npos && !node.scalar.empty();
  return plain ? node.scalar : nlohmann::json(node.scalar).dump();
}

bool loads(const yaml::Node& node, std::string* messages = nullptr) {
  const std::string path = scratch("schema.yaml");
  std::ofstream(path) << written(node);
  const auto loaded = load_hardware(path, folders);
  fs::remove(path);
  if (!loaded && messages) *messages = render(loaded.diagnostics());
  return static_cast<bool>(loaded);
}

TEST(Schema, EveryGoodFileIsValid) {
  for (const char* folder : {"hardware_models", "tests/hwdesc/data", "tests/backends/models"})
    for (const std::string& file : files_in(folder)) {
      const auto node = yaml::parse_file(file);
      ASSERT_TRUE(node) << file;
      EXPECT_EQ(violation(schema(), *node), "") << file;
    }
  for (const auto& [kind, text] : hardware_skeletons()) {
    const auto node = yaml::parse_text(text, kind);
    ASSERT_TRUE(node) << kind;
    EXPECT_EQ(violation(schema(), *node), "") << kind;
  }
}

TEST(Schema, RefusesEveryFileWhoseStructureIsWrong) {
  // Errors that a schema can express; not keys that a base file may add.
  const std::regex structural(
      "unknown key|must be a map|must be a list|must be true or false|which does not exist|must be a "
      "(rate|size|frequency|time)|must be (c..|dram|all|use|zero|each)[, ]|has no "
      "'(name|max|hardware|memories|units)'|is not supported yet");
  int refused = 0;
  for (const std::string& file : files_in("tests/invalid/hardware")) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    if (!std::regex_search(line, structural) || line.find("another operand") != std::string::npos ||
        line.find("shim") != std::string::npos)
      continue;
    Diagnostics ignored;
    const auto node =
        yaml::parse_text(std::string(std::istreambuf_iterator<char>(std::ifstream(file).rdbuf()), {}), file, ignored);
    ASSERT_TRUE(node) << file;
    EXPECT_NE(violation(schema(), *node), "") << file << "\n" << line;
    ++refused;
  }
  EXPECT_GE(refused, 15);
}

/// Every map of a tree, the tree itself first.
void for_each_map(yaml::Node& node, const std::function<void(yaml::Node&)>& visit) {
  if (node.kind == Kind::map) visit(node);
  for (yaml::Node& item : node.items) for_each_map(item, visit);
  for (auto& [key, value] : node.entries) for_each_map(value, visit);
}

TEST(Schema, AgreesWithTheLoaderOnKeysThatAreUnknownOrMissing) {
  int unknown = 0, missing = 0;
  for (const char* name :
       {"tests/hwdesc/data/tiny.yaml", "tests/hwdesc/data/toy_npu.yaml", "hardware_models/npu16.yaml",
        "tests/backends/models/stateful.yaml", "tests/hwdesc/data/gemmini_like.yaml"}) {
    auto tree = yaml::parse_file(root + "/" + name);
    ASSERT_TRUE(tree) << name;
    std::string messages;
    ASSERT_TRUE(loads(*tree, &messages)) << name << messages;
    for_each_map(*tree, [&](yaml::Node& map) {
      yaml::Node extra;
      extra.kind = Kind::scalar;
      extra.scalar = "1";
      map.entries.emplace_back("zzz_unknown", extra);
      map.key_where.push_back({});
      const bool refused = !violation(schema(), *tree).empty();
      const bool unreadable = !loads(*tree, &messages);
      // Free maps (ports, params, ..) allow any key; names there are checked by the loader.
      if (refused || messages.find("unknown key 'zzz_unknown'") != std::string::npos) {
        EXPECT_TRUE(refused) << name << ": the schema takes a key that the loader does not know\n" << messages;
        EXPECT_TRUE(unreadable) << name << ": the loader takes what the schema refuses: " << violation(schema(), *tree);
        ++unknown;
      }
      messages.clear();
      map.entries.pop_back();
      map.key_where.pop_back();
      for (std::size_t e = 0; e < map.entries.size(); ++e) {
        const auto entry = map.entries[e];
        map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(e));
        if (const std::string no = violation(schema(), *tree); !no.empty()) {
          EXPECT_FALSE(loads(*tree)) << name << ": the loader does without '" << entry.first
                                     << "', the schema says: " << no;
          ++missing;
        }
        map.entries.insert(map.entries.begin() + static_cast<std::ptrdiff_t>(e), entry);
      }
    });
  }
  EXPECT_GT(unknown, 100);
  EXPECT_GT(missing, 30);
}

TEST(Schema, AnotherValidatorAgrees) {
  const TemporaryDirectory folder;
  if (!command_exists("python3")) GTEST_SKIP() << "python3 is missing (Debian: apt-get install python3-jsonschema)";
  std::string script =
      "import json, sys, jsonschema\nschema = json.load(open(sys.argv[1]))\n"
      "jsonschema.Draft7Validator.check_schema(schema)\n"
      "jsonschema.validate(json.loads(sys.argv[2]), schema)\n";
  const auto run = [&](const std::string& document) {
    return run_process({"python3", "-c", script, root + "/hwdesc/schema.json", document}, {60, 0, 0},
                       folder.path() / "log");
  };
  const auto good =
      run(R"({"hardware": "h", "units": [{"name": "u"}], "memories": [{"name": "m", "per": "u", "kind": "dram"}]})");
  if (good.output.find("No module named") != std::string::npos)
    GTEST_SKIP() << "Debian: apt-get install python3-jsonschema";
  EXPECT_EQ(good.exit_code, 0) << good.output;
  EXPECT_NE(run(R"({"hardware": "h", "units": [{"name": "u"}], "memories": [{"nam": "m"}]})").exit_code, 0);
}

}  // namespace
}  // namespace isamap
