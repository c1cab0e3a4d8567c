// SPDX-License-Identifier: Apache-2.0
#pragma once
// Child processes with limits, and private temporary directories.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace isamap {

/// Exit code of a program that ends since something is missing here, such as memory of a GPU (`Exit::missing`).
inline constexpr int exit_missing = 77;

struct ProcessLimits {
  double seconds = 60;
  std::int64_t memory_bytes = 0;  ///< 0: not limited
  std::int64_t file_bytes = 0;
};

struct ProcessResult {
  bool started = false;  ///< the program could be executed
  bool timed_out = false;
  int exit_code = -1;  ///< -1: it did not exit
  int signal = 0;
  std::string output;  ///< stdout and stderr together, the first 16 KiB
};

/// Runs argv[0] (searched in PATH) in its own process group with empty input; the group is killed at the time
/// limit. Its TMPDIR is the folder of `output_file`.
ProcessResult run_process(const std::vector<std::string>& argv, const ProcessLimits& limits,
                          const std::filesystem::path& output_file);

/// Splits a command at blanks; quotes group. Nothing is expanded.
std::vector<std::string> split_command(const std::string& command);

/// The folders of PATH; without one, those of the system.
std::vector<std::string> folders_of_path();

/// Is this command a file in PATH (or a path) that can be executed?
bool command_exists(const std::string& command);

/// Installs handlers: SIGINT and SIGTERM kill all child processes and remove every TemporaryDirectory before this
/// process ends. Call once, before any thread starts. `handled`: asked first, in a thread of its own; true: this signal
/// only kills the children, also those started later, and the process continues.
void remove_temporary_files_on_signals(std::function<bool(int signal)> handled = {});

/// The same at once, without a signal: only _exit may follow.
void end_children_and_files();

/// A new directory with mode 0700; removed with its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  /// Its parent: $TMPDIR, else /tmp.
  static std::string parent();
  bool ok() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

bool write_file(const std::filesystem::path& path, const void* data, std::size_t size);
/// Nothing more than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace isamap
