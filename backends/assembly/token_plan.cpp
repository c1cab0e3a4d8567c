// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/token_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "backends/assembly/operand_spans.h"

namespace isamap {
namespace {

constexpr std::int64_t largest_block = 64, smallest_block = 4;  // bytes: small ones are exact, and take longer

using Clock = std::vector<std::int64_t>;

class Planner {
 public:
  Planner(const Program& program, const HardwareModel& model)
      : program_(program), model_(model), spans_(program, model) {
    for (std::size_t u = 0; u < model.units().size(); ++u)
      if (model.units()[u].tokens && !unit_.valid()) unit_ = make_id<UnitId>(u);
    if (!unit_.valid()) return;
    for (const auto& [port, count] : model.unit(unit_).ports) ports_.push_back(port);
    const std::size_t n = ports_.size();
    known_.assign(n, Clock(n, 0));
    history_.resize(n);
    last_write_.resize(model.memories().size());
    last_read_.resize(model.memories().size());
    blocks_.assign(model.memories().size(), largest_block);
  }

  Result<std::vector<CallTokens>> plan() {
    if (!unit_.valid()) return std::move(plan_);
    const LoopSlots slots(program_);
    find_blocks(slots);
    loop_line(program_, model_, slots,
              {[this](const CallSite& site, const std::int64_t* loops) { call(site, loops); },
               [this](const Node&, const std::int64_t*) { wait_for_all(); }, [](const std::string&) {},
               [this] { return problem_.has_value(); }});
    if (problem_) return *problem_;
    return std::move(plan_);
  }

 private:
  /// Every use of a scratchpad or register begins at a multiple of its block, so two share one only where their bytes
  /// meet, but for those that begin at parts of the smallest block.
  void find_blocks(const LoopSlots& slots) {
    OperandSpans spans(program_, model_);  // of its own: call sites are those of one walk
    const auto begin_at = [&](const CallSite& site, const std::int64_t* loops) {
      for (const Span& span : spans(site, loops))
        if (!span.empty() && span.memory != model_.home()) {
          std::int64_t& block = blocks_[span.memory.index()];
          block = std::max(smallest_block, std::gcd(block, span.low));
        }
    };
    loop_line(program_, model_, slots,
              {begin_at, [](const Node&, const std::int64_t*) {}, [](const std::string&) {}, [] { return false; }});
  }

  /// An issued command: position of its tokens, and its vector clock.
  struct Issued {
    std::size_t call = 0;
    int noop = -1;
    Clock clock;
    const Instruction* instruction = nullptr;
  };

  Tokens& tokens_of(const Issued& issued) {
    CallTokens& at = plan_[issued.call];
    return issued.noop < 0 ? at.tokens : at.before[static_cast<std::size_t>(issued.noop)].tokens;
  }

  void call(const CallSite& site, const std::int64_t* loops) {
    plan_.emplace_back();
    const Instruction& instruction = *site.instruction;
    const auto port = std::find(ports_.begin(), ports_.end(), instruction.timing.port);
    if (instruction.unit != unit_ || port == ports_.end()) {
      problem_ = error_at(instruction.where, fmt::format("'{}' has no queue of unit '{}', which is ordered by tokens",
                                                         instruction.name, model_.unit(unit_).name));
      return;
    }
    const auto queue = static_cast<std::size_t>(port - ports_.begin());
    const auto& spans = spans_(site, loops);
    Clock needed(ports_.size(), 0);
    for (std::size_t a = 0; a < spans.size(); ++a)
      for_each_block(spans[a], [&](std::size_t b) {
        for (std::size_t q = 0; q < ports_.size(); ++q) {
          needed[q] = std::max(needed[q], at(last_write_, spans[a], b, q));
          if (a == 0) needed[q] = std::max(needed[q], at(last_read_, spans[a], b, q));
        }
      });
    // Queues without direct tokens are waited for through a third queue; then each queue is waited for at most once.
    for (std::size_t q = 0; q < ports_.size(); ++q)
      if (q != queue && needed[q] > known_[queue][q] && object_between(q, queue) == nullptr)
        order_by_way(q, queue, instruction, needed);
    for (std::size_t q = 0; q < ports_.size(); ++q)
      if (const AsyncObject* object = object_between(q, queue); object && needed[q] > known_[queue][q])
        pass(*object, q, needed[q], queue, nullptr);
    if (problem_) return;
    issue(queue, {plan_.size() - 1, -1, {}, &instruction});
    for (std::size_t a = 0; a < spans.size(); ++a)
      for_each_block(spans[a], [&](std::size_t b) {
        at(a == 0 ? last_write_ : last_read_, spans[a], b, queue) = known_[queue][queue];
      });
  }

  std::size_t issue(std::size_t queue, Issued issued) {
    ++known_[queue][queue];
    issued.clock = known_[queue];
    history_[queue].push_back(std::move(issued));
    return history_[queue].size();
  }

