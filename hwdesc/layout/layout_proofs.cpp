// SPDX-License-Identifier: Apache-2.0
// Operands with equal layouts share one proof: a file of two hundred instructions has a few dozen.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/layout/bank_conflicts.h"
#include "hwdesc/layout/fragment_check.h"
#include "hwdesc/layout/layout_agreement.h"
#include "hwdesc/layout/move_layouts.h"
#include "hwdesc/model/describe_internal.h"
#include "hwdesc/model/instruction_pairs.h"
#include "isamap/hardware.h"

namespace isamap {

namespace {

struct Group {
  const Instruction* instruction = nullptr;  // the first
  std::size_t operand = 0;
  std::vector<std::string> operands;
  const Operand& get() const { return instruction->operands[operand]; }
};

std::string numbers(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const std::int64_t value : list) text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

/// Types of the moves of a memory; all other types are moved by width only.
using TypedMoves = std::set<std::pair<MemoryId, DType>>;

TypedMoves typed_moves(const HardwareModel& model) {
  TypedMoves types;
  for (const Instruction& instruction : model.instructions())
    if (is_move(instruction))
      for (const Operand& operand : instruction.operands)
        if (operand.dtype && !is_bits(*operand.dtype)) types.emplace(operand.memory, *operand.dtype);
  return types;
}

std::string type_key(const Operand& o, const TypedMoves& typed) {
  if (!o.dtype) return "any";
  return typed.count({o.memory, *o.dtype}) ? std::string(name(*o.dtype)) : std::to_string(bits(*o.dtype)) + " bits";
}

/// The inputs of the proofs.
std::string key_of(const Instruction& instruction, std::size_t i, const TypedMoves& typed) {
  const Operand& o = instruction.operands[i];
  std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", o.memory.value, print(o.layout), numbers(instruction.tensors[i].shape),
                  type_key(o, typed), o.align, o.align_buffer, numbers(o.at_once), fmt::join(o.index_names, ","));
  const auto* fragment = std::get_if<FragmentLayout>(&o.layout);
  if (!fragment) return key;
  for (const auto& [unit, extent] : fragment->varying)
    for (const Reference& r : references(extent)) {
      const int d = instruction.statement().domain.find(r.argument);
      if (d < 0) continue;
      const DimRange& range = instruction.ranges[static_cast<std::size_t>(d)];
      key += fmt::format("|{}-{}-{}", range.min, range.max, range.multiple_of);
    }
  return key;
}

class Groups {
 public:
  void add(const std::string& key, const Instruction& instruction, std::size_t i) {
    const auto [at, is_new] = number_.emplace(key, list_.size());
    if (is_new) list_.push_back({&instruction, i, {}});
    list_[at->second].operands.push_back(instruction.operands[i].name + " of " + instruction.name);
  }
  const std::vector<Group>& list() const { return list_; }

 private:
  std::vector<Group> list_;
  std::map<std::string, std::size_t> number_;
};

class Prover {
 public:
  explicit Prover(const HardwareModel& model) : model_(model), typed_(typed_moves(model)) {}

  LayoutProofs run() {
    fragments();
    if (model_.instructions().size() <= most_paired_instructions) {
      fills();
      banks();
      transfers();
    }
    return std::move(proofs_);
  }

 private:
  void fact(LayoutFactKind kind, bool proved, const std::vector<std::string>& operands, std::string text) {
    proofs_.facts.push_back({kind, proved, operands, std::move(text)});
  }

  // --- fragments ---

  void fragments() {
    Groups groups;  // types are irrelevant
    for (const Instruction& instruction : model_.instructions())
      for (std::size_t i = 0; i < instruction.operands.size(); ++i)
        if (const auto* fragment = std::get_if<FragmentLayout>(&instruction.operands[i].layout)) {
          std::string key = print(instruction.operands[i].layout) + numbers(instruction.tensors[i].shape);
          if (!fragment->varying.empty()) key = key_of(instruction, i, typed_);
          groups.add(key, instruction, i);
        }
    for (const Group& group : groups.list()) {
      const FragmentCheck check = check_fragment(*group.instruction, group.operand);
      if (check.too_large) continue;
      const auto& layout = std::get<FragmentLayout>(group.get().layout);
      std::string over;
      for (const auto& [unit, extent] : layout.over)
        over += fmt::format("{}{} {}s", over.empty() ? "" : " x ", extent, unit);
      fact(LayoutFactKind::fragment, check.fault.empty(), group.operands,
           check.fault.empty() ? fmt::format("{} are {} [{}]{}", over, layout.replicated ? "onto" : "one to one onto",
                                             numbers(group.instruction->tensors[group.operand].shape),
                                             check.boxes > 1 ? fmt::format(", at all {} extents", check.boxes) : "")
                               : check.fault);
    }
  }

