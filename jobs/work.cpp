// SPDX-License-Identifier: Apache-2.0
#include "jobs/work.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace isamap::jobs {
namespace {

using namespace std::chrono_literals;

constexpr double refresh_every = 0.5, mark_every = 10, report_every = 5;  ///< seconds
constexpr double looking = 0.5;                                           ///< of the time, at most
constexpr int busy_ms = 50, idle_ms = 500;
constexpr int most_looks = 20;  ///< at a claim of another worker, which yields or begins within some milliseconds
constexpr auto between_looks = 5ms;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of two workers that claim the same job, the one with the lower name takes it.
bool yields_to_us(const Running& other) {
  return other.claim && std::pair(other.host, other.pid) > std::pair(host_name(), static_cast<int>(::getpid()));
}

}  // namespace

JobQueue::JobQueue(const Plan& plan, JobStore& store, WorkOptions options)
    : plan_(plan), store_(store), options_(std::move(options)) {
  if (!options_.retry) return;
  for (const auto& [key, known] : store_.jobs())
    if (known.attempts > 0) forgiven_[key] = known.attempts;
}

int JobQueue::attempts_at(std::size_t job) const {
  const Known* known = store_.find(plan_.jobs[job].key);
  return known ? known->attempts : 0;
}

int JobQueue::attempts_allowed(const std::string& key) const {
  if (options_.attempts) {
    const auto forgiven = forgiven_.find(key);
    return *options_.attempts + (forgiven == forgiven_.end() ? 0 : forgiven->second);
  }
  const Known* known = store_.find(key);
  return known && known->allowed > 0 ? known->allowed : usual_attempts;
}

void JobQueue::note(std::size_t job, End end, int attempt) {
  flight_.erase(job);
  store_.note(plan_.jobs[job].key, end, attempt, attempts_allowed(plan_.jobs[job].key));
}

JobQueue::State JobQueue::state_of(std::size_t number) const {
  const Job& job = plan_.jobs[number];
  const Known* known = store_.find(job.key);
  if (known && (known->told_wrong || !known->wrong.empty())) return State::wrong;
  if (known && (known->told_ok || !known->ok.empty())) return State::ok;
  if (flight_.contains(number)) return State::flight;
  if (known && known->attempts >= attempts_allowed(job.key)) return State::given_up;
  if (const State inputs = state_of_inputs(job); inputs != State::ready) return inputs;
  if (!job.device.empty() && job.device != options_.by.device) return State::elsewhere;
  return elsewhere_.contains(job.key) ? State::elsewhere : State::ready;
}

JobQueue::State JobQueue::state_of(const std::string& key) const {
  const auto place = plan_.places.find(key);
  return place == plan_.places.end() ? State::blocked : state_of(place->second);
}

JobQueue::State JobQueue::state_of_inputs(const Job& job) const {
  const auto has_no_result = [](State state) {
    return state == State::wrong || state == State::given_up || state == State::blocked;
  };
  bool waits = false, any = job.after.empty();
  for (const std::string& need : job.needs) {
    const State state = state_of(need);
    if (has_no_result(state)) return State::blocked;
    waits = waits || state != State::ok;
  }
  for (const std::string& before : job.after) {
    const State state = state_of(before);
    any = any || state == State::ok;
    waits = waits || (state != State::ok && !has_no_result(state));
  }
  if (waits) return State::waiting;
  return any ? State::ready : State::blocked;
}

