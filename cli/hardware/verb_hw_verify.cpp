// SPDX-License-Identifier: Apache-2.0
// isamap hw verify: executes each instruction in isolation and compares with its described semantics.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "backends/cuda/device_program.h"
#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/json_internal.h"
#include "driver/execute.h"
#include "hwdesc/model/program_language.h"
#include "mapper/mapping_names.h"
#include "support/yaml.h"
#include "verify/verify.h"

namespace isamap::cli {
namespace {

using Verdict = VerifiedInstruction::Verdict;

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return "equal";
    case Verdict::differs:
      return "differs";
    case Verdict::failed:
      return "failed";
    default:
      return "not isolated";
  }
}

std::int64_t count(const Verification& done, Verdict verdict) {
  return std::count_if(done.instructions.begin(), done.instructions.end(),
                       [&](const VerifiedInstruction& row) { return row.verdict == verdict; });
}

std::string not_run(const Verification& done) {
  if (!done.missing.empty()) return done.missing;
  return done.limit.empty() ? done.environment : done.limit;
}

Exit exit_of(const Verification& done) {
  if (!done.missing.empty()) return Exit::missing;
  if (!done.limit.empty()) return Exit::limit;
  if (!done.environment.empty()) return Exit::wrong_input;
  if (count(done, Verdict::differs) + count(done, Verdict::failed) > 0) return Exit::wrong_result;
  return count(done, Verdict::equal) > 0 ? Exit::ok : Exit::no_answer;
}

std::string text_of(const InstructionDifference& d) {
  std::string text = fmt::format("    at {}: found {}, expected {}", d.position, d.found, d.expected);
  if (d.wrong > 1) text += fmt::format(" (and {} more)", d.wrong - 1);
  text += "\n";
  for (const auto& [place, values] : d.operands) text += fmt::format("      {} = {}\n", place, values);
  return text + (d.cause.empty()
                     ? "    no other signs, saturation, layout or order of operands that was tried explains it\n"
                     : fmt::format("    likely cause: {}\n", d.cause));
}

std::string text_of(const Verification& done, const std::string& target) {
  std::string text;
  std::size_t width = 0;
  for (const VerifiedInstruction& row : done.instructions) width = std::max(width, row.name.size());
  for (const VerifiedInstruction& row : done.instructions) {
    text += fmt::format("{:<{}}  {:<12}", row.name, width, word(row.verdict));
    if (row.verdict == Verdict::equal)
      text += fmt::format("  {} results, {}", row.values,
                          row.bound.empty() ? "bit for bit" : "within a bound (" + row.bound + ")");
    if (row.verdict == Verdict::not_isolated)
      text += "  " + row.why + (row.seen_through.empty() ? "" : "; seen through " + row.seen_through);
    if (row.verdict == Verdict::failed) text += "  " + row.why;
    if (row.verdict == Verdict::differs && !row.what.empty()) text += "  " + row.what;
    text += "\n";
    if (row.difference) text += text_of(*row.difference);
  }
  text += fmt::format("{}: {} of {} instructions executed ({}), {} equal, {} wrong\n", target,
                      count(done, Verdict::equal) + count(done, Verdict::differs) + count(done, Verdict::failed),
                      done.instructions.size(), executed_text(done.executed, done.simulator, done.simulator_seconds),
                      count(done, Verdict::equal), count(done, Verdict::differs) + count(done, Verdict::failed));
  return text;
}

Json json_of(const InstructionDifference& d) {
  Json operands = Json::array();
  for (const auto& [place, values] : d.operands) operands.push_back({{"place", place}, {"values", values}});
  return {{"position", d.position}, {"found", d.found},     {"expected", d.expected},
          {"wrong", d.wrong},       {"operands", operands}, {"cause", d.cause}};
}

std::string json_of(const Verification& done, const Options& options) {
  Json json = document();
  json["target"] = options.target;
  json["executed"] = name(done.executed);
  if (!done.simulator.empty()) {
    json["simulator"] = done.simulator;
    json["simulator_seconds"] = number(done.simulator_seconds);
  }
  if (const std::string why = not_run(done); !why.empty()) json["why"] = why;
  json["samples"] = options.samples;
  json["seed"] = options.seed;
  json["equal"] = count(done, Verdict::equal);
  json["wrong"] = count(done, Verdict::differs) + count(done, Verdict::failed);
  json["instructions"] = Json::array();
  for (const VerifiedInstruction& row : done.instructions) {
    Json one{{"name", row.name}, {"verdict", word(row.verdict)}, {"cases", row.cases}, {"results", row.values}};
    one["exact"] = row.bound.empty();
    if (!row.bound.empty()) one["bound"] = row.bound;
    if (!row.why.empty()) one["why"] = row.why;
    if (!row.seen_through.empty()) one["seen_through"] = row.seen_through;
    if (!row.what.empty()) one["case"] = row.what;
    if (row.difference) one["difference"] = json_of(*row.difference);
    json["instructions"].push_back(std::move(one));
  }
  return cli::text_of(json);
}

