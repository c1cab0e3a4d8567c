// SPDX-License-Identifier: Apache-2.0
#include "cli/scalar_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "mapper/advice/statement_splits.h"

namespace isamap::cli {

std::string scalar_code_text(const std::vector<ScalarCode>& scalar) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (const ScalarCode& code : scalar) {
    text += fmt::format("{} is scalar code", code.statement);
    if (!code.reasons.empty()) text += ": " + code.reasons.front();
    text += "\n";
    for (std::size_t r = 1; r < std::min(code.reasons.size(), shown); ++r) text += "  " + code.reasons[r] + "\n";
    if (code.reasons.size() > shown)
      text += fmt::format("  and {} more reasons: --json{}\n", code.reasons.size() - shown,
                          code.cause == ScalarCode::Cause::nothing_maps ? ", isamap explain" : "");
  }
  return text;
}

std::string text_of_splits(const Kernel& kernel, const Schedule& schedule) {
  std::string text;
  Kernel made = kernel;
  for (const SplitPart& part : schedule.splits)
    for (std::size_t s = 0; s < made.statements.size(); ++s) {
      if (made.statements[s].name != part.statement) continue;
      for (const StatementSplit& split : statement_splits(made, make_id<StatementId>(s)))
        if (split.part == part) text += part.statement + ": " + split.text + "\n";
      made = *split_statements(made, {part});
      break;
    }
  return text;
}

void tell_scalar(const Options& options, const std::vector<ScalarCode>& scalar) {
  if (!options.schedule_file.empty()) return;
  std::vector<ScalarCode> with_reasons;
  for (const ScalarCode& code : scalar)
    if (!code.reasons.empty()) with_reasons.push_back(code);
  std::string text = scalar_code_text(with_reasons);
  if (text.empty()) return;
  text.pop_back();
  tell(text);
}

}  // namespace isamap::cli
