// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/event_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "scheduler/cost/access_counts_by_step.h"
#include "scheduler/cost/first_values.h"
#include "support/stop.h"

namespace isamap {

namespace {

constexpr int waited_for_by_calls = 1 << 20, of_calls = waited_for_by_calls + 1;  ///< priorities
constexpr double never = std::numeric_limits<double>::infinity();

/// Tiles of one stage, in the order of their use.
struct TileStream {
  struct Tile {
    VisitMoved moved;
    bool filled = true;       ///< its elements come from the parent
    std::int64_t parent = 0;  ///< number of the parent's tile
    std::int64_t below = 0;   ///< of an output: drains of the child before its own
  };

  const TileFlow* flow;
  VisitCounts counts;
  LoopPosition position;
  bool ended = false;  ///< `next` is no tile
  Tile next;
  std::vector<Tile> held;  ///< of outputs, by number modulo size, until drained
  std::int64_t started = 0, ready = 0, over = 0, draining = 0, drained = 0;  ///< numbers of tiles
  int fills = 0, drains = 0;                                                 ///< uses of resources under way
  double fill_arrives = never, drain_arrives = never, fill_began = 0, drain_began = 0, became_ready = 0;

  TileStream(const ResolvedNest& view, const LoopTable& table, const TileCounts& tile_counts, const NestFlow& all,
             const TileFlow& f, bool inout)
      : flow(&f),
        counts(view, table, tile_counts,
               {f.access, f.loops, f.parent < 0 ? 0 : all.flows[static_cast<std::size_t>(f.parent)].loops, f.slide}),
        position(table, f.place),
        starts_full_(inout) {
    if (f.parent >= 0) parent_place_ = all.flows[static_cast<std::size_t>(f.parent)].place;
    held.resize(static_cast<std::size_t>(f.buffers) + 2);
    take(-1);
  }

  bool output() const { return flow->access == 0; }
  int buffers() const { return output() ? std::min(flow->buffers, 2) : flow->buffers; }

  /// The next tile; `held` keeps the one before.
  void step() {
    while (!ended) {
      const int loop = position.advance();
      if (loop < 0) {
        ended = true;
        return;
      }
      if (parent_place_ >= 0 && position.renewed(flow->access, parent_place_, loop)) ++next.parent;
      if (position.renewed(flow->access, flow->place, loop)) return take(loop);
    }
  }

 private:
  void take(int loop) {
    next.moved = counts.at(position, loop);
    next.filled = flow->moves && (!output() || starts_full_ || !position.first(0, flow->place));
  }

  int parent_place_ = -1;
  bool starts_full_;
};

/// Keeps the first `limit` slices.
class SliceRecorder {
 public:
  SliceRecorder(std::size_t limit, SimulatedNest& into) : limit_(limit), into_(into) {}

  void add(const BusySlice& slice) {
    if (limit_ == 0 || slice.end <= slice.begin) return;
    if (into_.slices.size() < limit_)
      into_.slices.push_back(slice);
    else
      into_.all_slices = false;
  }

 private:
  std::size_t limit_;
  SimulatedNest& into_;
};

/// A part of a transfer, or of a run of calls, that occupies one resource.
struct Job {
  double left = 0;  ///< cycles
  int priority = 0, flow = 0;
  bool out = false;
  std::int64_t number = 0;
};

/// A preemptive priority queue for each resource; equal priorities in order of arrival.
class ResourceQueues {
 public:
  ResourceQueues(std::size_t resources, SliceRecorder& slices)
      : queues_(resources), busy_(resources, 0), slices_(slices) {}

  void add(int resource, const Job& job, double now) {
    if (job.left <= 0) return;
    busy_[static_cast<std::size_t>(resource)] += job.left;
    insert(resource, job, now);
  }

  /// Raises the priority of a tile that calls now wait for.
  void raise_priority(int flow, double now) {
    for (std::size_t r = 0; r < queues_.size(); ++r) {
      std::vector<Job>& jobs = queues_[r].jobs;
      const auto at = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) {
        return job.flow == flow && !job.out && job.priority < waited_for_by_calls;
      });
      if (at == jobs.end()) continue;
      Job job = *at;
      job.priority = waited_for_by_calls;
      if (at == jobs.begin()) {
        at->priority = waited_for_by_calls;
        continue;
      }
      jobs.erase(at);
      insert(static_cast<int>(r), job, now);
    }
  }

