// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/legal.h"
#include "ir/start.h"
#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/space/operand_routes.h"
#include "support/overloaded.h"
#include "verify/case_state.h"
#include "verify/instruction_kernel.h"
#include "verify/isolated_program.h"
#include "verify/joined_programs.h"

namespace isamap {
namespace {

constexpr std::int64_t few_vectors = 8;  // of a program that tests a move

/// The unrolled statement of the instruction, over the tensors and outer dims of the rerolled one.
std::vector<Computation> statements_as_written(const Instruction& written, const RequestedCase& requested,
                                               const Kernel& rerolled) {
  Computation statement = written.statement();
  const Computation& summed = rerolled.statements[0];
  const std::size_t outer = summed.domain.dims.size() - requested.extents.size() - 1;
  statement.name = summed.name;
  for (std::size_t d = 0; d < requested.extents.size(); ++d) statement.domain.dims[d].extent = requested.extents[d];
  statement.domain.dims.insert(statement.domain.dims.begin(), summed.domain.dims.begin(),
                               summed.domain.dims.begin() + static_cast<std::ptrdiff_t>(outer));
  const auto with_outer = [&](Access& access, const Access& own) {
    access.index.insert(access.index.begin(), own.index.begin(),
                        own.index.end() - static_cast<std::ptrdiff_t>(access.index.size()));
  };
  with_outer(statement.write, summed.write);
  for (Access& read : statement.reads)
    for (const Access& own : summed.reads)
      if (own.tensor == read.tensor) with_outer(read, own);
  return {std::move(statement)};
}

/// How the tiles of a case are staged.
struct Staging {
  bool flag = false;  ///< the first call starts the output's tile by a flag
  int buffers = 1;    ///< of each tile in a memory that is no register file
};

Line stage_line(const Tensor& tensor, const Hop& hop, const HardwareModel& model, const Staging& staging) {
  Stage stage;
  if (!hop.packed && !model.memory(hop.memory).is_register()) stage.buffers = staging.buffers;
  stage.tensor = tensor.name;
  stage.memory = model.memory(hop.memory).name;
  stage.layout = hop.layout;
  if (staging.flag) stage.first = First::flag;
  return {stage};
}

/// In order: packed copies, loops over vectors, the output's tile, loops over reductions, the inputs' tiles, the
/// instruction.
Nest nest_of(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping,
             const std::vector<Route>& routes, const HardwareModel& model, const Staging& staging) {
  const Computation& statement = kernel.statements[0];
  Nest nest;
  const auto stages = [&](const Route& route, bool packed) {
    for (const Hop& hop : route.hops)
      if (hop.packed == packed)
        nest.lines.push_back(stage_line(kernel.tensors[access_of(statement, route.access).tensor.index()], hop, model,
                                        {staging.flag && route.access == 0 && !packed, staging.buffers}));
  };
  const auto loops = [&](DimKind kind) {
    for (const Dim& dim : statement.domain.dims) {
      const int own = instruction.statement().domain.find(dim.name);
      if (dim.kind == kind && (own < 0 || dim.extent > 1))
        nest.lines.push_back({For{{}, {{dim.name, own < 0 ? 1 : dim.extent}}, "", Tail::none, ""}});
    }
  };
  for (const Route& route : routes) stages(route, true);
  loops(DimKind::parallel);
  stages(routes[0], false);
  loops(DimKind::reduction);
  for (std::size_t r = 1; r < routes.size(); ++r) stages(routes[r], false);
  Do line;
  line.statement = statement.name;
  line.instruction = instruction.name;
  for (std::size_t d = 0; d < mapping.dims.size(); ++d)
    line.dims.emplace_back(instruction.statement().domain.dims[d].name, mapping.dims[d]);
  if (const int number = number_operand(instruction); number > 0)
    line.constants.emplace_back(instruction.tensors[operand_of_access(instruction, number).index()].name,
                                *mapping.constant);
  nest.lines.push_back({line});
  return nest;
}

/// One nest for each input tile that the move can fill, filled by it; the nest itself without a move.
std::vector<Nest> nests_with_move(const Nest& nest, const std::string& move, const Kernel& kernel,
                                  const HardwareModel& model) {
  if (move.empty()) return {nest};
  const Instruction& by = model.instruction(*model.find_instruction(move));
  const std::string& into = model.memory(by.operands[operand_of_access(by, 0).index()].memory).name;
  std::vector<Nest> all;
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    const auto* stage = std::get_if<Stage>(&nest.lines[l].is);
    if (stage == nullptr || stage->memory != into ||
        stage->tensor == kernel.tensors[kernel.statements[0].write.tensor.index()].name)
      continue;
    all.push_back(nest);
    std::get<Stage>(all.back().lines[l].is).via = {move};
  }
  return all;
}

std::string words_of(const Diagnostics& problems) {
  std::string text;
  for (const Diagnostic& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem.message;
    for (const std::string& note : problem.notes) text += "; " + note;
  }
  return text;
}

void collect_calls(const std::vector<Node>& nodes, std::set<std::size_t>& used) {
  for (const Node& node : nodes)
    std::visit(overloaded{[&](const Loop& loop) { collect_calls(loop.body, used); },
                          [&](const Guard& guard) {
                            collect_calls(guard.then, used);
                            collect_calls(guard.otherwise, used);
                          },
                          [&](const Call& call) { used.insert(call.instruction.index()); }, [](const auto&) {}},
               node.is);
}

/// By access of the statement; an error if some operand has none.
Result<std::vector<Routes>> routes_of_operands(const Instruction& instruction, const Kernel& kernel,
                                               const Computation& statement, const Mapping& mapping,
                                               const HardwareModel& model) {
  std::vector<Routes> all;
  for (int a = 0; a < access_count(statement); ++a) {
    const int own =
        static_cast<int>(std::find(mapping.operands.begin(), mapping.operands.end(), a) - mapping.operands.begin());
    all.push_back(routes(kernel, statement, mapping, own, model));
    if (!all.back().routes.empty()) continue;
    const TensorId t = operand_of_access(instruction, own);
    std::string why;
    constexpr std::size_t most = 2;
    for (std::size_t r = 0; r < std::min(most, all.back().reasons.size()); ++r)
      why += (why.empty() ? "" : "; ") + all.back().reasons[r];
    return error(fmt::format("{} operand {} of {}: {}", a == 0 ? "nothing brings out" : "nothing fills",
                             instruction.tensors[t.index()].name, instruction.name, why));
  }
  return all;
}

/// The next combination of routes, the first operand's fastest; false: it was the last one.
bool pick_next(std::vector<std::size_t>& pick, const std::vector<Routes>& all) {
  std::size_t a = 0;
  while (a < pick.size() && ++pick[a] == all[a].routes.size()) pick[a++] = 0;
  return a < pick.size();
}

Result<InstructionCase> make_case(const HardwareModel& model, InstructionId id, const RequestedCase& requested,
                                  std::int64_t vectors) {
  const InstructionForm form = rerolled_form(model, id);
  const Instruction& instruction = *form;
  const bool summed = form->ranges.size() > requested.extents.size();
  RequestedCase rerolled = requested;
  if (summed) rerolled.extents.push_back(form->ranges.back().max);
  auto kernel = kernel_of(instruction, rerolled, vectors);
  if (!kernel) return kernel.diagnostics();
  Kernel meaning = *kernel;
  if (summed) meaning.statements = statements_as_written(model.instruction(id), requested, *kernel);
  Mapping mapping = identity(instruction, id);
  if (summed) mapping.rolled = {form->statement().domain.dims.back()};
  for (std::size_t d = 0; d < rerolled.extents.size(); ++d)
    mapping.dims.push_back({Digit{AffineExpr::dim(instruction.statement().domain.dims[d].name), rerolled.extents[d]}});
  const Computation statement = fuse(kernel->statements[0], mapping);
  const auto all = routes_of_operands(instruction, *kernel, statement, mapping, model);
  if (!all) return all.diagnostics();
  // Routes of single operands may be incompatible: tries every combination, direct ones first.
  std::vector<std::size_t> pick(all->size(), 0);
  Diagnostics refused;
  bool more = true;
  for (int attempts = 0; more && attempts < 32; ++attempts, more = pick_next(pick, *all)) {
    std::vector<Route> chosen;
    for (std::size_t a = 0; a < all->size(); ++a) chosen.push_back((*all)[a].routes[pick[a]]);
    constexpr int turns = 3;  // tiles at several addresses, so that wrong addresses show
    for (const Staging& staging : {Staging{true, turns}, {true, 1}, {false, turns}, {false, 1}}) {
      if (staging.flag &&
          !(may_start(instruction, Start::zero) && !kernel->tensors[statement.write.tensor.index()].inout))
        continue;
      InstructionCase made{
          id, requested.what, meaning, *kernel, nest_of(*kernel, instruction, mapping, chosen, model, staging), {}, {}};
      for (const Nest& nest : nests_with_move(made.nest, requested.through, *kernel, model)) {
        made.nest = nest;
        auto program = program_of({made}, model);
        if (program) collect_calls(program->program.body, made.uses);
        if (program &&
            (requested.through.empty() || made.uses.contains(model.find_instruction(requested.through)->index())))
          return made;
        if (refused.empty() && !program) refused = program.diagnostics();
      }
    }
  }
  return refused.empty() ? Diagnostics{error("no program is brought its operands so")} : refused;
}

/// A legal extent of the dim near the wished one.
std::int64_t extent_near(const DimRange& range, std::int64_t wish) {
  return std::clamp(wish / range.multiple_of * range.multiple_of, std::max(range.min, range.multiple_of), range.max);
}
std::string smaller_along(const Instruction& instruction, std::size_t dim, std::int64_t extent) {
  return fmt::format("{} of {} along {}", extent, instruction.ranges[dim].max,
                     instruction.statement().domain.dims[dim].name);
}

/// Extents to try: all at their largest; each ranged dim in turn at 1 and at an odd one between.
std::vector<RequestedCase> extents_to_try(const Instruction& instruction) {
  RequestedCase full;
  full.extents = largest_extents(instruction);
  std::vector<RequestedCase> all{full};
  for (std::size_t d = 0; d < instruction.ranges.size(); ++d) {
    const DimRange& range = instruction.ranges[d];
    std::vector<std::int64_t> tried{full.extents[d]};
    for (const std::int64_t wish : {range.max / 2 + 1, std::int64_t{1}}) {
      const std::int64_t extent = extent_near(range, wish);
      if (std::find(tried.begin(), tried.end(), extent) != tried.end()) continue;
      tried.push_back(extent);
      RequestedCase fewer = full;
      fewer.extents[d] = extent;
      if (!extents_fit(instruction, fewer.extents)) continue;
      all.push_back(std::move(fewer));
      all.back().what = smaller_along(instruction, d, extent);
    }
  }
  return all;
}

constexpr const char* afresh = "started afresh, then added to";

/// Fewer cases, for isolated programs, of which a machine may have hundreds: all dims at their largest, and all ranged
/// ones in between, the latter with an accumulator started at zero where possible.
std::vector<RequestedCase> few_to_try(const Instruction& instruction) {
  RequestedCase full, between;
  full.extents = between.extents = largest_extents(instruction);
  for (std::size_t d = 0; d < instruction.ranges.size(); ++d) {
    between.extents[d] = extent_near(instruction.ranges[d], instruction.ranges[d].max / 2 + 1);
    if (between.extents[d] != full.extents[d])
      between.what += (between.what.empty() ? "" : ", ") + smaller_along(instruction, d, between.extents[d]);
  }
  between.twice = instruction.statement().reduction != Reduction::assign && may_start(instruction, Start::zero) &&
                  may_start(instruction, Start::keep);
  if (between.twice) between.what += (between.what.empty() ? "" : ", ") + std::string(afresh);
  return between.what.empty() || !extents_fit(instruction, between.extents) ? std::vector{full}
                                                                            : std::vector{full, between};
}

/// Types for operands without one: those of the language or of a register file.
std::vector<DType> types_to_try(const HardwareModel& model, const Instruction& instruction) {
  const bool open =
      std::any_of(instruction.operands.begin(), instruction.operands.end(), [](const Operand& o) { return !o.dtype; });
  if (!open) return {DType::f32};
  std::vector<DType> types;
  for (const auto& [type, element] : model.program.types)
    if (const auto parsed = parse_dtype(type); parsed && !is_bits(*parsed)) types.push_back(*parsed);
  for (const DType usual : {DType::s8, DType::s32, DType::f32})
    if (std::find(types.begin(), types.end(), usual) == types.end()) types.push_back(usual);
  return types;
}

std::string unsupported_reason(const HardwareModel& model, const Instruction& instruction) {
  if (is_setter(instruction) && instruction.sets.empty()) return "it computes nothing and sets no state";
  if (is_setter(instruction)) return "a setter computes nothing; programs use it where an instruction needs its state";
  if (instruction.semantics.size() != 1) return "its semantics has several statements, which are not lowered yet";
  const Operand& out = instruction.operands[operand_of_access(instruction, 0).index()];
  if (out.memory.valid() && model.memory(out.memory).kind == MemoryKind::cache)
    return "it writes to a cache, which changes no value";
  return "";
}

void add_isolated(const HardwareModel& model, InstructionId id, DType type, std::int64_t vectors,
                  InstructionCases& found) {
  for (RequestedCase requested : few_to_try(model.instruction(id))) {
    requested.type = type;
    for (const DType wide : {DType::u64, DType::s64, DType::f64}) {  // a register file may hold only one of them
      requested.wide = wide;
      const auto number = static_cast<int>(8 * id.index() + found.cases.size());
      auto made = isolated_program(model, id, requested, vectors, number);
      if (!made) continue;
      found.cases.push_back({id, requested.what, made->kernel, made->kernel, {}, std::move(made->program), {}});
      collect_calls(found.cases.back().program->body, found.cases.back().uses);
      break;
    }
  }
}

/// By nests; isolated programs where no nest has the largest extents.
void find_cases(const HardwareModel& model, InstructionId id, DType type, std::int64_t vectors,
                InstructionCases& found) {
  const Instruction& instruction = model.instruction(id);
  const bool updates = instruction.statement().reduction != Reduction::assign && !always_overwrites(instruction);
  for (RequestedCase requested : extents_to_try(instruction)) {
    requested.type = type;
    auto made = make_case(model, id, requested, vectors);
    if (!made && found.why_not.empty()) found.why_not = words_of(made.diagnostics());
    if (!made && requested.what.empty()) add_isolated(model, id, type, vectors, found);
    if (!made && requested.what.empty() && !found.cases.empty()) return;
    if (made) found.cases.push_back(std::move(*made));
    if (!updates || !requested.what.empty() || (made && !may_start(instruction, Start::zero))) continue;
    requested.twice = true;
    requested.what = may_start(instruction, Start::zero) ? afresh : "cleared, then added to";
    if (auto again = make_case(model, id, requested, vectors)) found.cases.push_back(std::move(*again));
  }
}

}  // namespace

