// SPDX-License-Identifier: Apache-2.0
#include "support/child_process_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace isamap {

namespace {

constexpr std::size_t longest_line = 16 << 20;
constexpr int pause_ns = 5'000'000;

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Waits until the socket is ready for `events` or the time is over.
bool ready(int socket, short events, double deadline) {
  while (true) {
    pollfd one{socket, events, 0};
    const double left = std::max(0.0, deadline - now());
    const int found = poll(&one, 1, static_cast<int>(std::min(left * 1000 + 1, 1e9)));
    if (found > 0) return true;
    if (found == 0 && now() >= deadline) return false;
    if (found < 0 && errno != EINTR) return false;
  }
}

/// Between fork and exec: only calls that are safe there. The child dies with the thread that started it.
[[noreturn]] void become(char* const* argv, int socket, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(socket, 0);
  dup2(socket, 1);
  execvp(argv[0], argv);
  const int why = errno;
  if (write(report, &why, sizeof why) < 0) _exit(127);
  _exit(127);
}

}  // namespace

std::string ChildProcess::start(const std::vector<std::string>& argv) {
  if (argv.empty()) return "there is no command";
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int ends[2] = {-1, -1}, report[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::strerror(errno);
  if (pipe2(report, O_CLOEXEC) != 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    return std::strerror(why);
  }
  child_ = fork();
  if (child_ == 0) become(words.data(), ends[1], report[1]);
  const int forked = errno;
  close(ends[1]);
  close(report[1]);
  int why = child_ < 0 ? forked : 0;
  if (child_ > 0 && ::read(report[0], &why, sizeof why) <= 0) why = 0;  // end of file: exec has closed the pipe
  close(report[0]);
  socket_ = ends[0];
  if (why == 0) return "";
  close(socket_);
  socket_ = -1;
  if (child_ > 0) waitpid(child_, &status_, 0);
  child_ = 0;
  return std::strerror(why);
}

ChildProcess::Heard ChildProcess::say(const std::string& line, double seconds) {
  const std::string text = line + "\n";
  const double deadline = now() + seconds;
  for (std::size_t sent = 0; sent < text.size();) {
    if (socket_ < 0) return Heard::ended;
    const ssize_t done = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0) {
      sent += static_cast<std::size_t>(done);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!ready(socket_, POLLOUT, deadline)) return Heard::late;
    } else if (errno != EINTR) {
      return Heard::ended;
    }
  }
  return Heard::line;
}

ChildProcess::Heard ChildProcess::hear(std::string& line, double seconds) {
  const double deadline = now() + seconds;
  std::size_t looked = 0;
  while (true) {
    if (const std::size_t end = unread_.find('\n', looked); end != std::string::npos) {
      line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return Heard::line;
    }
    looked = unread_.size();
    if (unread_.size() > longest_line) return Heard::too_long;
    if (socket_ < 0) return Heard::ended;
    if (!ready(socket_, POLLIN, deadline)) return Heard::late;
    char chunk[1 << 14];
    const ssize_t got = recv(socket_, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got > 0)
      unread_.append(chunk, static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
      return Heard::ended;
  }
}

std::string ChildProcess::how_it_ended() {
  reap(1);
  if (WIFSIGNALED(status_)) return "by signal " + std::to_string(WTERMSIG(status_));
  return "with code " + std::to_string(WEXITSTATUS(status_));
}

void ChildProcess::reap(double seconds) {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (child_ <= 0) return;
  const double deadline = now() + seconds;
  while (waitpid(child_, &status_, WNOHANG) == 0) {
    if (now() > deadline) {
      kill(-child_, SIGKILL);
      waitpid(child_, &status_, 0);
      break;
    }
    const timespec nap{0, pause_ns};
    nanosleep(&nap, nullptr);
  }
  kill(-child_, SIGKILL);  // its own children, if any
  child_ = 0;
}

ChildProcess::~ChildProcess() { reap(0.5); }

}  // namespace isamap
