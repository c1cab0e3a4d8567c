// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stitch_nests.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "backends/cuda/lane_exchange.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "hwdesc/model/parallel_reduction_plan.h"
#include "hwdesc/model/parallel_units.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t most_rows = 1 << 20;                      // that are tested one by one
constexpr std::int64_t elements_of_a_block = 4 * usual_threads;  // a vector access for each thread

/// A use of a buffer: its element offset, in the loops of its nest.
struct NestAccess {
  BufferId buffer;
  bool written = false;
  AffineExpr offset;
  Ranges ranges;
};

struct NestToStitch {
  std::vector<Loop> chain;  ///< perfectly nested loops, outermost first, without bodies
  std::vector<Node> body;   ///< of the innermost
  std::vector<NestAccess> accesses;
  std::vector<Comment> comments;  ///< before it
  std::int64_t elements = 1;      ///< that it writes
  std::int64_t points = 1;        ///< of its loops
  bool reduces = false;           ///< a loop tells no written elements apart
};

/// Nothing: it holds something else than loops without units and element statements in memory of all blocks.
class NestReader {
 public:
  NestReader(const Program& program, const HardwareModel& model, UnitId grid)
      : program_(program), model_(model), grid_(grid) {}

  std::optional<NestToStitch> read(const Node& node) const {
    NestToStitch nest;
    const auto* at = std::get_if<Loop>(&node.is);
    if (at == nullptr && !std::holds_alternative<Element>(node.is)) return std::nullopt;
    if (at == nullptr) nest.body = {node};
    if (at != nullptr && !at->unit.empty()) return std::nullopt;
    for (; at != nullptr;) {
      if (at->trip <= 0) return std::nullopt;  // nothing to compute; ranges would be empty
      nest.chain.push_back({at->variable, at->trip, at->unroll, "", {}});
      const Loop* next = at->body.size() == 1 ? std::get_if<Loop>(&at->body[0].is) : nullptr;
      if (next == nullptr || !next->unit.empty()) nest.body = at->body;
      at = next != nullptr && next->unit.empty() ? next : nullptr;
    }
    Ranges ranges;
    for (const Loop& loop : nest.chain) ranges[loop.variable] = {0, loop.trip - 1};
    if (!collect(nest.body, ranges, nest)) return std::nullopt;
    count(nest);
    return nest;
  }

 private:
  bool note(const Ref& ref, bool written, const Ranges& ranges, NestToStitch& nest) const {
    if (!ref.buffer.valid()) return false;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    if (buffer.slots >= 0 || model_.inside(model_.memory(buffer.memory).per, grid_)) return false;
    for (const AffineExpr& e : ref.index)
      for (const std::string& name : e.names())
        if (!ranges.contains(name)) {  // a computed place
          if (written) return false;
          nest.accesses.push_back({ref.buffer, false, AffineExpr::dim("anywhere"), {}});
          return true;
        }
    nest.accesses.push_back({ref.buffer, written, element_offset(buffer, ref, ranges), ranges});
    return true;
  }

  bool collect(const std::vector<Node>& nodes, const Ranges& ranges, NestToStitch& nest) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return std::visit(overloaded{[&](const Loop& loop) {
                                     Ranges inside = ranges;
                                     inside[loop.variable] = {0, loop.trip - 1};
                                     return loop.unit.empty() && loop.trip > 0 && collect(loop.body, inside, nest);
                                   },
                                   [&](const Guard& guard) {
                                     return guard.role.empty() && collect(guard.then, ranges, nest) &&
                                            collect(guard.otherwise, ranges, nest);
                                   },
                                   [&](const Element& element) {
                                     return note(element.write, true, ranges, nest) &&
                                            std::all_of(
                                                element.reads.begin(), element.reads.end(),
                                                [&](const Ref& read) { return note(read, false, ranges, nest); });
                                   },
                                   [](const Comment&) { return true; }, [](const auto&) { return false; }},
                        node.is);
    });
  }

  static std::int64_t points(const std::vector<Node>& nodes) {
    std::int64_t sum = 0;
    for (const Node& node : nodes)
      sum += std::visit(
          overloaded{[](const Loop& loop) { return loop.trip * points(loop.body); },
                     [](const Guard& guard) { return points(guard.then) + points(guard.otherwise); },
                     [](const Element&) { return std::int64_t{1}; }, [](const auto&) { return std::int64_t{0}; }},
          node.is);
    return sum;
  }

  static void count(NestToStitch& nest) {
    std::set<std::string> apart;
    for (const NestAccess& access : nest.accesses)
      if (access.written) apart.merge(access.offset.names());
    for (const Loop& loop : nest.chain) {
      nest.points *= loop.trip;
      if (apart.contains(loop.variable)) nest.elements *= loop.trip;
      if (loop.trip > 1 && !apart.contains(loop.variable)) nest.reduces = true;
    }
    nest.points *= points(nest.body);
    nest.reduces |= std::any_of(nest.body.begin(), nest.body.end(), [](const Node& node) {
      return std::holds_alternative<Loop>(node.is);  // sums inside of a body
    });
  }

  const Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
};

