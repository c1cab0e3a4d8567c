// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/team.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/state_needs.h"

namespace isamap {
namespace {

const char* const team_lines = R"(inline namespace NAME_of_units {  // the same in all units of a model

// The thread that calls a run and those that its model has started. Who waits does so actively for `active` seconds, then
// sleeps; nothing else is locked.
struct isamap_team {
  std::atomic<unsigned> word;            // changes when the others are called, have a job, or shall end
  std::atomic<unsigned> job;             // number of the job
  std::atomic<unsigned> arrived, round;  // of the members at a place where they wait for each other
  std::atomic<int> awake, asleep;        // of the others: wait actively for a job; of all: sleep
  std::atomic<bool> taken, ending;
MEMBER  int members;                           // those that were started, and the caller
  const void* call;                      // of the job, and its first part
  int from;
  void (*execute)(const void* call, struct isamap_member team, int from);
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

struct isamap_member {
  isamap_team* team;  // null: another run has it
  int number, members;
  double patience = 0;  // seconds that this run may still wait for the others to awake
};

}

namespace {

struct isamap_thread {
  pthread_t thread;
  isamap_team* team;
  int number;
};

double isamap_clock() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Until the number is not `known` any more; false: not within this time.
bool isamap_actively(const std::atomic<unsigned>& number, unsigned known) {
  constexpr double active = 200e-6;
  for (int i = 0; i < 256; ++i) {
    if (number.load(std::memory_order_acquire) != known) return true;
    WAIT
  }
  for (const double end = isamap_clock() + active; isamap_clock() < end; sched_yield())
    for (int i = 0; i < 64; ++i) {
      if (number.load(std::memory_order_acquire) != known) return true;
      WAIT
    }
  return false;
}

void isamap_asleep(isamap_team* team, const std::atomic<unsigned>& number, unsigned known) {
  pthread_mutex_lock(&team->mutex);
  team->asleep.fetch_add(1);
  while (number.load() == known) pthread_cond_wait(&team->changed, &team->mutex);
  team->asleep.fetch_sub(1);
  pthread_mutex_unlock(&team->mutex);
}

void isamap_change(isamap_team* team, std::atomic<unsigned>& number) {
  number.fetch_add(1);
  if (team->asleep.load() == 0) return;
  pthread_mutex_lock(&team->mutex);
  pthread_cond_broadcast(&team->changed);
  pthread_mutex_unlock(&team->mutex);
}

void isamap_wait_for_all(const isamap_member& member) {
  if (member.members < 2) return;
  isamap_team* const team = member.team;
  const unsigned round = team->round.load();
  if (team->arrived.fetch_add(1) + 1 == unsigned(member.members)) {
    team->arrived.store(0);
    isamap_change(team, team->round);
  } else if (!isamap_actively(team->round, round)) {
    isamap_asleep(team, team->round, round);
  }
}

FUNCTION// The others, if they are awake, execute the parts of this call from here. To wait for them pays for as long as the part
// takes with them. Those that were woken when the run began and found nothing to execute sleep again, so they are woken
// here, too. A part that takes less than `start`, in which they would begin and be joined, is executed by one; `seconds`
// is 0 where it is not known.
void isamap_join(isamap_member& member, const void* call, int from, double seconds, double start = 0) {
  isamap_team* const team = member.team;
  if (member.members > 1 || team == nullptr || team->members < 2) return;
#ifdef NAME_PROFILE  // what is verified and timed is executed by all
  for (; team->awake.load() + 1 < team->members; sched_yield()) isamap_change(team, team->word);
#else
  if (seconds > 0 && seconds < start) return;
#endif
  if (team->awake.load() + 1 < team->members) {
    const double begun = isamap_clock(), longest = seconds < member.patience ? seconds : member.patience;
    double waited = 0;
    if (longest > 0) isamap_change(team, team->word);
    while (team->awake.load() + 1 < team->members && waited < longest) {
      sched_yield();
      waited = isamap_clock() - begun;
    }
    member.patience -= waited;
    if (team->awake.load() + 1 < team->members) return;
  }
  team->call = call;
  team->from = from;
  member.members = team->members;
  team->job.fetch_add(1);
  isamap_change(team, team->word);
}

// A run begins: takes the team if it is free, and wakes its threads.
isamap_member isamap_take(isamap_team* team) {
  if (team->taken.exchange(true)) return {nullptr, 0, 1, 0};
  if (team->awake.load() + 1 < team->members) isamap_change(team, team->word);
  return {team, 0, 1, 100e-6};
}

void isamap_release(const isamap_member& member) {
  if (member.team != nullptr) member.team->taken.store(false);
}

void* isamap_other(void* given) {
  const isamap_thread& self = *static_cast<const isamap_thread*>(given);
  isamap_team* const team = self.team;
  for (unsigned word = 0, job = 0;;) {
    team->awake.fetch_add(1);
    const bool found = isamap_actively(team->word, word);
    team->awake.fetch_sub(1);
    if (!found) isamap_asleep(team, team->word, word);
    word = team->word.load();
    if (team->ending.load()) return nullptr;
    if (team->job.load() == job) continue;
    ++job;
    team->execute(team->call, {team, self.number, team->members, 0}, team->from);
  }
}

// Starts threads, fewer if the system refuses some.
void isamap_start(isamap_team* team, isamap_thread* threads, int count) {
  pthread_mutex_init(&team->mutex, nullptr);
  pthread_cond_init(&team->changed, nullptr);
  team->members = 1;
  for (int i = 0; i < count; ++i) {
    threads[i].team = team;
    threads[i].number = i + 1;
    if (pthread_create(&threads[i].thread, nullptr, isamap_other, &threads[i]) != 0) return;
    ++team->members;
  }
}

void isamap_end(isamap_team* team, isamap_thread* threads) {
  team->ending.store(true);
  isamap_change(team, team->word);
  for (int i = 0; i + 1 < team->members; ++i) pthread_join(threads[i].thread, nullptr);
  pthread_cond_destroy(&team->changed);
  pthread_mutex_destroy(&team->mutex);
}

}  // namespace

)";

/// Where parts have memory of their own, as those of all sizes do; the others get it from the caller.
const char* const memory_member = "  std::atomic<void*> memory;             // of member 0, which all use\n";
const char* const memory_function = R"(// Memory that members share: that of the first one.
[[maybe_unused]] void* isamap_of_first(const isamap_member& member, void* own) {
  if (member.members < 2) return own;
  if (member.number == 0) member.team->memory.store(own);
  isamap_wait_for_all(member);
  void* const first = member.team->memory.load();
  isamap_wait_for_all(member);  // all have read it before it changes
  return first;
}

)";