/// The machine of a folder of results, from the probe output next to its programs.
std::string machine_of(const std::string& folder) {
  const auto probe = yaml::read_text_file((std::filesystem::path(folder) / "../results/probe.json").string());
  const Json json = probe ? Json::parse(*probe, nullptr, false) : Json();
  return json.is_object() && json.contains("name") && json["name"].is_string() ? json["name"].get<std::string>()
                                                                               : "another machine";
}

constexpr std::size_t largest_record = std::size_t{1} << 30;  ///< bytes; wide instructions make hundreds of megabytes

/// A record is not overwritten if it has results of instructions that this run lacks.
Diagnostics would_lose(const std::string& path, const Recording& record) {
  if (record.cases.empty()) return {error(fmt::format("nothing was executed, so {} is not written", path))};
  if (!std::filesystem::exists(path)) return {};
  const auto text = yaml::read_text_file(path, largest_record);
  const auto before = text ? parse_recording(*text, path) : Result<Recording>(text.diagnostics());
  if (!before) return before.diagnostics();
  std::set<std::string> lost;
  for (const RecordedCase& one : before->cases) lost.insert(one.instruction);
  for (const RecordedCase& one : record.cases) lost.erase(one.instruction);
  if (lost.empty()) return {};
  return {error(fmt::format("{} has results of {} instruction{} that this run lacks, {} among them", path, lost.size(),
                            lost.size() == 1 ? "" : "s", *lost.begin()),
                "write to another file, or remove this one")};
}

Exit verb_hw_verify(const Options& options) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  VerifyOptions verify{options.map.instruction, options.samples, options.seed};
  Recording record{model->name, "", "", options.samples, {}}, replayed;
  if (!options.record.empty()) verify.record = &record;
  if (!options.replay.empty()) {
    const auto text = yaml::read_text_file(options.replay, largest_record);
    if (!text) return fail(Exit::wrong_input, text.diagnostics());
    auto parsed = parse_recording(*text, options.replay);
    if (!parsed) return fail(Exit::wrong_input, parsed.diagnostics());
    replayed = std::move(*parsed);
    verify.replay = &replayed;
    verify.samples = replayed.samples;
  }
  std::unique_ptr<Runner> elsewhere;
  if (!options.bundle.empty() || !options.import.empty()) {
    if (!has_thread_blocks(*model))
      return fail(Exit::wrong_input, fmt::format("programs of '{}' are not for a GPU", model->name),
                  "--bundle and --import are for machines whose file has language: cuda");
    elsewhere = options.import.empty() ? make_device_writer(*model, options.bundle)
                                       : make_device_reader(*model, options.import);
    verify.runner = elsewhere.get();
    constexpr std::size_t few = 6;  // limits the loss if a program fails there
    verify.at_once = few;
  }
  verify.tell = tell;
  Verification done = verify_instructions(*model, verify);
  if (!options.bundle.empty()) {
    const auto code = options.no_code ? Result<std::int64_t>(0) : make_device_code(*model, options.bundle);
    return deliver(options, options.json ? json_of_texts({{"bundle", options.bundle}})
                                         : fmt::format("{} programs in {}{}\n", done.programs, options.bundle,
                                                       code ? "" : "; " + code.diagnostics().front().message));
  }
  if (!options.import.empty()) done.executed = ExecutionMode::native;
  const Exit code = exit_of(done);
  record.executed = name(done.executed);
  record.machine = options.import.empty() ? availability(*model).why : "on " + machine_of(options.import);
  if (!options.record.empty() && code != Exit::missing) {
    if (const Diagnostics lost = would_lose(options.record, record); !lost.empty())
      return fail(Exit::wrong_input, lost);
    if (const auto written = write_file(options.record, print_recording(record)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  }
  if (const std::string why = not_run(done); !why.empty()) fail(code, "not run: " + why);
  return deliver(options, options.json ? json_of(done, options) : text_of(done, options.target), code);
}

}  // namespace

std::vector<VerbRow> verbs_hw_verify() {
  return {{150, "hw verify", "execute each instruction in isolation and compare with its description",
           [](Flags& flags) {
             Options& options = flags.options;
             flags.machine();
             flags.text("--instruction", options.map.instruction, "only this one");
             flags.text("--samples", flags.written.samples, "vectors for each program (default 64)");
             flags.text("--record", options.record, "write what the instructions computed to FILE");
             Flag replay = flags.text("--replay", options.replay, "compare with what a machine computed, from FILE");
             Flag bundle =
                 flags.text("--bundle", options.bundle, "write the programs to DIR instead, for a machine with a GPU");
             flags.on("--no-code", options.no_code, "--bundle: kernels are compiled where they run");
             const Flag from = flags.text("--import", options.import, "take what they computed there from DIR");
             replay.excludes(bundle).excludes(from);
             bundle.excludes(from);
           },
           verb_hw_verify}};
}

}  // namespace isamap::cli
