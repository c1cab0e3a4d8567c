// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state that the machine is in at the place of a C++ program that is being printed, and the setters printed for it:
// what all of a block needs alike is set before it, what a function or a thread changed is given back at its end.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/live_registers.h"
#include "backends/cpp/state_needs.h"

namespace isamap {

class ProgramState {
 public:
  /// `print` takes lines for the place that is printed. All references must outlive this.
  ProgramState(const HardwareModel& model, CallContext& context, std::function<void(const std::string&)> print);

  /// Does some instruction need or set state? If none does, nothing else here prints or changes anything.
  bool matters() const { return matters_; }

  /// A function: what all of it needs is set first, and what it changed is given back.
  void function(const std::vector<Item>& items, const std::function<void()>& body);
  /// A step that a thread takes. It has the state of its core, which is that of a fresh one whatever was set before the
  /// loop; the thread that came here takes part, and gives its own back too. No register holds anything then: they
  /// belong to the cores.
  void thread(const std::vector<Item>& items, const std::function<void()>& body);
  /// A block, whose items are then announced one after another.
  void block(const std::vector<Item>& items, const std::function<void()>& body);
  /// Where no register lives that a setter would erase, the state is set that the items need alike up to the next such
  /// place.
  void before_item(std::size_t item);
  /// Sets what all iterations need alike, and forgets what they change.
  void before_loop(const std::vector<Item>& body);
  void before_call(const Item& item, const Call& call);
  void after_call(const Instruction& instruction);
  /// One of two blocks is executed; each prints itself.
  void either(const std::function<void()>& one, const std::function<void()>& other);

  const std::string& attributes() const { return attributes_; }  ///< of the function

 private:
  void with_own_state(const std::vector<Item>& items, const std::function<void()>& body, const std::string& end);
  void set(const KnownState& needed, const UserOf& user_of);
  void set_throughout(const SetterUse& use, const std::string& user);

  /// A block that is being printed.
  struct Open {
    const std::vector<Item>* items = nullptr;
    std::vector<LiveRegisters> live;  ///< before each item, and after the last
    std::size_t item = 0;
  };

  /// Before the item that is being printed, does no register live that `setter` erases?
  bool may_erase(const Instruction& setter) const;
  bool erases_something(std::size_t item) const;

  const HardwareModel& model_;
  CallContext& context_;
  std::function<void(const std::string&)> print_;
  KnownState known_;
  std::set<std::string> set_fields_;
  std::vector<std::string> resets_;  ///< texts that restore what setters changed
  std::string attributes_;
  std::set<std::string> erasing_;  ///< fields whose setters erase registers
  std::set<MemoryId> erased_;      ///< the memories of those
  std::vector<Open> open_;
  bool matters_ = false;
  bool at_start_ = true;  ///< nothing has needed any state yet
  int threads_ = 0;
};

}  // namespace isamap
