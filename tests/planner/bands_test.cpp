// SPDX-License-Identifier: Apache-2.0
// Bands of rows, executed step by step by the interpreter: whatever the windows are, they give what whole parts give.

#include "planner/bands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/text/parse.h"
#include "isamap/interpret.h"
#include "planner/plan_file.h"
#include "planner/split_dims.h"
#include "planner/tensor_layouts.h"
#include "tests/planner/attention.h"

namespace isamap {
namespace {

/// Windows of three statements in a row: element-wise, a window of `taps` rows, a pool of 3 rows, a residual.
struct Windows {
  std::int64_t rows = 13, taps = 3, step = 1, dilation = 1, above = 1, below = 1;
  std::int64_t pool_step = 1;
  std::int64_t middle() const { return (rows + above + below - dilation * (taps - 1) - 1) / step + 1; }
  std::int64_t last() const { return (middle() + 2 - 3) / pool_step + 1; }
};

Kernel kernel_of(const Windows& w) {
  return *parse_kernel(fmt::format(R"(kernel windows
tensor X: f32[1,{rows},3]
tensor W: f32[{taps},3] constant
tensor Z: f32[1,{last},3]
tensor T: f32[1,{rows},3] outside 0
tensor U: f32[1,{middle},3] outside -1000
tensor V: f32[1,{last},3]
tensor Y: f32[1,{last},3]
first: T[n,p,c] = X[n,p,c] + 1 over n: 1, p: {rows}, c: 3
window: U[n,p,c] += T[n,{step}*p + {dilation}*r - {above},c] * W[r,c] over n: 1, p: {middle}, c: 3, r: {taps}
pool: V[n,p,c] max= U[n,{pool_step}*p + r - 1,c] over n: 1, p: {last}, c: 3, r: 3
sum: Y[n,p,c] = V[n,p,c] + Z[n,p,c] over n: 1, p: {last}, c: 3
)",
                                   fmt::arg("rows", w.rows), fmt::arg("taps", w.taps), fmt::arg("step", w.step),
                                   fmt::arg("dilation", w.dilation), fmt::arg("above", w.above),
                                   fmt::arg("middle", w.middle()), fmt::arg("last", w.last()),
                                   fmt::arg("pool_step", w.pool_step)));
}

/// Arrays of whole tensors and of buffers, and the steps of bands on them.
class Bands {
 public:
  Bands(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule,
        std::vector<TensorData> data)
      : kernel_(kernel), parts_(parts), schedule_(schedule), arrays_(std::move(data)) {
    for (std::size_t t = 0; t < arrays_.size(); ++t) {
      const TensorId id = make_id<TensorId>(t);
      axis_[id] = row_axis(kernel, schedule.axes, id);
      if (const auto rows = schedule.buffers.find(id); rows != schedule.buffers.end())
        arrays_[t].shape[static_cast<std::size_t>(axis_[id])] = rows->second;
      if (role_of(kernel, id) == Role::input) continue;
      arrays_[t].bytes.assign(static_cast<std::size_t>(arrays_[t].count()) * 4, 0);
      for (std::int64_t i = 0; i < arrays_[t].count(); ++i)
        if (writer_count(kernel, id) == 1 && id != schedule.axes.sum)
          arrays_[t].set(i, {std::numeric_limits<double>::quiet_NaN(), 0});
    }
  }

  std::vector<TensorData> run() {
    for (const BandLoop& loop : schedule_.loops)
      for (std::int64_t time = 0; time < loop.times; ++time)
        for (std::size_t s = 0; s < loop.steps.size(); ++s) execute(loop.steps[s], loop.moves[s], time);
    return arrays_;
  }

 private:
  void execute(const BandStep& step, const std::map<TensorId, std::int64_t>& moves, std::int64_t time) {
    if (step.kind == BandStep::Kind::call) return call(step, moves, time);
    TensorData& buffer = arrays_[step.tensor.index()];
    const std::int64_t size = buffer.count() / buffer.shape[static_cast<std::size_t>(axis_[step.tensor])];
    ASSERT_LE((step.from + step.rows) * size, buffer.count());
    if (step.kind == BandStep::Kind::move)
      std::memmove(buffer.bytes.data(), buffer.bytes.data() + step.from * size * 4,
                   static_cast<std::size_t>(step.rows * size * 4));
    for (std::int64_t i = 0; i < step.rows * size && step.kind == BandStep::Kind::fill; ++i)
      buffer.set(step.from * size + i, {step.value, 0});
  }