  std::size_t size() const { return queues_.size(); }
  const std::vector<double>& busy() const { return busy_; }  ///< cycles by resource

  /// End of the job in service; infinity: the resource is idle.
  double end(std::size_t resource) const {
    const Queue& queue = queues_[resource];
    return queue.jobs.empty() ? never : queue.since + queue.jobs.front().left;
  }
  /// Removes the job in service, which ends now.
  Job finish(std::size_t resource, double now) {
    Queue& queue = queues_[resource];
    const Job job = queue.jobs.front();
    record(static_cast<int>(resource), job, queue.since, now);
    queue.jobs.erase(queue.jobs.begin());
    queue.since = now;
    return job;
  }

 private:
  struct Queue {
    std::vector<Job> jobs;  ///< the first one is in service
    double since = 0;       ///< start of its service
  };

  void insert(int resource, const Job& job, double now) {
    Queue& queue = queues_[static_cast<std::size_t>(resource)];
    auto place = queue.jobs.begin();
    while (place != queue.jobs.end() && place->priority >= job.priority) ++place;
    if (place == queue.jobs.begin()) {
      if (!queue.jobs.empty()) preempt(resource, now);
      queue.since = now;
    }
    queue.jobs.insert(place, job);
  }

  void preempt(int resource, double now) {
    Queue& queue = queues_[static_cast<std::size_t>(resource)];
    Job& job = queue.jobs.front();
    job.left -= now - queue.since;
    record(resource, job, queue.since, now);
  }

  void record(int resource, const Job& job, double begin, double end) {
    slices_.add({BusySlice::Track::resource, resource, job.flow, job.out, job.number, begin, end});
  }

  std::vector<Queue> queues_;
  std::vector<double> busy_;
  SliceRecorder& slices_;
};

class EventLoop {
 public:
  EventLoop(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, const NestFlow& flow,
            const SimulationOptions& options)
      : view_(view),
        table_(view, counts),
        counts_(counts),
        traffic_(traffic),
        flow_(flow),
        control_(table_, flow.block),
        slices_(options.slices, result_),
        resources_(flow.resources.size(), slices_) {
    const bool inout = starts_full(view);
    streams_.reserve(flow.flows.size());
    for (const TileFlow& f : flow.flows) streams_.emplace_back(view, table_, counts, flow, f, inout);
    children_.assign(streams_.size(), -1);
    for (std::size_t s = 0; s < streams_.size(); ++s)
      if (const int p = flow.flows[s].parent; p >= 0 && flow.flows[s].access == 0)
        children_[static_cast<std::size_t>(p)] = static_cast<int>(s);
    for (int a = 0; a < access_count(view.statement); ++a) {
      const int stage = view.innermost[static_cast<std::size_t>(a)];
      const int loops = stage < 0 ? 0 : view.stages[static_cast<std::size_t>(stage)].loops;
      calls_.emplace_back(view, table_, counts,
                          VisitedTile{a, static_cast<int>(view.loops.size()), loops, false, flow.block});
    }
    result_.busy.assign(flow.resources.size(), 0);
    result_.waited.assign(flow.flows.size(), 0);
    current_.assign(flow.flows.size(), 0);
    result_.memories = traffic.memories;  // instances and tiles
    for (auto& [memory, tensors] : result_.memories)
      for (auto& [tensor, totals] : tensors) totals.reads = totals.fills = totals.updates = 0;
  }

  SimulatedNest run() {
    if (control_.empty()) return std::move(result_);
    while (true) {
      start_what_can();
      double next = block_end_;
      for (std::size_t r = 0; r < resources_.size(); ++r) next = std::min(next, resources_.end(r));
      for (const TileStream& s : streams_) next = std::min({next, s.fill_arrives, s.drain_arrives});
      if (next == never) break;
      now_ = next;
      if (++result_.events % 1024 == 0) leave_if_asked();
      end_what_ends();
    }
    result_.cycles = std::max(now_, last_call_);
    result_.drain = result_.cycles - last_call_;
    result_.busy = resources_.busy();
    finish_counts();
    return std::move(result_);
  }

 private:
  Totals& totals(int access, int stage) {
    return result_.memories[view_.memory_of(stage)][access_of(view_.statement, access).tensor];
  }