void replace_once(std::string& text, const std::string& word, const std::string& by) {
  text.replace(text.find(word), word.size(), by);
}

const Threads* threads_in(const HardwareModel& machine) {
  for (const Unit& unit : machine.units())
    if (!unit.threads.loop.empty()) return &unit.threads;
  return nullptr;
}

}  // namespace

std::int64_t threads_of(const HardwareModel& machine) {
  std::int64_t count = 1;
  for (const Unit& unit : machine.units())
    if (!unit.threads.loop.empty()) count *= unit.count;
  return count;
}

bool distributes(const std::vector<Node>& nodes, const HardwareModel& machine) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is))
      return loop->trip > 1 && (in_threads(*loop, machine) || distributes(loop->body, machine));
    const auto* guard = std::get_if<Guard>(&node.is);
    return guard != nullptr && (distributes(guard->then, machine) || distributes(guard->otherwise, machine));
  });
}

std::string alone_text(const std::string& statements) {
  return fmt::format("  if ({}.number == 0) {{\n{}  }}\n  {}\n", member_name, statements, wait_for_all);
}

std::string team_text(const HardwareModel& machine, TeamMemory memory) {
  const Threads* const threads = threads_in(machine);
  std::string text = team_lines;
  const bool own = memory == TeamMemory::of_parts;
  replace_once(text, "MEMBER", own ? memory_member : "");
  replace_once(text, "FUNCTION", own ? memory_function : "");
  const std::string word = "    WAIT\n";
  const std::string by = threads == nullptr || threads->wait.empty() ? "" : "    " + threads->wait + "\n";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

}  // namespace isamap
