// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/command_stream.h"

#include <algorithm>

#include "backends/assembly/command_text.h"
#include "backends/assembly/state_variants.h"
#include "ir/operand_use.h"

namespace isamap {
namespace {

std::optional<std::int64_t> find(const KnownState& state, const std::string& field) {
  const auto found = state.find(field);
  return found == state.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

CommandStream::CommandStream(const Program& program, const HardwareModel& model, std::vector<CallTokens> plan)
    : program_(program),
      model_(model),
      plan_(std::move(plan)),
      loop_count_(LoopSlots(program).names().size()),
      known_(reset_values(model)) {}

void CommandStream::line(const std::string& text) { (held_ ? behind_held_ : text_) += text + "\n"; }

Result<std::string> CommandStream::finish() {
  if (auto problem = release()) return *problem;
  return std::move(text_);
}

std::optional<Diagnostic> CommandStream::command(const CallSite& site, const std::int64_t* loops) {
  static const CallTokens none;
  const CallTokens& planned = calls_ < plan_.size() ? plan_[calls_] : none;
  ++calls_;
  for (const NoOp& noop : planned.before)
    if (auto problem = print(noop)) return problem;
  token_lines(planned.tokens.pop, "pop");
  auto problem = put(site, loops, planned.tokens);
  token_lines(planned.tokens.push, "push");
  return problem;
}

/// Tokens that are separate commands; the others are part of the command's text.
void CommandStream::token_lines(const std::vector<std::string>& objects, const std::string& what) {
  for (const std::string& name : objects)
    for (const AsyncObject& object : model_.async_objects())
      if (const auto text = object.texts.find(what); object.name == name && text != object.texts.end())
        line(text->second);
}

std::optional<Diagnostic> CommandStream::print(const NoOp& noop) {
  token_lines(noop.tokens.pop, "pop");
  auto text = command_text(
      *noop.instruction, model_, [&](const Reference& r) { return token_flag(r, noop.tokens); },
      [](const Reference&) { return std::string(); });
  if (!text) return text.diagnostics().front();
  line(*text);
  token_lines(noop.tokens.push, "push");
  return std::nullopt;
}

std::optional<Diagnostic> CommandStream::put(const CallSite& site, const std::int64_t* loops, const Tokens& tokens) {
  auto choice = choose(site, loops);
  if (!choice) return choice.diagnostics().front();
  decide(choice->needed);
  for (const SetterUse& setter : choice->setters)
    if (auto problem = print(setter)) return problem;
  known_ = std::move(choice->after);
  const Instruction& instruction = *choice->instruction;
  if (instruction.sets.empty()) return print(Use{instruction, site, loops, known_, {}, tokens});
  const KnownState before = known_;
  Fields fields;
  for (const StateValue& set : instruction.sets)
    for (const std::string& field : field_instances(model_, set.field)) {
      known_.erase(field);
      const auto value =
          set.any ? std::nullopt
                  : evaluate(set.value, [&](const Reference& r) { return value_of(r, site, program_, model_, loops); });
      if (value) known_[field] = *value;
      if (set.any) fields[field] = std::nullopt;
    }
  if (fields.empty()) return print(Use{instruction, site, loops, before, fields, tokens});
  if (auto problem = release()) return problem;
  held_ = Held{&instruction, site, {loops, loops + loop_count_}, before, std::move(fields), &tokens};
  return std::nullopt;
}

const std::vector<const Instruction*>& CommandStream::twins(const Instruction& instruction) {
  const auto [found, fresh] = twins_.try_emplace(&instruction);
  if (!fresh) return found->second;
  found->second = program_.as_named ? std::vector{&instruction} : twins_of(instruction, model_);
  return found->second;
}

Result<CommandStream::Choice> CommandStream::choose(const CallSite& site, const std::int64_t* loops) {
  std::optional<Choice> best;
  Diagnostics problems;
  for (const Instruction* instruction : twins(*site.instruction)) {
    auto choice = choice_of(*instruction, site, loops);
    if (!choice)
      problems.push_back(choice.diagnostics().front());
    else if (!best || choice->setters.size() < best->setters.size())
      best = std::move(*choice);
  }
  if (!best) return problems.front();
  return std::move(*best);
}

Result<CommandStream::Choice> CommandStream::choice_of(const Instruction& instruction, const CallSite& site,
                                                       const std::int64_t* loops) const {
  auto needed =
      needed_state(instruction, model_, [&](const Reference& r) { return value_of(r, site, program_, model_, loops); });
  if (!needed) return needed.diagnostics();
  Choice choice{&instruction, std::move(*needed), known_, {}};
  if (held_)
    for (const auto& [field, value] : held_->fields)
      if (const auto need = find(choice.needed, field); need && !value && !known_.contains(field))
        choice.after[field] = *need;
  auto setters = place_setters(
      model_, choice.needed, [&](const std::string&) { return instruction.name; }, choice.after);
  if (!setters) return setters.diagnostics();
  choice.setters = std::move(*setters);
  return choice;
}

/// The deferred command sets its free fields to the values needed now.
void CommandStream::decide(const KnownState& needed) {
  if (!held_) return;
  for (auto& [field, value] : held_->fields)
    if (!value && !known_.contains(field)) value = find(needed, field);
}

std::optional<Diagnostic> CommandStream::release() {
  if (!held_) return std::nullopt;
  const Held held = std::move(*held_);
  held_.reset();
  const std::string behind = std::move(behind_held_);
  behind_held_.clear();
  const auto problem =
      print(Use{*held.instruction, held.site, held.loops.data(), held.known, held.fields, *held.tokens});
  text_ += behind;
  return problem;
}

std::optional<Diagnostic> CommandStream::print(const Use& use) {
  const auto value = [&](const Reference& r) -> std::optional<std::int64_t> {
    if (const auto flag = token_flag(r, use.tokens)) return flag;
    if (const auto of_call = value_of(r, use.site, program_, model_, use.loops)) return of_call;
    const auto known = find(use.known, field_name(r));
    const auto field = use.fields.find(field_name(r));
    return field == use.fields.end() ? known : field->second ? field->second : known.value_or(0);
  };
  auto text = command_text(use.instruction, model_, value, [&](const Reference& r) { return spelled(r, use); });
  if (!text) return text.diagnostics().front();
  line(*text);
  return std::nullopt;
}

std::optional<Diagnostic> CommandStream::print(const SetterUse& use) {
  const auto value = [&](const Reference& r) {
    const auto own = find(use.values, field_name(r));
    return own ? own : find(known_, field_name(r));
  };
  auto text = command_text(*use.setter, model_, value, [](const Reference&) { return std::string(); });
  if (!text) return text.diagnostics().front();
  line(*text);
  for (const auto& [field, set] : use.values) known_[field] = set;
  return std::nullopt;
}

/// A register name from the memory's `spelling`: `v3`.
std::string CommandStream::spelled(const Reference& r, const Use& use) const {
  if (!r.property.empty()) return "";
  const Call& call = *use.site.call;
  const int access = access_named(use.instruction, call, r.object);
  const Ref* ref = r.object == "mask" ? mask_of(use.instruction, call, r.argument)
                   : access < 0       ? nullptr
                                      : &call.operands[static_cast<std::size_t>(access)];
  if (ref == nullptr || !ref->buffer.valid()) return "";
  const Memory& memory = model_.memory(program_.buffers[ref->buffer.index()].memory);
  std::string text = memory.print;
  const std::size_t at = text.find("{index}");
  if (!memory.is_register() || at == std::string::npos) return "";
  return text.replace(at, 7, std::to_string(value_of(r, use.site, program_, model_, use.loops).value_or(0)));
}

}  // namespace isamap