  // --- fills ---

  /// The moves that fill or empty `group` from one order in memory.
  struct Answer {
    std::string order;
    std::vector<std::string> does;
    std::string reason;  // of the first that fails
  };

  void fills() {
    Groups inputs, outputs;
    for (const Instruction& instruction : model_.instructions()) {
      if (!is_compute(instruction)) continue;
      for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        if (!operand.memory.valid() || !model_.memory(operand.memory).is_register()) continue;
        (i == 0 ? outputs : inputs).add(key_of(instruction, i, typed_), instruction, i);
      }
    }
    for (const Group& group : inputs.list()) fill(group, 0, "filled from");
    for (const Group& group : outputs.list()) fill(group, 1, "stored to");
  }

  void fill(const Group& group, std::size_t register_side, const std::string& verb) {
    std::vector<Answer> answers;
    const Operand& operand = group.get();
    for (const Instruction& move : model_.instructions()) {
      if (!operand.dtype || !is_move(move)) continue;
      const auto& table = table_of(move, bytes(*operand.dtype));
      if (!table || table->in_register != register_side) continue;
      for (const Filling& filling : fillings(model_, move, *table, *group.instruction, group.operand)) {
        const std::string order = print(filling.order, group.get());
        auto answer = std::find_if(answers.begin(), answers.end(), [&](const Answer& a) { return a.order == order; });
        if (answer == answers.end()) answer = answers.insert(answers.end(), {order, {}, ""});
        if (!filling.possible()) {
          if (answer->reason.empty()) answer->reason = move.name + ": " + filling.reason;
          continue;
        }
        answer->does.push_back(text_of(move, filling));
        note_rows(move, *table, filling, group);
      }
    }
    for (const Answer& answer : answers) {
      if (!answer.does.empty())
        fact(LayoutFactKind::fill, true, group.operands,
             fmt::format("{} {} by {}", verb, answer.order, fmt::join(answer.does, "; ")));
      else
        fact(LayoutFactKind::fill, false, group.operands, fmt::format("{} {}: {}", verb, answer.order, answer.reason));
    }
  }

  /// A move that takes any type has a table for each width.
  const std::optional<MoveTable>& table_of(const Instruction& move, std::int64_t width) {
    const std::int64_t asked = move.operands[0].dtype ? 0 : width;
    const auto known = tables_.find({&move, asked});
    if (known != tables_.end()) return known->second;
    return tables_[{&move, asked}] = move_table(model_, move, width);
  }

  static std::string text_of(const Instruction& move, const Filling& filling) {
    std::string text = move.name;
    if (filling.calls > 1) text += fmt::format(" ({} calls)", filling.calls);
    if (filling.operands > 1) text += fmt::format(" ({} operands a call)", filling.operands);
    return filling.how.empty() ? text : text + " with " + filling.how;
  }

  // --- banks ---

  /// Lanes with equal row addresses access the same banks for every operand.
  void note_rows(const Instruction& move, const MoveTable& table, const Filling& filling, const Group& group) {
    const auto rows = row_conflicts(model_, move, table, filling, group.get().index_names.size());
    if (rows.empty()) return;
    std::string text;
    for (const RowConflicts& row : rows) {
      text += fmt::format("{}rows of {}: ", text.empty() ? "" : "; ", size_text(row.row_bytes));
      if (row.degree == 1)
        text += "no conflict";
      else
        text += fmt::format("{}-way conflict{}", row.degree,
                            row.swizzle ? fmt::format(", none with xor {{bits: {}, from: {}, to: {}}}",
                                                      row.swizzle->bits, row.swizzle->from, row.swizzle->to)
                                        : ", and no swizzle of its rows avoids it");
    }
    auto& operands = rows_[move.name + ", " + text];
    if (operands.empty()) order_.push_back(move.name + ", " + text);
    operands.insert(operands.end(), group.operands.begin(), group.operands.end());
  }

  void banks() {
    for (const std::string& text : order_) fact(LayoutFactKind::banks, true, rows_[text], text);
    Groups groups;
    for (const Instruction& instruction : model_.instructions())
      for (std::size_t i = 0; i < instruction.operands.size(); ++i)
        if (!instruction.operands[i].at_once.empty()) groups.add(key_of(instruction, i, typed_), instruction, i);
    for (const Group& group : groups.list()) {
      const auto conflicts = operand_conflicts(model_, *group.instruction, group.operand);
      if (!conflicts) continue;
      const std::string tried =
          fmt::format("{} neighbours at once, at {} starts{}", numbers(group.get().at_once), conflicts->starts,
                      conflicts->free_stride > 0 ? ", free strides " + size_text(conflicts->free_stride) : "");
      fact(LayoutFactKind::banks, conflicts->degree == 1, group.operands,
           conflicts->degree == 1 ? fmt::format("no bank conflict, {}", tried)
                                  : fmt::format("{}-way bank conflict, {}", conflicts->degree, tried));
    }
  }

