// Bodies, then dims: every alignment of the two bodies, every placement that the rule allows, each judged by the four
// conditions, equal ones listed once.

#include "mapper/mapper.h"

#include <algorithm>
#include <set>

#include "mapper/body_match.h"
#include "mapper/placements.h"
#include "mapper/realise.h"
#include "mapper/reasons.h"
#include "support/yaml.h"

namespace isamap {
namespace {

void add_reason(PairMappings& result, std::string reason) {
  constexpr std::size_t kMaxReasons = 16;
  if (result.reasons.size() < kMaxReasons &&
      std::find(result.reasons.begin(), result.reasons.end(), reason) == result.reasons.end()) {
    result.reasons.push_back(std::move(reason));
  }
}

/// Operands and dims as text, after a relabeling of the instruction.
std::string key_of(const Mapping& mapping, const Automorphism& by) {
  std::vector<std::string> operands(mapping.operands.size()), dims(mapping.dims.size());
  for (std::size_t t = 0; t < operands.size(); ++t) {
    operands[static_cast<std::size_t>(by.operands[t])] = std::to_string(mapping.operands[t]);
  }
  for (std::size_t m = 0; m < dims.size(); ++m) {
    std::string& text = dims[static_cast<std::size_t>(by.dims[m])];
    for (const Digit& digit : mapping.dims[m]) text += print(digit.column) + ":" + std::to_string(digit.extent) + " ";
  }
  std::string key;
  for (const std::string& o : operands) key += o + ",";
  for (const std::string& d : dims) key += "|" + d;
  return key;
}

Automorphism identity_of(const Instruction& instruction) {
  Automorphism same;
  for (int t = 0; t < access_count(instruction.statement()); ++t) same.operands.push_back(t);
  for (std::size_t m = 0; m < instruction.statement().domain.dims.size(); ++m) same.dims.push_back(static_cast<int>(m));
  return same;
}

std::size_t digit_count(const Mapping& mapping) {
  std::size_t count = 0;
  for (const auto& digits : mapping.dims) count += digits.size();
  return count;
}

/// Simple first: fewer kinds, fewer digits; among equals the order of construction.
void put_in_order(std::vector<Mapping>& mappings) {
  const auto rank = [](const Mapping& m) {
    return std::tuple(m.kinds.count(Kind::axis) > 0 ? 0 : m.kinds.size(), m.kinds.count(Kind::exchange), digit_count(m));
  };
  std::stable_sort(mappings.begin(), mappings.end(), [&](const Mapping& a, const Mapping& b) { return rank(a) < rank(b); });
}

void map_aligned(const Alignment& alignment, const MapOptions& options, const std::vector<Automorphism>& symmetries,
                 std::set<std::string>& seen, PairMappings& result) {
  const std::vector<Slot> slots = slots_of(alignment, options.rule);
  const Placements placements = place_directly(alignment, slots, options.max_mappings);
  result.limit_reached = result.limit_reached || placements.limit_reached;
  if (placements.list.empty()) {
    for (std::string& reason : slot_reasons(alignment, slots, options.rule)) add_reason(result, std::move(reason));
  }
  const std::vector<Kill> kill_sets = kills(alignment.unit());
  const Automorphism same = identity_of(*alignment.hardware);
  for (const Placement& placement : placements.list) {
    Judged judged = judge(alignment, realise(alignment, slots, placement), kill_sets);
    if (!judged.mapping) { add_reason(result, operand_prefix(alignment) + judged.refusal); continue; }
    const bool known = std::any_of(symmetries.begin(), symmetries.end(), [&](const Automorphism& by) {
      return seen.count(key_of(*judged.mapping, by)) > 0;
    });
    if (known || !seen.insert(key_of(*judged.mapping, same)).second) continue;
    result.mappings.push_back(std::move(*judged.mapping));
  }
}

/// Reasons that need no look at dims; nothing when there are none.
std::string unmappable(const Computation& statement, const Instruction& instruction) {
  if (instruction.semantics.size() != 1) return "its meaning has several statements, which are not matched yet";
  const Computation& unit = instruction.statement();
  if (static_cast<int>(unit.reads.size()) >= kMaxOperands || static_cast<int>(statement.reads.size()) >= kMaxOperands) {
    return "more than " + std::to_string(kMaxOperands - 1) + " operands";
  }
  if (static_cast<int>(unit.domain.dims.size()) > kMaxDims || static_cast<int>(statement.domain.dims.size()) > kMaxDims) {
    return "more than " + std::to_string(kMaxDims) + " dims";
  }
  for (const Dim& dim : unit.domain.dims) {
    if (dim.extent < 1) return "instruction dim " + dim.name + " has extent " + std::to_string(dim.extent);
  }
  for (const Access& read : statement.reads) {
    if (read.tensor == statement.write.tensor && !(read == statement.write)) {
      return "the statement reads other elements of the tensor that it writes, so its order matters";
    }
  }
  return "";
}

Result<std::vector<InstructionId>> chosen(const HardwareModel& model, const std::string& name) {
  std::vector<InstructionId> ids;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    if (!is_compute(model.instructions()[i])) continue;
    names.push_back(model.instructions()[i].name);
    if (name.empty() || names.back() == name) ids.push_back(make_id<InstructionId>(i));
  }
  if (name.empty() || !ids.empty()) return ids;
  const std::string near = yaml::nearest(name, names);
  return error("'" + name + "' is no compute instruction of " + model.name,
               near.empty() ? "isamap hw show lists them" : "did you mean '" + near + "'?");
}

}  // namespace

PairMappings map_statement(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId id,
                    const MapOptions& options) {
  PairMappings result;
  const Computation& computation = kernel.statements[statement.index()];
  if (const std::string reason = unmappable(computation, hardware); !reason.empty()) {
    add_reason(result, reason);
    return result;
  }
  const auto matches = match_bodies(computation, hardware.statement());
  if (matches.empty()) add_reason(result, body_mismatch(computation, hardware.statement()));
  const std::vector<Automorphism> symmetries = automorphisms(hardware);
  std::set<std::string> seen;
  for (const std::vector<int>& operands : matches) {
    map_aligned(align(kernel, statement, hardware, id, operands), options, symmetries, seen, result);
  }
  put_in_order(result.mappings);
  if (static_cast<std::int64_t>(result.mappings.size()) > options.max_mappings) {
    result.mappings.resize(static_cast<std::size_t>(options.max_mappings));
    result.limit_reached = true;
  }
  return result;
}

Result<MapResult> enumerate_mappings(const Kernel& kernel, const HardwareModel& model, const MapOptions& options) {
  const auto instructions = chosen(model, options.instruction);
  if (!instructions) return instructions.diagnostics();
  MapResult result;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    for (const InstructionId id : *instructions) {
      PairMappings pair = map_statement(kernel, statement, model.instruction(id), id, options);
      result.limit_reached = result.limit_reached || pair.limit_reached;
      if (pair.mappings.empty()) result.rejected.push_back({id, statement, std::move(pair.reasons)});
      for (Mapping& mapping : pair.mappings) {
        mapping.id = static_cast<int>(result.mappings.size());
        result.mappings.push_back(std::move(mapping));
      }
    }
  }
  return result;
}

}  // namespace isamap
