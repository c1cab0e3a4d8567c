// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tracks the machine state at the current position of a printed C++ program and inserts setters: state with one value
// in a block is set before the block (hoisted), and restored at the end of a function or thread.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/function/live_registers.h"
#include "backends/cpp/function/state_needs.h"

namespace isamap {

class ProgramState {
 public:
  /// `print` appends lines at the current position. All references must outlive this.
  ProgramState(const HardwareModel& model, CallContext& context, std::function<void(const std::string&)> print);

  /// Does any instruction need or set state? If not, all other members do nothing.
  bool matters() const { return matters_; }

  /// A function: sets state needed throughout at its start, restores changed state at its end.
  void function(const std::vector<Item>& items, const std::function<void()>& body);
  /// An iteration executed by a thread of a parallel loop. It starts with the initial state of its core, independent of
  /// state set before the loop; the main thread takes part and restores its state too. No registers are live, since
  /// they belong to the core.
  void thread(const std::vector<Item>& items, const std::function<void()>& body);
  /// A block; its items are then announced in order.
  void block(const std::vector<Item>& items, const std::function<void()>& body);
  /// Where no register clobbered by a setter is live: sets the state that all items up to the next such position need.
  void before_item(std::size_t item);
  /// Loop-invariant state is set before the loop; state changed in it becomes unknown.
  void before_loop(const std::vector<Item>& body);
  void before_call(const Item& item, const Call& call);
  void after_call(const Instruction& instruction);
  /// Either of two blocks is executed; each prints itself.
  void either(const std::function<void()>& one, const std::function<void()>& other);

  const std::string& attributes() const { return attributes_; }  ///< of the function

 private:
  void with_own_state(const std::vector<Item>& items, const std::function<void()>& body, const std::string& end);
  void set(const KnownState& needed, const UserOf& user_of);
  void set_throughout(const SetterUse& use, const std::string& user);

  /// A block in progress.
  struct Open {
    const std::vector<Item>* items = nullptr;
    std::vector<LiveRegisters> live;  ///< live registers before each item, and after the last
    std::size_t item = 0;
  };

  /// Before the current item: is no register live that `setter` clobbers?
  bool may_erase(const Instruction& setter) const;
  bool erases_something(std::size_t item) const;

  const HardwareModel& model_;
  CallContext& context_;
  std::function<void(const std::string&)> print_;
  KnownState known_;
  std::set<std::string> set_fields_;
  std::vector<std::string> resets_;  ///< texts that restore changed state
  std::string attributes_;
  std::set<std::string> erasing_;  ///< fields whose setters clobber registers
  std::set<MemoryId> erased_;      ///< the register files clobbered
  std::vector<Open> open_;
  bool matters_ = false;
  bool at_start_ = true;  ///< no state was needed so far
  int threads_ = 0;
};

}  // namespace isamap
