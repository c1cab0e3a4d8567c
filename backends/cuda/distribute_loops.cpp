// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distribute_loops.h"

#include <algorithm>
#include <optional>
#include <set>

#include "backends/cuda/column_reduction.h"
#include "backends/cuda/independent_loops.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "backends/cuda/parallel_reduction.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/vector_access.h"
#include "hwdesc/model/parallel_units.h"
#include "ir/operand_use.h"
#include "isamap/kernel.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// The units that a launch distributes loops over: blocks, and the units of threads inside each block.
struct LaunchUnits {
  const HardwareModel& model;
  UnitId grid;
  std::vector<UnitId> inside;  ///< outermost first; not empty where loops are distributed
  std::int64_t threads = 0;    ///< about so many in a block, where neither the model nor the kernel fixes a number
  const ThreadBinding& asked;  ///< numbers that loops of the kernel ask for
  std::int64_t held = 0;       ///< bytes of the block's memory that buffers of the kernel are in

  UnitId innermost() const { return inside.back(); }

  /// Instances of unit `position` inside the block that are used for `total` elements in all.
  std::int64_t instances(std::size_t position, std::int64_t total) const {
    const UnitId unit = inside[position];
    const Unit& u = model.unit(unit);
    if (!u.at_most) return u.count;
    if (asked.asked(unit) > 1 || asked.asks_for_threads()) return asked.asked(unit);
    std::int64_t inner = 1;
    for (std::size_t i = position + 1; i < inside.size(); ++i)
      if (!model.unit(inside[i]).at_most) inner *= model.unit(inside[i]).count;
    const std::int64_t wanted = std::min(threads, total);
    return std::clamp<std::int64_t>((wanted + inner - 1) / inner, 1, u.count);
  }
};

/// What is distributed: the elements of some loops, with sequential loops and a body below each of them.
struct Work {
  const std::vector<Loop>& loops;
  const std::vector<Loop>& kept;  ///< sequential
  const std::vector<Node>& body;
  std::int64_t elements = 0;
  std::optional<Neighbours> chunks;  ///< contiguous elements by vector accesses; nothing: one by one
};

/// Chunks, or elements of a copy, that a thread loads before it uses the first.
struct Turns {
  std::string variable;  ///< that counts them; empty: one
  std::int64_t count = 1;
};

/// Over which units: those inside the block from `from` on, without the `shared` innermost ones, which share each
/// element, and over blocks.
struct Over {
  std::size_t from = 0;
  bool blocks = false;
  std::size_t shared = 0;
};

/// Threads that follow one another touch what lies together in the memory of all blocks.
void neighbours_last(std::vector<Loop>& loops, const OffsetUses& uses, const Program& program,
                     const LaunchUnits& units) {
  const auto distance = [&](const Loop& l) {
    std::int64_t nearest = INT64_MAX;
    for (const auto& [buffer, list] : uses) {
      if (units.model.inside(units.model.memory(program.buffers[static_cast<std::size_t>(buffer)].memory).per,
                             units.grid))
        continue;
      for (const OffsetUse& access : list)
        if (const std::int64_t step = std::abs(access.offset.coefficient(l.variable)); step > 0)
          nearest = std::min(nearest, step);
    }
    return nearest;
  };
  std::stable_sort(loops.begin(), loops.end(), [&](const Loop& a, const Loop& b) { return distance(a) > distance(b); });
}

/// One statement, whose sums no term is told apart by and which reads no sum.
bool may_be_split(const std::vector<Loop>& terms, const std::vector<Node>& body, const Program& program) {
  const Element* element = only_element(body);
  if (element == nullptr || terms.empty() || element->reduction == Reduction::assign) return false;
  if (program.sums_in_order && is_float(program.buffers[element->write.buffer.index()].dtype)) return false;
  for (const Loop& l : terms)
    for (const AffineExpr& e : element->write.index)
      if (e.names().contains(l.variable)) return false;
  return std::none_of(element->reads.begin(), element->reads.end(),
                      [&](const Ref& r) { return r.buffer == element->write.buffer; });
}

