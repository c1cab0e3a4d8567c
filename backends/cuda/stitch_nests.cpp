// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stitch_nests.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backends/cuda/block_sums.h"
#include "backends/cuda/lane_exchange.h"
#include "backends/cuda/loop_substitution.h"
#include "hwdesc/model/parallel_reduction_plan.h"
#include "hwdesc/model/parallel_units.h"

namespace isamap {
namespace {

constexpr std::int64_t elements_of_a_block = 4 * usual_threads;  // a vector access for each thread

class Stitcher {
 public:
  Stitcher(const Program& program, const HardwareModel& model, UnitId grid)
      : program_(program), model_(model), grid_(grid) {}

  StitchedNests run(const std::vector<Node>& body) {
    std::vector<Comment> comments;
    for (const Node& node : body) {
      if (const auto* comment = std::get_if<Comment>(&node.is)) {
        comments.push_back(*comment);
        continue;
      }
      auto nest = read_nest(node, program_, model_, grid_);
      if (nest && !finished_.empty() && finishes(*nest, finished_)) {
        finish(std::move(*nest), comments);
        continue;
      }
      finished_.clear();
      const SharedBy shared = nest ? shared_by(*nest) : SharedBy::nobody;
      std::optional<NestToStitch> sum;
      if (shared >= SharedBy::rows_of_blocks) sum = std::exchange(nest, std::nullopt);
      if (sum) drop_start_of(*sum);
      if (nest) nest->comments = comments;
      if (!nest || !extend(*nest, node)) {
        close();
        if (!nest || !extend(*nest, node)) {
          for (Comment& comment : kept_) out_.push_back({std::move(comment)});
          for (const Comment& comment : comments) out_.push_back({comment});
          out_.push_back(node);
        }
      }
      if (shared == SharedBy::columns_of_blocks) finished_ = {sums_outermost(std::move(*sum))};
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

  SharedBy shared_by(const NestToStitch& nest) const { return sums_shared_by(nest, program_, model_, grid_); }

  /// The last of `out_`, sums of blocks and what follows them, computes the nest, too.
  void finish(NestToStitch nest, std::vector<Comment>& comments) {
    const std::string variable = finished_[0].chain[0].variable;
    if (const auto begun = begun_.find(std::get<Loop>(out_.back().is).variable); begun != begun_.end())
      begun_[variable] = begun->second;
    finished_.push_back(std::move(nest));
    Node whole = finished_sums(finished_, model_);
    out_.pop_back();
    for (Comment& comment : comments) out_.push_back({std::move(comment)});
    comments.clear();
    out_.push_back(std::move(whole));
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
    begun_[sum.chain[0].variable] = sum.accesses[0].buffer;
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
      if ((group_.empty() || counts_.contains(rows)) && parallel(rows, all) && independent_rows(rows, all))
        counts.insert(rows);
    if (counts.empty()) return false;
    counts_ = std::move(counts);
    group_.push_back(nest);
    nodes_.push_back(node);
    return true;
  }

  /// Several warps gain less than a launch costs, but a sum that only its start would share one with has its launch.
  bool is_lone_sum() const {
    if (group_.size() != 2 || shared_by(group_[1]) != SharedBy::few_warps) return false;
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
  std::vector<NestToStitch> group_;
  std::vector<Node> nodes_;        ///< of the group, as they were
  std::set<std::int64_t> counts_;  ///< of rows that are legal for the group
  std::vector<Node> out_;
  std::set<std::size_t> stitched_;      ///< places in `out_`
  std::vector<NestToStitch> finished_;  ///< sums of whole blocks, and what is computed behind them
  std::vector<Comment> kept_;           ///< of a nest that was left out
  BegunSums begun_;                     ///< as in StitchedNests
  int fresh_ = 0;
};

}  // namespace

StitchedNests stitched(const std::vector<Node>& body, const Program& program, const HardwareModel& model, UnitId grid) {
  return Stitcher(program, model, grid).run(body);
}

}  // namespace isamap
