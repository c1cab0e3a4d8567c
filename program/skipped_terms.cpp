// SPDX-License-Identifier: Apache-2.0
#include "program/skipped_terms.h"

#include <algorithm>
#include <set>

#include "ir/operand_use.h"

namespace isamap {
namespace {

/// A register, whichever lanes of it are meant.
std::string register_key(const Ref& ref) {
  std::string key = std::to_string(ref.buffer.value);
  for (const AffineExpr& index : ref.index) {
    AffineExpr slot = index;
    for (const std::string& name : index.names())
      if (name.starts_with('$')) slot = slot - slot.coefficient(name) * AffineExpr::dim(name);
    key += ", " + print(slot);
  }
  return key;
}

/// One loop over terms: what all of its calls read along each axis of the tensor.
class TermLoop {
 public:
  TermLoop(const Program& program, const HardwareModel& model, const Loop& loop, TensorId tensor)
      : program_(program), model_(model), loop_(loop), tensor_(tensor) {}

  /// `outer`: variables of the loops around it.
  std::optional<SkippedTerms> run(const std::set<std::string>& outer) {
    walk(loop_.body);
    if (!good_ || reads_.empty()) return std::nullopt;
    for (std::size_t d = 0; d < reads_.front().size(); ++d) {
      const AffineExpr& index = reads_.front()[d];
      const std::int64_t step = index.coefficient(loop_.variable);
      const AffineExpr first = index - step * AffineExpr::dim(loop_.variable);
      const std::set<std::string> names = first.names();
      const bool known = std::includes(outer.begin(), outer.end(), names.begin(), names.end());
      const bool same = std::all_of(reads_.begin(), reads_.end(), [&](const auto& read) { return read[d] == index; });
      if (step > 0 && known && same) return SkippedTerms{tensor_, d, first, step};
    }
    return std::nullopt;
  }

 private:
  const Buffer& buffer_of(const Ref& ref) const { return program_.buffers[ref.buffer.index()]; }

  void walk(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        good_ = good_ && loop->unit.empty();
        walk(loop->body);
      } else if (const auto* call = std::get_if<Call>(&node.is)) {
        good_ = good_ && add(*call);
      } else {
        good_ = good_ && std::holds_alternative<Comment>(node.is);
      }
  }

  /// False: the call does something else.
  bool add(const Call& call) {
    if (!call.operands[0].buffer.valid()) return true;  // a prefetch
    const Instruction& instruction = model_.instruction(call.instruction);
    const Buffer& written = buffer_of(call.operands[0]);
    if (written.slots < 0 || written.role == BufferRole::argument) return false;
    const bool sums = written.tensor == program_.kernel.statements[0].write.tensor;
    if (sums != !is_move(instruction) || (sums && !updates(instruction, call))) return false;
    bool has_read = false;
    for (std::size_t o = 1; o < call.operands.size(); ++o) {
      const Buffer& read = buffer_of(call.operands[o]);
      if (read.tensor != tensor_) continue;
      has_read = true;
      if (read.role == BufferRole::argument)
        reads_.push_back(call.operands[o].index);
      else if (!loaded_.contains(register_key(call.operands[o])))
        return false;  // read before this step, or a copy
    }
    if (!sums && written.tensor == tensor_ && has_read) loaded_.insert(register_key(call.operands[0]));
    return has_read || !sums;
  }

  const Program& program_;
  const HardwareModel& model_;
  const Loop& loop_;
  const TensorId tensor_;
  std::vector<std::vector<AffineExpr>> reads_;  ///< subscripts of the tensor
  std::set<std::string> loaded_;                ///< registers, in this step
  bool good_ = true;
};

void find(const Program& program, const HardwareModel& model, TensorId tensor, const std::vector<Node>& nodes,
          std::set<std::string>& outer, std::map<std::string, SkippedTerms>& found) {
  for (const Node& node : nodes) {
    const auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr || !loop->unit.empty()) continue;
    if (!loop->unroll && loop->trip > 1)
      if (const auto terms = TermLoop(program, model, *loop, tensor).run(outer)) found[loop->variable] = *terms;
    outer.insert(loop->variable);
    find(program, model, tensor, loop->body, outer, found);
    outer.erase(loop->variable);
  }
}

}  // namespace

std::map<std::string, SkippedTerms> skipped_terms(const Program& block, const HardwareModel& model, TensorId tensor) {
  std::set<std::string> outer;
  std::map<std::string, SkippedTerms> found;
  find(block, model, tensor, block.body, outer, found);
  return found;
}

}  // namespace isamap
