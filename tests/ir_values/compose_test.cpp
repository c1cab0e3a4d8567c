// SPDX-License-Identifier: Apache-2.0
// Copies that vanish: by name, and in random graphs, where the results must not change.

#include "ir/compose.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

Kernel composable(const std::string& text) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(render(verify(*kernel)), "") << text;
  return *kernel;
}

std::string without_copies(const std::string& text) {
  std::string result;
  const Kernel kernel = composed(composable(text)).kernel;
  EXPECT_EQ(render(verify(kernel)), "") << print(kernel);
  for (const Computation& s : kernel.statements) result += s.name + ": " + print(s, kernel.tensors) + "\n";
  return result;
}

TEST(Compose, TransposeIsRead) {
  EXPECT_EQ(without_copies("kernel k\ntensor X: f32[3,4]\ntensor T: f32[4,3]\ntensor Y: f32[4,3]\n"
                           "a: T[i,j] = X[j,i] over i: 4, j: 3\nb: Y[i,j] = exp(T[i,j]) over i: 4, j: 3\n"),
            "b: Y[i,j] = exp(X[j,i]) over i: 4, j: 3\n");
}

/// A copy of an input whose steps are then outermost is kept: slices are contiguous. Other copies are read by steps.
TEST(Compose, StepsOfInputsStayOutermost) {
  const auto stepped = [](const std::string& shape, const std::string& index) {
    return without_copies("kernel k\ntensor X: f32[" + shape +
                          "]\ntensor T: f32[4,4]\ntensor H: f32[5,4]\n"
                          "a: T[t,j] = X[" +
                          index +
                          "] over t: 4, j: 4\nb: H[0,j] = 0 over j: 4\nrepeat t: 4 of 1 statements\n"
                          "c: H[t + 1,j] = H[t,j] + T[t,j] over t: 4, j: 4\n");
  };
  EXPECT_EQ(stepped("4,4", "j,t"),
            "a: T[t,j] = X[j,t] over t: 4, j: 4\nb: H[0,j] = 0 over j: 4\n"
            "c: H[t + 1,j] = H[t,j] + T[t,j] over t: 4, j: 4\n");
  EXPECT_EQ(stepped("5,4", "t + 1,j"),
            "b: H[0,j] = 0 over j: 4\nc: H[t + 1,j] = H[t,j] + X[t + 1,j] over t: 4, j: 4\n");
}

TEST(Compose, ReshapeThereAndBackLeavesNothing) {
  EXPECT_EQ(without_copies("kernel k\ntensor X: f32[3,4]\ntensor T: f32[12]\ntensor U: f32[3,4]\ntensor Y: f32[3,4]\n"
                           "a: T[i] = X[i/4,i%4] over i: 12\nb: U[i,j] = T[4*i + j] over i: 3, j: 4\n"
                           "c: Y[i,j] = exp(U[i,j]) over i: 3, j: 4\n"),
            "c: Y[i,j] = exp(X[i,j]) over i: 3, j: 4\n");
}

TEST(Compose, ConcatenationIsWritten) {
  EXPECT_EQ(without_copies("kernel k\ntensor A: f32[3,5]\ntensor B: f32[5]\ntensor T: f32[3]\ntensor Y: f32[7]\n"
                           "a: T[c] += A[c,k] * B[k] over c: 3, k: 5\nb: Y[c + 4] = T[c] over c: 3\n"
                           "c: Y[c] = B[c] over c: 4\n"),
            "a: Y[c + 4] += A[c,k] * B[k] over c: 3, k: 5\nc: Y[c] = B[c] over c: 4\n");
}

TEST(Compose, PaddingBecomesAValueOutside) {
  EXPECT_EQ(without_copies("kernel k\ntensor X: f32[6]\ntensor W: f32[3]\ntensor T: f32[8]\ntensor Y: f32[6]\n"
                           "a: T[i] = X[i - 1] outside 0 over i: 8\nb: Y[p] += T[p + r] * W[r] over p: 6, r: 3\n"),
            "b: Y[p] += X[p + r - 1] outside 0 * W[r] over p: 6, r: 3\n");
}

/// A channel shuffle before a window: only the axis of the window leaves the copy, and it is one of the source.
TEST(Compose, AWindowReadsShuffledChannels) {
  const auto shuffled = [](const std::string& index, const std::string& outside) {
    return "kernel k\ntensor X: f32[6,5]\ntensor W: f32[6,3]\ntensor T: f32[6,5]\ntensor Y: f32[6,5]\n"
           "a: T[c,p] = X[" +
           index + "] over c: 6, p: 5\nb: Y[c,p] += T[" + outside +
           ",p + r - 1] outside 0 * W[c,r] over c: 6, p: 5, r: 3\n";
  };
  EXPECT_EQ(without_copies(shuffled("c/2 + 3*(c%2),p", "c")),
            "b: Y[c,p] += X[c/2 + 3*(c%2),p + r - 1] outside 0 * W[c,r] over c: 6, p: 5, r: 3\n");
  for (const auto& [index, outside] :
       {std::pair("c/2 + 3*(c%2),p", "c + 1"), std::pair("c/2 + 3*(c%2),4 - p", "c"), std::pair("c,(p + c)%5", "c")}) {
    const std::string text = shuffled(index, outside);  // beyond T lies an element of X
    EXPECT_EQ(without_copies(text).find("X[") < without_copies(text).find("b:"), true) << text;
  }
}

