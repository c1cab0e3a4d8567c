// SPDX-License-Identifier: Apache-2.0
// Padded windows as products: no copy of the input in another order, and what lies outside arrives as zeros.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

struct Window {
  int height, width, channels, filters, size, stride, pad, dilation;
};

/// O[n,p,q,k] of a window with channels last.
Kernel window(const Window& w, const std::string& type, const std::string& sum) {
  const auto out = [&](int extent) { return (extent + 2 * w.pad - w.dilation * (w.size - 1) - 1) / w.stride + 1; };
  const auto at = [&](const char* position, const char* tap) {
    return std::to_string(w.stride) + "*" + position + " + " + std::to_string(w.dilation) + "*" + tap + " - " +
           std::to_string(w.pad);
  };
  const auto dim = [](const char* name, int extent) {
    return std::string(", ") + name + ": " + std::to_string(extent);
  };
  return kernel_from("kernel: window\ndims: {N: 2" + dim("H", w.height) + dim("W", w.width) + dim("C", w.channels) +
                     dim("K", w.filters) + dim("R", w.size) + dim("P", out(w.height)) + dim("Q", out(w.width)) +
                     "}\ntensors:\n  I: {shape: [N, H, W, C], dtype: " + type + (w.pad > 0 ? ", outside: 0" : "") +
                     "}\n  F: {shape: [K, R, R, C], dtype: " + type + "}\n  O: {shape: [N, P, Q, K], dtype: " + sum +
                     "}\ncompute:\n  - O[n,p,q,k] += " + sum + "(I[n," + at("p", "r") + "," + at("q", "s") + ",c]) * " +
                     sum + "(F[k,r,s,c])\n");
}

const Window plain{9, 7, 24, 20, 3, 1, 1, 1}, strided{9, 7, 16, 24, 3, 2, 1, 1}, dilated{9, 9, 16, 8, 3, 1, 2, 2},
    pointwise{9, 9, 16, 24, 1, 1, 0, 1}, wide{11, 11, 8, 8, 7, 2, 3, 1};

/// All reductions are one dim, so one ring of tiles goes through all taps.
const char* const ring = R"(schedule: window
nest:
  - for n.p.q by 32 on block tail pad
  - for k by 24 on block tail pad
  - stage O in reg
  - for r.s.c by 32 tail pad
  - stage I in shared x3 as [n.p.q, r.s.c pad 8] via cp_async_16_b16
  - stage F in shared x3 as [k, r.s.c pad 8] via cp_async_16_b16
  - for n.p.q by 16 on warp
  - for r.s.c by 16 unroll
  - stage I in reg x2 via ldmatrix_x4
  - stage F in reg x2 via ldmatrix_x2
  - for k by 8 unroll
  - do s0 with mma_bf16(i=n.p.q, j=k, k=r.s.c)
)";

void taps_outside_arrive_as_zeros(Every every) {
  const auto model = machine("nvidia_sm80");
  for (const Window& w : {wide, strided, dilated})
    if (!every.skips()) expect_same(lowered(window(w, "bf16", "f32"), ring, model), model, 5);
  const Program made = lowered(window(plain, "bf16", "f32"), ring, model);
  for (const std::string how : {"late", "eager", "random:1"}) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(made, model, 5);
  }
}

TEST(Windows, TapsOutsideTheInputArriveAsZerosHoweverCopiesAreDelivered) { taps_outside_arrive_as_zeros(Every(3)); }
TEST(HeavyWindows, TapsOutsideTheInputArriveAsZerosHoweverCopiesAreDelivered) {
  taps_outside_arrive_as_zeros(Every(1));
}

TEST(Windows, HeavyTilesInPermutedRowsAreFilledTheSameWay) {
  const auto model = machine("nvidia_sm90a");
  const Program made = lowered(window({9, 7, 32, 24, 3, 1, 1, 1}, "bf16", "f32"), R"(schedule: window
nest:
  - for n.p.q by 64 on block tail pad
  - for k by 24 on block
  - stage O in reg
  - for r.s.c by 64 tail pad
  - stage I in shared x2 as [r.s.c/64, n.p.q, r.s.c%64] xor 3 from 7 to 4 via cp_async_16_b16
  - stage F in shared x2 as [r.s.c/64, k, r.s.c%64] xor 3 from 7 to 4 via cp_async_16_b16
  - for r.s.c by 16 unroll
  - do s0 with wgmma_bf16_kk_sw128(i=n.p.q, j=k, k=r.s.c)
)",
                               model);
  expect_same(made, model, 5);
}

