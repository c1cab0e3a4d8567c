// SPDX-License-Identifier: Apache-2.0
// isamap plan lab|tune|sweep: a list of jobs that any number of processes can do (docs/clusters.md).

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/device.h"
#include "cli/jobs/kinds.h"
#include "cli/lab_file.h"
#include "jobs/device.h"

namespace isamap::cli {
namespace {

Exit write_plan(const char* kind, const PlanRequest& request) {
  Exit code = Exit::ok;
  const auto plan = plan_of(kind, request, code);
  if (!plan) return code;
  tell("plan: " + counted(plan->jobs.size(), "job"));
  return deliver(request.options, print(*plan), Exit::ok);
}

Exit plan_tuning(const Options& given, const std::string& seeds, const std::string& device) {
  Options options = given;
  options.lab.seeds = 1;
  const auto [end, wrong] = std::from_chars(seeds.data(), seeds.data() + seeds.size(), options.lab.seeds);
  if (!seeds.empty() && (wrong != std::errc() || end != seeds.data() + seeds.size() || options.lab.seeds < 1 ||
                         options.lab.seeds > 100'000))
    return fail(Exit::usage, "--seeds: '" + seeds + "' is no whole number from 1 to 100000");
  if (!device.empty() && device != "here" && !jobs::is_device_key(device))
    return fail(Exit::usage, "--device: '" + device + "' is no key of a machine: those have 16 hexadecimal digits",
                "--device here; `isamap status PLAN --store DIR` prints the keys of those that have measured");
  return write_plan("tune", {options, device == "here" ? device_here() : device});
}

}  // namespace

std::vector<VerbRow> verbs_plan() {
  const auto seeds = std::make_shared<std::string>(), device = std::make_shared<std::string>();
  return {
      {410, "plan", "a list of jobs for many processes or machines: `work` does them", {}, {}},
      {411, "plan lab", "the trials of `lab run`: one job for each instance, strategy and seed",
       [](Flags& flags) { add_lab_run_flags(flags); },
       [](const Options& options) {
         return write_plan("lab", {options, ""});
       }},
      {412, "plan tune", "searches of each statement, then measurements of their best candidates, one job each",
       [=](Flags& flags) {
         flags.kernel();
         flags.target();
         flags.mapping();
         flags.text("--strategies", flags.options.lab.strategies, "NAME:key=value:...,NAME,... (default: annealing)");
         flags.text("--seeds", *seeds, "searches with each strategy (default 1)");
         flags.text("--budget", flags.written.budget, "evals=N: of each search (default 1000)");
         flags.text("--space", flags.written.space, "dividing,keep-all,single-buffered,double-buffered");
         flags.text("--measured", flags.written.measured,
                    "candidates of each statement that are executed (default 12)");
         flags.text("--device", *device,
                    "key of the only machine that measures (`isamap status` prints them), or `here`; default: any");
       },
       [=](const Options& options) { return plan_tuning(options, *seeds, *device); }},
      {413, "plan sweep", "every kernel on every combination of parameters of a hardware file",
       [](Flags& flags) {
         flags.texts("KERNEL", flags.options.files, "kernel files (YAML), models (.onnx), folders of them").required();
         flags.text("--target", flags.options.target, "HW: a file, or a name in hardware_models").required();
         flags.texts("--set", flags.written.params, "name=value,value,...: a parameter, with all its values");
         flags.rule();
         flags.objective();
         flags.text("--strategy", flags.written.strategy,
                    "NAME:key=value,... of the searches (default: exact where it applies, else genetic)");
         flags.text("--budget", flags.written.budget, "evals=N: of each search by a strategy (default 300)");
       },
       [](const Options& options) {
         return write_plan("sweep", {options, ""});
       }}};
}

}  // namespace isamap::cli