/// Products of the outermost loops: the numbers of rows that a nest can be cut into.
std::set<std::int64_t> row_counts(const NestToStitch& nest) {
  std::set<std::int64_t> counts = {1};
  std::int64_t product = 1;
  for (const Loop& loop : nest.chain) counts.insert(product *= loop.trip);
  return counts;
}

std::vector<Loop> rows_of(const NestToStitch& nest, std::int64_t rows) {
  std::vector<Loop> loops;
  std::int64_t product = 1;
  for (const Loop& loop : nest.chain) {
    if (product == rows && (rows > 1 || loop.trip > 1)) break;
    loops.push_back(loop);
    product *= loop.trip;
  }
  return loops;
}

/// Parts of an offset: `base` in the row alone, and what the other loops add.
struct RowOffset {
  AffineExpr base;
  Interval rest;
  std::int64_t step = 0;  ///< all of the rest are multiples of it, from `rest.low` on
};

class RowTest {
 public:
  explicit RowTest(std::int64_t rows) : rows_(rows) {}

  /// Does each row have places of its own in every buffer that one of the nests writes?
  bool independent(const std::vector<const NestToStitch*>& nests) const {
    std::map<std::int32_t, std::vector<RowOffset>> places;
    std::set<std::int32_t> written;
    for (const NestToStitch* nest : nests)
      for (const NestAccess& access : nest->accesses)
        if (access.written) written.insert(access.buffer.value);
    for (const NestToStitch* nest : nests)
      for (const NestAccess& access : nest->accesses) {
        if (!written.contains(access.buffer.value)) continue;
        const auto place = split(*nest, access);
        if (!place) return false;
        places[access.buffer.value].push_back(*place);
      }
    return std::all_of(places.begin(), places.end(), [&](const auto& one) { return apart(one.second); });
  }

 private:
  std::optional<RowOffset> split(const NestToStitch& nest, const NestAccess& access) const {
    const std::vector<Loop> loops = rows_of(nest, rows_);
    Ranges ranges = access.ranges;
    if (ranges.empty() && !access.offset.is_constant()) return std::nullopt;
    ranges[row] = {0, rows_ - 1};
    const AffineExpr offset =
        simplify(substitute(access.offset, numbers_of(loops, AffineExpr::dim(row), ranges)), ranges);
    const auto parts = split_offset(offset, row);
    const auto range = parts ? bounds(parts->rest, ranges) : std::nullopt;
    if (!range) return std::nullopt;
    RowOffset made{parts->base, *range};
    for (const AffineTerm& term : parts->rest.terms()) made.step = std::gcd(made.step, term.coefficient);
    return made;
  }

  bool apart(const std::vector<RowOffset>& places) const {
    if (rows_ == 1) return true;
    Interval rest = places[0].rest;
    std::int64_t step = 0;
    for (const RowOffset& place : places) {
      if (place.base != places[0].base) return false;
      step = std::gcd(std::gcd(step, place.step), place.rest.low - places[0].rest.low);
      rest = {std::min(rest.low, place.rest.low), std::max(rest.high, place.rest.high)};
    }
    const std::int64_t distance = places[0].base.coefficient(row);
    if (places[0].base == AffineExpr::dim(row) * distance && std::abs(distance) > rest.high - rest.low) return true;
    if (rows_ > most_rows) return false;
    std::vector<std::int64_t> begins;
    for (std::int64_t r = 0; r < rows_; ++r) begins.push_back(evaluate(places[0].base, {{row, r}}));
    std::sort(begins.begin(), begins.end());
    std::int64_t nearest = INT64_MAX;
    for (std::size_t i = 1; i < begins.size(); ++i) nearest = std::min(nearest, begins[i] - begins[i - 1]);
    if (nearest > rest.high - rest.low) return true;
    return nearest > 0 && step > 0 && begins.back() - begins.front() < step;  // interleaved: columns
  }