  void call(const BandStep& step, const std::map<TensorId, std::int64_t>& moves, std::int64_t time) {
    const BandKernel& which = schedule_.kernels[step.kernel];
    const Kernel kernel = cut_rows(kernel_, parts_[which.part], schedule_, step.kernel);
    Kernel checked = kernel;  // `output` is of tensors that it writes
    for (std::size_t t = 0; t < checked.tensors.size(); ++t)
      checked.tensors[t].output = checked.tensors[t].output && role_of(kernel, make_id<TensorId>(t)) != Role::input;
    EXPECT_FALSE(has_errors(verify(checked))) << print(kernel);
    const auto rows = rows_of(kernel_, parts_[which.part], schedule_.axes);
    for (const RowWindow& window : rows->reads) axis_[window.tensor] = window.axis;
    std::vector<TensorData> data;
    for (const Tensor& tensor : kernel.tensors) {
      data.push_back(make_data(tensor));
      copy(tensor.name, step, moves, time, data.back(), true);
    }
    interpret(kernel, data);
    for (std::size_t t = 0; t < data.size(); ++t)
      if (role_of(kernel, make_id<TensorId>(t)) == Role::output)  // inout: with what was there
        copy(kernel.tensors[t].name, step, moves, time, data[t], false);
  }

  /// Rows between an array and the data of a call.
  void copy(const std::string& name, const BandStep& step, const std::map<TensorId, std::int64_t>& moves,
            std::int64_t time, TensorData& rows, bool in) {
    std::size_t t = 0;
    while (kernel_.tensors[t].name != name) ++t;
    const TensorId id = make_id<TensorId>(t);
    TensorData& array = arrays_[storage_of(id).index()];
    const auto at = step.at.find(id);
    const std::int64_t first = at == step.at.end() ? 0 : at->second + moves_of(moves, id) * time;
    const int axis = at == step.at.end() ? 0 : axis_[id];
    std::int64_t inner = 1, outer = 1;
    for (std::size_t d = 0; d < array.shape.size(); ++d)
      (static_cast<int>(d) < axis   ? outer
       : static_cast<int>(d) > axis ? inner
                                    : inner) *= static_cast<int>(d) == axis ? 1 : array.shape[d];
    const std::int64_t all = array.count() / outer, count = rows.count() / outer;
    ASSERT_GE(first, 0) << name;
    ASSERT_LE(first * inner + count, all) << name;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t in_array = o * all + first * inner + i, in_rows = o * count + i;
        if (in)
          rows.set(in_rows, array.get(in_array));
        else
          array.set(in_array, rows.get(in_rows));
      }
  }
  TensorId storage_of(TensorId id) const {
    const auto by = schedule_.in_place.find(id);
    return by == schedule_.in_place.end() ? id : storage_of(by->second);
  }
  static std::int64_t moves_of(const std::map<TensorId, std::int64_t>& moves, TensorId id) {
    const auto found = moves.find(id);
    return found == moves.end() ? 0 : found->second;
  }

  const Kernel& kernel_;
  const std::vector<Part>& parts_;
  const BandSchedule& schedule_;
  std::vector<TensorData> arrays_;
  std::map<TensorId, int> axis_;
};

std::vector<Part> single_parts(const Kernel& kernel) {
  std::vector<Part> parts;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) parts.push_back({{s}});
  return parts;
}

/// Do the outputs of bands equal those of the kernel?
bool same_in_bands(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule) {
  std::vector<TensorData> expected = random_data(kernel, Fill::real, 5);
  const std::vector<TensorData> found = Bands(kernel, parts, schedule, expected).run();
  interpret(kernel, expected);
  for (std::size_t t = 0; t < expected.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::output && found[t].bytes != expected[t].bytes) return false;
  return true;
}