/// Those of our shard first, then those of the next shard, and so on. Of others from the end, where their own workers
/// come last: these do not see at once what was taken.
void JobQueue::sort_for_stealing() {
  const Shard& own = options_.shard;
  const auto others =
      std::stable_partition(ready_.begin(), ready_.end(), [&](std::size_t j) { return own.holds(plan_.jobs[j].key); });
  const auto distance = [&](std::size_t j) {
    return (own.number_of(plan_.jobs[j].key) + own.of - own.number) % own.of;
  };
  std::reverse(others, ready_.end());
  std::stable_sort(others, ready_.end(), [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
}

/// Workers that share all jobs continue at different places, each at one made from its name. Neighbours often read the
/// same inputs, so the order stays.
void JobQueue::begin_at_own_place() {
  if (ready_.empty()) return;
  const Shard places{0, plan_.jobs.size()};
  const std::size_t own = places.number_of(content_key(fmt::format("{}.{}", host_name(), ::getpid())));
  std::rotate(ready_.begin(), std::lower_bound(ready_.begin(), ready_.end(), own), ready_.end());
}

/// Marks before records: others record a job before they take its mark back, so no job escapes between the two looks.
Diagnostics JobQueue::see_others() {
  const double begun = steady_seconds();
  elsewhere_.clear(), taken_.clear();
  for (const Running& one : store_.running()) {
    if (!one.alive) continue;
    elsewhere_.insert(one.key);
    if (!yields_to_us(one)) taken_.insert(one.key);
  }
  Diagnostics found = store_.refresh();
  looked_ = steady_seconds();
  look_took_ = looked_ - begun;
  return found;
}

bool JobQueue::is_ours_alone(std::size_t job) {
  if (!shares_jobs() || looking * (steady_seconds() - looked_) < look_took_) return true;
  const std::string& key = plan_.jobs[job].key;
  const auto yielding = [&] { return elsewhere_.contains(key) && !taken_.contains(key); };
  see_others();
  for (int looks = 1; yielding() && looks < most_looks; ++looks) {
    std::this_thread::sleep_for(between_looks);
    see_others();
  }
  if (yielding()) elsewhere_.erase(key);
  flight_.erase(job);
  if (state_of(job) == State::ready) {
    flight_.insert(job);
    return true;
  }
  ++others_;  // what it leads to may be ours
  return false;
}

Diagnostics JobQueue::refresh() {
  Diagnostics found = see_others();
  ready_.clear();
  std::deque<std::size_t> again;
  std::size_t waiting = 0, not_here = 0;
  for (std::size_t j = 0; j < plan_.jobs.size(); ++j) {
    if (!ours(j)) continue;
    const State state = state_of(j);
    waiting += state == State::waiting ? 1 : 0;
    not_here += state == State::elsewhere && elsewhere_.contains(plan_.jobs[j].key) ? 1 : 0;
    if (state != State::ready) continue;
    const Known* known = store_.find(plan_.jobs[j].key);
    (known && known->attempts > 0 ? again : ready_).push_back(j);
  }
  if (options_.steal && options_.shard.of > 1)
    sort_for_stealing();
  else if (options_.shard.of == 1 && !elsewhere_.empty())
    begin_at_own_place();
  ready_.insert(ready_.end(), again.begin(), again.end());
  others_ = not_here + (elsewhere_.empty() && flight_.empty() ? 0 : waiting);
  return found;
}

std::optional<std::size_t> JobQueue::next() {
  while (!ready_.empty()) {
    const std::size_t job = ready_.front();
    ready_.pop_front();
    if (state_of(job) != State::ready) continue;  // done meanwhile
    flight_.insert(job);
    return job;
  }
  return std::nullopt;
}

Diagnostics JobQueue::record(Record record) {
  const Known* known = store_.find(record.key);
  record.attempt = 1 + (known ? known->attempts : 0);
  record.attempts = attempts_allowed(record.key);
  record.by = options_.by;
  if (const auto place = plan_.places.find(record.key); place != plan_.places.end()) flight_.erase(place->second);
  return store_.append(record);
}

Progress JobQueue::progress() const {
  Progress sum;
  sum.all = plan_.jobs.size();
  for (std::size_t j = 0; j < plan_.jobs.size(); ++j) {
    const State state = state_of(j);
    sum.ok += state == State::ok ? 1 : 0;
    sum.wrong += state == State::wrong ? 1 : 0;
    sum.given_up += state == State::given_up || state == State::blocked ? 1 : 0;
    const Known* known = state == State::ready || state == State::flight ? store_.find(plan_.jobs[j].key) : nullptr;
    sum.failed += known && known->attempts > 0 ? 1 : 0;
  }
  return sum;
}

std::vector<std::size_t> JobQueue::given_up() const {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < plan_.jobs.size(); ++j)
    if (const State state = state_of(j); ours(j) && (state == State::given_up || state == State::blocked))
      found.push_back(j);
  return found;
}

std::vector<std::size_t> JobQueue::wrong() const {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < plan_.jobs.size(); ++j)
    if (ours(j) && state_of(j) == State::wrong) found.push_back(j);
  return found;
}

std::vector<std::size_t> JobQueue::not_done() const {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < plan_.jobs.size(); ++j)
    if (const State state = state_of(j); ours(j) && (state == State::ready || state == State::waiting ||
                                                     state == State::flight || state == State::elsewhere))
      found.push_back(j);
  return found;
}

std::string JobQueue::why(std::size_t job) const {
  const Known* known = store_.find(plan_.jobs[job].key);
  const std::optional<Place> last = !known                 ? std::nullopt
                                    : known->wrong.empty() ? known->last_failed
                                                           : std::optional(known->wrong.back());
  if (!last) return "a job that it needs has no result";
  const auto record = store_.read(*last);
  if (!record) return "its record cannot be read";
  return fmt::format("{} (attempt {}{}, on {})", text_of(record->failure), record->attempt,
                     record->attempts > 0 ? fmt::format(" of {}", record->attempts) : "", record->by.host);
}