  static constexpr const char* row = "row";
  std::int64_t rows_;
};

class Stitcher {
 public:
  Stitcher(const Program& program, const HardwareModel& model, UnitId grid)
      : program_(program), model_(model), grid_(grid), reader_(program, model, grid) {}

  StitchedNests run(const std::vector<Node>& body) {
    std::vector<Comment> comments;
    for (const Node& node : body) {
      if (const auto* comment = std::get_if<Comment>(&node.is)) {
        comments.push_back(*comment);
        continue;
      }
      auto nest = reader_.read(node);
      if (nest && sums_of(*nest) == Sums::by_blocks) {
        drop_start_of(*nest);
        nest.reset();
      }
      if (nest) nest->comments = comments;
      if (!nest || !extend(*nest, node)) {
        close();
        if (!nest || !extend(*nest, node)) {
          for (Comment& comment : kept_) out_.push_back({std::move(comment)});
          for (const Comment& comment : comments) out_.push_back({comment});
          out_.push_back(node);
        }
      }
      kept_.clear();
      comments.clear();
    }
    close();
    for (const Comment& comment : comments) out_.push_back({comment});
    return {std::move(out_), std::move(stitched_), std::move(begun_)};
  }

 private:
  std::int64_t processors() const {
    const UnitId around = model_.unit(grid_).parent;
    return around.valid() ? static_cast<std::int64_t>(model_.instances(around)) : 1;
  }

  std::int64_t lanes() const {
    const auto units = units_of_threads(model_, grid_);
    return units.empty() ? 1 : model_.unit(units.back()).count;
  }

  enum class Sums { by_threads, by_few_warps, by_blocks };

  /// Too few sums for the memory are split over all threads of a block, or over several of its warps: by few, if the
  /// threads of a block that has other nests, too, would not wait longer for the terms than a launch takes.
  Sums sums_of(const NestToStitch& nest) const {
    const auto* element = nest.body.size() == 1 ? std::get_if<Element>(&nest.body[0].is) : nullptr;
    if (element == nullptr || element->reduction == Reduction::assign) return Sums::by_threads;
    const DType type = program_.buffers[element->write.buffer.index()].dtype;
    if (program_.sums_in_order && is_float(type)) return Sums::by_threads;
    const std::set<std::string> own = nest.accesses[0].offset.names();
    std::vector<ReductionLoop> sums, terms;
    for (const Loop& loop : nest.chain)
      (own.contains(loop.variable) ? sums : terms).push_back({loop.variable, loop.trip});
    std::vector<std::pair<AffineExpr, DType>> reads;
    for (const NestAccess& access : nest.accesses)
      if (!access.written && !access.ranges.empty())
        reads.emplace_back(access.offset, program_.buffers[access.buffer.index()].dtype);
    const ReductionShape shape = reduction_shape(sums, terms, reads, type);
    const ParallelReductionPlan plan = parallel_reduction_plan(shape, model_, grid_, ReductionScope::launch);
    if (plan.by_columns()) return Sums::by_blocks;
    if (plan.warp_parts() <= 1) return Sums::by_threads;
    ReductionShape row = shape;
    row.sums = 1;
    const double longer =
        loading(row, parallel_reduction_plan(row, model_, grid_, ReductionScope::block)) - loading(row, plan);
    return longer > model_.timing.launch ? Sums::by_blocks : Sums::by_few_warps;
  }

  /// Cycles in which a thread waits for its terms.
  double loading(const ReductionShape& shape, const ParallelReductionPlan& plan) const {
    double latency = 0;
    for (const Link& link : model_.links())
      if (link.from == model_.home() && model_.memory(link.to).is_register()) latency = std::max(latency, link.latency);
    const std::int64_t together = plan.parts() * plan.chunk * plan.loads_in_flight;
    return latency * static_cast<double>((shape.terms + together - 1) / together);
  }