TEST(Bands, EveryWindowGivesWhatWholePartsGive) {
  const std::vector<Windows> cases = {
      {13, 3, 1, 1, 1, 1},    {13, 3, 2, 1, 1, 1}, {14, 3, 2, 1, 1, 1, 2}, {14, 3, 2, 1, 0, 1},    {13, 3, 1, 1, 0, 0},
      {15, 3, 1, 2, 2, 2},    {15, 3, 1, 2, 0, 0}, {16, 5, 1, 1, 2, 2, 2}, {17, 5, 2, 1, 2, 1, 2}, {13, 1, 2, 1, 0, 0},
      {13, 1, 1, 1, 0, 0},    {12, 2, 2, 1, 0, 0}, {9, 3, 3, 1, 0, 0},     {4, 3, 1, 1, 1, 1},     {3, 3, 1, 1, 1, 1},
      {16, 7, 2, 1, 3, 2, 2}, {11, 3, 1, 3, 3, 3}, {13, 4, 1, 1, 3, 0},    {13, 4, 1, 1, 0, 3},    {20, 1, 3, 1, 0, 0},
  };
  for (const Windows& w : cases) {
    const Kernel kernel = kernel_of(w);
    ASSERT_FALSE(has_errors(verify(kernel))) << print(kernel);
    const std::vector<Part> parts = single_parts(kernel);
    for (std::int64_t by = 1; by <= w.last(); ++by)
      for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>(0, 4), {0, 3}, {1, 2}, {0, 2}, {1, 3}}) {
        const std::vector<Part> some(parts.begin() + static_cast<std::ptrdiff_t>(first),
                                     parts.begin() + static_cast<std::ptrdiff_t>(first + count));
        std::vector<std::size_t> statements;
        for (const Part& part : some) statements.push_back(part.statements.front());
        Kernel alone = kernel;  // the group's tensors and statements, the others gone
        for (std::size_t s = kernel.statements.size(); s-- > 0;)
          if (s < first || s >= first + count) alone.statements.erase(alone.statements.begin() + std::ptrdiff_t(s));
        const std::vector<Part> renumbered = single_parts(alone);
        const std::int64_t rows = alone.tensors[alone.statements.back().write.tensor.index()].shape[1];
        if (by > rows) continue;
        const auto schedule = band_schedule(alone, renumbered, by);
        ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message << "\n" << print(alone);
        EXPECT_TRUE(same_in_bands(alone, renumbered, *schedule)) << print(alone) << "bands of " << by;
      }
  }
}

TEST(Bands, OneLoopRunsMostOfThem) {
  const Kernel kernel = kernel_of({64, 3, 1, 1, 1, 1});
  const auto schedule = band_schedule(kernel, single_parts(kernel), 4);
  ASSERT_TRUE(schedule);
  std::int64_t longest = 0, all = 0;
  for (const BandLoop& loop : schedule->loops) longest = std::max(longest, loop.times), all += loop.times;
  EXPECT_EQ(all, 16);
  EXPECT_GE(longest, 13);
  EXPECT_EQ(schedule->buffers.size(), 2u);
  EXPECT_EQ(schedule->in_place.size(), 1u) << "V in Y";
  for (const auto& [id, rows] : schedule->buffers) EXPECT_LE(rows, 7) << "4 rows, a halo of 2, the end";
}

/// The last band of a part that runs ahead has no rows to run ahead to, and bands that do not divide the rows have a
/// last one of fewer rows.
TEST(Bands, NoRowIsComputedTwice) {
  for (const std::int64_t rows : {14, 15})
    for (std::int64_t by = 1; by <= rows; ++by) {
      const Kernel kernel = kernel_of({rows, 3, 1, 1, 1, 1});
      const auto schedule = band_schedule(kernel, single_parts(kernel), by);
      ASSERT_TRUE(schedule);
      std::vector<std::int64_t> computed(4, 0);
      for (const BandLoop& loop : schedule->loops)
        for (const BandStep& step : loop.steps)
          if (step.kind == BandStep::Kind::call) computed[step.part] += loop.times * step.rows;
      EXPECT_EQ(computed, std::vector<std::int64_t>(4, rows)) << "bands of " << by;
    }
}

