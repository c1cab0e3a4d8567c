// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over digits of a scatter (ir/scatter.h) as the one iteration that matters:
//
//   if (const std::uint64_t at = J[u]; at < 1000) {
//     const long i = static_cast<long>(at);
//     L[i] = max(L[i], u);
//   }

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "backends/cpp/function/statement_printer.h"

namespace isamap {

class ScatterPrinter {
 public:
  /// All references outlive this.
  ScatterPrinter(const PrintedFunction& function, OpenLoops& open, TextLines& out, StatementPrinter& statements)
      : function_(function), open_(open), out_(out), statements_(statements) {}
  ScatterPrinter(const ScatterPrinter&) = delete;
  ScatterPrinter& operator=(const ScatterPrinter&) = delete;

  /// False: the loop is over no such digit. `body` prints what is inside.
  bool print(const Loop& loop, const Item& item, const std::set<int>& fresh, const std::function<void()>& body);
  /// The statement as it is inside of the loops that are open.
  const Element& inside(const Element& element);

 private:
  void print_body(const Loop& loop, const std::function<void()>& body);

  const PrintedFunction& function_;
  OpenLoops& open_;
  TextLines& out_;
  StatementPrinter& statements_;
  std::map<std::string, std::string> digits_;  ///< values of the variables of open and coming loops
  std::optional<ScalarExpr> term_;
  Element inside_;
};

}  // namespace isamap