  void start_what_can() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t s = 0; s < streams_.size(); ++s) again = start_fill(s) || again;
      for (std::size_t s = streams_.size(); s-- > 0;) again = start_drain(s) || again;
      again = start_block() || again;
    }
  }

  bool parent_ready(const TileStream& s, std::int64_t number) const {
    return s.flow->parent < 0 || streams_[static_cast<std::size_t>(s.flow->parent)].ready > number;
  }

  bool start_fill(std::size_t at) {
    TileStream& s = streams_[at];
    if (s.ended || s.fills > 0 || s.fill_arrives != never) return false;
    const std::int64_t free = (s.output() ? s.drained : s.over) + s.buffers();
    if (s.started >= free || (s.next.filled && !parent_ready(s, s.next.parent))) return false;
    count(*s.flow, s.next);
    s.fill_began = now_;
    if (s.next.filled) s.fills = occupy(static_cast<int>(at), s.flow->in, s.next.moved, false, s.started);
    if (s.output()) s.held[static_cast<std::size_t>(s.started) % s.held.size()] = s.next;
    const bool moves = s.next.filled;
    ++s.started;
    s.step();
    if (s.fills == 0) {
      s.fill_arrives = now_ + (moves ? s.flow->in.latency : 0);
      if (s.fill_arrives == now_) fill_arrives(at);
    }
    return true;
  }

  bool start_drain(std::size_t at) {
    TileStream& s = streams_[at];
    if (!s.output() || s.drains > 0 || s.drain_arrives != never || s.draining >= s.over) return false;
    const TileStream::Tile& tile = s.held[static_cast<std::size_t>(s.draining) % s.held.size()];
    if (!parent_ready(s, tile.parent)) return false;
    if (const int child = children_[at]; child >= 0 && streams_[static_cast<std::size_t>(child)].drained < tile.below)
      return false;
    s.drain_began = now_;
    s.drains = occupy(static_cast<int>(at), s.flow->out, tile.moved, true, s.draining);
    ++s.draining;
    if (s.drains == 0) {
      s.drain_arrives = now_ + s.flow->out.latency + tail();
      if (s.drain_arrives == now_) drain_arrives(at);
    }
    return true;
  }

  /// A result drains when the call has completed: its latency may exceed its interval.
  double tail() const { return std::max(0.0, flow_.call.latency - flow_.call.each); }

  bool start_block() {
    if (block_end_ != never || over_) return false;
    for (std::size_t s = 0; s < streams_.size(); ++s)
      if (streams_[s].ready <= current_[s]) return false;
    const double waited = now_ - last_call_;
    if (result_.blocks == 0) {
      result_.fill = now_;
    } else if (waited > 0) {
      std::size_t last = 0;
      for (std::size_t s = 1; s < streams_.size(); ++s)
        if (streams_[s].became_ready >= streams_[last].became_ready) last = s;
      result_.waited[last] += waited;
    }
    control_.extents(extents_);
    if (extents_ != block_extents_) {
      block_extents_ = extents_;
      block_ = block_of(flow_, table_, extents_);
    }
    for (const Occupation& use : flow_.call.uses)
      resources_.add(use.resource, {use.own * block_.calls, of_calls, -1, false, 0}, now_);
    for (int a = 0; a < static_cast<int>(calls_.size()); ++a) {
      const double touched = calls_[static_cast<std::size_t>(a)].at(control_, -1).shared;
      Totals& t = totals(a, view_.innermost[static_cast<std::size_t>(a)]);
      t.reads += touched;
      if (a == 0) t.updates += touched;
    }
    result_.compute += block_.cycles;
    block_began_ = now_;
    block_end_ = now_ + block_.cycles;
    ++result_.blocks;
    return true;
  }

  void end_what_ends() {
    for (std::size_t r = 0; r < resources_.size(); ++r)
      while (resources_.end(r) <= now_) job_ends(resources_.finish(r, now_));
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      if (streams_[s].fill_arrives <= now_) fill_arrives(s);
      if (streams_[s].drain_arrives <= now_) drain_arrives(s);
    }
    if (block_end_ <= now_) end_block();
  }

  void end_block() {
    slices_.add({BusySlice::Track::calls, 0, 0, false, result_.blocks - 1, block_began_, block_end_});
    last_call_ = now_;
    block_end_ = never;
    const int loop = control_.advance();
    over_ = loop < 0;
    for (std::size_t s = streams_.size(); s-- > 0;) {  // children before parents
      if (!over_ && !control_.renewed(streams_[s].flow->access, streams_[s].flow->place, loop)) continue;
      TileStream& stream = streams_[s];
      if (const int child = children_[s]; child >= 0 && stream.output())
        stream.held[static_cast<std::size_t>(stream.over) % stream.held.size()].below =
            streams_[static_cast<std::size_t>(child)].over;
      ++stream.over;
      ++current_[s];
      if (stream.fills > 0 && stream.started == current_[s] + 1) resources_.raise_priority(static_cast<int>(s), now_);
    }
  }

  int occupy(int flow, const Way& way, const VisitMoved& moved, bool out, std::int64_t number) {
    int uses = 0;
    for (const Occupation& use : way.uses) {
      const double cycles = use.shared * moved.shared + use.own * moved.lane;
      if (cycles <= 0) continue;
      resources_.add(use.resource, {cycles, priority(flow, out, number), flow, out, number}, now_);
      ++uses;
    }
    return uses;
  }

  /// Priorities: tiles that calls wait for, then prefetched tiles, inner ones first, then results.
  int priority(int flow, bool out, std::int64_t number) const {
    const TileFlow& f = flow_.flows[static_cast<std::size_t>(flow)];
    const bool waited_for = out ? f.buffers == 1 : number <= current_[static_cast<std::size_t>(flow)];
    return waited_for ? waited_for_by_calls : 2 * f.place + (out ? 0 : 1);
  }

  void job_ends(const Job& job) {
    if (job.flow < 0) return;  // of calls: no transfer completes
    TileStream& s = streams_[static_cast<std::size_t>(job.flow)];
    if (job.out && --s.drains == 0) s.drain_arrives = now_ + s.flow->out.latency + tail();
    if (!job.out && --s.fills == 0) s.fill_arrives = now_ + s.flow->in.latency;
  }

  void fill_arrives(std::size_t at) {
    TileStream& s = streams_[at];
    if (s.fill_arrives > s.fill_began)
      slices_.add({BusySlice::Track::transfer, 0, static_cast<int>(at), false, s.ready, s.fill_began, s.fill_arrives});
    s.fill_arrives = never;
    s.became_ready = now_;
    ++s.ready;
  }

  void drain_arrives(std::size_t at) {
    TileStream& s = streams_[at];
    if (s.drain_arrives > s.drain_began)
      slices_.add(
          {BusySlice::Track::transfer, 0, static_cast<int>(at), true, s.drained, s.drain_began, s.drain_arrives});
    s.drain_arrives = never;
    ++s.drained;
  }

  void count(const TileFlow& f, const TileStream::Tile& tile) {
    if (!f.moves && f.access != 0) return;
    const int parent = f.parent < 0 ? -1 : flow_.flows[static_cast<std::size_t>(f.parent)].stage;
    Totals& above = totals(f.access, parent);
    if (f.access == 0) above.updates += tile.moved.shared;
    if (!tile.filled) return;
    above.reads += tile.moved.shared;
    totals(f.access, f.stage).fills += tile.moved.own;
  }

  /// Calls read their output, except at the first visit of an element.
  void finish_counts() {
    if (starts_full(view_)) return;
    const int stage = view_.innermost[0];
    const int loops = stage < 0 ? 0 : view_.stages[static_cast<std::size_t>(stage)].loops;
    Totals& t = totals(0, stage);
    t.reads = std::max(0.0, t.reads - counts_.first_visits(0, loops));
  }

  const ResolvedNest& view_;
  const LoopTable table_;
  const TileCounts& counts_;
  const Traffic& traffic_;
  const NestFlow& flow_;
  LoopPosition control_;
  std::vector<TileStream> streams_;
  std::vector<int> children_;          ///< by flow: that of the output whose parent it is
  std::vector<VisitCounts> calls_;     ///< by access
  std::vector<std::int64_t> current_;  ///< by flow: tile in use
  std::vector<std::int64_t> extents_, block_extents_;
  CallBlock block_;
  double now_ = 0, block_began_ = 0, block_end_ = never, last_call_ = 0;
  bool over_ = false;
  SimulatedNest result_;
  SliceRecorder slices_;
  ResourceQueues resources_;
};

}  // namespace

Result<SimulatedNest> simulate_nest(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic,
                                    const NestFlow& flow, const SimulationOptions& options) {
  const double blocks = counts.steps(flow.block);
  if (blocks > static_cast<double>(options.max_blocks))
    return error(
        fmt::format("{:.0f} runs of calls between renewed tiles; at most {} are simulated", blocks, options.max_blocks),
        "larger tiles, or --cost latency, which takes a formula");
  return EventLoop(view, counts, traffic, flow, options).run();
}

}  // namespace isamap
