// SPDX-License-Identifier: Apache-2.0
// Measures kernels and instructions on a GPU with a self-contained bundle, a folder (docs/gpu.md, "Measuring").
//
//   bench_gpu [--target HW] [--isamap PROGRAM] [--small] [--no-code]   writes a bundle below build/ and runs it here
//   bench_gpu --bundle DIR ...                                         only writes it
//   bench_gpu --import DIR [--store FILE] [--record FILE] ...          imports the results
//
// Exit codes are those of isamap; 77: no GPU here.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "backends/common/process.h"
#include "backends/cuda/device_run.h"
#include "bench/gpu/bundle.h"
#include "bench/gpu/renewal.h"

namespace isamap::bench {
namespace {

struct Asked {
  BundleOptions bundle;
  std::string isamap, import, store, record, instruction;
  bool only_write = false;
};

[[noreturn]] void stop(int code, const std::string& why) {
  std::fputs((why + "\n").c_str(), stderr);
  std::exit(code);
}

constexpr const char* usage = R"(bench_gpu [OPTIONS]     measures the GPU of this machine
  --bundle DIR         only writes the folder that does so elsewhere: DIR/run.sh
  --import DIR         takes the results of such a folder back
  --store FILE         the store of trials that times go to (default DIR/store.db)
  --record FILE        what instructions computed, for ever
  --target HW          the described machine (default: the GPU here, else the newest)
  --family TEXT        only cases whose family begins so
  --instruction NAME   only this one
  --folder DIR         where it works (default build/bench_gpu_bundle)
  --isamap PROGRAM     writes and reads the programs of instructions; without it they are left out
  --small              small cases, for a try
  --no-code            no code for the GPU is made here
)";

Asked read(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) stop(2, word + " needs a value");
      return argv[++i];
    };
    if (word == "--bundle")
      asked.bundle.folder = value(), asked.only_write = true;
    else if (word == "--folder")
      asked.bundle.folder = value();
    else if (word == "--import")
      asked.import = value();
    else if (word == "--store")
      asked.store = value();
    else if (word == "--record")
      asked.record = value();
    else if (word == "--target")
      asked.bundle.target = value();
    else if (word == "--family")
      asked.bundle.family = value();
    else if (word == "--instruction")
      asked.instruction = value();
    else if (word == "--isamap")
      asked.isamap = value();
    else if (word == "--small")
      asked.bundle.small = true;
    else if (word == "--no-code")
      asked.bundle.code = false;
    else if (word == "--help" || word == "-h")
      std::fputs(usage, stdout), std::exit(0);
    else
      stop(2, fmt::format("'{}' is no option\n{}", word, usage));
  }
  return asked;
}

const std::vector<std::string> models{ISAMAP_SOURCE_DIR "/hardware_models"};

/// The model of the local GPU; otherwise the newest model.
std::string usual_target() {
  const std::vector<std::string> known{"nvidia_sm90a", "nvidia_sm80"};
  for (const std::string& name : known)
    if (const auto loaded = load_hardware(name, models); loaded && no_device_for(loaded->model).empty()) return name;
  return known.front();
}

constexpr const char* only_one = "instruction";  ///< the only one whose programs are in the folder

/// Runs the `isamap` program, its output on stderr.
int isamap(const Asked& asked, std::vector<std::string> words) {
  if (asked.isamap.empty()) {
    fmt::print(stderr, "instructions are left out: --isamap names the program that writes and reads them\n");
    return 0;
  }
  words.insert(words.begin(), asked.isamap);
  words.insert(words.end(), {"--samples", "8"});  // vectors per instruction and extent: a megabyte of record in total
  if (!asked.instruction.empty()) words.insert(words.end(), {"--instruction", asked.instruction});
  constexpr double at_most = 900;
  const TemporaryDirectory log;
  const auto ran = run_process(words, {at_most, 0, 0}, log.path() / "log");
  const std::size_t last = ran.output.rfind('\n', ran.output.size() - std::min<std::size_t>(2, ran.output.size()));
  fmt::print(stderr, "{}", ran.exit_code == 0 && last != std::string::npos ? ran.output.substr(last + 1) : ran.output);
  return ran.exit_code;
}