std::vector<ReductionLoop> counted(const std::vector<Loop>& loops) {
  std::vector<ReductionLoop> out;
  for (const Loop& l : loops) out.push_back({l.variable, l.trip});
  return out;
}

/// Of the memory of all blocks, and of rows that one holds: offsets and types.
std::vector<std::pair<AffineExpr, DType>> reads_of_sums(const OffsetUses& uses, const Program& program,
                                                        const HardwareModel& model, UnitId grid) {
  std::vector<std::pair<AffineExpr, DType>> reads;
  for (const auto& [id, list] : uses)
    if (const Buffer& buffer = program.buffers[static_cast<std::size_t>(id)];
        buffer.memory == model.home() || buffer.memory == scratchpad_of(model, grid))
      for (const OffsetUse& access : list)
        if (!access.written) reads.emplace_back(access.offset, buffer.dtype);
  return reads;
}

/// One element, or one in each branch of a guard; empty: there is something else.
std::vector<const Element*> only_elements_of(const std::vector<Node>& nodes) {
  if (nodes.size() != 1) return {};
  if (const auto* element = std::get_if<Element>(&nodes[0].is)) return {element};
  const auto* guard = std::get_if<Guard>(&nodes[0].is);
  if (guard == nullptr || guard->then.size() != 1 || guard->otherwise.size() != 1) return {};
  const auto *then = std::get_if<Element>(&guard->then[0].is),
             *otherwise = std::get_if<Element>(&guard->otherwise[0].is);
  return then != nullptr && otherwise != nullptr ? std::vector{then, otherwise} : std::vector<const Element*>{};
}

/// Do the nodes store one element in the block's memory, which is computed from the memory of all blocks, if from any?
bool load_into_block(const std::vector<Node>& nodes, const Program& program, const LaunchUnits& units) {
  const std::vector<const Element*> elements = only_elements_of(nodes);
  bool reads = false;
  for (const Element* element : elements) {
    const Buffer& to = program.buffers[element->write.buffer.index()];
    if (element->reduction != Reduction::assign || element->write != elements[0]->write || to.slots >= 0 ||
        !units.model.inside(units.model.memory(to.memory).per, units.grid))
      return false;
    for (const Ref& read : element->reads) {
      if (!read.buffer.valid() || program.buffers[read.buffer.index()].memory != units.model.home()) return false;
      reads = true;
    }
  }
  return reads;
}

/// Elements for the block's memory (load_into_block), from registers that are all loaded before the first is stored.
std::vector<Node> through_registers(std::vector<Node> nodes, const Turns& turns, Program& program,
                                    const LaunchUnits& units) {
  const Element first = *only_elements_of(nodes)[0];
  const Buffer to = program.buffers[first.write.buffer.index()];
  Buffer buffer;
  buffer.name = to.name + "_in";
  buffer.memory = registers_of(units.model, units.innermost());
  if (!buffer.memory.valid()) return {Node{Loop{turns.variable, turns.count, true, "", std::move(nodes)}}};
  buffer.dtype = to.dtype;
  buffer.slots = 1;
  buffer.extents = {turns.count, 1};
  const Ref held{make_id<BufferId>(program.buffers.size()), {AffineExpr::dim(turns.variable), AffineExpr(0)}};
  program.buffers.push_back(std::move(buffer));
  const auto hold = [&](Node& node) { std::get<Element>(node.is).write = held; };
  if (auto* guard = std::get_if<Guard>(&nodes[0].is))
    hold(guard->then[0]), hold(guard->otherwise[0]);
  else
    hold(nodes[0]);
  Element store;
  store.unit = first.unit;
  store.write = first.write;
  store.reads = {held};
  store.body = read(0, to.dtype);
  return {Node{Loop{turns.variable, turns.count, true, "", std::move(nodes)}},
          Node{Loop{turns.variable, turns.count, true, "", {Node{std::move(store)}}}}};
}