  /// The nest before it may store what its sums begin with.
  void drop_start_of(const NestToStitch& sum) {
    if (group_.empty() || group_.back().body.size() != 1) return;
    const auto* start = std::get_if<Element>(&group_.back().body[0].is);
    const Element& element = std::get<Element>(sum.body[0].is);
    const DType type = program_.buffers[element.write.buffer.index()].dtype;
    if (start == nullptr || start->reduction != Reduction::assign || !start->reads.empty() ||
        start->write.buffer != element.write.buffer || group_.back().elements != sum.elements ||
        start->body != start_partial(element, {}, type, element.unit).body)
      return;
    for (Comment& comment : group_.back().comments) kept_.push_back(std::move(comment));
    group_.pop_back();
    nodes_.pop_back();
    begun_.insert(sum.chain[0].variable);
  }

  /// Enough blocks, or little work for each.
  bool parallel(std::int64_t rows, const std::vector<const NestToStitch*>& nests) const {
    if (rows >= processors()) return true;
    return std::all_of(nests.begin(), nests.end(),
                       [&](const NestToStitch* nest) { return nest->elements <= rows * elements_of_a_block; });
  }

  bool extend(const NestToStitch& nest, const Node& node) {
    std::vector<const NestToStitch*> all;
    for (const NestToStitch& one : group_) all.push_back(&one);
    all.push_back(&nest);
    std::set<std::int64_t> counts;
    for (const std::int64_t rows : row_counts(nest))
      if ((group_.empty() || counts_.contains(rows)) && parallel(rows, all) && RowTest(rows).independent(all))
        counts.insert(rows);
    if (counts.empty()) return false;
    counts_ = std::move(counts);
    group_.push_back(nest);
    nodes_.push_back(node);
    return true;
  }

  /// Several warps gain less than a launch costs, but a sum that only its start would share one with has its launch.
  bool is_lone_sum() const {
    if (group_.size() != 2 || sums_of(group_[1]) != Sums::by_few_warps) return false;
    const auto* start = group_[0].body.size() == 1 ? std::get_if<Element>(&group_[0].body[0].is) : nullptr;
    return start != nullptr && start->reads.empty();
  }

  void close_lone_sum() {
    std::vector<Comment> of_next = std::move(kept_);
    kept_.clear();
    const NestToStitch sum = std::move(group_.back());
    const Node node = std::move(nodes_.back());
    group_.pop_back();
    nodes_.pop_back();
    drop_start_of(sum);
    close();
    for (const auto* comments : {&std::as_const(kept_), &sum.comments})
      for (const Comment& comment : *comments) out_.push_back({comment});
    out_.push_back(node);
    kept_ = std::move(of_next);
  }

  void close() {
    if (is_lone_sum()) return close_lone_sum();
    if (group_.size() > 1) {
      stitched_.insert(out_.size());
      out_.push_back(block_loop(*counts_.rbegin()));
    } else {
      for (std::size_t n = 0; n < group_.size(); ++n) {
        for (const Comment& comment : group_[n].comments) out_.push_back({comment});
        out_.push_back(nodes_[n]);
      }
    }
    group_.clear();
    nodes_.clear();
    counts_.clear();
  }

  /// Rows of a block: as many as its threads have elements for, in every nest whole loops and part of one, and no fewer
  /// blocks than processors.
  std::int64_t rows_of_a_block(std::int64_t rows) const {
    std::int64_t inner = 1;
    bool reduces = false, short_sums = true;
    for (const NestToStitch& nest : group_) {
      inner = std::max(inner, nest.elements / rows);
      reduces |= nest.reduces;
      short_sums &= nest.points / std::max<std::int64_t>(nest.elements, 1) < lanes();  // which no lanes share
    }
    const std::int64_t wanted = reduces && inner == 1 ? usual_threads : elements_of_a_block;
    const std::int64_t least = short_sums ? lanes() / inner : 0;  // a warp has lanes for so many
    const std::int64_t most = std::min(wanted / inner, std::max(rows / processors(), least));
    for (std::int64_t count = most; count > 1; --count)
      if (rows % count == 0 && std::all_of(group_.begin(), group_.end(),
                                           [&](const NestToStitch& nest) { return divides(nest, rows, count); }))
        return count;
    return 1;
  }
  static bool divides(const NestToStitch& nest, std::int64_t rows, std::int64_t count) {
    const std::vector<Loop> loops = rows_of(nest, rows);
    for (std::size_t i = loops.size(); i-- > 0 && count > 1;) {
      if (count % loops[i].trip != 0) return loops[i].trip % count == 0;
      count /= loops[i].trip;
    }
    return true;
  }