int write(const Asked& asked) {
  const auto target = load_hardware(asked.bundle.target, models);
  if (!target) stop(1, render(target.diagnostics()));
  if (!asked.instruction.empty() && !target->model.find_instruction(asked.instruction))
    stop(2,
         fmt::format("'{}' has no instruction '{}': isamap hw show lists them", target->model.name, asked.instruction));
  if (const Diagnostics problems = not_a_bundle(asked.bundle.folder); has_errors(problems)) stop(1, render(problems));
  std::error_code failed;
  std::filesystem::create_directories(asked.bundle.folder, failed);
  if (failed) stop(1, fmt::format("{} cannot be made: {}", asked.bundle.folder.string(), failed.message()));
  if (const Diagnostics problems = write_bundle(*target, asked.bundle); has_errors(problems)) stop(1, render(problems));
  std::vector<std::string> words{"hw", "verify", asked.bundle.target, "--bundle",
                                 (asked.bundle.folder / "instructions").string()};
  if (!asked.bundle.code) words.emplace_back("--no-code");
  // The import must select the same programs.
  if (!asked.instruction.empty())
    write_file(asked.bundle.folder / only_one, asked.instruction.data(), asked.instruction.size());
  else
    std::filesystem::remove(asked.bundle.folder / only_one, failed);
  return isamap(asked, words);
}

int import(Asked asked) {
  const std::filesystem::path folder = asked.import;
  if (asked.instruction.empty()) asked.instruction = read_file(folder / only_one, 4096);
  if (!std::filesystem::is_directory(folder)) stop(1, fmt::format("there is no folder '{}'", folder.string()));
  int code = 0;
  if (std::filesystem::exists(folder / "instructions")) {
    std::vector<std::string> words{"hw", "verify", asked.bundle.target, "--import", (folder / "instructions").string()};
    if (!asked.record.empty()) words.insert(words.end(), {"--record", asked.record});
    code = isamap(asked, words);
  }
  if (const Diagnostics problems =
          import_bundle(folder, asked.store.empty() ? (folder / "store.db").string() : asked.store);
      has_errors(problems))
    stop(1, render(problems));
  return code;
}

int main_of(int argc, char** argv) {
  Asked asked = read(argc, argv);
  if (!asked.import.empty()) {
    // The description that the kernels were compiled for, not the current file.
    if (asked.bundle.target.empty())
      asked.bundle.target = (std::filesystem::path(asked.import) / "target.yaml").string();
    return import(asked);
  }
  if (asked.bundle.target.empty()) asked.bundle.target = usual_target();
  if (asked.bundle.folder.empty()) asked.bundle.folder = "build/bench_gpu_bundle";
  const bool there = std::filesystem::exists(asked.bundle.folder / "manifest.jsonl");
  if (there && !asked.only_write)
    fmt::print(stderr, "continuing with {}; remove it to start over\n", asked.bundle.folder.string());
  if (asked.only_write || !there)
    if (const int code = write(asked); code != 0) return code;
  const auto target = load_hardware(asked.bundle.target, models);
  if (!target) stop(1, render(target.diagnostics()));
  const std::string place = std::filesystem::absolute(asked.bundle.folder).string();
  if (asked.only_write) {
    fmt::print("{}\nrun {}/run.sh where a GPU is, then: ./dev bench gpu --import {}\n", place, place, place);
    return 0;
  }
  if (const std::string why = no_device_for(target->model); !why.empty()) {
    fmt::print(
        "not measured here: {}\nthe bundle is in {}: run its run.sh where a GPU is, then ./dev bench gpu --import {}\n",
        why, place, place);
    return 77;
  }
  const int ran = std::system(fmt::format("bash '{}/run.sh'", place).c_str());
  const int code = WIFEXITED(ran) ? WEXITSTATUS(ran) : 1;
  asked.import = place;
  return std::filesystem::exists(asked.bundle.folder / "results" / "time") ? std::max(code, import(asked)) : code;
}

}  // namespace
}  // namespace isamap::bench

int main(int argc, char** argv) { return isamap::bench::main_of(argc, argv); }
