// SPDX-License-Identifier: Apache-2.0
#include "support/yaml.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"

namespace isamap::yaml {
namespace {

std::string shown(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return "~";
    case Kind::scalar:
      return node.quoted ? "\"" + node.scalar + "\"" : node.scalar;
    case Kind::list: {
      std::string text = "[";
      for (const Node& item : node.items) text += (text.size() > 1 ? "," : "") + shown(item);
      return text + "]";
    }
    case Kind::map: {
      std::string text = "{";
      for (const auto& [key, value] : node.entries) text += (text.size() > 1 ? "," : "") + key + ":" + shown(value);
      return text + "}";
    }
  }
  return "";
}

std::string parsed(const std::string& text) {
  const auto result = parse_text(text, "t.yaml");
  return result ? shown(*result) : render(result.diagnostics());
}

std::string first_problem(const std::string& text) {
  const auto result = parse_text(text, "t.yaml");
  if (result) return "none";
  const Diagnostic& d = result.diagnostics().front();
  return std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " + d.message + " | " + d.source_line;
}

Node scalar(const std::string& text) {
  Node node;
  node.kind = Kind::scalar;
  node.scalar = text;
  return node;
}

TEST(Yaml, KeepsTheTextOfScalars) {
  EXPECT_EQ(parsed("a: 010\nb: no\nc: 'no'\nd:\ne: 0x7b\nf: [1, {x: ~}]"),
            "{a:010,b:no,c:\"no\",d:~,e:0x7b,f:[1,{x:~}]}");
  EXPECT_EQ(parsed(""), "~");
  EXPECT_EQ(parsed("a: &x {p: 1}\nb: *x"), "{a:{p:1},b:{p:1}}");
}

TEST(Yaml, KnowsWhereEverythingStands) {
  const auto root = parse_text("a: 1\nlist:\n  - {k: v}\n", "t.yaml");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->key_where[1], (SourceLocation{"t.yaml", 2, 1}));
  EXPECT_EQ(root->find("list")->items[0].where, (SourceLocation{"t.yaml", 3, 5}));
  EXPECT_EQ(root->find("list")->items[0].find("k")->where, (SourceLocation{"t.yaml", 3, 9}));
}

TEST(Yaml, RefusesWhatIsAmbiguousOrHostile) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(first_problem("a: 1\n  \nb: 2\na: 3\n"), "4:1: duplicate key 'a' | a: 3");
  EXPECT_EQ(first_problem("a: !!int 5"), "1:4: tag 'tag:yaml.org,2002:int' is not supported | a: !!int 5");
  EXPECT_EQ(first_problem("{a: 1}: 2"), "1:1: a key must be plain text | {a: 1}: 2");
  EXPECT_EQ(first_problem("a: 1\n---\nb: 2\n"), "2:1: a second document begins | ---");
  EXPECT_EQ(first_problem("a: &x [*x]"), "1:8: an alias is inside the node that it names | a: &x [*x]");
  EXPECT_EQ(first_problem(deep), "1:65: nested more than 64 deep | " + deep);
  const std::string open(3000000, '[');  // refused before anything is built
  EXPECT_EQ(first_problem("a: " + open).substr(0, 30), "1:1004: nested more than 64 de");
  EXPECT_EQ(first_problem("a: [1, 2\nb: 3\n"), "2:2: YAML: end of sequence flow not found | b: 3");
  EXPECT_EQ(first_problem("a: b: c"), "1:5: YAML: illegal map value | a: b: c");
  EXPECT_EQ(first_problem(std::string("a\0b", 3)), "1:2: not a text file (byte 1 is no UTF-8 text) | a?");
  EXPECT_EQ(first_problem("\xff\xfe"), "1:1: not a text file (byte 0 is no UTF-8 text) | ?");
}

TEST(Yaml, AliasesCannotGrowWithoutBound) {
  std::string text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int k = 0; k < 9; ++k) text += "," + previous;
    text += "]\n";
  }
  EXPECT_NE(parsed(text).find("more than 200000 values"), std::string::npos);
}

TEST(Yaml, AnyBytesAreReadOrRefused) {
  const std::string alphabet = "ab:-[]{},'\"&*!|>\n\t #%@`?0x~";
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string text;
    for (std::int64_t n = random.between(0, 40); n > 0; --n)
      text += alphabet[static_cast<std::size_t>(random.between(0, std::ssize(alphabet) - 1))];
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto result = parse_text(text, "t.yaml");
    if (!result) {
      EXPECT_FALSE(result.diagnostics().front().message.empty());
    }
  }
}

TEST(Yaml, NumbersAreReadWithoutGuessing) {
  const auto integer = [](const std::string& text) { return to_integer(scalar(text)); };
  EXPECT_EQ(integer("12"), 12);
  EXPECT_EQ(integer("-7"), -7);
  EXPECT_EQ(integer("0x7b"), 123);
  EXPECT_EQ(integer("0b101"), 5);
  for (const char* bad : {"010", "", "-", "1.0", "1e3", "0x", "9223372036854775808", "1 ", "+1"})
    EXPECT_FALSE(integer(bad)) << bad;
  EXPECT_EQ(to_real(scalar("2.5e-1")), 0.25);
  EXPECT_FALSE(to_real(scalar("inf")));
}

TEST(Yaml, ReaderReportsEverythingInOneRun) {
  const auto root = parse_text("nmae: x\ncount: 010\non: yes\nlater: 1\nwords: [a, {}]\n", "t.yaml");
  ASSERT_TRUE(root);
  Diagnostics diagnostics;
  MapReader reader(*root, "unit 'u'", diagnostics);
  reader.text("name", true);
  reader.integer("count");
  reader.boolean("on");
  reader.texts("words");
  reader.report_unknown({"name", "count", "on", "words"}, {"later"});
  std::string all;
  for (const Diagnostic& d : diagnostics)
    all += std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + " " + d.message +
           (d.hint.empty() ? "" : " (" + d.hint + ")") + "\n";
  EXPECT_EQ(all,
            "2:8 'count' of unit 'u' must be an integer, found '010' (write decimal digits, 0x.. or 0b.., without a "
            "leading zero)\n"
            "3:5 'on' of unit 'u' must be true or false, found 'yes' (yes, no, on, off and quoted words are text)\n"
            "5:12 'words' of unit 'u' must list text, found a map\n"
            "1:1 unknown key 'nmae' in unit 'u' (did you mean 'name'?)\n"
            "4:1 key 'later' of unit 'u' is not supported yet (leave it out)\n");
}

TEST(Yaml, AKeyThatIsMissingIsSaidWhereNoneIsMisspelt) {
  const auto root = parse_text("count: 1\n", "t.yaml");
  ASSERT_TRUE(root);
  Diagnostics diagnostics;
  MapReader reader(*root, "unit 'u'", diagnostics);
  reader.text("name", true);
  reader.integer("count");
  reader.report_unknown({"name", "count"}, {});
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].message, "unit 'u' has no 'name'");
}

TEST(Yaml, NearestWord) {
  EXPECT_EQ(nearest("latancy", {"latency", "interval"}), "latency");
  EXPECT_EQ(nearest("zzz", {"latency", "port"}), "");
}

}  // namespace
}  // namespace isamap::yaml
