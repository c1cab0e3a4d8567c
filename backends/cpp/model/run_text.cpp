// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/run_text.h"

namespace isamap {
namespace {

const char* const signature = R"(
extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena))";

const char* const check_lines =
    R"(fixed|  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
sized|  if (model == nullptr || sizes == nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
POINTERS
sized|  if (!sizes_fit(sizes, true)) return NAME_wrong_size;
)";

const char* const slots_lines = R"(sized|  std::size_t slots[COUNT];
sized|  const std::size_t bytes = place_slots(sizes, slots);
sized|  if (own_arena == nullptr && !grow(model, bytes)) return NAME_no_memory;
)";

/// Times of calls and what observes them, if the profile is compiled in. COUNTED: is this the time of the model's own
/// arena, counted by this thread?
const char* const profile_lines = R"(#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_COUNT(part) \
  if (COUNTED) { \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }
OBSERVERS
#else
#define NAME_COUNT(part)
fixed|#define NAME_AFTER(part)
sized|#define NAME_RESULT(part, at, bytes)
#endif
)";

const char* const observers_of_thread = R"(fixed|#define NAME_AFTER(part) \
fixed|  NAME_COUNT(part) \
fixed|  if (own_arena == nullptr) { \
fixed|    if (model->after != nullptr) model->after(model->user, part, arena); \
fixed|    begun = isamap_now(); \
fixed|  }
sized|#define NAME_RESULT(part, at, bytes) \
sized|  if (own_arena == nullptr && model->after != nullptr) model->after(model->user, part, at, bytes); \
sized|  begun = isamap_now();
)";

const char* const observers_of_team = R"(fixed|#define NAME_AFTER(part) \
fixed|  NAME_COUNT(part) \
fixed|  if (!call.own_arena) { \
fixed|    if (team.number == 0) { \
fixed|      if (model->after != nullptr) model->after(model->user, part, arena); \
fixed|      begun = isamap_now(); \
fixed|    } \
fixed|    if (model->after != nullptr) isamap_wait_for_all(team); \
fixed|  }
sized|#define NAME_RESULT(part, at, bytes) \
sized|  if (!call.own_arena && model->after != nullptr) { \
sized|    if (team.number == 0) model->after(model->user, part, at, bytes); \
sized|    isamap_wait_for_all(team); \
sized|  } \
sized|  begun = isamap_now();
)";

const char* const thread_lines = R"( {
CHECKS
NUMBERS
SLOTS
  char* const arena = static_cast<char*>(own_arena == nullptr ? model->arena : own_arena);
  const unsigned char* const weights = model->weights;
  (void)arena;
  (void)weights;
PROFILE
CALLS
  return NAME_ok;
}
)";

const char* const member_lines = R"(
namespace {

struct NAME_call {
  NAME* model;
sized|  const std::int64_t* sizes;
sized|  const std::size_t* slots;
  const void* const* inputs;
  void* const* outputs;
  char* arena;
  bool own_arena;
};

void NAME_parts(const void* given, isamap_member team, int from) {
  const NAME_call call = *static_cast<const NAME_call*>(given);
  NAME* const model = call.model;
sized|  const std::int64_t* const sizes = call.sizes;
sized|  const std::size_t* const slots = call.slots;
  const void* const* const inputs = call.inputs;
  void* const* const outputs = call.outputs;
  char* const arena = call.arena;
  const unsigned char* const weights = model->weights;
sized|  (void)slots;
  (void)inputs;
  (void)outputs;
  (void)arena;
  (void)weights;
NUMBERS
PROFILE
FILLS
  switch (from) {
CALLS
  }
}

}  // namespace
)";

const char* const taken_lines = R"( {
CHECKS
SLOTS
  const NAME_call call{model, GIVENinputs, outputs, static_cast<char*>(own_arena == nullptr ? model->arena : own_arena),
                       own_arena != nullptr};
  const isamap_member team = isamap_take(&model->team);
  NAME_parts(&call, team, 0);
  isamap_release(team);
  return NAME_ok;
}
)";

}  // namespace

std::string run_text(const RunText& run) {
  std::string text =
      run.team ? std::string(member_lines) + signature + taken_lines : std::string(signature) + thread_lines;
  replace_all(text, "CHECKS\n", check_lines);
  replace_all(text, "SLOTS\n", slots_lines);
  replace_all(text, "PROFILE\n", profile_lines);
  replace_all(text, "OBSERVERS\n", run.team ? observers_of_team : observers_of_thread);
  text = lines_for(run.kind, text);
  replace_all(text, "COUNTED", run.team ? "!call.own_arena && team.number == 0" : "own_arena == nullptr");
  replace_all(text, "GIVEN", run.kind == ModelKind::sized ? "sizes, slots, " : "");
  replace_all(text, "slots[COUNT]", "slots[" + std::to_string(run.slots) + "]");
  replace_all(text, "NUMBERS\n", run.numbers);
  replace_all(text, "FILLS\n", run.fills);
  replace_all(text, "POINTERS\n", run.checks);
  replace_all(text, "CALLS\n", run.calls);
  return text;
}

}  // namespace isamap
