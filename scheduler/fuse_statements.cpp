// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fuse_statements.h"

#include <algorithm>
#include <numeric>

#include "hwdesc/model/parallel_units.h"
#include "hwdesc/model/program_language.h"
#include "ir/begun_sums.h"
#include "ir/text/access_name.h"
#include "isamap/scheduler.h"
#include "scheduler/fuse_consumers.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/space/streaming_stores.h"
#include "scheduler/strip_fusion.h"

namespace isamap {

namespace {

constexpr double rounding = 1e-5;  ///< relative tie: cycles of each nest are rounded to whole numbers
constexpr double min_gain = 0.01;  ///< relative gain required: code doubles where strips do not divide
constexpr std::int64_t strip_rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128};
/// bytes of padding: word pairs of eight neighbouring rows then map to different banks
constexpr std::int64_t bank_padding = 32;

double total(const std::vector<Cost>& costs, Objective objective) { return value(sum_of(costs), objective); }

Stage stage_in(const std::string& tensor, const Memory& memory) {
  Stage stage;
  stage.tensor = tensor;
  stage.memory = memory.name;
  return stage;
}

Line loop_line(const std::string& dim, std::int64_t tile, bool unroll) {
  For loop;
  loop.loops = {{dim, tile}};
  loop.unroll = unroll;
  return Line{loop};
}

/// A complete tile of the producer that a consumer can use: the innermost one.
struct ProducerTile {
  std::size_t line = 0;
  ResolvedNest view;
  const StagedTile& stage() const {
    return *std::find_if(view.stages.begin(), view.stages.end(),
                         [&](const StagedTile& s) { return s.line == static_cast<int>(line); });
  }
};

/// Removes tiles of the output above its innermost one: they would be copies of the whole.
std::optional<ProducerTile> innermost_output(Nest& nest, const Kernel& kernel, StatementId id,
                                             const HardwareModel& model) {
  const std::string& output = kernel.tensors[kernel.statements[id.index()].write.tensor.index()].name;
  const auto is_stage = [&](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    return stage != nullptr && stage->tensor == output;
  };
  const auto last = std::find_if(nest.lines.rbegin(), nest.lines.rend(), is_stage);
  if (last == nest.lines.rend()) return std::nullopt;
  auto kept = static_cast<std::size_t>(nest.lines.rend() - last) - 1;
  for (std::size_t l = kept; l-- > 0;)
    if (is_stage(nest.lines[l]) && std::get<Stage>(nest.lines[l].is).then.empty()) {
      nest.lines.erase(nest.lines.begin() + static_cast<std::ptrdiff_t>(l));
      --kept;
    }
  auto view = resolve(nest, kernel, id, model);
  if (!view || view->innermost[0] < 0) return std::nullopt;
  return ProducerTile{kept, std::move(*view)};
}

/// The tile written by fused scalar code, which can be fused further.
std::optional<ProducerTile> tile_of_scalar_code(const Nest& nest, const Kernel& kernel, StatementId id,
                                                const HardwareModel& model) {
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    const auto* stage = std::get_if<Stage>(&nest.lines[l].is);
    if (stage == nullptr || stage->from.empty()) continue;
    auto view = resolve(nest, kernel, id, model);
    if (view && !view->instruction) return ProducerTile{l + 1, std::move(*view)};
  }
  return std::nullopt;
}

/// What is changed by fusion, and how it was before any.
struct FusedNests {
  Schedule& schedule;
  std::vector<Cost>& costs;
  std::vector<Mapping>& chosen;
  const std::vector<Nest> nests_before;
  const std::vector<Mapping> mappings_before;
};

/// Two statements, the second of which reads what the first writes.
struct Pair {
  std::size_t producer;
  std::size_t consumer;
};

/// Consumer dims by producer dims; nothing unless both index the tensor by plain dims.
std::optional<std::map<std::string, std::string>> renamed(const Kernel& kernel, const ResolvedNest& producer,
                                                          std::size_t t) {
  const Access& write = producer.statement.write;
  for (const Access& read : kernel.statements[t].reads) {
    if (read.tensor != write.tensor) continue;
    std::map<std::string, std::string> names;
    for (std::size_t axis = 0; axis < write.index.size(); ++axis) {
      const auto own = write.index[axis].as_dim(), theirs = read.index[axis].as_dim();
      if (!own || (!theirs && !read.index[axis].names().empty())) return std::nullopt;
      if (theirs) names[*own] = *theirs;
    }
    return names;
  }
  return std::nullopt;
}

