// SPDX-License-Identifier: Apache-2.0
// --target native: the description that says most about this processor.

#include <gtest/gtest.h>

#include "driver/native_target.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string models = ISAMAP_SOURCE_DIR "/hardware_models/";

class Native : public testing::Test {
 protected:
  void SetUp() override {
    const auto plain = load_hardware(models + "scalar_c.yaml", {});
    ASSERT_TRUE(plain);
    if (availability(plain->model).how != ExecutionMode::native) GTEST_SKIP() << availability(plain->model).why;
  }
  std::string file(const std::string& name, const std::string& requires_cpu) {
    return folder_.write(name + ".yaml", "hardware: " + name + "\nextends: scalar_c.yaml\n" + requires_cpu);
  }
  Folder folder_;
};

TEST_F(Native, WhatDoesNotRunHereIsNotChosen) {
  folder_.write("scalar_c.yaml", read_file(models + "scalar_c.yaml"));
  const std::string plain = models + "scalar_c.yaml";
  const std::string other = file("other", "requires: {cpu: [no_such_feature]}\n");
  EXPECT_EQ(native_target({{"other", other}, {"scalar_c", plain}}), "scalar_c");
  EXPECT_EQ(native_target({{"other", other}}), std::nullopt);
  EXPECT_EQ(native_target({{"b", file("b", "")}, {"scalar_c", plain}}), "b") << "the first of equal ones";
  EXPECT_EQ(native_target({{"damaged", folder_.write("d.yaml", "hardware: [")}, {"scalar_c", plain}}), "scalar_c");
}

TEST_F(Native, IsADescriptionLikeAnyOther) {
  const Said said =
      isamap({"map", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=32,k=8", "--target", "native", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.err.find("note: native is "), std::string::npos) << said.err;
  const std::string name = nlohmann::json::parse(said.out)["target"];
  EXPECT_NE(name, "native");
  const auto model = load_hardware(models + name + ".yaml", {});
  ASSERT_TRUE(model);
  EXPECT_EQ(availability(model->model).how, ExecutionMode::native);
  EXPECT_EQ(isamap({"hw", "show", "native"}).code, 0);
}

}  // namespace
}  // namespace isamap::cli_test
