// SPDX-License-Identifier: Apache-2.0
#pragma once
// A child process with a line protocol over its stdin and stdout. It shares our stderr.

#include <sys/types.h>

#include <string>
#include <vector>

namespace isamap {

class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess();  ///< closes its stdin, waits a moment, then kills its process group
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// argv[0] is searched in PATH. Empty: it runs; else the error.
  std::string start(const std::vector<std::string>& argv);
  bool running() const { return socket_ >= 0; }

  enum class Heard { line, late, ended, too_long };
  /// Sends text and a newline. `late`: it does not read; `ended`: it has exited.
  Heard say(const std::string& line, double seconds);
  /// The next line, without its newline. At most 16 MiB.
  Heard hear(std::string& line, double seconds);
  /// "with code 3", "by signal 9", after it has ended. Waits a second, then kills it.
  std::string how_it_ended();

 private:
  void reap(double seconds);
  int socket_ = -1;
  pid_t child_ = 0;
  int status_ = 0;
  std::string unread_;
};

}  // namespace isamap
