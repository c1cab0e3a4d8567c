// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distribute_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backends/cuda/column_reduction.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "backends/cuda/parallel_reduction.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/vector_access.h"
#include "hwdesc/model/parallel_units.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// One use of a buffer in memory.
struct OffsetUse {
  AffineExpr offset;
  bool written = false;
};

class LoopDistributor {
 public:
  LoopDistributor(Program& program, const HardwareModel& model, UnitId grid, std::int64_t threads,
                  const ThreadBinding& spread)
      : program_(program),
        model_(model),
        grid_(grid),
        threads_(threads),
        spread_(spread),
        inside_(units_of_threads(model, grid)) {}

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
      for (std::size_t u = 0; u < inside_.size(); ++u)
        if (inside_[u] == *unit) inner = u + 1;
      ranges_[loop.variable] = range;
      Loop copy = loop;
      copy.body = list(loop.body, inner, false);
      ranges_.erase(loop.variable);
      return Node{std::move(copy)};
    }
    if (!loop.unroll && from < inside_.size())
      if (auto dealt = deal(loop, from, blocks)) return std::move(*dealt);
    ranges_[loop.variable] = range;
    Loop copy = loop;
    copy.body = list(loop.body, from, false);
    ranges_.erase(loop.variable);
    return Node{std::move(copy)};
  }

  // What may be distributed ------------------------------------------------------------------------------------------

  bool simple(const std::vector<Node>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return std::visit(overloaded{[&](const Loop& l) { return l.unit.empty() && simple(l.body); },
                                   [&](const Guard& g) { return simple(g.then) && simple(g.otherwise); },
                                   [&](const Call& c) {
                                     return model_.instruction(c.instruction).unit == inside_.back() && c.masks.empty();
                                   },
                                   [](const Sync&) { return false; }, [](const auto&) { return true; }},
                        node.is);
    });
  }

  /// Accesses of the nodes by buffer. False: one has no offset.
  bool collect(const std::vector<Node>& nodes, Ranges& ranges,
               std::map<std::int32_t, std::vector<OffsetUse>>& found) const {
    const auto note = [&](const Ref& ref, bool written, const Ranges& inside) {
      if (!ref.buffer.valid()) return true;
      const Buffer& buffer = program_.buffers[ref.buffer.index()];
      if (buffer.slots >= 0) return false;
      found[ref.buffer.value].push_back({element_offset(buffer, ref, inside), written});
      return true;
    };
    for (const Node& node : nodes) {
      const bool fine = std::visit(
          overloaded{
              [&](const Loop& l) {
                ranges[l.variable] = {0, l.trip - 1};
                return collect(l.body, ranges, found);
              },
              [&](const Guard& g) { return collect(g.then, ranges, found) && collect(g.otherwise, ranges, found); },
              [&](const Call& c) {
                const Instruction& instruction = model_.instruction(c.instruction);
                const Ranges inside = ranges_of_call(ranges, instruction, c);
                for (const auto& [name, range] : inside) ranges.try_emplace(name, range);
                for (std::size_t i = 0; i < c.operands.size(); ++i)
                  if (!note(c.operands[i], i == 0, inside)) return false;
                return true;
              },
              [&](const Element& e) {
                if (!note(e.write, true, ranges)) return false;
                return std::all_of(e.reads.begin(), e.reads.end(),
                                   [&](const Ref& r) { return note(r, false, ranges); });
              },
              [](const auto&) { return true; }},
          node.is);
      if (!fine) return false;
    }
    return true;
  }

  /// The variables of `chain` that tell iterations apart wherever something is written; empty: none do.
  std::set<std::string> apart(const std::vector<Loop>& chain,
                              const std::map<std::int32_t, std::vector<OffsetUse>>& accesses,
                              const Ranges& ranges) const {
    std::set<std::string> names;
    for (const Loop& l : chain) names.insert(l.variable);
    bool first = true;
    std::set<std::string> chosen;
    for (const auto& [buffer, list] : accesses) {
      if (std::none_of(list.begin(), list.end(), [](const OffsetUse& a) { return a.written; })) continue;
      for (const OffsetUse& access : list) {
        std::set<std::string> here;
        for (const std::string& name : access.offset.names())
          if (names.contains(name)) here.insert(name);
        if (first) chosen = here;
        first = false;
        std::set<std::string> both;
        std::set_intersection(chosen.begin(), chosen.end(), here.begin(), here.end(), std::inserter(both, both.end()));
        chosen = std::move(both);
      }
    }
    for (const auto& [buffer, list] : accesses)
      if (std::any_of(list.begin(), list.end(), [](const OffsetUse& a) { return a.written; }) &&
          !disjoint(list, chosen, chain, ranges))
        return {};
    return chosen;
  }

  /// All accesses have the same L in `chosen`, and L's values lie further apart than what is left spans.
  bool disjoint(const std::vector<OffsetUse>& list, const std::set<std::string>& chosen, const std::vector<Loop>& chain,
                const Ranges& ranges) const {
    std::optional<std::map<std::string, std::int64_t>> linear;
    std::optional<AffineExpr> around;  // terms in variables of loops around: the same for all iterations
    std::int64_t low = 0, high = 0;
    bool any = false;
    for (const OffsetUse& access : list) {
      std::map<std::string, std::int64_t> mine;
      AffineExpr rest = access.offset;
      for (const AffineTerm& term : access.offset.terms())
        if (const auto* name = std::get_if<std::string>(&term.atom); name && chosen.contains(*name)) {
          mine[*name] += term.coefficient;
          rest = rest - AffineExpr::dim(*name) * term.coefficient;
        }
      for (const std::string& name : rest.names())
        if (chosen.contains(name)) return false;  // under a division
      AffineExpr outer;
      for (const AffineTerm& term : rest.terms()) {
        const AffineExpr one =
            std::visit(overloaded{[](const std::string& name) { return AffineExpr::dim(name); },
                                  [](const FloorDiv& f) { return floordiv(*f.numerator, f.divisor); }},
                       term.atom) *
            term.coefficient;
        const auto in = one.names();
        if (std::all_of(in.begin(), in.end(), [&](const std::string& name) { return ranges_.contains(name); }))
          outer += one;
      }
      rest = rest - outer;
      if ((linear && *linear != mine) || (around && *around != outer)) return false;
      linear = mine;
      around = outer;
      const auto range = bounds(rest, ranges);
      if (!range) return false;
      low = any ? std::min(low, range->low) : range->low;
      high = any ? std::max(high, range->high) : range->high;
      any = true;
    }
    if (!linear || linear->size() != chosen.size()) return false;
    std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // distance, trip
    for (const Loop& l : chain)
      if (const auto found = linear->find(l.variable); found != linear->end())
        digits.emplace_back(found->second < 0 ? -found->second : found->second, l.trip);
    std::sort(digits.begin(), digits.end());
    std::int64_t span = high - low + 1;
    for (const auto& [distance, trip] : digits) {
      if (distance < span) return false;
      span += distance * (trip - 1);
    }
    return true;
  }

  // Dealing ----------------------------------------------------------------------------------------------------------

  std::optional<Node> deal(const Loop& outermost, std::size_t from, bool blocks) {
    std::vector<Loop> chain;
    const std::vector<Node>* body = nullptr;
    for (const Loop* at = &outermost; at != nullptr;) {
      chain.push_back({at->variable, at->trip, at->unroll, "", {}});
      body = &at->body;
      const Loop* next = at->body.size() == 1 ? std::get_if<Loop>(&at->body[0].is) : nullptr;
      at = next != nullptr && next->unit.empty() ? next : nullptr;
    }
    if (!simple(*body)) return std::nullopt;
    Ranges ranges = ranges_;
    for (const Loop& l : chain) ranges[l.variable] = {0, l.trip - 1};
    std::map<std::int32_t, std::vector<OffsetUse>> accesses;
    if (!collect(*body, ranges, accesses)) return std::nullopt;
    const std::set<std::string> chosen = apart(chain, accesses, ranges);
    std::vector<Loop> dealt, kept;
    std::int64_t total = 1;
    for (const Loop& l : chain) {
      (chosen.contains(l.variable) ? dealt : kept).push_back(l);
      if (chosen.contains(l.variable)) total *= l.trip;
    }
    neighbours_last(dealt, accesses);
    if (auto split = split_reduction({dealt, kept, *body, ranges_}, accesses, from, blocks)) return split;
    if (chosen.empty()) return std::nullopt;
    if (!chosen.contains(chain[0].variable) && !blocks && dealt.size() < chain.size() &&
        kept[0].variable == chain[0].variable)
      return std::nullopt;  // its steps may depend on one another: the loops inside are tried
    return distributed({dealt, kept, *body, total, chunks(dealt, kept, *body, total)}, {from, blocks, 0});
  }

  // Reductions ------------------------------------------------------------------------------------------------------

  /// The reduction with its sums in parts, as the plan for it says; nothing: it says that no sum is split.
  std::optional<Node> split_reduction(ColumnReduction reduction,
                                      const std::map<std::int32_t, std::vector<OffsetUse>>& accesses, std::size_t from,
                                      bool blocks) {
    auto& [sums, terms, body, ranges] = reduction;
    if (!may_be_split(terms, body)) return std::nullopt;
    const Buffer& written = program_.buffers[only_element(body)->write.buffer.index()];
    const auto reads = reads_at_home(accesses);
    const ParallelReductionPlan plan = parallel_reduction_plan(
        reduction_shape(counted(sums), counted(terms), reads, written.dtype), model_, grid_, blocks && from == 0);
    if (!plan.split()) return std::nullopt;
    neighbours_last(terms, accesses);
    const auto hint = [this](const std::string& name) { return fresh(name); };
    if (plan.by_columns()) {
      std::stable_partition(sums.begin(), sums.end(), [&](const Loop& l) {  // the contiguous loop last
        return std::none_of(reads.begin(), reads.end(),
                            [&](const auto& r) { return l.trip > 1 && r.first.coefficient(l.variable) == 1; });
      });
      return column_reduction(reduction, plan, program_, model_, grid_, hint);
    }
    ParallelReduction parts(program_, model_, grid_, inside_, ranges_, hint, plan);
    for (const Loop& l : sums) parts.around(l.variable, {0, l.trip - 1});
    const auto nodes = parts.combined(terms, body);
    if (!nodes) return std::nullopt;
    return distributed({sums, {}, *nodes, steps_of(sums), std::nullopt},
                       {from, blocks, plan.warps.empty() ? 1 : inside_.size()});
  }

  /// One statement, whose sums no term is told apart by and which reads no sum.
  bool may_be_split(const std::vector<Loop>& terms, const std::vector<Node>& body) const {
    const Element* element = only_element(body);
    if (element == nullptr || terms.empty() || element->reduction == Reduction::assign) return false;
    if (program_.sums_in_order && is_float(program_.buffers[element->write.buffer.index()].dtype)) return false;
    if (spread_.digits(inside_.back()).size() > 1) return false;
    for (const Loop& l : terms)
      for (const AffineExpr& e : element->write.index)
        if (e.names().contains(l.variable)) return false;
    return std::none_of(element->reads.begin(), element->reads.end(),
                        [&](const Ref& r) { return r.buffer == element->write.buffer; });
  }

  static std::vector<ReductionLoop> counted(const std::vector<Loop>& loops) {
    std::vector<ReductionLoop> out;
    for (const Loop& l : loops) out.push_back({l.variable, l.trip});
    return out;
  }

  std::vector<std::pair<AffineExpr, DType>> reads_at_home(
      const std::map<std::int32_t, std::vector<OffsetUse>>& accesses) const {
    std::vector<std::pair<AffineExpr, DType>> reads;
    for (const auto& [id, list] : accesses)
      if (const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)]; buffer.memory == model_.home())
        for (const OffsetUse& access : list)
          if (!access.written) reads.emplace_back(access.offset, buffer.dtype);
    return reads;
  }

  // ------------------------------------------------------------------------------------------------------------------

  /// Threads that follow one another touch what lies together in the memory of all blocks.
  void neighbours_last(std::vector<Loop>& dealt, const std::map<std::int32_t, std::vector<OffsetUse>>& accesses) const {
    const auto distance = [&](const Loop& l) {
      std::int64_t nearest = INT64_MAX;
      for (const auto& [buffer, list] : accesses) {
        if (model_.inside(model_.memory(program_.buffers[static_cast<std::size_t>(buffer)].memory).per, grid_))
          continue;
        for (const OffsetUse& access : list)
          if (const std::int64_t step = std::abs(access.offset.coefficient(l.variable)); step > 0)
            nearest = std::min(nearest, step);
      }
      return nearest;
    };
    std::stable_sort(dealt.begin(), dealt.end(),
                     [&](const Loop& a, const Loop& b) { return distance(a) > distance(b); });
  }

  std::int64_t instances(UnitId unit, std::size_t position, std::int64_t total) const {
    const Unit& u = model_.unit(unit);
    if (!u.at_most) return u.count;
    if (spread_.asked(unit) > 1 || spread_.asks_for_threads()) return spread_.asked(unit);
    std::int64_t inner = 1;
    for (std::size_t i = position + 1; i < inside_.size(); ++i)
      if (!model_.unit(inside_[i]).at_most) inner *= model_.unit(inside_[i]).count;
    const std::int64_t wanted = std::min(threads_, total);
    return std::clamp<std::int64_t>((wanted + inner - 1) / inner, 1, u.count);
  }

  /// How many neighbours each instance takes at a time; nothing: it takes one.
  std::optional<Neighbours> chunks(const std::vector<Loop>& dealt, const std::vector<Loop>& kept,
                                   const std::vector<Node>& body, std::int64_t total) {
    const Element* element = body.size() == 1 ? std::get_if<Element>(&body[0].is) : nullptr;
    if (element == nullptr || !kept.empty() || element->reduction != Reduction::assign) return std::nullopt;
    for (const Ref& read : element->reads)
      if (read.buffer == element->write.buffer) return std::nullopt;
    const auto how = neighbours(
        program_, model_, inside_.back(),
        [&](std::int64_t count) {
          ChunkElement chunk{{}, "#each", ranges_};
          chunk.ranges["#number"] = {0, std::max<std::int64_t>(1, total / count) - 1};
          chunk.ranges["#each"] = {0, count - 1};
          const AffineExpr number = AffineExpr::dim("#number") * count + AffineExpr::dim("#each");
          chunk.element =
              std::get<Element>(with_values(body, numbers_of(dealt, number, chunk.ranges), chunk.ranges, model_)[0].is);
          return chunk;
        },
        true);
    return how && total >= how->count * model_.unit(inside_.back()).count ? how : std::nullopt;
  }

  /// What is distributed: the elements of some loops, with sequential loops and a body below each of them.
  struct Work {
    const std::vector<Loop>& loops;
    const std::vector<Loop>& kept;  ///< sequential
    const std::vector<Node>& body;
    std::int64_t elements = 0;
    std::optional<Neighbours> chunks;  ///< contiguous elements by vector accesses; nothing: one by one
  };
  /// Over which units: those inside the block from `from` on, without the `shared` innermost ones, which share each
  /// element, and over blocks.
  struct Over {
    std::size_t from = 0;
    bool blocks = false;
    std::size_t shared = 0;
  };

  /// Chunk `number` of all elements; the last may be shorter, and those behind it empty.
  std::vector<Node> chunk_of(const Work& work, const AffineExpr& number, Ranges ranges, std::int64_t threads) {
    const Neighbours& how = *work.chunks;
    const std::int64_t total = work.elements;
    const std::string each = fresh("each");
    ranges[each] = {0, how.count - 1};
    const AffineExpr first = number * how.count, one = first + AffineExpr::dim(each);
    const std::vector<Node> element = with_values(work.body, numbers_of(work.loops, one, ranges), ranges, model_);
    std::vector<Node> whole = chunk_nodes(program_, model_, how, {std::get<Element>(element[0].is), each, ranges});
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

  Node distributed(const Work& work, const Over& over) {
    const auto& [loops, kept, body, elements, chunks] = work;
    const auto [from, blocks, left] = over;
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
    const std::int64_t all = left > 0 ? total * model_.unit(inside_.back()).count : total;
    for (std::size_t u = inside_.size() - left; u-- > from;) {
      const Unit& unit = model_.unit(inside_[u]);
      std::vector<std::int64_t> digits = spread_.digits(inside_[u]);  // loops of the kernel count so
      const std::int64_t count = instances(inside_[u], u, all);
      if (spread_.asked(inside_[u]) != count) digits = {count};
      for (std::size_t d = digits.size(); d-- > 0;)
        if (digits[d] > 1 || digits.size() > 1) add(unit.name, digits[d], unit.name);
    }
    const std::int64_t rounds = (total + threads - 1) / threads;
    if (blocks && (rounds > 1 || left == inside_.size())) add(model_.unit(grid_).name, rounds, model_.unit(grid_).name);
    if (rounds > 1 && !blocks) {  // each thread's own: no barrier between them
      add("round", rounds, "");
      std::rotate(around.begin(), around.end() - 1, around.end());
    }
    if (around.empty() && body.size() > 1) add("once", 1, "");  // what stands together stays together
    Ranges ranges = ranges_;
    for (const Loop& l : around) ranges[l.variable] = {0, l.trip - 1};
    std::vector<Node> nodes = chunks ? chunk_of(work, number, ranges, threads)
                                     : with_values(body, numbers_of(loops, number, ranges), ranges, model_);
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
    return nodes.front();
  }
  std::string fresh(const std::string& hint) { return hint + "_" + std::to_string(++count_); }

  Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  std::int64_t threads_;
  const ThreadBinding& spread_;
  std::vector<UnitId> inside_;
  Ranges ranges_;
  int count_ = 0;
};

}  // namespace

std::vector<Node> deal_out(const std::vector<Node>& kernel, Program& program, const HardwareModel& model, UnitId grid,
                           std::int64_t threads) {
  const ThreadBinding spread(kernel, model, grid);
  // Blocks have nothing of their own here, and nothing outside the loop waits for them.
  const auto loop = kernel.size() == 1 ? std::get_if<Loop>(&kernel[0].is) : nullptr;
  bool blocks = loop != nullptr && loop->unit.empty() && !spread.asks_for_threads() && spread.asked(grid) == 1;
  const auto use = buffer_use(kernel, program);
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    if ((use.read[b] || use.written[b]) && model.inside(model.memory(program.buffers[b].memory).per, grid))
      blocks = false;
  return LoopDistributor(program, model, grid, threads, spread).list(kernel, 0, blocks);
}

}  // namespace isamap