TEST(Compose, WhatIsWantedOrOverwrittenStays) {
  // T is an output too; X is written again before Y reads T.
  const std::string wanted = "a: T[i] = X[i] over i: 4\nb: Y[i] = exp(X[i]) over i: 4\n";
  EXPECT_EQ(without_copies("kernel k\ntensor X: f32[4]\ntensor T: f32[4] output\ntensor Y: f32[4]\n"
                           "a: T[i] = X[i] over i: 4\nb: Y[i] = exp(T[i]) over i: 4\n"),
            wanted);
  const std::string overwritten =
      "a: T[i] = X[i] over i: 4\nc: X[i] += Z[i] over i: 4\nb: Y[i] = exp(T[i]) over i: 4\n";
  EXPECT_EQ(without_copies("kernel k\ntensor X: f32[4] inout\ntensor Z: f32[4]\ntensor T: f32[4]\ntensor Y: f32[4]\n" +
                           overwritten),
            overwritten);
}

/// A random chain of moves with arithmetic between them, as the text of a kernel.
class Chain {
 public:
  explicit Chain(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    shape_ = {2, 3, 4};
    tensor("X0", shape_);
    const std::int64_t length = random_.between(2, 6);
    for (std::int64_t n = 0; n < length; ++n) step();
    std::vector<std::string> same;
    for (std::size_t d = 0; d < shape_.size(); ++d) same.push_back(dim(d));
    say(shape_, same, "", " * 5");
    return "kernel k\n" + tensors_ + statements_;
  }

 private:
  using Shape = std::vector<std::int64_t>;
  static std::string dim(std::size_t d) { return std::string(1, static_cast<char>('i' + d)); }

  void tensor(const std::string& name, const Shape& shape) {
    std::string sizes;
    for (const std::int64_t size : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    tensors_ += "tensor " + name + ": s32[" + sizes + "]\n";
  }

  /// X(n+1)[i,j,..] = X(n)[from]
  void say(const Shape& to, const std::vector<std::string>& from, const std::string& outside = "",
           const std::string& after = "") {
    std::string write, read, over;
    for (std::size_t d = 0; d < to.size(); ++d) {
      write += (d ? "," : "") + dim(d);
      over += (d ? ", " : " ") + dim(d) + ": " + std::to_string(to[d]);
    }
    for (const std::string& e : from) read += (read.empty() ? "" : ",") + e;
    const std::string old = "X" + std::to_string(number_), made = "X" + std::to_string(++number_);
    tensor(made, to);
    statements_ += "s" + std::to_string(number_) + ": " + made + "[" + write + "] = " + old + "[" + read + "]" +
                   outside + after + " over" + over + "\n";
    shape_ = to;
  }

  void step() {
    std::vector<std::string> same;
    for (std::size_t d = 0; d < shape_.size(); ++d) same.push_back(dim(d));
    const auto axis = static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(shape_.size()) - 1));
    Shape to = shape_;
    switch (random_.between(0, 6)) {
      case 0:  // transpose by one
        std::rotate(to.begin(), to.begin() + 1, to.end());
        std::rotate(same.begin(), same.end() - 1, same.end());
        return say(to, same);
      case 1:  // flatten
        return flatten();
      case 2:  // split the axis into digits
        return split(axis);
      case 3:  // pad
        to[axis] += 2;
        same[axis] += " - 1";
        return say(to, same, " outside 7");
      case 4:  // slice backwards
        if (shape_[axis] < 2) return;
        to[axis] -= 1;
        same[axis] = std::to_string(shape_[axis] - 1) + " - " + same[axis];
        return say(to, same);
      case 5:  // repeat
        to[axis] *= 2;
        same[axis] += "%" + std::to_string(shape_[axis]);
        return say(to, same);
      default:
        return say(to, same, "", " * 3");
    }
  }

  void flatten() {
    std::int64_t count = 1;
    for (const std::int64_t size : shape_) count *= size;
    std::vector<std::string> from;
    std::int64_t stride = count;
    for (const std::int64_t size : shape_) {
      stride /= size;
      from.push_back("(i/" + std::to_string(stride) + ")%" + std::to_string(size));
    }
    say({count}, from);
  }

  void split(std::size_t axis) {
    if (shape_.size() > 4 || shape_[axis] % 2 != 0) return;
    Shape to = shape_;
    to[axis] /= 2;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 2);
    std::vector<std::string> from;
    for (std::size_t d = 0; d < shape_.size(); ++d) from.push_back(dim(d > axis ? d + 1 : d));
    from[axis] = "2*" + dim(axis) + " + " + dim(axis + 1);
    say(to, from);
  }

  Random random_;
  Shape shape_;
  std::string tensors_, statements_;
  int number_ = 0;
};

TEST(Compose, RandomChainsComputeTheSame) {
  std::size_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Kernel kernel = composable(Chain(seed).text());
    const Composed less = composed(kernel);
    ASSERT_EQ(render(verify(less.kernel)), "") << print(kernel) << print(less.kernel);
    std::vector<TensorData> data = random_data(kernel, Fill::integers, seed), composed_data;
    for (const Tensor& tensor : less.kernel.tensors) composed_data.push_back(make_data(tensor));
    composed_data[less.tensors[0].index()] = data[0];
    interpret(kernel, data);
    interpret(less.kernel, composed_data);
    const TensorId last = make_id<TensorId>(kernel.tensors.size() - 1);
    ASSERT_EQ(data[last.index()], composed_data[less.tensors[last.index()].index()])
        << print(kernel) << print(less.kernel);
    before += kernel.statements.size();
    after += less.kernel.statements.size();
  }
  EXPECT_LT(10 * after, 6 * before);  // most copies vanish
}

}  // namespace
}  // namespace isamap