InstructionCases instruction_cases(const HardwareModel& model, InstructionId id, std::int64_t vectors) {
  const Instruction& instruction = model.instruction(id);
  // A single use of a large instruction has many results.
  constexpr std::int64_t enough = 1 << 15, least = 4;
  std::int64_t results = 1;
  if (!instruction.semantics.empty())
    for (const std::int64_t extent : operand_box(instruction, 0)) results *= std::max<std::int64_t>(extent, 1);
  vectors = std::min(vectors, std::max(least, enough / results));
  InstructionCases found;
  found.why_not = unsupported_reason(model, instruction);
  if (!found.why_not.empty()) return found;
  for (const DType type : types_to_try(model, instruction)) {
    find_cases(model, id, type, vectors, found);
    if (!found.cases.empty()) break;  // one type is enough for moves of any type
  }
  std::string stateless;
  std::erase_if(found.cases, [&](InstructionCase& one) {
    const std::string why = settle_state(one, model);
    if (!why.empty()) stateless = why;
    return !why.empty();
  });
  if (!found.cases.empty())
    found.why_not.clear();
  else if (!stateless.empty())
    found.why_not = stateless;
  return found;
}

std::optional<InstructionCase> case_through(const HardwareModel& model, InstructionId move, std::int64_t vectors) {
  const Instruction& by = model.instruction(move);
  const MemoryId into = by.operands[operand_of_access(by, 0).index()].memory;
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& user = model.instructions()[i];
    if (!is_compute(user) || user.semantics.size() != 1 || !not_executed(user, model).empty()) continue;
    bool reads = false;
    for (int a = 1; a < access_count(user.statement()); ++a)
      reads = reads || user.operands[operand_of_access(user, a).index()].memory == into;
    if (!reads) continue;
    RequestedCase requested;
    requested.extents = largest_extents(user);
    requested.through = by.name;
    requested.what = "by way of " + by.name;
    auto made = make_case(model, make_id<InstructionId>(i), requested, std::min<std::int64_t>(vectors, few_vectors));
    if (made && settle_state(*made, model).empty()) return std::move(*made);
  }
  return std::nullopt;
}

