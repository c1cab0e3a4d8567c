// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/repair_proposals.h"

namespace isamap {

Access& access_at(Computation& computation, int number) {
  return number == 0 ? computation.write : computation.reads[static_cast<std::size_t>(number) - 1];
}

void renumber_reads(ScalarExpr& body, const std::vector<int>& to) {
  if (auto* read = std::get_if<Read>(&body.op)) read->access = to[static_cast<std::size_t>(read->access) + 1] - 1;
  for (ScalarExpr& arg : body.args) renumber_reads(arg, to);
}

void put_reads_in_order(Computation& statement) {
  std::vector<int> order(statement.reads.size() + 1, 0);
  std::vector<Access> reads;
  for (const int r : reads_of(statement.body)) {
    reads.push_back(statement.reads[static_cast<std::size_t>(r)]);
    order[static_cast<std::size_t>(r) + 1] = static_cast<int>(reads.size());
  }
  statement.reads = std::move(reads);
  renumber_reads(statement.body, order);
}

std::string types_of_reads(const Computation& computation, const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Access& read : computation.reads)
    text += (text.empty() ? "" : " by ") + std::string(name(tensors[read.tensor.index()].dtype));
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace isamap