/// Two bands: the first one with the rows that the window reads ahead, the second without them.
TEST(Bands, RowsAheadAreNoCallOfTheirOwnWhereThatIsAProgramMore) {
  const Kernel kernel = kernel_of({14, 3, 1, 1, 1, 1});
  const std::vector<Part> parts = {{{0}}, {{1}}};
  Kernel alone = kernel;
  alone.statements.resize(2);
  const auto rows_of_first = [&](std::int64_t by) {
    std::vector<std::int64_t> rows;
    const auto schedule = band_schedule(alone, parts, by);
    for (const BandKernel& one : schedule->kernels)
      if (one.part == 0) rows.push_back(one.rows);
    return rows;
  };
  EXPECT_EQ(rows_of_first(7), (std::vector<std::int64_t>{8, 6}));
  EXPECT_EQ(rows_of_first(2), (std::vector<std::int64_t>{1, 2})) << "the last row as the first";
}

TEST(Bands, ManyMillionsOfThemAreRefused) {
  const Kernel kernel = kernel_of({std::int64_t{1} << 40, 3, 1, 1, 1, 1});
  const auto refused = band_schedule(kernel, single_parts(kernel), 4);
  ASSERT_FALSE(refused);
  EXPECT_NE(render(refused.diagnostics()).find("at most 131072 are planned"), std::string::npos)
      << render(refused.diagnostics());
}

TEST(Bands, RowsThatOthersReadAreStored) {
  Kernel kernel = kernel_of({13, 3, 1, 1, 1, 1});
  kernel.tensors[4].output = true;  // U is wanted by the caller, and still read row by row
  const auto schedule = band_schedule(kernel, single_parts(kernel), 2);
  ASSERT_TRUE(schedule);
  EXPECT_FALSE(schedule->buffers.contains(make_id<TensorId>(4)));
  EXPECT_TRUE(same_in_bands(kernel, single_parts(kernel), *schedule));
}

/// Two branches write one tensor, which a window reads; the first of them is a window too.
TEST(Bands, BranchesMayWriteOneTensor) {
  const Kernel kernel = *parse_kernel(R"(kernel branches
tensor X: f32[12,3]
tensor W: f32[3] constant
tensor S: f32[12,3] outside 0
tensor A: f32[12,3]
tensor C: f32[12,7] outside 0
tensor Y: f32[6,7]
squeeze: S[p,c] = X[p,c] + 1 over p: 12, c: 3
sum: A[p,c] += S[p + r - 1,c] * W[r] over p: 12, c: 3, r: 3
one: C[p,c] = S[p,c] * 2 over p: 12, c: 3
other: C[p,c + 4] = max(A[p,c], 0) over p: 12, c: 3
window: Y[p,c] += C[2*p + r - 1,c] * W[r] over p: 6, c: 7, r: 3
)");
  const std::vector<Part> parts = {{{0}}, {{1}}, {{2}}, {{3}}, {{4}}};
  for (std::int64_t by = 1; by <= 6; ++by) {
    const auto schedule = band_schedule(kernel, parts, by);
    ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
    EXPECT_EQ(schedule->buffers.size(), 3u);
    EXPECT_TRUE(same_in_bands(kernel, parts, *schedule)) << by;
  }
}

/// The image has channels outermost: rows of the first part are no rows of its storage.
TEST(Bands, InputsMayHaveTheirRowsInside) {
  const Kernel kernel = *parse_kernel(R"(kernel image
tensor X: f32[1,2,9,4] outside 0
tensor W: f32[3,2,3] constant
tensor T: f32[1,5,4,3]
tensor Y: f32[1,5,4,3]
first: T[n,p,q,k] += X[n,c,2*p + r - 1,q] * W[k,c,r] over n: 1, p: 5, q: 4, k: 3, c: 2, r: 3
second: Y[n,p,q,k] = max(T[n,p,q,k], 0) over n: 1, p: 5, q: 4, k: 3
)");
  for (std::int64_t by = 1; by <= 5; ++by) {
    const auto schedule = band_schedule(kernel, single_parts(kernel), by);
    ASSERT_TRUE(schedule);
    EXPECT_TRUE(same_in_bands(kernel, single_parts(kernel), *schedule)) << by;
  }
}

