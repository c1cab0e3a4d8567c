// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/register_hints.h"

#include <algorithm>
#include <map>
#include <variant>

#include "hwdesc/model/compiler_limits.h"

namespace isamap {
namespace {

/// Reads from memory for each other call, from which on it is worth while free registers for re-read values: loads and
/// sums have ports of their own.
constexpr double worth_keeping = 0.75;

/// The call that an item is, if it writes a register variable; null: it does not.
const Call* call_into_variable(const Item& item) {
  const auto* call = std::get_if<Call>(&item.node->is);
  const bool writes = call != nullptr && !item.places.empty() && item.places.front().kind == Place::Kind::variable;
  return writes ? call : nullptr;
}

/// Elements loaded from memory, and calls that are not moves.
void count_reads_and_calls(const std::vector<Item>& items, const HardwareModel& model, double& reads, double& calls) {
  for (const Item& item : items) {
    count_reads_and_calls(item.body, model, reads, calls);
    count_reads_and_calls(item.otherwise, model, reads, calls);
    const Call* call = call_into_variable(item);
    if (call == nullptr) continue;
    if (!is_move(model.instruction(call->instruction))) ++calls;
    for (std::size_t p = 1; p < call->operands.size(); ++p)
      if (item.places[p].kind == Place::Kind::memory) ++reads;
  }
}

/// Variables that calls overwrite.
void collect_overwritten(const std::vector<Item>& items, const HardwareModel& model, std::set<int>& started) {
  for (const Item& item : items) {
    collect_overwritten(item.body, model, started);
    collect_overwritten(item.otherwise, model, started);
    const Call* call = call_into_variable(item);
    if (call == nullptr) continue;
    const Instruction& instruction = model.instruction(call->instruction);
    if (!is_setter(instruction) &&
        (instruction.statement().reduction == Reduction::assign || call->start != Start::keep))
      started.insert(item.places.front().variable);
  }
}

/// The registers that are taken at each moment; each call is one.
class Keeping {
 public:
  Keeping(const Places& places, const Program& program, const HardwareModel& model)
      : places_(&places), program_(&program), model_(&model) {}

  /// `tile`: variables that hold values all the time.
  void all(const std::vector<Item>& items, const std::set<int>& tile, RegisterHints& hints) {
    for (const Item& item : items) {
      if (const auto* loop = std::get_if<Loop>(&item.node->is)) {
        of_loop(*loop, item, tile, hints);
        if (const Item* next = crowded(*loop, item, tile, items)) hints.forget.insert(next);
      } else if (std::holds_alternative<Call>(item.node->is)) {
        if (!call(item)) {
          hints.forget.insert(&item);
          known_.clear();
          call(item);
        }
      } else {
        all(item.body, tile, hints);
        all(item.otherwise, tile, hints);
      }
    }
  }

 private:
  using Key = std::pair<BufferId, AffineExpr>;  // a place in memory
  struct File {
    std::int64_t count = 0, tile = 0;  // registers there are, and those that are taken all the time
    std::vector<std::int64_t> taken;   // besides, at each moment
  };
  struct Life {
    MemoryId file;
    std::int64_t registers = 1;
    std::size_t last = 0;  // use
  };

  void of_loop(const Loop& loop, const Item& item, const std::set<int>& around, RegisterHints& hints) {
    std::set<int> started, tile = around;
    collect_overwritten(item.body, *model_, started);
    for (const int v : item.variables)
      if (!started.contains(v)) tile.insert(v);
    double reads = 0, calls = 0;
    count_reads_and_calls(item.body, *model_, reads, calls);
    const bool worth = calls == 0 || reads >= worth_keeping * calls;
    if (loop.unit.empty() && loop.trip <= steps_unrolled_by_compilers) {
      Keeping alone(*places_, *program_, *model_);
      alone.begin(tile, worth);
      if (alone.steps(loop, item, hints)) {
        if (alone.fits() && worth) return one_after_another(loop, item, hints);
        hints.rolled.insert(&item);
      }
    }
    const bool outside = worth_;
    begin(tile, worth);  // nothing is kept from step to step
    all(item.body, tile, hints);
    begin(around, outside);
  }