/// The loops of the producer above its tile, in dims of the consumer.
std::optional<std::vector<Line>> loops_to(const Kernel& kernel, const ProducerTile& tile, const Nest& nest,
                                          std::size_t t) {
  const auto names = renamed(kernel, tile.view, t);
  if (!names) return std::nullopt;
  std::vector<Line> lines;
  for (std::size_t l = 0; l < tile.line; ++l) {
    const auto* loop = std::get_if<For>(&nest.lines[l].is);
    if (loop == nullptr) continue;
    For own = *loop;
    own.loops.clear();
    for (const TiledLoop& w : loop->loops)
      if (const auto found = names->find(w.dim); found != names->end()) own.loops.push_back({found->second, w.tile});
    if (!own.loops.empty()) lines.push_back(Line{own});
  }
  return lines;
}

/// The same nest with streaming stores of the result; nothing: not possible.
std::optional<Nest> with_streaming_stores(const FusionInput& in, Nest nest, std::size_t t) {
  const Computation& statement = in.kernel.statements[t];
  for (Line& line : nest.lines) {
    auto* stage = std::get_if<Stage>(&line.is);
    if (stage == nullptr || stage->tensor != in.kernel.tensors[statement.write.tensor.index()].name) continue;
    const auto memory = in.model.find_memory(stage->memory);
    if (memory) stage->via = streaming_store_moves(in.kernel, make_id<StatementId>(t), in.model, *memory);
    if (!stage->via.empty()) return nest;
  }
  return std::nullopt;
}

/// The nest of the consumer on a tile; nothing: the mapping splits or fuses dims.
std::optional<Nest> consumer_nest(const FusionInput& in, const std::vector<Line>& above, const Stage& stored,
                                  std::size_t s, const Mapping& mapping) {
  const Computation& statement = in.kernel.statements[mapping.statement.index()];
  const InstructionForm form = instruction_form(mapping, in.model);
  std::vector<std::pair<std::string, std::int64_t>>
      dims;  // dims of the instruction first: their inputs are reused longest
  for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
    if (mapping.dims[m].empty()) continue;
    const auto dim = mapping.dims[m].size() == 1 ? mapping.dims[m][0].column.as_dim() : std::nullopt;
    if (!dim) return std::nullopt;
    dims.emplace_back(*dim, full_extent(*form, m));
  }
  for (const Dim& dim : statement.domain.dims)
    if (std::none_of(dims.begin(), dims.end(), [&](const auto& d) { return d.first == dim.name; }))
      dims.emplace_back(dim.name, 1);
  Nest nest{above};
  Stage consumed;
  consumed.tensor = stored.tensor;
  consumed.memory = stored.memory;
  consumed.from = in.kernel.statements[s].name;
  nest.lines.push_back(Line{consumed});
  std::map<std::string, std::int64_t> tile;
  for (const Dim& dim : statement.domain.dims) tile[dim.name] = dim.extent;
  for (const Line& line : above)
    for (const TiledLoop& loop : std::get<For>(line.is).loops) tile[loop.dim] = std::min(tile[loop.dim], loop.tile);
  std::vector<bool> staged(statement.reads.size(), false);
  const auto stage_inputs = [&](std::size_t done) {  // inputs that no further loop changes
    for (std::size_t r = 0; r < statement.reads.size(); ++r) {
      const std::string& tensor = in.kernel.tensors[statement.reads[r].tensor.index()].name;
      const int access = static_cast<int>(r) + 1;
      const bool later = std::any_of(dims.begin() + static_cast<std::ptrdiff_t>(done), dims.end(), [&](const auto& d) {
        return tile[d.first] > d.second && uses(statement.reads[r], d.first);
      });
      if (staged[r] || later || tensor == stored.tensor) continue;
      staged[r] = true;
      const int operand = instruction_access(mapping, access);
      if (operand < 0) continue;
      const Memory& memory = in.model.memory(form->operands[operand_of_access(*form, operand).index()].memory);
      if (memory.is_register())
        nest.lines.push_back(Line{stage_in(access_name(in.kernel.tensors, statement, access), memory)});
    }
  };
  for (std::size_t d = 0; d < dims.size(); ++d) {
    stage_inputs(d);
    if (tile[dims[d].first] <= dims[d].second) continue;
    nest.lines.push_back(loop_line(dims[d].first, dims[d].second, true));
  }
  stage_inputs(dims.size());
  const int output = instruction_access(mapping, 0);
  const Memory& memory = in.model.memory(form->operands[operand_of_access(*form, output).index()].memory);
  if (memory.is_register())
    nest.lines.push_back(Line{stage_in(in.kernel.tensors[statement.write.tensor.index()].name, memory)});
  nest.lines.push_back(Line{do_line(mapping, in.kernel, in.model)});
  return nest;
}

