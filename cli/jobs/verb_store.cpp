// SPDX-License-Identifier: Apache-2.0
// isamap merge, store export, store index: stores of records put together, and as other formats.

#include <fmt/format.h>

#include <memory>

#include "cli/command_line.h"
#include "cli/jobs/work_flags.h"
#include "cli/json.h"
#include "jobs/export.h"

namespace isamap::cli {
namespace {

Exit verb_merge(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "a folder for the merged store is expected", "-o DIR");
  std::vector<jobs::JobStore> stores;
  for (const std::string& path : options.files) {
    auto store = open_jobs(path, false);
    if (!store) return Exit::wrong_input;
    stores.push_back(std::move(*store));
  }
  auto into = open_jobs(options.output, true);
  if (!into) return Exit::wrong_input;
  std::vector<jobs::JobStore*> from;
  for (jobs::JobStore& store : stores) from.push_back(&store);
  const auto merged = jobs::merge(from, *into);
  if (!merged) return fail(Exit::wrong_input, merged.diagnostics());
  if (!merged->damaged.empty()) fail(Exit::ok, merged->damaged);
  Options to_stdout = options;
  to_stdout.output.clear();
  return deliver(to_stdout,
                 options.json
                     ? json_of_rows("merged", {{"records", "new", "jobs"},
                                               {std::to_string(merged->records), std::to_string(merged->new_records),
                                                std::to_string(into->jobs().size())}})
                     : fmt::format("{}: {} jobs; {} of {} records were new\n", options.output, into->jobs().size(),
                                   merged->new_records, merged->records));
}

struct ExportFlags {
  std::string store, csv, parquet;
  bool sorted = false;
};

Exit verb_export(const Options& options, const ExportFlags& flags) {
  if (!flags.parquet.empty() && !jobs::parquet_supported())
    return fail(Exit::missing, jobs::write_parquet({}, flags.parquet));
  const auto store = open_jobs(flags.store, false);
  if (!store) return Exit::wrong_input;
  if (flags.csv.empty() && flags.parquet.empty()) {
    const auto text = flags.sorted ? jobs::sorted_lines(*store) : jobs::lines(*store);
    if (!text) return fail(Exit::wrong_input, text.diagnostics());
    return deliver(options, options.json ? json_of_texts({{"records", *text}}) : *text);
  }
  const auto rows = jobs::rows_of(*store);
  if (!rows) return fail(Exit::wrong_input, rows.diagnostics());
  if (!flags.csv.empty())
    if (const auto written = write_file(flags.csv, jobs::csv(*rows, flags.sorted)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  if (!flags.parquet.empty())
    if (const Diagnostics failed = jobs::write_parquet(*rows, flags.parquet); has_errors(failed))
      return fail(Exit::wrong_input, failed);
  return deliver(
      options,
      fmt::format(fmt::runtime(options.json ? "{{\n  \"schema_version\": 1,\n  \"records\": {}\n}}\n" : "{} records\n"),
                  rows->size()));
}

Exit verb_index(const Options& options, const std::string& path) {
  const auto store = open_jobs(path, false);
  if (!store) return Exit::wrong_input;
  const std::string file = options.output.empty() ? path + "/index.db" : options.output;
  const auto rows = jobs::rows_of(*store);
  if (!rows) return fail(Exit::wrong_input, rows.diagnostics());
  if (const Diagnostics failed = jobs::write_index(*rows, file); has_errors(failed))
    return fail(Exit::wrong_input, failed);
  Options to_stdout = options;
  to_stdout.output.clear();
  return deliver(to_stdout,
                 options.json ? json_of_texts({{"index", file}}) : fmt::format("{}: {} records\n", file, rows->size()));
}

}  // namespace

std::vector<VerbRow> verbs_store() {
  const auto flags_of = std::make_shared<ExportFlags>();
  return {{430, "merge", "one store out of several",
           [](Flags& flags) {
             flags.texts("DIR", flags.options.files, "stores of records").required();
             flags.known("-o").describe("folder of the merged store; it may be one that is there");
           },
           verb_merge, true},
          {431, "store", "stores of records as other formats", {}, {}},
          {432, "store export", "records as JSON lines, CSV or Parquet",
           [=](Flags& flags) {
             flags.text("DIR", flags_of->store, "a store").required();
             flags.on("--sorted", flags_of->sorted,
                      "by key, and only what is a function of the job: to compare stores");
             flags.text("--csv", flags_of->csv, "write CSV to FILE");
             flags.text("--parquet", flags_of->parquet, "write Parquet to FILE (needs Arrow's C++ library)");
           },
           [=](const Options& options) { return verb_export(options, *flags_of); }},
          {433, "store index", "make an SQLite table of all records (-o FILE, default DIR/index.db)",
           [=](Flags& flags) { flags.text("DIR", flags_of->store, "a store").required(); },
           [=](const Options& options) { return verb_index(options, flags_of->store); }}};
}

}  // namespace isamap::cli