  // --- transfers ---

  bool shared_between(const Operand& operand) const {
    if (!operand.memory.valid()) return false;
    const MemoryKind kind = model_.memory(operand.memory).kind;
    return kind == MemoryKind::scratchpad || kind == MemoryKind::accumulator;
  }

  static bool has_free_stride(const Operand& operand) {
    const auto* layout = std::get_if<StridedLayout>(&operand.layout);
    return layout && std::any_of(layout->terms.begin(), layout->terms.end(),
                                 [](const StrideTerm& term) { return !term.stride && term.each.empty(); });
  }

  void transfers() {
    Groups groups;
    for (const Instruction& instruction : model_.instructions()) {
      if (!is_compute(instruction)) continue;
      for (std::size_t i = 1; i < instruction.operands.size(); ++i)
        if (shared_between(instruction.operands[i])) groups.add(key_of(instruction, i, typed_), instruction, i);
    }
    for (const Group& group : groups.list()) transfer(group);
  }

  void transfer(const Group& group) {
    const Operand& operand = group.get();
    const auto* layout = std::get_if<StridedLayout>(&operand.layout);
    const bool swizzles = layout && layout->swizzle;
    std::vector<std::pair<const Instruction*, Agreement>> wrong;
    bool any = false;
    for (const Instruction& move : model_.instructions()) {
      const auto found = agreements(model_, move, *group.instruction, group.operand);
      if (found.empty()) continue;
      const Agreement& best = found.front();
      if (!best.fault.empty()) {
        // Where the move's own stride is free each use chooses it: disagreement at one choice proves nothing.
        if (!has_free_stride(move.operands[0])) wrong.emplace_back(&move, best);
        continue;
      }
      any = true;
      std::string pairs;
      for (std::size_t d = 0; d < best.index.size(); ++d)
        pairs += fmt::format("{}{} = {}", d > 0 ? ", " : "", operand.index_names[d],
                             move.operands[0].index_names[best.index[d]]);
      fact(LayoutFactKind::transfer, true, group.operands,
           fmt::format("read where {} writes it ({}{}; {} bytes compared in {} tiles)", move.name, pairs,
                       best.strides.empty() ? "" : "; " + best.strides, best.compared, best.starts));
    }
    if (any || wrong.empty()) return;
    const auto nearest = std::max_element(
        wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.second.compared < b.second.compared; });
    const std::string text =
        fmt::format("no move writes '{}' where it reads; nearest is {}: {}", model_.memory(operand.memory).name,
                    nearest->first->name, nearest->second.fault);
    fact(LayoutFactKind::transfer, false, group.operands, text);
    if (!swizzles) return;
    Diagnostic warning =
        error_at(group.instruction->where,
                 "operand '" + operand.name + "' of instruction '" + group.instruction->name + "': " + text,
                 "compare the 'xor' and the strides of the two layouts");
    warning.severity = Severity::warning;
    proofs_.warnings.push_back(std::move(warning));
  }

  const HardwareModel& model_;
  TypedMoves typed_;
  std::map<std::pair<const Instruction*, std::int64_t>, std::optional<MoveTable>> tables_;
  LayoutProofs proofs_;
  std::map<std::string, std::vector<std::string>> rows_;
  std::vector<std::string> order_;
};

}  // namespace

LayoutProofs prove_layouts(const HardwareModel& model) { return Prover(model).run(); }

std::string_view name(LayoutFactKind kind) {
  constexpr std::string_view names[] = {"fragment", "fill", "banks", "transfer"};
  return names[static_cast<std::size_t>(kind)];
}

std::string print(const LayoutFact& fact) {
  constexpr std::size_t shown = 3;
  std::string operands;
  for (std::size_t i = 0; i < std::min(shown, fact.operands.size()); ++i)
    operands += (i > 0 ? ", " : "") + fact.operands[i];
  if (fact.operands.size() > shown) operands += fmt::format(" and {} more", fact.operands.size() - shown);
  const char* status = fact.proved ? "proved" : fact.kind == LayoutFactKind::banks ? "costs" : "not so";
  return fmt::format("{}: {}: {}", status, operands, fact.text);
}

}  // namespace isamap
