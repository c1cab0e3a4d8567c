// SPDX-License-Identifier: Apache-2.0
#pragma once
// A child process that is spoken to line by line over its stdin and stdout. Its stderr is ours.

#include <sys/types.h>

#include <string>
#include <vector>

namespace isamap {

class Conversation {
 public:
  Conversation() = default;
  ~Conversation();  ///< closes its stdin, waits a moment, then kills its process group
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// argv[0] is found in PATH. Empty: it runs; else why not.
  std::string start(const std::vector<std::string>& argv);
  bool running() const { return socket_ >= 0; }

  enum class Heard { line, late, ended, too_long };
  /// Adds the end of the line. `late`: it does not read; `ended`: it has gone.
  Heard say(const std::string& line, double seconds);
  /// The next line, without its end. Lines beyond 16 MiB are too long.
  Heard hear(std::string& line, double seconds);
  /// "with code 3", "by signal 9"; to be asked when it has ended. Waits a second, then kills it.
  std::string how_it_ended();

 private:
  void reap(double seconds);
  int socket_ = -1;
  pid_t child_ = 0;
  int status_ = 0;
  std::string unread_;
};

}  // namespace isamap
