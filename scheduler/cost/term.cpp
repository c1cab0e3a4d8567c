// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/term.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {

std::string TermTime::name() const {
  std::string text(kind);
  if (!of.empty()) text.append(" ").append(of);
  if (number > 0) {
    const std::string count = fmt::format("{:.0f} {}", number, counted);
    text += of.empty() ? " " + count : " (" + count + ")";
  }
  return text;
}

double TermSum::of(Overlap overlap) const {
  double sum = 0;
  for (const auto& [term, time] : added)
    if (term->overlap == overlap) sum += time.cycles;
  return sum;
}

TermSum sum_terms(TimingModel model, TermContext context) {
  TermSum sum;
  sum.bounds.reserve(terms_of(model).size());
  sum.added.reserve(terms_of(model).size());
  std::vector<TermTime> times;
  for (const Term* term : terms_of(model)) {
    times.clear();
    if (term->overlap == Overlap::calls || term->overlap == Overlap::bound) {
      term->times(context, times);
      const bool more_calls = term->overlap == Overlap::calls && !sum.bounds.empty();
      for (const TermTime& time : times)
        if (more_calls)
          sum.bounds.front().cycles += time.cycles;
        else
          sum.bounds.push_back(time);
      continue;
    }
    if (sum.added.empty() && context.bounds.empty()) {
      context.bounds = sum.bounds;
      for (const TermTime& time : sum.bounds) context.longest = std::max(context.longest, time.cycles);
    }
    term->times(context, times);
    for (const TermTime& time : times)
      if (time.cycles != 0) sum.added.emplace_back(term, time);
  }
  const TermTime* most = nullptr;
  for (const TermTime& time : sum.bounds)
    if (time.cycles > sum.longest) most = &time, sum.longest = time.cycles;
  if (most != nullptr) sum.bound = most->name(), sum.bound_by_calls = most->bound_of == BoundOf::calls;
  sum.cycles = sum.longest;
  for (const auto& [term, time] : sum.added) sum.cycles += time.cycles;
  if (sum.of(Overlap::exposed) > sum.longest + sum.of(Overlap::once)) {
    sum.bound = model == TimingModel::command_stream ? sum.added.back().second.name() : "transfers that nothing hides";
    sum.bound_by_calls = false;
  }
  return sum;
}

}  // namespace isamap