TEST(Bands, RowsMayBeHeads) {
  const Kernel kernel = attention_of_four_heads();
  const std::vector<Part> parts = {{{0}}, {{1}}, {{2, 3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}};
  EXPECT_FALSE(band_schedule(kernel, parts, 2)) << "the outermost axes of keys and scores are others";
  for (std::int64_t by = 1; by <= 4; ++by) {
    const auto schedule = band_schedule(kernel, parts, by, "h");
    ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
    EXPECT_EQ(schedule->buffers.size(), 7u);
    EXPECT_EQ(schedule->buffers.at(make_id<TensorId>(5)), 3 * by) << "columns of the keys";
    EXPECT_TRUE(same_in_bands(kernel, parts, *schedule)) << by;
  }
}

/// An axis of one element in front of them goes, with its stride.
TEST(Bands, RowsInsideAreReadInPlace) {
  const Kernel kernel = attention_of_four_heads();
  const std::vector<Part> parts = {{{4}}, {{5}}, {{6}}, {{7}}, {{8}}};
  const auto schedule = band_schedule(kernel, parts, 2);
  ASSERT_TRUE(schedule);
  const Kernel scores = cut_rows(kernel, parts[0], *schedule, 0);
  ASSERT_EQ(scores.tensors[0].name, "Q");
  EXPECT_EQ(scores.tensors[0].shape, (std::vector<std::int64_t>{5, 2, 3}));
  EXPECT_EQ(scores.tensors[0].strides, (std::vector<std::int64_t>{12, 3, 1}));
}

TEST(Bands, RowsMayBeQueries) {
  Kernel kernel = attention_of_four_heads();
  std::vector<Part> parts = {{{2, 3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}};  // keys and values are there
  const auto all = band_schedule(kernel, {{{0}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}}, 2, "i");
  ASSERT_FALSE(all);
  EXPECT_EQ(all.diagnostics()[0].message, "'k' has no dim that goes with 'i'");
  kernel.statements.erase(kernel.statements.begin(), kernel.statements.begin() + 2);
  for (Part& part : parts)
    for (std::size_t& s : part.statements) s -= 2;
  for (std::int64_t by = 1; by <= 5; ++by) {
    const auto schedule = band_schedule(kernel, parts, by, "i");
    ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
    EXPECT_EQ(schedule->buffers.size(), 5u);
    EXPECT_TRUE(same_in_bands(kernel, parts, *schedule)) << by;
  }
  EXPECT_EQ(band_schedule(kernel, parts, 2, "j").diagnostics()[0].message, "'q' has no dim that goes with 'j'");
}

TEST(Bands, RowsMayBeChannels) {
  const Kernel kernel = *parse_kernel(R"(kernel channels
tensor X: f32[1,6,3]
tensor W: f32[8,3] constant
tensor D: f32[8,3] constant
tensor T: f32[1,6,8] outside 0
tensor Y: f32[1,6,8]
expand: T[n,p,k] += X[n,p,c] * W[k,c] over n: 1, p: 6, k: 8, c: 3
depthwise: Y[n,p,c] += T[n,p + r - 1,c] * D[c,r] over n: 1, p: 6, c: 8, r: 3
)");
  for (std::int64_t by = 1; by <= 8; ++by) {
    const auto schedule = band_schedule(kernel, single_parts(kernel), by, "c");
    ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
    EXPECT_EQ(schedule->buffers.at(make_id<TensorId>(3)), by);
    EXPECT_TRUE(same_in_bands(kernel, single_parts(kernel), *schedule)) << by;
  }
}

/// An expansion, a window with a stride, a projection that sums over the channels, a bias and a residual.
Kernel inverted_residual(std::int64_t channels) {
  return *parse_kernel(fmt::format(R"(kernel block
tensor X: f32[1,6,3]
tensor W: f32[{0},3] constant
tensor D: f32[{0},3] constant
tensor P: f32[3,{0}] constant
tensor B: f32[3] constant
tensor R: f32[1,3,3]
tensor T: f32[1,6,{0}] outside 0
tensor U: f32[1,3,{0}]
tensor S: f32[1,3,3]
tensor Y: f32[1,3,3]
expand: T[n,p,k] += X[n,p,c] * W[k,c] over n: 1, p: 6, k: {0}, c: 3
depthwise: U[n,p,c] += T[n,2*p + r - 1,c] * D[c,r] over n: 1, p: 3, c: {0}, r: 3
project: S[n,p,k] += U[n,p,c] * P[k,c] over n: 1, p: 3, k: 3, c: {0}
residual: Y[n,p,k] = S[n,p,k] + B[k] + R[n,p,k] over n: 1, p: 3, k: 3
)",
                                   channels));
}

TEST(Bands, BandsOfASumGiveTheWholeSum) {
  for (const std::int64_t channels : {2, 5, 8}) {
    const Kernel kernel = inverted_residual(channels);
    const std::vector<Part> parts = {{{0}}, {{1}}, {{2, 3}}};
    for (std::int64_t by = 1; by <= channels; ++by) {
      const auto schedule = band_schedule(kernel, parts, by, "c");
      ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
      EXPECT_EQ(schedule->buffers.at(make_id<TensorId>(6)), by);
      EXPECT_EQ(schedule->buffers.size(), 2u) << "the sum is whole";
      EXPECT_TRUE(schedule->kernels.back().rest);
      EXPECT_EQ(call_counts(*schedule).back(), 1) << "the residual is added once";
      EXPECT_TRUE(same_in_bands(kernel, parts, *schedule)) << channels << " by " << by;
    }
  }
}

/// Heads before the product that sums over them; nothing is behind the sum in its part.
TEST(Bands, HeadsMayBeSummed) {
  const Kernel kernel = attention_of_four_heads(true);
  const std::vector<Part> parts = {{{0}}, {{1}}, {{2, 3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}, {{9}}};
  for (std::int64_t by = 1; by <= 4; ++by) {
    const auto schedule = band_schedule(kernel, parts, by, "h");
    ASSERT_TRUE(schedule) << schedule.diagnostics()[0].message;
    EXPECT_EQ(schedule->buffers.size(), 8u);
    EXPECT_TRUE(same_in_bands(kernel, parts, *schedule)) << by;
  }
}

TEST(Bands, ADimOfTwoAxesIsSplit) {
  const char* const text = R"(kernel product
tensor A: f32[3,5,4]
tensor B: f32[12,6] constant
tensor C: f32[5,6]
product: C[i,j] += A[k/4,i,k%4] * B[k,j] over i: 5, j: 6, k: 12
)";
  const Kernel kernel = *parse_kernel(text), split = with_split_dims(kernel);
  EXPECT_EQ(print(split.statements[0], split.tensors),
            "C[i,j] += A[k0,i,k1] * B[4*k0 + k1,j] over i: 5, j: 6, k0: 3, k1: 4");
  std::vector<TensorData> expected = random_data(kernel, Fill::real, 5), found = expected;
  interpret(kernel, expected);
  interpret(split, found);
  EXPECT_EQ(found[2].bytes, expected[2].bytes);
  EXPECT_EQ(print(with_split_dims(split)), print(split));
  Kernel other = kernel;  // 12 columns are no threes of five
  other.statements[0].reads[0].index = {floordiv(AffineExpr::dim("k"), 5), AffineExpr::dim("i"),
                                        mod(AffineExpr::dim("k"), 5)};
  EXPECT_EQ(print(with_split_dims(other)), print(other));
}

TEST(Bands, ACopyDividesNoDimAtEachElement) {
  const auto copy = [](const std::string& read, int extent) {
    return fmt::format(
        "kernel copy\ntensor X: f32[3,2,4]\ntensor Y: f32[3,{0}]\nc: Y[i,j] = X[i,{1}] over i: 3, j: {0}\n", extent,
        read);
  };
  const auto split_of = [](const std::string& text) {
    const Kernel kernel = *parse_kernel(text), split = with_split_dims(kernel);
    std::vector<TensorData> expected = random_data(kernel, Fill::real, 5), found = expected;
    interpret(kernel, expected);
    interpret(split, found);
    EXPECT_EQ(found[1].bytes, expected[1].bytes);
    return print(split.statements[0], split.tensors);
  };
  EXPECT_EQ(split_of(copy("1,j%4", 12)), "Y[i,4*j0 + j1] = X[i,1,j1] over i: 3, j0: 3, j1: 4");  // Tile
  EXPECT_EQ(split_of(copy("j%2,j/2", 8)), "Y[i,2*j0 + j1] = X[i,j1,j0] over i: 3, j0: 4, j1: 2");
  EXPECT_EQ(split_of(copy("(j + 1)%2,(j + 1)/2", 6)),  // phases of a transposed convolution with padding
            "Y[i,2*j0 + j1] = X[i,-j1 + 1,j0 + j1] over i: 3, j0: 3, j1: 2");
  EXPECT_EQ(split_of(copy("j/4,j%4", 8)), "Y[i,j] = X[i,j/4,j%4] over i: 3, j: 8");  // its place is j
  EXPECT_EQ(split_of(copy("1,j%4", 10)), "Y[i,j] = X[i,1,j%4] over i: 3, j: 10");    // no whole fours
}

TEST(Bands, SumsThatCannotBeBandsAreRefused) {
  Kernel kernel = inverted_residual(4);
  const std::vector<Part> parts = {{{0}}, {{1}}, {{2, 3}}};
  EXPECT_EQ(band_schedule(kernel, parts, 2, "q").diagnostics()[0].message,
            "'project' neither writes along a dim 'q' nor sums over one");
  kernel.statements[3].reads.back().tensor = make_id<TensorId>(7);  // the residual is what the bands compute
  kernel.statements[3].reads.back().index.back() = AffineExpr::dim("k");
  EXPECT_EQ(band_schedule(kernel, parts, 2, "c").diagnostics()[0].message, "every row reads all of 'U'");
  kernel = inverted_residual(4);
  kernel.tensors[8].inout = true;
  EXPECT_EQ(band_schedule(kernel, parts, 2, "c").diagnostics()[0].message, "'S' is no sum of bands along 'c'");
}

TEST(Bands, AHaloWithoutARowIsSeen) {
  const Kernel kernel = kernel_of({13, 3, 1, 1, 1, 1});
  auto schedule = band_schedule(kernel, single_parts(kernel), 3);
  ASSERT_TRUE(schedule);
  ASSERT_TRUE(same_in_bands(kernel, single_parts(kernel), *schedule));
  std::size_t moves = 0;
  for (BandLoop& loop : schedule->loops)
    for (BandStep& step : loop.steps)
      if (step.kind == BandStep::Kind::move && step.rows > 1) --step.rows, ++moves;
  EXPECT_GT(moves, 0u);
  EXPECT_FALSE(same_in_bands(kernel, single_parts(kernel), *schedule));
}

TEST(Bands, RefusalsSayWhy) {
  const auto why = [](const char* text, std::int64_t by = 2) {
    const Kernel kernel = *parse_kernel(text);
    const auto schedule = band_schedule(kernel, single_parts(kernel), by);
    return schedule ? "" : schedule.diagnostics()[0].message;
  };
  EXPECT_EQ(why(R"(kernel k
tensor X: f32[8,3]
tensor T: f32[8,3]
tensor Y: f32[8,3]
a: T[p,c] = X[p,c] + 1 over p: 8, c: 3
b: Y[p,c] = T[7 - p,c] * 2 over p: 8, c: 3
)"),
            "'b' does not read 'T' row by row");
  EXPECT_EQ(why(R"(kernel k
tensor X: f32[8,3]
tensor T: f32[8,3]
tensor Y: f32[8,3]
a: T[p,c] = X[p,c] + 1 over p: 8, c: 3
b: Y[p,c] += T[r,c] * X[p,c] over p: 8, c: 3, r: 8
)"),
            "every row reads all of 'T'");
  EXPECT_EQ(why(R"(kernel k
tensor X: f32[8,3]
tensor T: f32[8,3]
tensor Y: f32[3]
a: T[p,c] = X[p,c] + 1 over p: 8, c: 3
b: Y[c] += T[p,c] over c: 3, p: 8
)"),
            "'T' is not read along its outermost axis");
  EXPECT_EQ(why(R"(kernel k
tensor X: f32[8,3]
tensor T: f32[8,3]
tensor Y: f32[8,3]
a: T[p,c] = X[p,c] + 1 over p: 8, c: 3
b: Y[p,c] = X[p,c] * 2 over p: 8, c: 3
)"),
            "no part behind 'a' in the group reads its rows");
  const char* two = R"(kernel k
tensor X: f32[8,3]
tensor T: f32[8,3]
tensor Y: f32[8,3]
a: T[p,c] = X[p,c] + 1 over p: 8, c: 3
b: Y[p,c] = T[p,c] * 2 over p: 8, c: 3
)";
  EXPECT_EQ(why(two, 9), "bands of 9 rows, but the last part has 8");
  EXPECT_EQ(why(two, 8), "");
}

