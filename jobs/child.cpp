// SPDX-License-Identifier: Apache-2.0
#include "jobs/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>

namespace isamap::jobs {
namespace {

constexpr int wrong_result = 5, internal = 70;  ///< exit codes of the program
constexpr std::size_t most_messages = 4 << 10;

double seconds_of(auto clock_now) { return std::chrono::duration<double>(clock_now.time_since_epoch()).count(); }

/// A message: its length in eight bytes, then its bytes.
bool send(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  std::string all(reinterpret_cast<const char*>(&size), sizeof size);
  all += text;
  for (std::size_t at = 0; at < all.size();) {
    const ssize_t done = ::send(socket, all.data() + at, all.size() - at, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<std::size_t>(done);
  }
  return true;
}

/// A whole message from the front of what was received.
std::optional<std::string> take(std::string& received) {
  std::uint64_t size = 0;
  if (received.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, received.data(), sizeof size);
  if (received.size() - sizeof size < size) return std::nullopt;
  std::string text = received.substr(sizeof size, size);
  received.erase(0, sizeof size + size);
  return text;
}

std::optional<std::string> wait_for(int socket, std::string& received) {
  char chunk[1 << 16];
  while (true) {
    if (auto text = take(received)) return text;
    const ssize_t got = ::recv(socket, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    received.append(chunk, static_cast<std::size_t>(got));
  }
}

Outcome outcome_of(const JobRunner& runner, const Job& job) {
  try {
    return runner.run(job);
  } catch (const std::bad_alloc&) {
    return {internal, "", "out of memory"};
  } catch (const std::exception& wrong) {
    return {internal, "", std::string("internal error: ") + wrong.what()};
  }
}

/// The last messages of the child.
std::string messages_in(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(most_messages) ? size - static_cast<off_t>(most_messages) : 0;
  std::string text(static_cast<std::size_t>(size - from), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::int64_t mapped_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

JobChild::~JobChild() {
  if (child_ > 0 && busy_) ::kill(child_, SIGTERM);
  end_child();
}

void JobChild::end_child() {
  if (socket_ >= 0) ::close(socket_);
  if (messages_ >= 0) ::close(messages_);
  socket_ = messages_ = -1;
  received_.clear();
  reap();
}

/// Waits a second for the child, which may be removing its temporary files, then kills it. Its status.
int JobChild::reap() {
  int status = 0;
  if (child_ <= 0) return status;
  pid_t done = 0;
  for (int tries = 0; tries < 100 && (done = ::waitpid(child_, &status, WNOHANG)) == 0; ++tries) ::usleep(10'000);
  if (done == 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, &status, 0);
  }
  child_ = 0;
  return status;
}

std::string JobChild::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return std::strerror(errno);
  messages_ = ::memfd_create("messages", MFD_CLOEXEC);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    // What ends the group of the worker (Ctrl-C, a launcher after the death of a rank) is no failure of the job: the
    // worker ends it, or takes it along when it is killed.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(internal);
    ::close(pair[0]);
    ::dup2(messages_, 2);
    ::dup2(2, 1);
    const rlimit memory{static_cast<rlim_t>(limits_.memory_bytes), static_cast<rlim_t>(limits_.memory_bytes)};
    if (limits_.memory_bytes > 0) ::setrlimit(RLIMIT_AS, &memory);
    runner_.begin();
    serve(pair[1]);
  }
  ::close(pair[1]);
  if (child_ < 0) {
    ::close(pair[0]);
    child_ = 0;
    return std::strerror(errno);
  }
  socket_ = pair[0];
  return "";
}

void JobChild::serve(int socket) {
  for (std::string received; const auto text = wait_for(socket, received);) {
    const auto job = job_of(*text);
    const Outcome outcome = job ? outcome_of(runner_, *job) : Outcome{internal, "", render(job.diagnostics())};
    if (!send(socket, std::to_string(outcome.code) + "\n" + (outcome.code == 0 ? outcome.result : outcome.text))) break;
  }
  ::_exit(0);
}

std::string JobChild::give(const Job& job) {
  if (child_ == 0)
    if (const std::string problem = start(); !problem.empty()) return problem;
  if (messages_ >= 0 && ::ftruncate(messages_, 0) == 0) ::lseek(messages_, 0, SEEK_SET);
  job_ = job;
  since_ = seconds_of(std::chrono::system_clock::now());
  begun_ = seconds_of(std::chrono::steady_clock::now());
  busy_ = true;
  send(socket_, job.text);  // a child that is not there any more is seen by `poll`
  return "";
}

Record JobChild::ended(bool late) {
  Record record;
  record.key = job_.key;
  record.job = job_.text;
  record.seconds = seconds_of(std::chrono::steady_clock::now()) - begun_;
  record.end = End::failed;
  record.failure.late = late;
  busy_ = false;
  return record;
}

std::optional<Record> JobChild::poll() {
  if (!busy_) return std::nullopt;
  char chunk[1 << 16];
  ssize_t got = 0;
  while ((got = ::recv(socket_, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
    received_.append(chunk, static_cast<std::size_t>(got));
  if (const auto text = take(received_)) {
    Record record = ended(false);
    const std::size_t line = text->find('\n');
    record.failure.exit = std::stoi(text->substr(0, line));
    record.end = record.failure.exit == 0 ? End::ok : record.failure.exit == wrong_result ? End::wrong : End::failed;
    if (record.end == End::ok) {
      record.result = text->substr(line + 1);
      return record;
    }
    record.failure.text = text->substr(line + 1);
    const std::string said = messages_in(messages_);
    if (!said.empty()) record.failure.text += (record.failure.text.empty() ? "" : "\n") + said;
    return record;
  }
  const bool gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  const bool late = !gone && seconds_of(std::chrono::steady_clock::now()) - begun_ > limits_.seconds;
  if (!gone && !late) return std::nullopt;
  if (late) ::kill(child_, SIGTERM);
  Record record = ended(late);
  const int status = reap();
  record.failure.signal = late ? 0 : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  record.failure.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  record.failure.text = messages_in(messages_);
  if (!late && WIFEXITED(status))
    record.failure.text = "exit() was called before the job was done, as by a strategy or cost model of yours" +
                          (record.failure.text.empty() ? "" : "\n" + record.failure.text);
  end_child();
  return record;
}

}  // namespace isamap::jobs
