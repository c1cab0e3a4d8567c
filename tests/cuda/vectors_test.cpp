// SPDX-License-Identifier: Apache-2.0
// What instructions computed on real machines, replayed for ever; and that a replay sees what is wrong with a record.

#include <fstream>

#include "tests/cuda/support.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

struct Answer {
  int code = -1;
  std::string said;
};

Answer verify(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "ISAMAP_EMULATION=late", ISAMAP_PROGRAM, "hw", "verify"});
  const auto ran = run_process(words, {120, 0, 0}, folder / "log");
  return {ran.exit_code, ran.output};
}

TEST(Vectors, OfRealMachinesAreWhatIsDescribedAndEmulated) {
  const fs::path records = fs::path(ISAMAP_SOURCE_DIR) / "tests/golden/vectors";
  int replayed = 0;
  const TemporaryDirectory folder;
  for (std::error_code none; const auto& entry : fs::directory_iterator(records, none)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++replayed;
    const Answer answer = verify(folder.path(), {entry.path().stem().string(), "--replay", entry.path().string()});
    EXPECT_EQ(answer.code, 0) << entry.path() << "\n" << answer.said;
  }
  if (replayed == 0)
    GTEST_SKIP()
        << "no GPU has computed any yet: ./dev bench gpu --import DIR --record tests/golden/vectors/NAME.jsonl "
           "makes the record of a machine (docs/gpu.md)";
}

class Record : public ::testing::Test {
 protected:
  TemporaryDirectory folder;
  std::string file = (folder.path() / "record.jsonl").string();
  const std::vector<std::string> one{"nvidia_sm80", "--instruction", "mma_bf16"};

  Answer verify_one(std::vector<std::string> words) {
    words.insert(words.begin(), one.begin(), one.end());
    return verify(folder.path(), words);
  }
  std::string text() { return read_file(file, 1 << 24); }
  void write(const std::string& changed) { write_file(file, changed.data(), changed.size()); }
};

TEST_F(Record, IsReplayed) {
  const Answer recorded = verify_one({"--samples", "8", "--record", file});
  ASSERT_EQ(recorded.code, 0) << recorded.said;
  const Answer again = verify_one({"--replay", file});
  EXPECT_EQ(again.code, 0) << again.said;
  EXPECT_NE(again.said.find("1 of 1 instructions executed (emulated), 1 equal"), std::string::npos) << again.said;
  // The operands are those of the record, not what vectors are today.
  const std::string before = text();
  ASSERT_EQ(verify_one({"--replay", file, "--seed", "5", "--record", file}).code, 0);
  const auto cases = [](const std::string& all) { return all.substr(all.find('\n')); };
  EXPECT_EQ(cases(text()), cases(before));
}

TEST_F(Record, OfAMachineThatComputesSomethingElseDiffers) {
  ASSERT_EQ(verify_one({"--samples", "8", "--record", file}).code, 0);
  std::string wrong = text();
  const std::size_t found = wrong.find("\"found\":\"");
  ASSERT_NE(found, std::string::npos);
  wrong.replace(found + 9, 8, "AAAAQQAA");  // 8.0 and more, where a sum of the first vector stood
  write(wrong);
  const Answer answer = verify_one({"--replay", file});
  EXPECT_EQ(answer.code, 5) << answer.said;
  EXPECT_NE(answer.said.find("as recorded"), std::string::npos) << answer.said;
}

TEST_F(Record, ThatCannotBeReadSaysWhere) {
  ASSERT_EQ(verify_one({"--samples", "8", "--record", file}).code, 0);
  const std::string good = text();
  const auto expect = [&](const std::string& changed_text, const std::string& words) {
    write(changed_text);
    const Answer answer = verify_one({"--replay", file});
    EXPECT_EQ(answer.code, 1) << answer.said;
    EXPECT_NE(answer.said.find(file + words), std::string::npos) << answer.said;
  };
  expect(good.substr(0, good.size() - 20), ":");  // cut off
  expect("", ": is empty");
  expect("{}\n", ":1: the line is not of this form");
  expect(changed(good, "\"found\":\"", "\"found\":\"!"), ":2: the line holds");
  expect(changed(good, "\"dtype\":\"bf16\"", "\"dtype\":\"b17\""), ":2: the line names a dtype that does not exist");
}

TEST_F(Record, OfOtherOperandsIsRecordedAnew) {
  ASSERT_EQ(verify_one({"--samples", "8", "--record", file}).code, 0);
  write(changed(text(), "\"samples\":8", "\"samples\":9"));
  const Answer answer = verify_one({"--replay", file});
  EXPECT_EQ(answer.code, 5) << answer.said;
  EXPECT_NE(answer.said.find("record it again"), std::string::npos) << answer.said;
}

}  // namespace
}  // namespace isamap
