#include "backends/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <system_error>

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

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, const ProcessLimits& limits, int output, int report) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, static_cast<std::int64_t>(std::ceil(limits.seconds)) + 1);
  if (limits.memory_bytes > 0) set_limit(RLIMIT_AS, limits.memory_bytes);
  if (limits.file_bytes > 0) set_limit(RLIMIT_FSIZE, limits.file_bytes);
  execvp(argv[0], argv);
  const char mark = 'x';
  if (write(report, &mark, 1) < 0) _exit(not_started);
  _exit(not_started);
}

/// Waits with growing pauses, so that short programs are not kept waiting and long ones cost nothing.
int wait_until(pid_t child, double deadline, bool& timed_out) {
  int status = 0;
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
  kill(-child, SIGKILL);  // what it may have left behind
  return status;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessLimits& limits,
                          const std::filesystem::path& output_file) {
  ProcessResult result;
  if (argv.empty()) return result;
  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  const int output = open(output_file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  int report[2] = {-1, -1};
  if (output < 0 || pipe2(report, O_CLOEXEC) != 0) {
    if (output >= 0) close(output);
    return result;
  }
  const pid_t child = fork();
  if (child == 0) become(arguments.data(), limits, output, report[1]);
  close(output);
  close(report[1]);
  if (child > 0) {
    setpgid(child, child);  // whoever comes first
    char mark = 0;
    result.started = read(report[0], &mark, 1) == 0;  // end of file: exec has closed the pipe
    const int status = wait_until(child, now() + limits.seconds, result.timed_out);
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

bool command_exists(const std::string& command) {
  if (command.empty()) return false;
  if (command.find('/') != std::string::npos) return access(command.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    if (end > at && access((folders.substr(at, end - at) + "/" + command).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code failed;
  const auto base = std::filesystem::temp_directory_path(failed);
  if (failed) return;
  std::string pattern = (base / "isamap-XXXXXX").string();
  if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (ok()) std::filesystem::remove_all(path_, ignored);
}

bool write_file(const std::filesystem::path& path, const void* data, std::size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(data, 1, size, file) == size;
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
