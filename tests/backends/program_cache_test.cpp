// SPDX-License-Identifier: Apache-2.0
// The cache of programs: what damaged entries hold is never taken, and processes that share a cache do not disturb each
// other.

#include "backends/cpp/compile/program_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "backends/common/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

/// A cache of its own while a test runs.
class ProgramCache : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("ISAMAP_CACHE")) before_ = before;
    setenv("ISAMAP_CACHE", cache().c_str(), 1);
  }
  void TearDown() override {
    if (before_)
      setenv("ISAMAP_CACHE", before_->c_str(), 1);
    else
      unsetenv("ISAMAP_CACHE");
  }
  fs::path cache() const { return folder_.path() / "cache"; }
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  std::vector<fs::path> entries() const { return {fs::directory_iterator(cache()), fs::directory_iterator()}; }
  void put(const std::string& key, const std::string& content) const {
    ASSERT_TRUE(write_file(file("made"), content.data(), content.size()));
    put_into_cache(key, file("made"));
  }
  /// Empty: there is none.
  std::string taken(const std::string& key) const {
    return take_from_cache(key, file("taken")) ? read_file(file("taken"), 1 << 20) : "";
  }

 private:
  TemporaryDirectory folder_;
  std::optional<std::string> before_;
};

const std::string kept_text(20'000, 'p');

TEST_F(ProgramCache, DamagedEntriesAreNoneAndAreReplaced) {
  const auto damages = std::vector<std::pair<const char*, void (*)(const fs::path&)>>{
      {"truncated", [](const fs::path& entry) { fs::resize_file(entry / "program", 9000); }},
      {"empty", [](const fs::path& entry) { fs::resize_file(entry / "program", 0); }},
      {"changed",
       [](const fs::path& entry) { write_file(entry / "program", std::string(20'000, 'q').data(), 20'000); }},
      {"missing", [](const fs::path& entry) { fs::remove(entry / "program"); }},
      {"other key", [](const fs::path& entry) { write_file(entry / "key", "k", 1); }},
      {"no sums", [](const fs::path& entry) { fs::remove(entry / "sums"); }},
      {"no folder", [](const fs::path& entry) { fs::remove_all(entry), write_file(entry, "x", 1); }}};
  for (const auto& [name, damage] : damages) {
    put("key", kept_text);
    ASSERT_EQ(taken("key"), kept_text) << name;
    ASSERT_EQ(entries().size(), 1U) << name;
    damage(entries()[0]);
    EXPECT_EQ(taken("key"), "") << name;
    put("key", kept_text);
    EXPECT_EQ(taken("key"), kept_text) << name;
    EXPECT_EQ(entries().size(), 1U) << name << ": something was left";
  }
  EXPECT_EQ(access(file("taken").c_str(), X_OK), 0) << "what is taken can be executed";
}

TEST_F(ProgramCache, WhatWasNotUsedForTheLongestTimeIsEvictedBeyondABillionBytes) {
  for (int i = 0; i < 12; ++i) put(fmt::format("program {}", i), kept_text);
  for (const fs::path& entry : entries()) {
    fs::resize_file(entry / "program", 100 << 20);  // no block of it on the disk
    const bool used = read_file(entry / "key", 100) == "program 5";
    fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::minutes(used ? 1 : 10));
  }
  for (int i = 0; i < 63; ++i) write_to_cache("new", "text");  // not each time
  EXPECT_EQ(read_from_cache("new"), "text");
  EXPECT_EQ(entries().size(), 1U + (std::size_t{3} << 28) / (100 << 20));
  const auto all = entries();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                          [](const fs::path& entry) { return read_file(entry / "key", 100) == "program 5"; }));
}

TEST_F(ProgramCache, TextsAreReplacedAndProgramsStay) {
  write_to_cache("a", "first");
  write_to_cache("a", "second");
  EXPECT_EQ(read_from_cache("a"), "second");
  EXPECT_EQ(read_from_cache("b"), std::nullopt);
  put("p", "one");
  put("p", "two");
  EXPECT_EQ(taken("p"), "one");
  EXPECT_EQ(entries().size(), 2U);
}

/// Every process takes what is whole or makes it anew, some after one of them has damaged it.
TEST_F(ProgramCache, ProcessesShareIt) {
  std::vector<pid_t> children;
  for (int child = 0; child < 6; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      const fs::path made = file("made" + std::to_string(child)), got = file("got" + std::to_string(child));
      bool right = write_file(made, kept_text.data(), kept_text.size());
      for (int round = 0; round < 30 && right; ++round) {
        const std::string key = "key " + std::to_string(round % 5);
        if (take_from_cache(key, got)) right = read_file(got, 1 << 20) == kept_text;
        put_into_cache(key, made);
        std::error_code ignored;
        if (child == 0 && round % 7 == 0)
          for (const auto& entry : fs::directory_iterator(cache(), ignored))
            fs::resize_file(entry.path() / "program", 11, ignored);
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int key = 0; key < 5; ++key) put("key " + std::to_string(key), kept_text);
  EXPECT_EQ(entries().size(), 5U) << "something was left";
  for (int key = 0; key < 5; ++key) EXPECT_EQ(taken("key " + std::to_string(key)), kept_text);
}

}  // namespace
}  // namespace isamap