TEST(Bands, PlansAreReadAsTheyAreWritten) {
  const Kernel kernel = kernel_of({13, 3, 1, 1, 1, 1});
  const std::string text = R"(plan: windows
machine: any
parts:
  - [first]
  - [window]
  - [pool]
  - [sum]
bands:
  - {parts: [first, window], by: 4, halo: kept}
  - {parts: [pool, sum], along: c, by: 2, halo: kept}
)";
  const auto plan = parse_plan(text, "plan.yaml", kernel);
  ASSERT_TRUE(plan) << render(plan.diagnostics());
  ASSERT_EQ(plan->bands.size(), 2u);
  EXPECT_EQ(plan->bands[1], (BandGroup{2, 2, 2, "c"}));
  EXPECT_EQ(print(*plan, kernel, "any"), text);
  const auto refusal = [&](const std::string& bands) {
    const auto read = parse_plan(text.substr(0, text.find("bands:")) + "bands:\n" + bands, "plan.yaml", kernel);
    return read ? "" : render(read.diagnostics());
  };
  EXPECT_FALSE(parse_plan(text, "plan.yaml", kernel, "other"));
  const std::string other = "plan: other\n" + text.substr(text.find("machine"));
  EXPECT_EQ(render(parse_plan(other, "p.yaml", kernel).diagnostics()).substr(0, 57),
            "p.yaml:1:7: a plan of 'other', and the model is 'windows'");
  const auto has = [](const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; };
  EXPECT_TRUE(has(refusal("  - {parts: [first, windw], by: 4}\n"), "no part begins with 'windw'"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, windw], by: 4}\n"), "plan.yaml:9:21"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], by: 4}\n  - {parts: [pool, sum], by: 14}\n"), "plan.yaml:10:"))
      << "the line of the group";
  EXPECT_TRUE(has(refusal("  - {parts: [first, pool], by: 4}\n"), "'pool' is not the part behind 'first'"));
  EXPECT_TRUE(has(refusal("  - {parts: [first], by: 4}\n"), "expected two parts or more"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], by: 0}\n"), "expected rows of a band"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], by: 14}\n"), "bands of 14 rows, but the last part has 13"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], by: 14}\n"), "hint: 'by' is 1 to 13"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], along: zz, by: 4}\n"), "hint: 'along' is one of its dims: "));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], by: 4, halo: none}\n"), "expected 'kept', found 'none'"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window]}\n"), "by"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], along: q, by: 4}\n"),
                  "'window' neither writes along a dim 'q' nor sums over one"));
  EXPECT_TRUE(has(refusal("  - {parts: [first, window], along: [c], by: 4}\n"), "expected a dim"));
  EXPECT_TRUE(
      has(refusal("  - {parts: [first, window], by: 4}\n  - {parts: [window, pool], by: 4}\n"), "each part in one"));
  EXPECT_TRUE(has(refusal("  first\n"), "expected groups of parts"));
}