/// The scratchpad of the block around the unit of the nest.
MemoryId own_scratchpad(const HardwareModel& model, const ResolvedNest& view) {
  const auto unit = view.instruction ? std::optional(view.instruction->unit) : model.scalar_unit_for(model.home());
  const auto block = unit ? outermost_numbered(model, *unit) : std::nullopt;
  for (std::size_t m = 0; block && m < model.memories().size(); ++m)
    if (model.memories()[m].kind == MemoryKind::scratchpad && model.memories()[m].per == *block)
      return make_id<MemoryId>(m);
  return {};
}

bool fusion_lowers(const FusionInput& in, const Schedule& schedule) {
  return !in.lower || lower(schedule, in.whole, in.model, DoLines::trusted);
}

/// Takes the schedule, which differs in these nests, if it costs no more than the one before and lowers. `mapping`: of
/// one of them.
bool accept(const FusionInput& in, FusedNests& fused, const std::vector<std::size_t>& nests, Schedule trial,
            const Mapping& mapping) {
  std::vector<Cost> costs = fused.costs;
  for (const std::size_t changed : nests) {
    auto cost = in.costs.estimate({&in.kernel, make_id<StatementId>(changed), &in.model, trial.nests[changed]});
    if (!cost) return false;
    costs[changed] = std::move(*cost);
  }
  // Accesses of scalar code cost only its cycles: at equal cost the tile that is never stored wins.
  const double before = total(fused.costs, in.objective), after = total(costs, in.objective);
  if (after > before * (1 + rounding)) return false;
  if (!fusion_lowers(in, trial)) return false;
  fused.schedule = std::move(trial);
  fused.costs = std::move(costs);
  fused.chosen[mapping.statement.index()] = mapping;
  return true;
}

/// The two nests.
bool accept(const FusionInput& in, FusedNests& fused, const Pair& pair, const Nest& producer, Nest consumer,
            const Mapping& mapping) {
  Schedule trial = fused.schedule;
  trial.nests[pair.producer] = producer;
  trial.nests[pair.consumer] = std::move(consumer);
  return accept(in, fused, {pair.producer, pair.consumer}, std::move(trial), mapping);
}

/// The consumer reads the tile from the registers of the producer.
bool fuse_in_registers(const FusionInput& in, FusedNests& fused, const Pair& pair) {
  Nest producer = fused.schedule.nests[pair.producer];
  const auto tile = innermost_output(producer, in.kernel, make_id<StatementId>(pair.producer), in.model);
  if (!tile || !in.model.memory(tile->stage().memory).is_register()) return false;
  const auto above = loops_to(in.kernel, *tile, producer, pair.consumer);
  if (!above) return false;
  Stage& stored = std::get<Stage>(producer.lines[tile->line].is);
  stored.then.push_back(in.kernel.statements[pair.consumer].name);
  for (const Mapping& mapping : in.mappings(make_id<StatementId>(pair.consumer))) {
    auto nest = consumer_nest(in, *above, stored, pair.producer, mapping);
    if (!nest) continue;
    bool streams = false;
    if (auto streamed = with_streaming_stores(in, *nest, pair.consumer))
      streams = accept(in, fused, pair, producer, std::move(*streamed), mapping);
    if (accept(in, fused, pair, producer, std::move(*nest), mapping) || streams) return true;
  }
  return false;
}