/// Sums, and behind each of them what is computed from it (block_sums.h).
ColumnReduction finished_reduction(const std::vector<Loop>& sums, const std::vector<Node>& body, const Ranges& around) {
  ColumnReduction reduction{sums, {}, {body[0]}, {body.begin() + 1, body.end()}, around};
  while (const auto* loop = reduction.body.size() == 1 ? std::get_if<Loop>(&reduction.body[0].is) : nullptr) {
    reduction.terms.push_back({loop->variable, loop->trip, loop->unroll, "", {}});
    reduction.body = std::vector<Node>(loop->body);
  }
  return reduction;
}

/// Rewrites the loops of one launch, outermost first. Variables it makes are numbered, so that no two are equal.
class LoopDistributor {
 public:
  LoopDistributor(Program& program, LaunchUnits units)
      : program_(program), model_(units.model), units_(std::move(units)) {}

  /// `from`: the number of units, of those inside the grid unit, that loops around have distributed.
  std::vector<Node> list(const std::vector<Node>& nodes, std::size_t from, bool blocks) {
    std::vector<Node> out;
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) { out.push_back(this->loop(loop, from, blocks)); },
                            [&](const Guard& guard) {
                              Guard copy = guard;
                              copy.then = list(guard.then, from, blocks);
                              copy.otherwise = list(guard.otherwise, from, blocks);
                              out.push_back(Node{std::move(copy)});
                            },
                            [&](const auto&) { out.push_back(node); }},
                 node.is);
    return out;
  }

 private:
  Node loop(const Loop& loop, std::size_t from, bool blocks) {
    const Interval range{0, loop.trip - 1};
    if (const auto unit = model_.find_unit(loop.unit)) {
      std::size_t inner = from;
      for (std::size_t u = 0; u < units_.inside.size(); ++u)
        if (units_.inside[u] == *unit) inner = u + 1;
      ranges_[loop.variable] = range;
      Loop copy = loop;
      copy.body = list(loop.body, inner, false);
      ranges_.erase(loop.variable);
      return Node{std::move(copy)};
    }
    if (!loop.unroll && from < units_.inside.size())
      if (auto parallel = distribute_chain(loop, from, blocks)) return std::move(*parallel);
    ranges_[loop.variable] = range;
    Loop copy = loop;
    copy.body = list(loop.body, from, false);
    ranges_.erase(loop.variable);
    return Node{std::move(copy)};
  }

  /// The loops directly inside one another as loops on units; nothing: their iterations depend on one another.
  std::optional<Node> distribute_chain(const Loop& outermost, std::size_t from, bool blocks) {
    std::vector<Loop> chain;
    const std::vector<Node>* body = nullptr;
    for (const Loop* at = &outermost; at != nullptr;) {
      chain.push_back({at->variable, at->trip, at->unroll, "", {}});
      body = &at->body;
      const Loop* next = at->body.size() == 1 ? std::get_if<Loop>(&at->body[0].is) : nullptr;
      at = next != nullptr && next->unit.empty() ? next : nullptr;
    }
    if (!only_elements(*body, model_, units_.innermost())) return std::nullopt;
    Ranges ranges = ranges_;
    for (const Loop& l : chain) ranges[l.variable] = {0, l.trip - 1};
    const auto uses = offset_uses(*body, program_, model_, ranges);
    if (!uses) return std::nullopt;
    const std::set<std::string> chosen = independent_loops(chain, *uses, ranges, ranges_);
    std::vector<Loop> parallel, kept;
    std::int64_t total = 1;
    for (const Loop& l : chain) {
      (chosen.contains(l.variable) ? parallel : kept).push_back(l);
      if (chosen.contains(l.variable)) total *= l.trip;
    }
    neighbours_last(parallel, *uses, program_, units_);
    if (auto split = split_reduction({parallel, kept, *body, {}, ranges_}, *uses, from, blocks)) return split;
    if (kept.empty() && blocks)
      if (auto split = split_finished(parallel, *body)) return split;
    if (chosen.empty()) return std::nullopt;
    if (!chosen.contains(chain[0].variable) && !blocks && parallel.size() < chain.size() &&
        kept[0].variable == chain[0].variable)
      return std::nullopt;  // its steps may depend on one another: the loops inside are tried
    return distributed({parallel, kept, *body, total, chunks(parallel, kept, *body, total)}, {from, blocks, 0});
  }

  /// Nothing: the first node of the body is no sum that is split.
  std::optional<Node> split_finished(const std::vector<Loop>& sums, const std::vector<Node>& body) {
    if (body.size() < 2) return std::nullopt;
    Ranges ranges = ranges_;
    for (const Loop& l : sums) ranges[l.variable] = {0, l.trip - 1};
    const auto uses = offset_uses({body[0]}, program_, model_, ranges);
    return uses ? split_reduction(finished_reduction(sums, body, ranges_), *uses, 0, true) : std::nullopt;
  }

  /// The reduction with its sums in parts, as the plan for it says; nothing: it says that no sum is split.
  std::optional<Node> split_reduction(ColumnReduction reduction, const OffsetUses& uses, std::size_t from,
                                      bool blocks) {
    auto& [sums, terms, body, finish, ranges] = reduction;
    if (!may_be_split(terms, body, program_) || units_.asked.digits(units_.innermost()).size() > 1) return std::nullopt;
    const Buffer& written = program_.buffers[only_element(body)->write.buffer.index()];
    const auto reads = reads_of_sums(uses, program_, model_, units_.grid);
    const ReductionScope scope = reduction_scope(from > 0 || units_.asked.asks_for_threads(), blocks);
    const ReductionShape shape = reduction_shape(counted(sums), counted(terms), reads, written.dtype);
    ParallelReductionPlan plan = parallel_reduction_plan(shape, model_, units_.grid, scope);
    if (!plan.by_columns() && !parts_fit(plan, written.dtype))
      plan = parallel_reduction_plan(shape, model_, units_.grid, ReductionScope::warp);
    if (!plan.split() || (!plan.by_columns() && !finish.empty())) return std::nullopt;
    neighbours_last(terms, uses, program_, units_);
    const auto hint = [this](const std::string& name) { return fresh(name); };
    if (plan.by_columns()) {
      std::stable_partition(sums.begin(), sums.end(), [&](const Loop& l) {  // the contiguous loop last
        return std::none_of(reads.begin(), reads.end(),
                            [&](const auto& r) { return l.trip > 1 && r.first.coefficient(l.variable) == 1; });
      });
      return column_reduction(reduction, plan, program_, model_, units_.grid, hint);
    }
    ParallelReduction parts(program_, model_, units_.grid, units_.inside, ranges_, hint, plan);
    for (const Loop& l : sums) parts.around(l.variable, {0, l.trip - 1});
    const std::size_t known = program_.buffers.size();
    const auto nodes = parts.combined(terms, body);
    if (!nodes) return std::nullopt;
    for (std::size_t b = known; b < program_.buffers.size(); ++b)
      if (Buffer& buffer = program_.buffers[b]; buffer.slots < 0) buffer.address = behind_held();
    return distributed({sums, {}, *nodes, steps_of(sums), std::nullopt},
                       {from, blocks, plan.warps.empty() ? 1 : units_.inside.size()});
  }

  /// Where the parts of sums are, in the block's memory; bytes.
  std::int64_t behind_held() const { return round_up(units_.held, Buffer{}.align); }

  /// Is there place for a part of each warp behind what the launch has in the block's memory?
  bool parts_fit(const ParallelReductionPlan& plan, DType type) const {
    return plan.warps.empty() || block_holds(model_, units_.grid, behind_held() + plan.warp_parts() * bytes(type));
  }

  /// How many neighbours each instance takes at a time; nothing: it takes one.
  std::optional<Neighbours> chunks(const std::vector<Loop>& parallel, const std::vector<Loop>& kept,
                                   const std::vector<Node>& body, std::int64_t total) {
    const Element* element = body.size() == 1 ? std::get_if<Element>(&body[0].is) : nullptr;
    if (element == nullptr || !kept.empty() || element->reduction != Reduction::assign) return std::nullopt;
    for (const Ref& read : element->reads)
      if (read.buffer == element->write.buffer) return std::nullopt;
    const auto how = neighbours(
        program_, model_, units_.innermost(),
        [&](std::int64_t count) {
          ChunkElement chunk{{}, "#each", ranges_};
          chunk.ranges["#number"] = {0, std::max<std::int64_t>(1, total / count) - 1};
          chunk.ranges["#each"] = {0, count - 1};
          const AffineExpr number = AffineExpr::dim("#number") * count + AffineExpr::dim("#each");
          chunk.element = std::get<Element>(
              with_values(body, numbers_of(parallel, number, chunk.ranges), chunk.ranges, model_)[0].is);
          return chunk;
        },
        true);
    return how && total >= how->count * model_.unit(units_.innermost()).count ? how : std::nullopt;
  }

  Turns turns_of(const Work& work, std::int64_t threads) {
    if (!work.chunks && !(work.kept.empty() && load_into_block(work.body, program_, units_))) return {};
    std::int64_t count = usual_loads;
    while (count > 1 && work.elements % ((work.chunks ? work.chunks->count : 1) * threads * count) != 0) --count;
    return count > 1 ? Turns{fresh("turn"), count} : Turns{};
  }

  /// Chunk `number` of all elements, in each of the turns; the last may be shorter, and those behind it empty.
  std::vector<Node> chunk_of(const Work& work, const AffineExpr& number, const Turns& turns, Ranges ranges,
                             std::int64_t threads) {
    const Neighbours& how = *work.chunks;
    const std::int64_t total = work.elements;
    const std::string each = fresh("each");
    ranges[each] = {0, how.count - 1};
    const AffineExpr first = number * how.count, one = first + AffineExpr::dim(each);
    const std::vector<Node> element = with_values(work.body, numbers_of(work.loops, one, ranges), ranges, model_);
    std::vector<Node> whole = chunk_nodes(program_, model_, how, {std::get<Element>(element[0].is), each, ranges},
                                          turns.variable, turns.count);
    if (total % (how.count * threads) == 0) return whole;
    Guard guard;
    guard.conditions = {AffineExpr(total - how.count) - first};
    guard.then = std::move(whole);
    if (total % how.count != 0) {
      const std::string last = fresh("each");
      Guard inside;
      inside.conditions = {AffineExpr(total - 1) - first - AffineExpr::dim(last)};
      ranges[last] = {0, how.count - 1};
      inside.then = with_values(element, {{each, AffineExpr::dim(last)}}, ranges, model_);
      guard.otherwise = {Node{Loop{last, how.count, false, "", {Node{std::move(inside)}}}}};
    }
    return {Node{std::move(guard)}};
  }

  /// Elements are numbered, and the innermost unit counts fastest; a guard where there are more threads than elements.
  Node distributed(const Work& work, const Over& over) {
    const auto& [loops, kept, body, elements, chunks] = work;
    const auto [from, blocks, shared] = over;
    const std::int64_t total = chunks ? (elements + chunks->count - 1) / chunks->count : elements;
    std::vector<Loop> around;
    AffineExpr number;
    std::int64_t threads = 1;
    const auto add = [&](const std::string& hint, std::int64_t count, const std::string& unit) {
      Loop l{fresh(hint), count, false, unit, {}};
      number += AffineExpr::dim(l.variable) * threads;
      threads *= count;
      around.push_back(std::move(l));
    };
    const std::int64_t all = shared > 0 ? total * model_.unit(units_.innermost()).count : total;
    for (std::size_t u = units_.inside.size() - shared; u-- > from;) {
      const Unit& unit = model_.unit(units_.inside[u]);
      std::vector<std::int64_t> digits = units_.asked.digits(units_.inside[u]);  // loops of the kernel count so
      const std::int64_t count = units_.instances(u, all);
      if (units_.asked.asked(units_.inside[u]) != count) digits = {count};
      for (std::size_t d = digits.size(); d-- > 0;)
        if (digits[d] > 1 || digits.size() > 1) add(unit.name, digits[d], unit.name);
    }
    std::int64_t rounds = (total + threads - 1) / threads;
    const Turns turns = blocks ? Turns{} : turns_of(work, threads);
    if (turns.count > 1) number += AffineExpr::dim(turns.variable) * threads;
    threads *= turns.count;
    rounds /= turns.count;
    if (blocks && (rounds > 1 || shared == units_.inside.size()))
      add(model_.unit(units_.grid).name, rounds, model_.unit(units_.grid).name);
    if (rounds > 1 && !blocks) {  // each thread's own: no barrier between them
      add("round", rounds, "");
      std::rotate(around.begin(), around.end() - 1, around.end());
    }
    Ranges ranges = ranges_;
    for (const Loop& l : around) ranges[l.variable] = {0, l.trip - 1};
    if (turns.count > 1) ranges[turns.variable] = {0, turns.count - 1};
    std::vector<Node> nodes = chunks ? chunk_of(work, number, turns, ranges, threads)
                                     : with_values(body, numbers_of(loops, number, ranges), ranges, model_);
    if (!chunks && turns.count > 1) nodes = through_registers(std::move(nodes), turns, program_, units_);
    for (std::size_t i = kept.size(); i-- > 0;)
      nodes = {Node{Loop{kept[i].variable, kept[i].trip, kept[i].unroll, "", std::move(nodes)}}};
    if (threads > total && !chunks) {
      Guard guard;
      guard.conditions = {AffineExpr(total - 1) - number};
      guard.then = std::move(nodes);
      nodes = {Node{std::move(guard)}};
    }
    for (Loop& l : around) {
      l.body = std::move(nodes);
      nodes = {Node{std::move(l)}};
    }
    if (nodes.size() > 1) nodes = {Node{Loop{fresh("once"), 1, false, "", std::move(nodes)}}};  // one node for one
    return nodes.front();
  }

  std::string fresh(const std::string& hint) { return hint + "_" + std::to_string(++count_); }

  Program& program_;
  const HardwareModel& model_;
  const LaunchUnits units_;
  Ranges ranges_;  ///< of the loops around
  int count_ = 0;
};

}  // namespace

std::vector<Node> distribute_loops(const std::vector<Node>& kernel, Program& program, const HardwareModel& model,
                                   UnitId grid, std::int64_t threads) {
  const ThreadBinding spread(kernel, model, grid);
  // Blocks have nothing of their own here, and nothing outside the loop waits for them.
  const auto loop = kernel.size() == 1 ? std::get_if<Loop>(&kernel[0].is) : nullptr;
  bool blocks = loop != nullptr && loop->unit.empty() && !spread.asks_for_threads() && spread.asked(grid) == 1;
  const auto use = buffer_use(kernel, program);
  std::int64_t held = 0;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (!(use.read[b] || use.written[b]) || !model.inside(model.memory(buffer.memory).per, grid)) continue;
    blocks = false;
    if (buffer.slots < 0) held = std::max(held, buffer.address + element_span(buffer) * bytes(buffer.dtype));
  }
  return LoopDistributor(program, {model, grid, units_of_threads(model, grid), threads, spread, held})
      .list(kernel, 0, blocks);
}

}  // namespace isamap