TEST(Bands, PlansSayWhereStatementsAreMissingOrTwice) {
  const Kernel kernel = *parse_kernel(R"(kernel two
tensor X: f32[8]
tensor T: f32[8]
tensor Y: f32[8]
a: T[i] = X[i] + 1 over i: 8
b: Y[i] = T[i] * 2 over i: 8
)");
  const std::string first = kernel.statements[0].name, second = kernel.statements[1].name;
  const auto refusal = [&](const std::string& parts) {
    return render(parse_plan("# read\nplan: two\nparts:\n" + parts, "p.yaml", kernel).diagnostics());
  };
  const std::string twice = refusal("  - [" + first + "]\n  - [" + second + ", " + first + "]\n");
  EXPECT_EQ(twice.substr(0, 11), "p.yaml:5:9:") << twice;
  EXPECT_NE(twice.find("statement '" + first + "' is in a part already"), std::string::npos) << twice;
  const std::string missing = refusal("  - [" + first + "]\n");
  EXPECT_EQ(missing.substr(0, 9), "p.yaml:4:") << missing;
  EXPECT_NE(missing.find("hint: add it to the part that it follows"), std::string::npos) << missing;
  const std::string late = refusal("  - [" + second + "]\n  - [" + first + "]\n");
  EXPECT_EQ(late.substr(0, 9), "p.yaml:4:") << late;
  EXPECT_NE(late.find("hint: parts are in order of execution: '" + first + "' comes first"), std::string::npos) << late;
}

}  // namespace
}  // namespace isamap