  /// The first call behind a loop that would spill if the compiler read ahead of it what the calls behind it read;
  /// null: it would not. Compilers do where these places are the same at every visit: constants of an epilogue took the
  /// registers of a product's operands, 130 for 175 GFLOP/s.
  const Item* crowded(const Loop& loop, const Item& item, const std::set<int>& around,
                      const std::vector<Item>& items) const {
    if (loop.trip <= steps_unrolled_by_compilers) return nullptr;
    const Item* first = nullptr;
    std::set<int> variables(around), read;
    variables.insert(item.variables.begin(), item.variables.end());
    for (const Item* next = &item + 1; next <= &items.back(); ++next) {
      if (std::holds_alternative<Comment>(next->node->is)) continue;
      const Call* call = call_into_variable(*next);
      if (call == nullptr) break;
      if (first == nullptr) first = next;
      for (std::size_t p = 1; p < call->operands.size(); ++p)
        if (next->places[p].kind == Place::Kind::memory) read.insert(next->places.front().variable);
    }
    std::map<MemoryId, std::int64_t> needed;
    for (const std::set<int>* some : {&variables, &read})
      for (const int v : *some) needed[memory_of(v)] += registers_of(v);
    for (const MemoryId file : loaded_by_calls(item.body)) ++needed[file];
    const bool spills = std::any_of(needed.begin(), needed.end(), [&](const auto& one) {
      const Memory& memory = model_->memory(one.first);
      return memory.named_by_compiler() && one.second + spare_registers > memory.count;
    });
    return spills ? first : nullptr;
  }

  void one_after_another(const Loop& loop, const Item& item, RegisterHints& hints) {
    calls_ = 0;
    const Keeping before = *this;
    if (steps(loop, item, hints) == true) return;
    *this = before;
    hints.forget.insert(&item);
    known_.clear();
    steps(loop, item, hints);
  }

  void begin(const std::set<int>& tile, bool worth) {
    worth_ = worth;
    files_.clear();
    lives_.clear();
    known_.clear();
    held_.clear();
    for (const int v : tile) file_of(v).tile += registers_of(v);
  }

  /// Of calls that are not moves and read memory: an element at a time is in a register that has no variable.
  std::set<MemoryId> loaded_by_calls(const std::vector<Item>& items) const {
    std::set<MemoryId> files;
    for (const Item& item : items) {
      files.merge(loaded_by_calls(item.body));
      files.merge(loaded_by_calls(item.otherwise));
      const Call* call = call_into_variable(item);
      if (call == nullptr) continue;
      if (is_move(model_->instruction(call->instruction))) continue;
      for (std::size_t p = 1; p < call->operands.size(); ++p)
        if (item.places[p].kind == Place::Kind::memory) files.insert(memory_of(item.places.front().variable));
    }
    return files;
  }

  /// Simulates the fully unrolled loop nest. False: keeping re-read values would exceed the registers. Nothing:
  /// compilers would not unroll it.
  std::optional<bool> steps(const Loop& loop, const Item& item, const RegisterHints& hints) {
    bool fits = true;
    for (std::int64_t step = 0; step < loop.trip; ++step) {
      at_[loop.variable] = AffineExpr(step);
      const auto one = straight(item.body, hints);
      if (!one) return std::nullopt;
      fits = fits && *one;
    }
    at_.erase(loop.variable);
    return fits;
  }
  std::optional<bool> straight(const std::vector<Item>& items, const RegisterHints& hints) {
    bool fits = true;
    for (const Item& item : items) {
      std::optional<bool> one = true;
      if (++calls_ > calls_unrolled_by_compilers || hints.rolled.contains(&item)) return std::nullopt;
      if (const auto* loop = std::get_if<Loop>(&item.node->is)) {
        if (!loop->unit.empty() || loop->trip > steps_unrolled_by_compilers) return std::nullopt;
        one = steps(*loop, item, hints);
      } else if (std::holds_alternative<Call>(item.node->is)) {
        one = call(item);
      } else {
        for (const std::vector<Item>* branch : {&item.body, &item.otherwise})
          if (const auto other = straight(*branch, hints); !other || !*other) one = other;
      }
      if (!one) return one;
      fits = fits && *one;
    }
    return fits;
  }