/// ... through a buffer in this memory.
bool fuse_in(const FusionInput& in, FusedNests& fused, const Pair& pair, MemoryId memory, const ProducerTile& tile,
             Nest producer) {
  const auto above = loops_to(in.kernel, tile, producer, pair.consumer);
  if (!above || above->empty()) return false;
  const Computation& statement = in.kernel.statements[pair.producer];
  const Tensor& tensor = in.kernel.tensors[statement.write.tensor.index()];
  Stage stored = stage_in(tensor.name, in.model.memory(memory));
  Stage consumed = stored;
  stored.then = {in.kernel.statements[pair.consumer].name};
  consumed.from = statement.name;
  if (const Memory& m = in.model.memory(memory); m.banks > 0 && !tile.view.statement.write.index.empty()) {
    for (const AffineExpr& form : natural_forms(tile.view.statement.write)) stored.layout.push_back({form, 0});
    stored.layout.back().pad = std::max<std::int64_t>(bank_padding / std::max(bytes(tensor.dtype), 1), 1);
  }
  producer.lines.insert(producer.lines.begin() + static_cast<std::ptrdiff_t>(tile.line), Line{stored});
  Nest nest{*above};
  nest.lines.push_back(Line{consumed});
  for (const Dim& dim : in.kernel.statements[pair.consumer].domain.dims)
    if (dim.extent != 1) nest.lines.push_back(loop_line(dim.name, 1, false));
  Do line;
  line.statement = in.kernel.statements[pair.consumer].name;
  nest.lines.push_back(Line{line});
  Mapping none;
  none.statement = make_id<StatementId>(pair.consumer);
  return accept(in, fused, pair, producer, std::move(nest), none);
}

/// The tile goes through a buffer to a scalar consumer: in a scratchpad of the block if there is one, else at home.
bool fuse_in_memory(const FusionInput& in, FusedNests& fused, const Pair& pair) {
  if (is_command_stream(in.model)) return false;
  Nest producer = fused.schedule.nests[pair.producer];
  const auto output = innermost_output(producer, in.kernel, make_id<StatementId>(pair.producer), in.model);
  if (output && !in.model.memory(output->stage().memory).is_register()) return false;
  const auto tile =
      output ? output : tile_of_scalar_code(producer, in.kernel, make_id<StatementId>(pair.producer), in.model);
  if (!tile) return false;
  for (const MemoryId memory : {own_scratchpad(in.model, tile->view), in.model.home()})
    if (memory.valid() && in.model.scalar_unit_for(memory) && fuse_in(in, fused, pair, memory, *tile, producer))
      return true;
  return false;
}

/// The consumer takes tiles from an accumulator, or another memory inside of the accelerator.
bool fuse_in_accelerator(const FusionInput& in, FusedNests& fused, const Pair& pair) {
  bool taken = false;
  const Schedule before = fused.schedule;
  for (const Mapping& mapping : in.mappings(make_id<StatementId>(pair.consumer)))
    for (ConsumedTile& tile :
         consumed_tiles(in.kernel, in.model, make_id<StatementId>(pair.producer), before.nests[pair.producer], mapping))
      taken = accept(in, fused, pair, tile.producer, std::move(tile.consumer), mapping) || taken;
  return taken;
}

/// The statement whose tiles the nest of `s` consumes; nothing: none.
std::optional<std::size_t> consumed_statement(const FusionInput& in, const Schedule& schedule, std::size_t s) {
  const std::string& written = in.kernel.tensors[in.kernel.statements[s].write.tensor.index()].name;
  for (const Line& line : schedule.nests[s].lines)
    if (const auto* stage = std::get_if<Stage>(&line.is);
        stage != nullptr && !stage->from.empty() && stage->tensor != written)
      for (std::size_t q = 0; q < s; ++q)
        if (in.kernel.statements[q].name == stage->from) return q;
  return std::nullopt;
}

