// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/part_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

Kernel row_sums(const std::string& rows) {
  return model_of("kernel sums\ntensor X: f32[" + rows + ",5]\ntensor S: f32[" + rows +
                  "]\nsums: S[i] += X[i,k] over i: " + rows + ", k: 5\n")
      .kernel;
}

/// A reader compiles files: what is known already must not make it do so one after the other.
TEST(PartStore, ReadsKnownPartsSideBySide) {
  const HardwareModel machine = described("scalar_c");
  PartStoreOptions options = OnMachine::searched_for(10);
  options.jobs = 2;
  PartStore store(machine, options);
  const std::vector<Kernel> parts = {row_sums("3"), row_sums("7")};
  store.add(parts);
  std::mutex lock;
  std::condition_variable changed;
  int inside = 0, together = 0;
  store.add(parts, Between::model, [&](std::size_t, const Compilation&) {
    std::unique_lock<std::mutex> held(lock);
    ++inside;
    changed.notify_all();
    together += changed.wait_for(held, std::chrono::seconds(10), [&] { return inside == 2; }) ? 1 : 0;
  });
  EXPECT_EQ(inside, 2) << "each is read";
  EXPECT_EQ(together, 2);
}

}  // namespace
}  // namespace isamap