// An input that yields something else outside cannot be filled by a copy that sets zeros.
TEST(Windows, AnotherValueOutsideIsNotTakenForZero) {
  const auto model = machine("nvidia_sm80");
  Kernel kernel = window(plain, "bf16", "f32");
  kernel.tensors[0].outside = 1;
  const auto schedule = parse_schedule(ring, "schedule.yaml", kernel, model);
  ASSERT_TRUE(schedule);
  const auto made = lower(*schedule, kernel, model);
  ASSERT_FALSE(made);
  EXPECT_NE(render(made.diagnostics()).find("stage I in shared: no move transfers I_shared from global to shared"),
            std::string::npos);
}

void the_search_takes_them_onto_products_with_asynchronous_copies(Every every) {
  struct Type {
    const char *name, *sum;
  };
  for (const char* target : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(target);
    const auto expect_copied = [&](const Window& w, const Type& type) {
      if (every.skips()) return;
      SCOPED_TRACE(std::string(target) + " " + type.name + " " + std::to_string(w.size) + " by " +
                   std::to_string(w.stride) + " dilated " + std::to_string(w.dilation));
      const Program made = searched(window(w, type.name, type.sum), model, 150);
      EXPECT_NE(made.schedule_text.find("stage I in shared"), std::string::npos) << made.schedule_text;
      EXPECT_NE(made.schedule_text.find("via cp_async_16_"), std::string::npos) << made.schedule_text;
      EXPECT_EQ(made.schedule_text.find("stage I in global"), std::string::npos) << made.schedule_text;
      expect_kernel(made, model);
      expect_same(made, model, 11);
    };
    for (const Window& w : {plain, strided, dilated, pointwise, wide}) expect_copied(w, {"bf16", "f32"});
    for (const Type& type : {Type{"f16", "f32"}, {"tf32", "f32"}, {"s8", "s32"}})
      expect_copied({4, 5, 32, 8, 3, 1, 1, 1}, type);
  }
}

TEST(Windows, TheSearchTakesThemOntoProductsWithAsynchronousCopies) {
  the_search_takes_them_onto_products_with_asynchronous_copies(Every(9));
}
TEST(HeavyWindows, TheSearchTakesThemOntoProductsWithAsynchronousCopies) {
  the_search_takes_them_onto_products_with_asynchronous_copies(Every(1));
}

void groups_and_channels_before_rows(Every every) {
  for (const char* target : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(target);
    for (const char* text : {"kernel: grouped\ntensors:\n  I: {shape: [5, 7, 3, 16], dtype: bf16, outside: 0}\n"
                             "  F: {shape: [3, 8, 3, 3, 16], dtype: bf16}\n  O: {shape: [5, 7, 3, 8], dtype: f32}\n"
                             "compute:\n  - O[p,q,g,k] += f32(I[p + r - 1,q + s - 1,g,c]) * f32(F[g,k,r,s,c])\n",
                             "kernel: channels_first\ntensors:\n  I: {shape: [10, 5, 7], dtype: bf16, outside: 0}\n"
                             "  F: {shape: [9, 10, 3, 3], dtype: bf16}\n  O: {shape: [9, 5, 7], dtype: f32}\n"
                             "compute:\n  - O[k,p,q] += f32(I[c,p + r - 1,q + s - 1]) * f32(F[k,c,r,s])\n"}) {
      if (every.skips()) continue;
      const Program made = searched(kernel_from(text), model, 150);
      EXPECT_NE(made.schedule_text.find("mma_bf16"), std::string::npos) << made.schedule_text;
      expect_kernel(made, model);
      expect_same(made, model, 11);
    }
  }
}

TEST(Windows, GroupsAndChannelsBeforeRows) { groups_and_channels_before_rows(Every(6)); }
TEST(HeavyWindows, GroupsAndChannelsBeforeRows) { groups_and_channels_before_rows(Every(1)); }

void of_one_point_and_of_none(Every every) {
  const auto model = machine("nvidia_sm80");
  for (const Window& w :
       {Window{1, 1, 8, 8, 3, 1, 1, 1}, Window{1, 3, 8, 1, 3, 1, 1, 1}, Window{4, 4, 0, 8, 3, 1, 1, 1}}) {
    if (every.skips()) continue;
    const Program made = searched(window(w, "bf16", "f32"), model, 100);
    expect_kernel(made, model);
    expect_same(made, model, 3);
  }
}

TEST(Windows, OfOnePointAndOfNone) { of_one_point_and_of_none(Every(2)); }
TEST(HeavyWindows, OfOnePointAndOfNone) { of_one_point_and_of_none(Every(1)); }

}  // namespace
}  // namespace isamap