WorkOptions as_recorded() {
  WorkOptions options;
  options.attempts.reset();
  return options;
}

Diagnostics put_texts(const Plan& plan, JobStore& store) {
  for (const auto& [hash, text] : plan.texts)
    if (const auto put = store.put(text); !put) return put.diagnostics();
  return {};
}

namespace {

using Children = std::vector<std::unique_ptr<JobChild>>;

/// `next`: the key of a job that is about to begin, or with `claim` to be looked for at others.
void mark(JobStore& store, const Children& children, const std::string& next = "", bool claim = false) {
  std::vector<JobStore::Mark> marks;
  for (const auto& child : children)
    if (child->busy()) marks.push_back({child->job().key, child->since(), false});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (!next.empty()) marks.push_back({next, std::chrono::duration<double>(now).count(), claim});
  store.mark(marks);
}

/// The next job that no other worker does; it is marked.
std::optional<std::size_t> taken(const Plan& plan, JobQueue& queue, JobStore& store, const Children& children) {
  while (const auto job = queue.next()) {
    const std::string& key = plan.jobs[*job].key;
    if (queue.shares_jobs()) {
      mark(store, children, key, true);
      if (!queue.is_ours_alone(*job)) {
        mark(store, children);
        continue;
      }
    }
    mark(store, children, key);
    return job;
  }
  return std::nullopt;
}

/// Gives the next jobs to idle children; true: to any.
bool hand_out(const Plan& plan, JobQueue& queue, JobStore& store, Children& children, WorkEnd& end) {
  bool any = false;
  for (auto& child : children) {
    if (child->busy()) continue;
    const auto job = taken(plan, queue, store, children);
    if (!job) break;
    any = true;
    if (const std::string problem = child->give(plan.jobs[*job]); !problem.empty())
      end.problems.push_back(error("a process for a job cannot be started: " + problem));
  }
  return any;
}

bool is_busy(const Children& children) {
  return std::any_of(children.begin(), children.end(), [](const auto& child) { return child->busy(); });
}

void wait_for_any(const Children& children, int milliseconds) {
  std::vector<pollfd> descriptors;
  for (const auto& child : children)
    if (child->busy()) descriptors.push_back({child->descriptor(), POLLIN, 0});
  ::poll(descriptors.data(), descriptors.size(), milliseconds);
}

/// Records what has ended; false: the store cannot be written.
bool collect(JobQueue& queue, Children& children, WorkEnd& end) {
  for (auto& child : children)
    if (auto record = child->poll()) {
      if (Diagnostics failed = queue.record(std::move(*record)); has_errors(failed)) {
        end.problems.insert(end.problems.end(), failed.begin(), failed.end());
        return false;
      }
      ++end.done;
    }
  return true;
}

}  // namespace

WorkEnd work(const Plan& plan, JobStore& store, const WorkOptions& options, const JobRunner& runner,
             const std::function<void(const Progress&)>& progress) {
  WorkEnd end;
  end.problems = put_texts(plan, store);
  if (has_errors(end.problems)) return end;
  Children children;
  for (int c = 0; c < options.children; ++c) children.push_back(std::make_unique<JobChild>(runner, options.limits));
  end.problems = store.refresh();
  JobQueue queue(plan, store, options);
  double refreshed = 0, marked = 0, reported = 0;
  while (!has_errors(end.problems)) {
    if (steady_seconds() - refreshed > refresh_every) queue.refresh(), refreshed = steady_seconds();
    bool given = hand_out(plan, queue, store, children, end), busy = is_busy(children);
    if (!busy) {  // nothing is ready: did others, or we, record what makes more ready?
      queue.refresh();
      given = busy = hand_out(plan, queue, store, children, end);
      if (!busy && !queue.waits_for_others()) break;
    }
    if (given) marked = steady_seconds();
    if (steady_seconds() - marked > mark_every) mark(store, children), marked = steady_seconds();
    wait_for_any(children, busy ? busy_ms : idle_ms);
    if (!collect(queue, children, end)) break;
    if (steady_seconds() - reported > report_every) progress(queue.progress()), reported = steady_seconds();
  }
  children.clear();
  store.mark({});
  end.given_up = queue.given_up();
  end.wrong = queue.wrong();
  end.not_done = queue.not_done();
  return end;
}

}  // namespace isamap::jobs
