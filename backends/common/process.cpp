// SPDX-License-Identifier: Apache-2.0
#include "backends/common/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace isamap {
namespace {

constexpr std::size_t shown_output = 16 << 10;
constexpr int not_started = 127;

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void set_limit(int which, std::int64_t value) {
  const rlimit limit{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

/// Resources to clean up when this process ends. Who cleans up takes the mutex and never releases it: other threads
/// block until the process ends.
struct CleanupRegistry {
  std::mutex mutex;
  std::set<pid_t> children;
  bool interrupted = false;  ///< by a handled signal: no child is wanted any more
  std::set<std::filesystem::path> folders;
};
CleanupRegistry& cleanup() {
  static CleanupRegistry* const only = new CleanupRegistry;  // never destroyed: the signal thread uses it
  return *only;
}

/// SIGINT and SIGTERM, unless this process was started with them ignored.
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction set_up {};
    sigaction(number, nullptr, &set_up);
    if (set_up.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

/// A child process, killed at a signal while this lives. It is made under the mutex: no signal finds it unknown.
class KnownChild {
 public:
  /// `make` forks; what it returns below 1 is no child.
  template <class Make>
  explicit KnownChild(const Make& make) {
    const std::lock_guard lock(cleanup().mutex);
    child_ = make();
    if (child_ < 1) return;
    setpgid(child_, child_);  // in parent and child: whichever runs first
    cleanup().children.insert(child_);
    if (cleanup().interrupted) kill(-child_, SIGKILL);
  }
  ~KnownChild() {
    const std::lock_guard lock(cleanup().mutex);
    cleanup().children.erase(child_);
  }
  KnownChild(const KnownChild&) = delete;
  KnownChild& operator=(const KnownChild&) = delete;
  pid_t id() const { return child_; }

 private:
  pid_t child_ = -1;
};

/// The mutex is held.
void signal_children(int number) {
  for (const pid_t child : cleanup().children) kill(-child, number);
}

[[noreturn]] void clean_up_at_a_signal(const sigset_t& set, const std::function<bool(int)>& handled) {
  int number = SIGTERM;
  for (sigwait(&set, &number); handled && handled(number); sigwait(&set, &number)) {
    const std::lock_guard lock(cleanup().mutex);
    cleanup().interrupted = true;
    signal_children(SIGKILL);
  }
  end_children_and_files();
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  _exit(128 + number);
}

/// Of all threads of a child, which has as many as there are processors. It ends a child whose parent was killed; the
/// parent limits the time that passes.
std::int64_t cpu_seconds(const ProcessLimits& limits) {
  return (static_cast<std::int64_t>(std::ceil(limits.seconds)) + 1) *
         std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void exec_child(char* const* argv, char* const* environment, const ProcessLimits& limits,
                             std::int64_t cpu_seconds, int output, int report) {
  setpgid(0, 0);
  const sigset_t usual = ending_signals();
  sigprocmask(SIG_UNBLOCK, &usual, nullptr);
  signal(SIGXFSZ, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, cpu_seconds);
  if (limits.memory_bytes > 0) set_limit(RLIMIT_AS, limits.memory_bytes);
  if (limits.file_bytes > 0) set_limit(RLIMIT_FSIZE, limits.file_bytes);
  // A file that we have just written is busy while another child of ours, between its fork and its exec, holds it open.
  const timespec nap{0, 2'000'000};
  for (int tries = 0; tries < 100; ++tries) {
    execvpe(argv[0], argv, environment);
    if (errno != ETXTBSY) break;
    nanosleep(&nap, nullptr);
  }
  const char mark = 'x';
  if (write(report, &mark, 1) < 0) _exit(not_started);
  _exit(not_started);
}

/// Our environment with TMPDIR set to our folder, so that temporary files of a killed compiler are removed with it.
std::vector<std::string> environment_with(const std::filesystem::path& folder) {
  std::vector<std::string> variables{"TMPDIR=" + folder.string()};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (std::strncmp(*at, "TMPDIR=", 7) != 0) variables.emplace_back(*at);
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Waits for the end of the child without reaping it. False: it is not known whether it has ended, since this kernel
/// has no descriptors of processes, or `deadline` is over.
bool wait_by_descriptor(pid_t child, double deadline) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (descriptor < 0) return false;
  int ready = 0;
  do {
    pollfd waited{descriptor, POLLIN, 0};
    const double left = std::clamp(std::ceil((deadline - now()) * 1e3), 0.0, 1e6);
    ready = poll(&waited, 1, static_cast<int>(left));
  } while (ready <= 0 && (ready == 0 || errno == EINTR) && now() <= deadline);
  close(descriptor);
  return ready > 0;
}

/// Where that is not possible, polls with exponential backoff: short programs are seen at once, long ones cost nothing.
int wait_until(pid_t child, double deadline, bool& timed_out) {
  int status = 0;
  wait_by_descriptor(child, deadline);
  for (long pause = 200'000; waitpid(child, &status, WNOHANG) == 0; pause = std::min(pause * 3 / 2, 20'000'000L)) {
    if (now() > deadline) {
      timed_out = true;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return status;
    }
    const timespec nap{0, pause};
    nanosleep(&nap, nullptr);
  }
  kill(-child, SIGKILL);  // remaining processes of the group
  return status;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessLimits& limits,
                          const std::filesystem::path& output_file) {
  ProcessResult result;
  if (argv.empty()) return result;
  const std::vector<std::string> variables = environment_with(std::filesystem::absolute(output_file).parent_path());
  const std::vector<char*> arguments = pointers_to(argv), environment = pointers_to(variables);
  const int output = open(output_file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  int report[2] = {-1, -1};
  if (output < 0 || pipe2(report, O_CLOEXEC) != 0) {
    if (output >= 0) close(output);
    return result;
  }
  const std::int64_t most_cpu = cpu_seconds(limits);
  const KnownChild child([&] {
    const pid_t forked = fork();
    if (forked == 0) exec_child(arguments.data(), environment.data(), limits, most_cpu, output, report[1]);
    return forked;
  });
  close(output);
  close(report[1]);
  if (child.id() > 0) {
    char mark = 0;
    result.started = ::read(report[0], &mark, 1) == 0;  // end of file: exec has closed the pipe
    const int status = wait_until(child.id(), now() + limits.seconds, result.timed_out);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  }
  close(report[0]);
  result.output = read_file(output_file, shown_output);
  return result;
}

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        words.back() += c;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      if (c == '"' || c == '\'')
        quote = c;
      else
        words.back() += c;
    }
  }
  return words;
}

std::vector<std::string> folders_of_path() {
  const char* const path = std::getenv("PATH");
  const std::string listed = path == nullptr ? "/usr/bin:/bin" : path;
  std::vector<std::string> folders;
  for (std::size_t at = 0; at <= listed.size();) {
    const std::size_t end = std::min(listed.find(':', at), listed.size());
    if (end > at) folders.push_back(listed.substr(at, end - at));
    at = end + 1;
  }
  return folders;
}

bool command_exists(const std::string& command) {
  if (command.empty()) return false;
  if (command.find('/') != std::string::npos) return access(command.c_str(), X_OK) == 0;
  const std::vector<std::string> folders = folders_of_path();
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return access((folder + "/" + command).c_str(), X_OK) == 0; });
}

void end_children_and_files() {
  cleanup().mutex.lock();
  signal_children(SIGTERM);  // compilers remove their temporary files
  const timespec nap{0, 50'000'000};
  nanosleep(&nap, nullptr);
  signal_children(SIGKILL);
  std::error_code ignored;
  for (const auto& folder : cleanup().folders)  // again where another thread has written a file meanwhile
    for (int tries = 0; tries < 10 && std::filesystem::exists(folder, ignored); ++tries)
      std::filesystem::remove_all(folder, ignored);
}

void remove_temporary_files_on_signals(std::function<bool(int)> handled) {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, handled = std::move(handled)] { clean_up_at_a_signal(set, handled); }).detach();
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::path(parent()) / "isamap-XXXXXX").string();
  const std::lock_guard lock(cleanup().mutex);
  if (mkdtemp(pattern.data()) == nullptr) return;
  path_ = pattern;
  cleanup().folders.insert(path_);
}

std::string TemporaryDirectory::parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen == nullptr || *chosen == 0 ? "/tmp" : chosen;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!ok()) return;
  const std::lock_guard lock(cleanup().mutex);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  cleanup().folders.erase(path_);
}

bool write_file(const std::filesystem::path& path, const void* data, std::size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = size == 0 || std::fwrite(data, 1, size, file) == size;  // an empty tensor has no address
  return (std::fclose(file) == 0) && written;
}

std::string read_file(const std::filesystem::path& path, std::size_t limit) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char chunk[1 << 16];
  std::size_t got = 0;
  while (text.size() < limit && (got = std::fread(chunk, 1, std::min(sizeof chunk, limit - text.size()), file)) > 0)
    text.append(chunk, got);
  std::fclose(file);
  return text;
}

}  // namespace isamap
