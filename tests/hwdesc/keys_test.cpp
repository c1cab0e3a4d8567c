// SPDX-License-Identifier: Apache-2.0
// The table of keys (hwdesc/keys): it is well formed, readers ask for each of its rows and for no other key, and
// schema.json and the tables of README.md are made from it (ISAMAP_UPDATE_GOLDEN=1 writes them).

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hwdesc/keys/key.h"
#include "hwdesc/keys/reference.h"
#include "hwdesc/keys/schema.h"
#include "hwdesc/keys/types.h"
#include "hwdesc/load/fields.h"
#include "hwdesc/load/key_use.h"
#include "tests/hwdesc/schema.h"
#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

const std::string source = ISAMAP_SOURCE_DIR;

std::string whole(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Compares a file with what is made from the table, or writes it.
void expect_made(const std::string& path, const std::string& made) {
  if (std::getenv("ISAMAP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << made;
    return;
  }
  std::istringstream wanted(made), found(whole(path));
  std::string want, have;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(wanted, want)),
               there = static_cast<bool>(std::getline(found, have));
    if (!more && !there) return;
    ASSERT_TRUE(more == there && want == have)
        << path << ":" << line << " is\n  " << have << "\nand the table makes\n  " << want
        << "\nISAMAP_UPDATE_GOLDEN=1 rewrites it";
  }
}

void for_each_row(const std::function<void(const keys::Section&, const keys::Key&, const std::string&)>& visit) {
  for (const keys::Section& section : keys::sections())
    for (const keys::Key& key : section.keys)
      visit(section, key, std::string(section.name) + "." + std::string(key.name));
}

TEST(HardwareKeys, RowsAreWellFormed) {
  std::set<std::string> rows, names;
  for_each_row([&](const keys::Section&, const keys::Key& key, const std::string& row) {
    EXPECT_TRUE(rows.insert(row).second) << row << " stands twice";
    EXPECT_FALSE(key.meaning.empty()) << row;
    const keys::Type& type = keys::type_of(key);  // a type that nothing declares throws
    bool quantity = keys::holds(type, "number");
    for (const keys::ValueType& one : keys::value_types())
      quantity = quantity || (one.form == keys::Form::quantity && keys::holds(type, one.name));
    EXPECT_TRUE(!quantity || key.range.most > 0) << row << " has no range";
    if (key.range.most > 0) {
      EXPECT_NE(key.range.zero.empty(), key.range.instead.empty()) << row << ": 0 means something, or it is an error";
      EXPECT_EQ(key.range.zero.empty(), key.range.least > 0) << row;
    }
    EXPECT_TRUE(key.need == keys::Need::optional || key.fallback.empty()) << row << " is required, and has a default";
  });
  for (const keys::Section& section : keys::sections()) EXPECT_TRUE(names.insert(std::string(section.name)).second);
  for (const keys::ValueType& type : keys::value_types()) {
    EXPECT_TRUE(names.insert(std::string(type.name)).second) << type.name;
    EXPECT_EQ(type.form == keys::Form::word, !type.words.empty()) << type.name;
  }
  for (const keys::Alias& alias : keys::aliases()) EXPECT_TRUE(names.insert(std::string(alias.name)).second);
  EXPECT_GT(rows.size(), 200u);
}

/// Examples are values that editors offer.
TEST(HardwareKeys, ExamplesAreOfTheirType) {
  const auto schema = nlohmann::json::parse(keys::schema_text());
  int examples = 0;
  for_each_row([&](const keys::Section& section, const keys::Key& key, const std::string& row) {
    if (key.example.empty() || key.name == "*" || section.name == "file" || !section.extends.empty()) return;
    std::string name;  // as `$defs` has it
    for (std::size_t i = 0; i < section.name.size(); ++i)
      if (section.name[i] != ' ')
        name +=
            i > 0 && section.name[i - 1] == ' ' ? static_cast<char>(std::toupper(section.name[i])) : section.name[i];
    nlohmann::json one = schema["$defs"][name]["properties"][std::string(key.name)];
    one["$defs"] = schema["$defs"];
    if (one.contains("$ref")) one = {{"anyOf", {{{"$ref", one["$ref"]}}}}, {"$defs", schema["$defs"]}};
    const auto node = yaml::parse_text("value: " + std::string(key.example) + "\n", row);
    ASSERT_TRUE(node) << row;
    EXPECT_EQ(violation(one, node->entries[0].second), "") << row << ": " << key.example;
    ++examples;
  });
  EXPECT_GT(examples, 150);
}

TEST(HardwareKeys, ReadersAskForEachRow) {
  loader::KeyUse asked;
  int files = 0;
  for (const char* folder : {"hardware_models", "tests/hwdesc/data", "tests/backends/models"})
    for (const auto& entry : std::filesystem::directory_iterator(source + "/" + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const auto loaded = loader::load_noting_keys(entry.path().string(), {data_folder, model_folder}, asked);
      EXPECT_TRUE(loaded) << entry.path() << render(loaded.diagnostics());
      ++files;
    }
  EXPECT_GT(files, 30);
  for_each_row([&](const keys::Section&, const keys::Key& key, const std::string& row) {
    EXPECT_TRUE(key.reserved || asked.contains(&key)) << "no reader asks for " << row << ", or no file has its map";
  });
}

TEST(HardwareKeys, AReaderThatAsksForNoRowIsABug) {
  const auto node = yaml::parse_text("name: core\n", "unit.yaml");
  ASSERT_TRUE(node);
  loader::Problems problems;
  HardwareModel model;
  const std::vector<std::string> none;
  const loader::Context context{model, {}, problems, nullptr, none};
  loader::Fields fields(*node, "unit", "unit 'core'", context);
  EXPECT_EQ(fields.text("name"), "core");
  EXPECT_THROW(fields.child("nme"), InternalError);
  EXPECT_THROW(fields.boolean("count"), InternalError);  // of another type
  EXPECT_THROW(loader::Fields(*node, "unitt", "unit 'core'", context), InternalError);
}

TEST(HardwareKeys, TheSchemaIsMadeFromTheTable) { expect_made(source + "/hwdesc/schema.json", keys::schema_text()); }

TEST(HardwareKeys, TheTablesOfThePageAreMadeFromTheTable) {
  const std::string path = source + "/hwdesc/README.md", page = whole(path);
  for (const keys::Section& section : keys::sections()) {
    if (std::count(section.path.begin(), section.path.end(), '.') > 1) continue;
    for (const keys::Key& key : section.keys)
      EXPECT_NE(page.find(std::string(key.name) + "`"), std::string::npos) << section.name << "." << key.name;
  }
  expect_made(path, keys::with_key_lists(page));
}

}  // namespace
}  // namespace isamap