/// The producer takes tiles of another nest, and leaves its results elsewhere: with the instructions that leave them in
/// the scratchpad of the consumer.
bool keep_by_other_instructions(const FusionInput& in, FusedNests& fused, const Pair& pair) {
  const auto first = consumed_statement(in, fused.schedule, pair.producer);
  if (!first) return false;
  Nest unfused = fused.schedule.nests[*first];
  for (Line& line : unfused.lines)
    if (auto* stage = std::get_if<Stage>(&line.is)) std::erase(stage->then, in.kernel.statements[pair.producer].name);
  const auto id = [](std::size_t s) { return make_id<StatementId>(s); };
  for (const Mapping& mapping : in.mappings(id(pair.producer)))
    for (ConsumedTile& tile : consumed_tiles(in.kernel, in.model, id(*first), unfused, mapping)) {
      Schedule trial = fused.schedule;
      trial.nests[*first] = std::move(tile.producer);
      trial.nests[pair.producer] = std::move(tile.consumer);
      for (ConsumedTile& kept : kept_tensor(in.kernel, in.model, id(pair.producer), id(pair.consumer), trial)) {
        trial.nests[pair.producer] = std::move(kept.producer);
        trial.nests[pair.consumer] = std::move(kept.consumer);
        if (accept(in, fused, {*first, pair.producer, pair.consumer}, trial, mapping)) return true;
      }
    }
  return false;
}

/// What the consumer sums over stays whole in a scratchpad.
bool keep_in_scratchpad(const FusionInput& in, FusedNests& fused, const Pair& pair) {
  const Mapping mapping = fused.chosen[pair.consumer];
  for (ConsumedTile& kept : kept_tensor(in.kernel, in.model, make_id<StatementId>(pair.producer),
                                        make_id<StatementId>(pair.consumer), fused.schedule))
    if (accept(in, fused, pair, kept.producer, std::move(kept.consumer), mapping)) return true;
  return keep_by_other_instructions(in, fused, pair);
}

void keep_inputs(const FusionInput& in, FusedNests& fused, std::size_t t) {
  for (std::size_t s = t; s-- > 0;) {
    const TensorId written = in.kernel.statements[s].write.tensor;
    if (reads(in.kernel.statements[t], written) && written != in.kernel.statements[t].write.tensor)
      keep_in_scratchpad(in, fused, {s, t});
  }
}

/// Sums that begin with a copy are filled from what it copies, and the copy is not made.
void begin_with_copies(const FusionInput& in, FusedNests& fused) {
  for (std::size_t s = 1; s < in.kernel.statements.size(); ++s) {
    const auto copy = begun_by(in.kernel, s);
    if (!copy) continue;
    const Computation& sum = in.kernel.statements[s];
    auto nest = begun_with(fused.schedule.nests[s], in.kernel.tensors[sum.write.tensor.index()].name,
                           in.kernel.statements[*copy].name, in.model);
    if (!nest) continue;
    Schedule trial = fused.schedule;
    trial.nests[s] = std::move(*nest);
    auto cost = in.costs.estimate({&in.kernel, make_id<StatementId>(s), &in.model, trial.nests[s]});
    if (!cost || !lower(trial, in.whole, in.model, DoLines::trusted)) continue;
    fused.schedule = std::move(trial);
    fused.costs[s] = std::move(*cost);
    fused.costs[*copy] = {};
  }
}

/// The nest of a statement without fusion: fused registers are loaded from and stored to memory.
Nest without_fusion(const HardwareModel& model, const FusedNests& fused, std::size_t s) {
  Nest nest = fused.schedule.nests[s];
  for (Line& line : nest.lines)
    if (auto* stage = std::get_if<Stage>(&line.is); stage != nullptr && !(stage->from.empty() && stage->then.empty())) {
      const auto memory = model.find_memory(stage->memory);
      if (!memory || !model.memory(*memory).is_register()) return fused.nests_before[s];
      stage->from.clear();
      stage->then.clear();
    }
  return nest;
}

/// The nests of a chain in row strips of one height, and their costs.
struct Stripped {
  const StripChain* chain = nullptr;
  std::vector<Nest> nests;
  std::vector<Cost> costs;  ///< empty: the model has no price for one of the nests
};

template <class T>
void replace_each(std::vector<T>& all, const StripChain& chain, const std::vector<T>& by) {
  for (std::size_t i = 0; i < by.size(); ++i) all[chain.statements[i]] = by[i];
}

/// The chain in strips of `rows` rows; nothing: not possible. `whole`: the nests without fusion.
std::optional<Stripped> in_strips_of(const FusionInput& in, const std::vector<Nest>& whole, const StripChain& chain,
                                     std::int64_t rows) {
  auto nests = in_strips(in.kernel, in.model, whole, chain, rows);
  if (!nests) return std::nullopt;
  Stripped stripped{&chain, std::move(*nests), {}};
  for (std::size_t i = 0; i < stripped.nests.size(); ++i) {
    auto cost =
        in.costs.estimate({&in.kernel, make_id<StatementId>(chain.statements[i]), &in.model, stripped.nests[i]});
    if (!cost) return Stripped{};
    stripped.costs.push_back(std::move(*cost));
  }
  return stripped;
}

