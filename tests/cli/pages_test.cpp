// SPDX-License-Identifier: Apache-2.0
// Pages as a reader follows them: their files are written, their commands run, their output compared.

#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A line without what differs from run to run and from machine to machine: widths of columns, clocks, where it ran.
std::string settled(const std::string& line) {
  static const std::vector<std::pair<std::regex, std::string>> rules = {
      {std::regex(" +"), " "},
      {std::regex("-{3,}"), "---"},
      {std::regex(" (native|emulated|simulator|shim|unavailable)\\b.*"), " here"},
      {std::regex("executed here.*|[-+.e0-9]+ s, .*"), "executed"},
      {std::regex(", [-+.e0-9]+ s in all"), ""}};
  std::string text = line;
  for (const auto& [what, by] : rules) text = std::regex_replace(text, what, by);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

/// What a machine that is slow prints while it works: `12 of 91 on ...`.
bool is_progress(const std::string& line) {
  return std::regex_match(
      line, std::regex("((layer )?[0-9]+ of [0-9]+(: | on )|schedule: [0-9]+ evaluations, |compiling and running ).*"));
}

/// Words at blanks; single quotes group, ` #` begins a comment.
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
    } else if (c == '#' && !quoted && !open) {
      break;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

/// Expected lines in order; `...` stands for any number of lines, and ends a line whose rest does not matter.
bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& found, std::size_t e = 0,
             std::size_t f = 0) {
  if (e == expected.size()) return f == found.size();
  if (expected[e] == "...") {
    for (std::size_t skip = f; skip <= found.size(); ++skip)
      if (matches(expected, found, e + 1, skip)) return true;
    return false;
  }
  if (f >= found.size()) return false;
  const bool open = expected[e].ends_with(" ...");
  const bool same =
      open ? found[f].starts_with(expected[e].substr(0, expected[e].size() - 4)) : expected[e] == found[f];
  return same && matches(expected, found, e + 1, f + 1);
}

using Wanted = std::function<bool(const std::string& command)>;

class Reader {
 public:
  int commands = 0, files = 0;

  /// The commands find the examples where they stand.
  explicit Reader(Wanted wanted) : wanted_(std::move(wanted)), before_(fs::current_path()) {
    fs::create_symlink(ISAMAP_SOURCE_DIR "/examples", folder_ / "examples");
    fs::current_path(folder_ / ".");
  }
  ~Reader() { fs::current_path(before_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

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
      const std::string command = block[i];
      std::vector<std::string> expected;
      for (++i; i < block.size() && !block[i].starts_with("$ "); ++i) expected.push_back(settled(block[i]));
      if (!wanted_(command)) continue;
      if (command.starts_with("$ sed ")) {
        EXPECT_EQ(std::system(command.substr(2).c_str()), 0) << command;
        continue;
      }
      ASSERT_TRUE(command.starts_with("$ isamap ")) << command;
      const Said said = isamap(words_of(command.substr(9)));
      std::vector<std::string> found;
      for (const std::string& line : lines_of(said.err + said.out))  // what is wrong stands before what was found
        if (!is_progress(line)) found.push_back(settled(line));
      if (said.code != 77) {
        EXPECT_TRUE(matches(expected, found)) << command << "\n" << said.err << said.out;
      }
      ++commands;
    }
  }

  Wanted wanted_;
  fs::path before_;
  Folder folder_;
};

TEST(Tutorial, EveryStepDoesWhatThePageSays) {
  Reader reader([](const std::string&) { return true; });
  reader.follow(read_file(ISAMAP_SOURCE_DIR "/docs/tutorial.md"));
  EXPECT_GE(reader.commands, 10);
  EXPECT_GE(reader.files, 5);
}

/// A whole model, a program searched, compiled and run (so do others of the page), every instruction of a machine
/// (Verify.EveryModelThatRunsHereIsTrue executes those of some), and all examples on two machines.
bool takes_long(const std::string& command) {
  for (const char* const words : {"mobilenet_v1.onnx", "depthwise_separable_fused", " hw verify ", " hw diff "})
    if (command.find(words) != std::string::npos) return true;
  return false;
}

TEST(Readme, EveryCommandDoesWhatThePageSays) {
  Reader reader([](const std::string& command) { return !takes_long(command); });
  reader.follow(read_file(ISAMAP_SOURCE_DIR "/README.md"));
  EXPECT_GE(reader.commands, 8);
}

TEST(ReadmeHeavy, WhatTakesLongToo) {
  Reader reader(takes_long);
  reader.follow(read_file(ISAMAP_SOURCE_DIR "/README.md"));
  EXPECT_EQ(reader.commands, 4);
}

}  // namespace
}  // namespace isamap::cli_test