  /// Orders command `needed[from]` of queue `from` before a command of a third queue that `to` can wait for: an earlier
  /// one, otherwise a no-op.
  void order_by_way(std::size_t from, std::size_t to, const Instruction& waiting, Clock& needed) {
    const std::int64_t number = needed[from];
    const auto leads = [&](std::size_t via) {
      return object_between(from, via) != nullptr && object_between(via, to) != nullptr;
    };
    for (std::size_t via = 0; via < ports_.size(); ++via) {
      if (!leads(via)) continue;
      const auto known = std::find_if(history_[via].begin(), history_[via].end(),
                                      [&](const Issued& i) { return i.clock[from] >= number; });
      if (known == history_[via].end()) continue;
      needed[via] = std::max<std::int64_t>(needed[via], known - history_[via].begin() + 1);
      return;
    }
    for (std::size_t via = 0; via < ports_.size(); ++via) {
      const Instruction* nothing = leads(via) ? noop_of(via) : nullptr;
      if (nothing == nullptr) continue;
      plan_.back().before.push_back({nothing, {}});
      pass(*object_between(from, via), from, number, via, &plan_.back().before.back().tokens);
      const auto own = issue(via, {plan_.size() - 1, static_cast<int>(plan_.back().before.size()) - 1, {}, nothing});
      needed[via] = std::max(needed[via], static_cast<std::int64_t>(own));
      return;
    }
    problem_ = error_at(
        waiting.where,
        fmt::format("'{}' in queue '{}' must wait for '{}' in queue '{}', and no tokens connect the two", waiting.name,
                    ports_[to], history_[from][static_cast<std::size_t>(number - 1)].instruction->name, ports_[from]),
        "describe tokens between the two, or by way of a third queue that has an instruction without `compute` and "
        "`sets`");
  }

  /// Command `number` of `from` gives a token, `taker` (nothing: the call that is being planned) takes it.
  void pass(const AsyncObject& object, std::size_t from, std::int64_t number, std::size_t to, Tokens* taker) {
    const Issued& giver = history_[from][static_cast<std::size_t>(number - 1)];
    tokens_of(giver).push.push_back(object.name);
    (taker != nullptr ? *taker : plan_.back().tokens).pop.push_back(object.name);
    for (std::size_t q = 0; q < ports_.size(); ++q) known_[to][q] = std::max(known_[to][q], giver.clock[q]);
  }

  const AsyncObject* object_between(std::size_t from, std::size_t to) const {
    for (const AsyncObject& object : model_.async_objects())
      if (object.kind == AsyncKind::tokens && object.per == unit_ && object.from == ports_[from] &&
          object.to == ports_[to])
        return &object;
    return nullptr;
  }

  const Instruction* noop_of(std::size_t queue) const {
    for (const Instruction& instruction : model_.instructions())
      if (instruction.unit == unit_ && instruction.semantics.empty() && instruction.sets.empty() &&
          instruction.timing.port == ports_[queue])
        return &instruction;
    return nullptr;
  }

  /// The host waits for all queues, and they for it.
  void wait_for_all() {
    for (Clock& clock : known_)
      for (std::size_t q = 0; q < ports_.size(); ++q) clock[q] = static_cast<std::int64_t>(history_[q].size());
  }

  template <class Visit>
  void for_each_block(const Span& span, const Visit& visit) const {
    if (span.empty()) return;
    const std::int64_t block = blocks_[span.memory.index()];
    for (std::int64_t b = span.low / block; b <= (span.high - 1) / block; ++b) visit(static_cast<std::size_t>(b));
  }

  using Table = std::vector<std::vector<std::int64_t>>;  // by memory: block x queue -> number of the last command
  std::int64_t& at(Table& table, const Span& span, std::size_t b, std::size_t queue) {
    auto& of_memory = table[span.memory.index()];
    const std::size_t position = b * ports_.size() + queue;
    if (of_memory.size() <= position) of_memory.resize(std::max(position + 1, of_memory.size() * 2), 0);
    return of_memory[position];
  }

  const Program& program_;
  const HardwareModel& model_;
  OperandSpans spans_;
  UnitId unit_;
  std::vector<std::string> ports_;
  std::vector<Clock> known_;
  std::vector<std::vector<Issued>> history_;
  Table last_write_, last_read_;
  std::vector<std::int64_t> blocks_;  ///< by memory: bytes tracked as one block
  std::vector<CallTokens> plan_;
  std::optional<Diagnostic> problem_;
};

}  // namespace

Result<std::vector<CallTokens>> plan_tokens(const Program& program, const HardwareModel& model) {
  return Planner(program, model).plan();
}

std::optional<std::int64_t> token_flag(const Reference& r, const Tokens& tokens) {
  if (!r.property.empty() || r.argument.empty() || (r.object != "push" && r.object != "pop")) return std::nullopt;
  const auto& list = r.object == "push" ? tokens.push : tokens.pop;
  return std::find(list.begin(), list.end(), r.argument) == list.end() ? 0 : 1;
}

}  // namespace isamap
