// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command-line options that several verbs or their helpers read, as plain values. What one verb alone reads stays in
// its file (cli/command_line.h).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontends/model.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"

namespace isamap::cli {

/// Of `lab`, `replay` and the store of trials.
struct LabOptions {
  std::string strategies;  ///< a,b:key=value,c; empty: all heuristics
  std::int64_t seeds = 15;
  std::string file;            ///< trials, or a store
  std::string store;           ///< --store
  std::int64_t run = 0;        ///< replay, csv: number of a run of the store; 0: the last one
  std::int64_t measured = 12;  ///< tune: candidates of each statement that are executed
};

/// How a model (.onnx) is imported and run, as written.
struct ModelFlags {
  std::string sizes, fix, until, constants;  ///< batch=1,seq=128; sr=16000; names
  std::string plan;                          ///< run, emit, explain: file of a plan; "search"
  std::optional<double> band_gain;           ///< percent that a group of bands must save
  std::string inputs;                        ///< run: .npz, .npy, or folder of input_N.pb and output_N.pb
  std::string outputs;                       ///< run: .npz or .npy
  bool interpret = false;                    ///< run: by the interpreter
  bool profile = false;                      ///< run: the time of each part
  std::int64_t threads = 0;                  ///< run, emit, explain: of the emitted program; 0: as the machine's file
  bool of_all_sizes = false;                 ///< not a flag: as ModelOptions has it
  ValuesOfSizes of_sizes = {};               ///< the same
};

struct Options {
  std::set<std::string> given;  ///< flags that the command line has: "--plan"
  ModelFlags onnx;
  bool json = false;
  std::string output;  ///< -o; empty: stdout
  std::uint64_t seed = 0;
  std::map<std::string, std::string> params;    ///< --set name=value
  std::map<std::string, std::string> params_b;  ///< hw diff: --set-b, of the second machine only
  bool in_order = false;                        ///< --no-reorder

  std::string target;                 ///< path, or name of a model
  std::string kernel_file;            ///< or model.onnx for `extract`
  std::string compute, dims, dtypes;  ///< the one-line form

  MapOptions map;
  bool count = false;  ///< map: only the number
  ScheduleOptions schedule;
  bool objective_given = false;  ///< otherwise energy-delay where the model states energies, else cycles
  bool strategy_given = false, evaluations_given = false;  ///< --strategy, --budget evals=N
  bool budget_given = false;
  std::string schedule_file;
  std::string cost = "closed_form";  ///< --cost NAME
  StrategyOptions cost_options;      ///< key=value of --cost NAME:key=value,...
  bool explain = false;              ///< evaluate, schedule: cost breakdown
  std::string trace;                 ///< evaluate, schedule: file of trace events
  bool certify = false;
  bool strict_float = false;  ///< refuse programs that assume finite inputs

  std::string report;              ///< extract, coverage, hw diff, evaluate, schedule: HTML file
  std::string suite;               ///< coverage, hw diff: folder of kernels
  bool program = false;            ///< emit: the program instead of target text
  bool check = false;              ///< emit: run the program first
  EmitOptions emit;                ///< emit: --workspace, --header, --test
  std::vector<std::string> files;  ///< hw check; hw diff: the two
  std::int64_t samples = 64;       ///< hw verify: vectors for each program
  std::string record, replay;      ///< hw verify: file of what instructions computed
  std::string bundle, import;      ///< hw verify: folder of programs for another machine
  bool no_code = false;            ///< hw verify --bundle: kernels are not compiled here
  LabOptions lab;
};

}  // namespace isamap::cli
