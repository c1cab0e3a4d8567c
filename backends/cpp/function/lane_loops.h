// SPDX-License-Identifier: Apache-2.0
#pragma once
// An innermost loop that looks for the largest or smallest value of a statement, in lanes:
//
//   float lane[32];                              // each begins with the identity
//   for (long s_0 = 0; s_0 < 512; s_0 += 32)
//     for (long n = 0; n < 32; ++n) {
//       const long s = s_0 + n;
//       lane[n] = larger(lane[n], select(x[s] < last[0], x[s], -inf));
//     }
//
// Compilers do not reorder such reductions of floats, and their values hang on each other: a row of 512 takes 0.38 us
// element by element and 0.07 in lanes (AVX2; shorter lanes are unrolled, which compilers do not vectorise then). The
// result is that of the loop: of zeros, the last of which decides about the sign, it is looked for again in order.

#include <functional>
#include <set>

#include "backends/cpp/function/statement_printer.h"

namespace isamap {

class LanePrinter {
 public:
  /// All references outlive this.
  LanePrinter(const PrintedFunction& function, OpenLoops& open, TextLines& out, StatementPrinter& statements)
      : function_(function), open_(open), out_(out), statements_(statements) {}
  LanePrinter(const LanePrinter&) = delete;
  LanePrinter& operator=(const LanePrinter&) = delete;

  /// False: it is no such loop. `body` prints what is inside.
  bool print(const Loop& loop, const Item& item, const std::set<int>& fresh, const std::function<void()>& body);

 private:
  void body_with(const Loop& loop, const std::string& target, const std::function<void()>& body);

  const PrintedFunction& function_;
  OpenLoops& open_;
  TextLines& out_;
  StatementPrinter& statements_;
};

}  // namespace isamap
