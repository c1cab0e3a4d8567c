// SPDX-License-Identifier: Apache-2.0
// Losses: the negative log-likelihood of stated classes, read at computed places.

#include <fmt/format.h>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// Weights of the elements under "G" and losses under "L", each of the target's shape; `scores` are log-probabilities.
void say_losses(Maker& m, const std::string& scores, bool weighted) {
  const Sizes& t = m.shape(1);
  const Names i = iterators(t.size(), "npqoabdef");
  const Extents all = extents_of(i, t);
  Names at = i;
  at.insert(at.begin() + 1, "at(" + access("X1", i) + ")");
  const DType type = m.dtype_of(scores);
  m.temporary("G", type, t);
  m.temporary("L", type, t);
  m.temporary("S", type, t);
  std::string weight = "1";
  if (weighted) {
    m.temporary("W", type, t);
    m.say(fmt::format("{} = X2[at({})]", access("W", i), access("X1", i)), all);
    weight = access("W", i);
  }
  const bool ignores = m.states("ignore_index");
  m.say(fmt::format("{} = {}", access("G", i),
                    ignores
                        ? fmt::format("select({} == {}, 0, {})", access("X1", i), m.integer("ignore_index", 0), weight)
                        : weight),
        all);
  m.say(access("S", i) + " = " + access(scores, at), all);
  m.say(fmt::format("{0} = select({1} == 0, 0, -{1} * {2})", access("L", i), access("G", i), access("S", i)), all);
}

void say_reduced(Maker& m, bool weighted) {
  const Sizes& t = m.shape(1);
  const Names i = iterators(t.size(), "npqoabdef");
  const Extents all = extents_of(i, t);
  const std::string how = m.text("reduction", "mean");
  const DType type = m.dtype_of("L");
  if (how == "none") {
    m.result("Y", 0, type, t);
    return m.say(access("Y", i) + " = " + access("L", i), all);
  }
  m.result("Y", 0, type, {});
  if (how == "sum") return m.say("Y[] += " + access("L", i), all);
  const bool counts = weighted || m.states("ignore_index");
  m.temporary("A", type, {});
  m.say("A[] += " + access("L", i), all);
  if (!counts) return m.say(fmt::format("Y[] = A[] / {}", std::max<std::int64_t>(product_of(t), 1)), {});
  m.temporary("B", type, {});
  m.say("B[] += " + access("G", i), all);
  m.say("Y[] = A[] / B[]", {});
}

void check_loss(const Maker& m) {
  const Sizes &x = m.shape(0), &t = m.shape(1);
  if (x.size() != t.size() + 1 || t.empty() || x[1] < 1)
    throw contradiction("targets of " + sizes_text(t) + " do not fit " + sizes_text(x));
}

void make_likelihood(Maker& m) {
  check_loss(m);
  say_losses(m, "X0", m.has(2));
  say_reduced(m, m.has(2));
}

void make_cross_entropy(Maker& m) {
  check_loss(m);
  const Sizes& x = m.shape(0);
  const Names i = iterators(x.size(), "ncpqoabdefg");
  Names row = i;
  row.erase(row.begin() + 1);
  Sizes kept = x;
  kept.erase(kept.begin() + 1);
  const Extents all = extents_of(i, x);
  m.temporary("M", m.dtype(0), kept);
  m.temporary("E", m.dtype(0), kept);
  if (m.wants(1))
    m.result("P", 1, m.dtype(0), x);
  else
    m.temporary("P", m.dtype(0), x);
  m.say(fmt::format("{} max= {}", access("M", row), access("X0", i)), all);
  m.say(fmt::format("{} += exp({} - {})", access("E", row), access("X0", i), access("M", row)), all);
  m.say(fmt::format("{} = {} - {} - log({})", access("P", i), access("X0", i), access("M", row), access("E", row)),
        all);
  say_losses(m, "P", m.has(2));
  say_reduced(m, m.has(2));
}

}  // namespace

const Makers& loss_makers() {
  static const Makers all = {{"NegativeLogLikelihoodLoss", &make_likelihood},
                             {"SoftmaxCrossEntropyLoss", &make_cross_entropy}};
  return all;
}

}  // namespace isamap::importing