Result<CaseProgram> program_of(const std::vector<InstructionCase>& cases, const HardwareModel& model) {
  CaseProgram out;
  out.first.resize(cases.size());
  Kernel kernel;
  Schedule schedule;
  kernel.name = schedule.name = schedule.kernel = "hw_verify";
  schedule.target = model.name;
  const auto renamed = [](const std::string& name, std::size_t c) { return fmt::format("{}_{}", name, c); };
  for (std::size_t c = 0; c < cases.size(); ++c) {
    if (cases[c].program) continue;
    const std::size_t first = out.first[c] = kernel.tensors.size();
    for (Tensor tensor : cases[c].rerolled.tensors) {
      tensor.name = renamed(tensor.name, c);
      kernel.tensors.push_back(std::move(tensor));
    }
    Computation statement = cases[c].rerolled.statements[0];
    statement.name = renamed(statement.name, c);
    const auto moved = [&](TensorId id) { return make_id<TensorId>(first + id.index()); };
    statement.write.tensor = moved(statement.write.tensor);
    for (Access& access : statement.reads) access.tensor = moved(access.tensor);
    kernel.statements.push_back(std::move(statement));
    Nest nest = cases[c].nest;
    for (Line& line : nest.lines) {
      if (auto* stage = std::get_if<Stage>(&line.is)) stage->tensor = renamed(stage->tensor, c);
      if (auto* last = std::get_if<Do>(&line.is)) last->statement = renamed(last->statement, c);
    }
    schedule.nests.push_back(std::move(nest));
  }
  out.program.name = "hw_verify";
  out.program.kernel = kernel;
  out.program.sizes = model.sizes();
  if (!schedule.nests.empty()) {
    auto program = lower(schedule, kernel, model, DoLines::trusted);
    if (!program) return program.diagnostics();
    out.program = std::move(*program);
  }
  std::size_t tensors = kernel.tensors.size();
  std::vector<Program> isolated;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    if (!cases[c].program) continue;
    out.first[c] = tensors;
    tensors += cases[c].kernel.tensors.size();
    isolated.push_back(*cases[c].program);
    for (Buffer& buffer : isolated.back().buffers) buffer.name = renamed(buffer.name, c);
    for (Tensor& tensor : isolated.back().kernel.tensors) tensor.name = renamed(tensor.name, c);
    for (Computation& statement : isolated.back().kernel.statements) statement.name = renamed(statement.name, c);
  }
  out.program = joined(std::move(out.program), isolated);
  out.program.as_named = true;  // an equal statement in another state is another instruction
  return out;
}

}  // namespace isamap
