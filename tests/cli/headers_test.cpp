// SPDX-License-Identifier: Apache-2.0
// Headers beside the hardware file that includes them.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

TEST(Headers, BesideTheHardwareFileAreFoundAndBelongToTheProgram) {
  const Folder folder;
  folder.write("vendor.h", "static inline float vendor_one(void) { return 1; }\n");
  const std::string file =
      folder.write("beside.yaml",
                   "hardware: beside\nextends: scalar_c.yaml\nprogram:\n  include: [vendor.h]\n"
                   "  helpers: \"static inline float helper_that_needs_the_header(void) { return vendor_one(); }\"\n");
  const auto run = [&] { return isamap({"run", "--compute", "Y[i] = X[i] + 1", "--dims", "i=5", "--target", file}); };
  const Said found = run();
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  folder.write("vendor.h", "#error another header\n");
  const Said changed = run();
  EXPECT_NE(changed.code, 0) << "the program of the old header is taken from the cache: " << changed.out;
  EXPECT_NE((changed.out + changed.err).find("another header"), std::string::npos) << changed.out << changed.err;
}

}  // namespace
}  // namespace isamap::cli_test
