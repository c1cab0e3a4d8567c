// SPDX-License-Identifier: Apache-2.0
// What instructions computed on real machines, replayed for ever; and that a replay sees what is wrong with a record.

#include <fstream>

#include "tests/cuda/support.h"
#include "verify/instruction_check.h"
#include "verify/instruction_vectors.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

struct Answer {
  int code = -1;
  std::string said;
};

Answer verify(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"env", "ISAMAP_EMULATION=late", ISAMAP_PROGRAM, "hw", "verify"});
  const auto ran = run_process(words, {600, 0, 0}, folder / "log");
  return {ran.exit_code, ran.output};
}

// Half a minute for 300 cases: `./dev test --all`.
TEST(VectorsHeavy, OfRealMachinesAreWhatIsDescribedAndEmulated) {
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

/// A sum of this instruction, one result of which is off by this share of it.
bool is_within_bounds(const char* name, double share) {
  const HardwareModel model = machine("nvidia_sm90a");
  const InstructionId id = *model.find_instruction(name);
  const InstructionCase one = instruction_cases(model, id, 1).cases.at(0);
  std::vector<TensorData> before = test_vectors(one.kernel, 1);
  for (TensorData& data : before)
    for (std::int64_t i = 0; i < data.count(); ++i) data.set(i, {data.dtype == DType::f32 ? 0.0 : 1.0, 0});
  std::vector<TensorData> found = before;
  interpret(one.kernel, found);
  TensorData& sums = found[one.kernel.statements[0].write.tensor.index()];
  sums.set(7, {sums.get(7).real * (1 + share), 0});
  return !check_case(one, model.instruction(id), before, found);
}

/// The sums of 8-bit floats keep 14 bits on this machine (measured), those of 16 bits keep those of f32.
TEST(Vectors, SumsKeepTheBitsThatAreDescribed) {
  EXPECT_TRUE(is_within_bounds("wgmma_e4m3_sw128", std::ldexp(1, -13)));
  EXPECT_FALSE(is_within_bounds("wgmma_e4m3_sw128", std::ldexp(1, -2)));
  EXPECT_FALSE(is_within_bounds("wgmma_bf16_kk_sw128", std::ldexp(1, -13)));
  EXPECT_FALSE(is_within_bounds("wgmma_f16_f16_kk_sw128", std::numeric_limits<double>::infinity()));
}

/// A lane holds both elements of the fragment by which they are stored; found on a machine, where one was lost.
TEST(Vectors, ATileSmallerThanAFragmentHasRegistersForIt) {
  const TemporaryDirectory folder;
  const Answer written = verify(folder.path(), {"nvidia_sm80", "--instruction", "fetch_16_f64", "--samples", "8",
                                                "--no-code", "--bundle", (folder.path() / "programs").string()});
  EXPECT_EQ(written.code, 0) << written.said;
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "programs"))
    if (entry.path().filename() == "kernel.cu") text += read_file(entry.path(), 1 << 24);
  EXPECT_NE(text.find("double D_0_reg[2]"), std::string::npos) << text.substr(0, 3000);
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