/// The last of those that each cost noticeably less than the one before.
std::vector<std::pair<double, Stripped>>::iterator noticeably_cheaper(std::vector<std::pair<double, Stripped>>& all,
                                                                      double least) {
  auto best = all.end();
  for (auto one = all.begin(); one != all.end(); ++one)
    if (one->first < least * (1 - min_gain)) least = one->first, best = one;
  return best;
}

/// Every chain that ends here, in strips of every height, with the cost of the kernel.
std::vector<std::pair<double, Stripped>> all_strips(const FusionInput& in, const FusedNests& fused,
                                                    const std::vector<Nest>& whole,
                                                    const std::vector<StripChain>& chains) {
  std::vector<std::pair<double, Stripped>> all;
  for (const StripChain& chain : chains) {
    const Computation& first = in.kernel.statements[chain.statements.front()];
    const std::int64_t extent =
        first.domain.dims[static_cast<std::size_t>(first.domain.find(chain.dims.front()))].extent;
    std::vector<Cost> costs = fused.costs;
    for (const std::int64_t rows : strip_rows) {
      if (rows >= extent) break;
      auto stripped = in_strips_of(in, whole, chain, rows);
      if (!stripped) break;
      if (stripped->costs.empty()) continue;
      replace_each(costs, chain, stripped->costs);
      all.emplace_back(total(costs, in.objective), std::move(*stripped));
    }
  }
  return all;
}

/// Row-strip fusion with the cheapest strip height, if it gains noticeably over whole tensors.
void fuse_through_strips(const FusionInput& in, FusedNests& fused, std::size_t t) {
  if (!is_host_code(in.model)) return;
  const double before = total(fused.costs, in.objective);
  std::vector<Nest> whole;
  for (std::size_t s = 0; s < fused.schedule.nests.size(); ++s) whole.push_back(without_fusion(in.model, fused, s));
  const std::vector<StripChain> chains = strip_chains(in.kernel, fused.schedule, t);
  std::vector<std::pair<double, Stripped>> all = all_strips(in, fused, whole, chains);
  for (auto best = noticeably_cheaper(all, before); best != all.end(); best = noticeably_cheaper(all, before)) {
    const Stripped& strips = best->second;
    Schedule trial = fused.schedule;
    replace_each(trial.nests, *strips.chain, strips.nests);
    if (!fusion_lowers(in, trial)) {
      all.erase(best);
      continue;
    }
    fused.schedule = std::move(trial);
    replace_each(fused.costs, *strips.chain, strips.costs);
    for (const std::size_t s : strips.chain->statements)
      if (whole[s] == fused.nests_before[s]) fused.chosen[s] = fused.mappings_before[s];
    return;
  }
}

void fuse_consumer(const FusionInput& in, FusedNests& fused, std::size_t t) {
  const Computation& statement = in.kernel.statements[t];
  if (is_command_stream(in.model) && statement.reduction != Reduction::assign) return keep_inputs(in, fused, t);
  if (statement.reduction != Reduction::assign) return fuse_through_strips(in, fused, t);
  for (std::size_t s = t; s-- > 0;) {
    const TensorId written = in.kernel.statements[s].write.tensor;
    const bool reads = std::any_of(statement.reads.begin(), statement.reads.end(),
                                   [&](const Access& a) { return a.tensor == written; });
    if (!reads) continue;
    if (is_command_stream(in.model)) {
      if (fuse_in_accelerator(in, fused, {s, t})) return;
      continue;
    }
    if (fuse_in_registers(in, fused, {s, t}) || fuse_in_memory(in, fused, {s, t})) return;
  }
}

}  // namespace

void fuse_statements(const FusionInput& input, Schedule& schedule, std::vector<Cost>& costs,
                     std::vector<Mapping>& chosen) {
  FusedNests fused{schedule, costs, chosen, schedule.nests, chosen};
  if (is_command_stream(input.model)) begin_with_copies(input, fused);
  for (std::size_t t = 1; t < input.kernel.statements.size(); ++t) fuse_consumer(input, fused, t);
}

}  // namespace isamap
