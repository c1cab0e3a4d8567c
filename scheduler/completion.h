#pragma once
// Asynchronous calls in a program: groups of them, and how far behind they may be.

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "support/result.h"

namespace isamap {

/// An asynchronous instruction whose uses complete in groups, as the next two functions make and await them.
bool completes_in_groups(const Instruction& instruction, const HardwareModel& model);

/// One whose uses complete by a counter (`kind: phases`).
bool completes_by_counter(const Instruction& instruction, const HardwareModel& model);

/// Tiles that take turns, and what counts how far each is: `ready` when all its bytes are there; `free` when all that
/// use it are through with it, where those who fill it do nothing else.
struct Ring {
  std::string object;  ///< by which its moves complete; empty: they complete otherwise
  BufferId ready, free;
  std::int64_t tiles = 1;
};

/// The object by which calls among the nodes complete, if that is a counter.
std::optional<std::string> counted_by(const std::vector<Node>& nodes, const HardwareModel& model);

/// Fills of tile number `number` (counted since the kernel began), whose calls now complete by the ring's counter:
/// what is expected stands before them, and the wait for a free place. Errors: how many bytes come depends on where.
Result<std::vector<Node>> counted(std::vector<Node> fills, const Ring& ring, const AffineExpr& number, UnitId executor,
                                  const Program& program, const HardwareModel& model);
/// Until tile `number` is there.
Node until_ready(const Ring& ring, const AffineExpr& number, UnitId executor);
/// Every instance that uses tiles is through with this one.
Node through_with(const Ring& ring, const AffineExpr& number, UnitId each);

/// For every completion object by which calls among the nodes complete in groups: a node that makes what came so far a
/// group.
std::vector<Node> commits(const std::vector<Node>& nodes, const HardwareModel& model);
/// The same for waiting until all groups but the last `pending` are complete.
std::vector<Node> waits(const std::vector<Node>& nodes, int pending, const HardwareModel& model);

/// Before calls that complete in groups: what they use is as the calls before them left it. Nothing where the machine
/// asks for nothing.
std::vector<Node> opens(const std::vector<Node>& nodes, const HardwareModel& model);

/// The nodes, behind them what awaits all that they began, and before them what opens it.
std::vector<Node> completed(std::vector<Node> nodes, const HardwareModel& model);

}  // namespace isamap