  /// False: keeping the re-read values exceeds the registers. They are recorded as kept anyway.
  bool call(const Item& item) {
    const auto& call = std::get<Call>(item.node->is);
    if (item.places.empty() || item.places.front().kind != Place::Kind::variable) return true;
    const Place& written = item.places.front();
    File& file = file_of(written.variable);
    file.taken.push_back(0);
    const bool move = is_move(model_->instruction(call.instruction));
    bool fits = true;
    for (std::size_t p = 1; p < call.operands.size(); ++p) {
      const Place& place = item.places[p];
      if (place.kind == Place::Kind::memory) {
        const Key key(place.buffer, substitute(place.offset, at_));
        const auto [found, fresh] = known_.try_emplace(key, lives_.size());
        if (fresh) {
          lives_.push_back(
              {memory_of(written.variable), move ? registers_of(written.variable) : 1, file.taken.size() - 1});
          file.taken.back() += lives_.back().registers;
        } else {
          fits = keep(found->second) && worth_ && fits;
        }
        if (move) held_[written.variable] = found->second;
      } else if (const auto held = held_.find(place.variable);
                 place.kind == Place::Kind::variable && held != held_.end()) {
        keep(held->second);
      }
    }
    return fits;
  }

  bool fits() const {
    return std::all_of(files_.begin(), files_.end(), [](const auto& one) {
      const File& file = one.second;
      for (std::size_t t = 0; t < file.taken.size(); ++t)
        if (!fits(file, t)) return false;
      return true;
    });
  }
  static bool fits(const File& file, std::size_t moment) {
    return file.count == 0 || file.tile + file.taken[moment] + spare_registers <= file.count;
  }

  /// So far. False: out of registers.
  bool keep(std::size_t number) {
    Life& life = lives_[number];
    File& file = files_.at(life.file);
    bool room = true;
    for (std::size_t t = life.last + 1; t < file.taken.size(); ++t) {
      file.taken[t] += life.registers;
      room = room && fits(file, t);
    }
    life.last = std::max(life.last, file.taken.size() - 1);
    return room;
  }

  MemoryId memory_of(int v) const {
    return program_->buffers[places_->variables[static_cast<std::size_t>(v)].buffer.index()].memory;
  }
  std::int64_t registers_of(int v) const {
    return program_->buffers[places_->variables[static_cast<std::size_t>(v)].buffer.index()].registers_per_slot;
  }
  File& file_of(int v) {
    const auto [file, fresh] = files_.try_emplace(memory_of(v));
    const Memory& memory = model_->memory(memory_of(v));
    if (fresh && memory.named_by_compiler()) file->second.count = memory.count;
    return file->second;
  }

  const Places* places_;
  const Program* program_;
  const HardwareModel* model_;
  std::int64_t calls_ = 0;
  bool worth_ = true;  // to keep what is read again
  std::map<MemoryId, File> files_;
  std::map<std::string, AffineExpr> at_;  // values of loop variables
  std::vector<Life> lives_;
  std::map<Key, std::size_t> known_;  // loaded values that could be kept
  std::map<int, std::size_t> held_;   // current contents of variables
};

}  // namespace

RegisterHints register_hints(const std::vector<Item>& items, const Places& places, const Program& program,
                             const HardwareModel& model) {
  RegisterHints hints;
  Keeping(places, program, model).all(items, {}, hints);
  return hints;
}

}  // namespace isamap
