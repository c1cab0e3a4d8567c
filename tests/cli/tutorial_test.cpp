// docs/tutorial.md as a reader follows it: its files are written, its commands run, its output compared.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Words at blanks; single quotes group.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) words.emplace_back();
      open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

/// Expected lines in order; `...` stands for any number of lines.
bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& found, std::size_t e = 0,
             std::size_t f = 0) {
  if (e == expected.size()) return f == found.size();
  if (expected[e] == "...") {
    for (std::size_t skip = f; skip <= found.size(); ++skip)
      if (matches(expected, found, e + 1, skip)) return true;
    return false;
  }
  return f < found.size() && expected[e] == found[f] && matches(expected, found, e + 1, f + 1);
}

class Reader {
 public:
  int commands = 0, files = 0;

  void follow(const std::string& page) {
    const auto lines = lines_of(page);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with("```")) continue;
      const auto info = words_of(lines[i].substr(3));
      std::vector<std::string> block;
      while (++i < lines.size() && lines[i] != "```") block.push_back(lines[i]);
      if (info.size() >= 2 && info[0] == "yaml") write(info[1], block, info.size() > 2 && info[2] == "+");
      if (!info.empty() && info[0] == "console") run(block);
    }
  }

 private:
  void write(const std::string& name, const std::vector<std::string>& block, bool append) {
    std::string text = append ? read_file(folder_ / name) : "";
    for (const std::string& line : block) text += line + "\n";
    folder_.write(name, text);
    ++files;
  }

  void run(const std::vector<std::string>& block) {
    for (std::size_t i = 0; i < block.size();) {
      ASSERT_TRUE(block[i].starts_with("$ isamap ")) << block[i];
      auto words = words_of(block[i].substr(9));
      std::vector<std::string> expected;
      for (++i; i < block.size() && !block[i].starts_with("$ "); ++i) expected.push_back(block[i]);
      for (std::string& word : words)
        if (word.ends_with(".yaml")) word = folder_ / word;
      const Said said = isamap(words);
      std::string all = said.err + said.out;  // what is wrong stands before what was found
      const std::string here = folder_ / "";
      for (std::size_t at = all.find(here); at != std::string::npos; at = all.find(here)) all.erase(at, here.size());
      EXPECT_TRUE(matches(expected, lines_of(all))) << "isamap " << words[0] << " said:\n" << all;
      ++commands;
    }
  }

  Folder folder_;
};

TEST(Tutorial, EveryStepDoesWhatThePageSays) {
  Reader reader;
  reader.follow(read_file(ISAMAP_SOURCE_DIR "/docs/tutorial.md"));
  EXPECT_GE(reader.commands, 10);
  EXPECT_GE(reader.files, 5);
}

}  // namespace
}  // namespace isamap::cli_test