  Node block_loop(std::int64_t rows) {
    const std::int64_t count = rows_of_a_block(rows);
    Loop blocks{"stitched_rows", rows / count, false, model_.unit(grid_).name, {}};
    for (NestToStitch& nest : group_) {
      for (Comment& comment : nest.comments) blocks.body.push_back({std::move(comment)});
      blocks.body.push_back(rows_in_block(nest, rows, count, AffineExpr::dim(blocks.variable), rows / count));
    }
    return Node{std::move(blocks)};
  }

  /// The nest for the rows of one block.
  Node rows_in_block(const NestToStitch& nest, std::int64_t rows, std::int64_t count, const AffineExpr& block,
                     std::int64_t blocks) {
    std::vector<Loop> over = rows_of(nest, rows), inside;
    const std::size_t first = over.size();
    Values values;
    while (count > 1) {
      Loop& last = over.back();
      if (count % last.trip == 0) {
        count /= last.trip;
        inside.insert(inside.begin(), last);
        over.pop_back();
        continue;
      }
      Loop part{fmt::format("stitched_{}", ++fresh_), count, last.unroll, "", {}};
      values[last.variable] = AffineExpr::dim(last.variable) * count + AffineExpr::dim(part.variable);
      inside.insert(inside.begin(), part);
      last.trip /= count;
      count = 1;
    }
    Ranges ranges = {{"stitched_rows", {0, blocks - 1}}};
    for (const Loop& loop : inside) ranges[loop.variable] = {0, loop.trip - 1};
    for (std::size_t i = first; i < nest.chain.size(); ++i)
      ranges[nest.chain[i].variable] = {0, nest.chain[i].trip - 1};
    Values numbers = numbers_of(over, block, ranges);
    for (auto& [name, value] : values) numbers[name] = simplify(substitute(value, numbers), ranges);
    std::vector<Node> nodes = with_values(nest.body, numbers, ranges, model_);
    if (inside.empty()) inside.push_back({fmt::format("stitched_{}", ++fresh_), 1, false, "", {}});
    inside.insert(inside.end(), nest.chain.begin() + static_cast<std::ptrdiff_t>(first), nest.chain.end());
    for (std::size_t i = inside.size(); i-- > 0;) {
      inside[i].body = std::move(nodes);
      nodes.clear();
      nodes.push_back(Node{std::move(inside[i])});
    }
    return std::move(nodes.front());
  }

  const Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  NestReader reader_;
  std::vector<NestToStitch> group_;
  std::vector<Node> nodes_;        ///< of the group, as they were
  std::set<std::int64_t> counts_;  ///< of rows that are legal for the group
  std::vector<Node> out_;
  std::set<std::size_t> stitched_;  ///< places in `out_`
  std::vector<Comment> kept_;       ///< of a nest that was left out
  std::set<std::string> begun_;     ///< as in StitchedNests
  int fresh_ = 0;
};

/// Assigns where the buffer is written; returns the number of these places.
int store_sums(std::vector<Node>& nodes, BufferId buffer) {
  int count = 0;
  for (Node& node : nodes)
    std::visit(
        overloaded{[&](Loop& loop) { count += store_sums(loop.body, buffer); },
                   [&](Guard& guard) { count += store_sums(guard.then, buffer) + store_sums(guard.otherwise, buffer); },
                   [&](Element& element) {
                     if (element.write.buffer != buffer) return;
                     element.reduction = Reduction::assign;
                     ++count;
                   },
                   [](auto&) {}},
        node.is);
  return count;
}

}  // namespace

StitchedNests stitched(const std::vector<Node>& body, const Program& program, const HardwareModel& model, UnitId grid) {
  return Stitcher(program, model, grid).run(body);
}

void store_begun_sums(std::vector<Node>& nodes, const std::vector<Node>& before, const std::set<std::string>& begun,
                      const Program& program) {
  const auto* loop = before.size() == 1 ? std::get_if<Loop>(&before[0].is) : nullptr;
  if (loop == nullptr || !begun.contains(loop->variable)) return;
  const BufferUse use = buffer_use(before, program);
  const auto written = std::find(use.written.begin(), use.written.end(), true) - use.written.begin();
  ISAMAP_CHECK(store_sums(nodes, make_id<BufferId>(static_cast<std::size_t>(written))) == 1,
               "the sums of a block are stored in more than one place");
}

}  // namespace isamap
