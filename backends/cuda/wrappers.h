// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of printed kernels for instructions that are described as assembly lines: inline assembly for the target's
// compiler, their semantics in C++ for the emulation.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpp/function/dialect.h"
#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cuda/emulation_semantics.h"
#include "hwdesc/model/described_tensor.h"

namespace isamap {

class Wrappers {
 public:
  Wrappers(const HardwareModel& model, ElementText& elements, Names& names)
      : model_(model), elements_(elements), names_(names) {}

  /// "mma(C_0, A_0, B_0);". Instructions that the emulation does not support fail at execution.
  std::string call(const Item& item, const Call& call, CallContext& context);
  /// A barrier, or one step of asynchronous completion. `index` prints an expression over loop variables.
  std::string sync(const Sync& sync, const Program& program, const std::function<std::string(const AffineExpr&)>& index,
                   Diagnostics& diagnostics);
  /// Prevents the compiler from moving writes of these registers below this point.
  std::string hold(const std::vector<Variable>& variables, const Program& program);
  /// A barrier of the first `threads` threads of a block.
  std::string barrier_of(std::int64_t threads, UnitId unit, Diagnostics& diagnostics);
  /// The largest barrier number of a unit inside the block, in the current kernel.
  std::int64_t most_numbered = 0;
  /// Number of instances of the sync's unit with numbered barriers among `threads` threads.
  std::int64_t numbered(const Sync& sync, std::int64_t threads) const;
  /// Initializes a counter: every element of its buffer, by one thread.
  std::string begin(const Buffer& counter, std::int64_t arrivals, Diagnostics& diagnostics);
  /// Sets one field to this value.
  std::string set(const Instruction& setter, std::int64_t value);
  std::int64_t threads_in(UnitId unit) const;  ///< of one instance
  std::string first_of(UnitId unit) const;     ///< condition of its first thread; "true": a single thread

  /// Host-side descriptors, by the name of the kernel parameter.
  std::function<std::string(const Operand& operand, BufferId tensor, const DescribedTensor& box)> described;

  const std::string& device() const { return device_; }  ///< definitions for the target's compiler
  const std::string& host() const { return host_; }      ///< and for the emulation

 private:
  struct Interface;
  Interface interface_of(const Item& item, const Call& call, CallContext& context);
  std::string inline_assembly(const Interface& use, const Item& item, const Call& call, CallContext& context) const;
  /// The per-lane address offset: "8*(lane%16)"; empty: one address for all.
  std::string own_address(const Instruction& instruction, const Call& call, int access, const Place& place,
                          const Ranges& ranges, CallContext& context) const;
  void pack_operand(const FormatUse& pack, const Item& item, const Call& call, WrapperOperand& operand,
                    std::string& constraint, CallContext& context) const;
  std::string fence(const std::string& object, Diagnostics& diagnostics);
  std::string counter_address(const Buffer& counter, const std::string& index) const;
  std::string counter_step(const Sync& sync, const AsyncObject& object, const Program& program,
                           const std::function<std::string(const AffineExpr&)>& index, Diagnostics& diagnostics);
  void describe(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                CallContext& context);
  void in_registers(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                    CallContext& context);
  void in_memory(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                 CallContext& context);
  std::string partial_barrier(const Barrier& barrier, UnitId unit);
  std::string add(const std::string& wish, const std::string& parameters, const std::string& device,
                  const std::string& host, const std::string& before = "");

  const HardwareModel& model_;
  ElementText& elements_;
  Names& names_;
  std::map<std::pair<std::string, std::string>, std::string> known_;  ///< parameters and bodies -> name
  std::string device_, host_;
};

}  // namespace isamap
