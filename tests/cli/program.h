// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the built program as a user would, and keeps what it said.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace isamap::cli_test {

namespace fs = std::filesystem;

struct Said {
  int code = -1;  ///< exit code; 1000 + signal when it was killed
  std::string out, err;
};

/// A folder of its own for each test, removed afterwards.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "isamap_cli_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path().filename().string());
    return found;
  }

 private:
  fs::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

#ifdef ISAMAP_SANITIZED
inline constexpr unsigned slower = 10;  ///< than without sanitizers
#else
inline constexpr unsigned slower = 1;
#endif

/// Starts the program; `seconds` of processor time is the most it may take.
inline pid_t start(const std::vector<std::string>& arguments, const std::string& out, const std::string& err,
                   unsigned seconds = 60) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const rlimit limit{seconds * slower, seconds * slower};
  ::setrlimit(RLIMIT_CPU, &limit);
  ::signal(SIGINT, SIG_DFL);  // shells start what runs in the background with it ignored
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), 1);
  ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), 2);
  std::vector<char*> argv{const_cast<char*>(ISAMAP_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(ISAMAP_PROGRAM, argv.data());
  ::_exit(127);
}

inline int finish(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline Said isamap(const std::vector<std::string>& arguments) {
  const Folder folder;
  const int code = finish(start(arguments, folder / "out", folder / "err"));
  return {code, read_file(folder / "out"), read_file(folder / "err")};
}

inline nlohmann::json parsed(const Said& said) { return nlohmann::json::parse(said.out, nullptr, false); }

inline std::string example(const std::string& name) {
  return std::string(ISAMAP_SOURCE_DIR "/examples/") + name + ".yaml";
}

/// $CXX, for a while.
class WithCompiler {
 public:
  explicit WithCompiler(const std::string& command) {
    if (const char* before = std::getenv("CXX")) before_ = before;
    ::setenv("CXX", command.c_str(), 1);
  }
  ~WithCompiler() { before_ ? ::setenv("CXX", before_->c_str(), 1) : ::unsetenv("CXX"); }
  WithCompiler(const WithCompiler&) = delete;
  WithCompiler& operator=(const WithCompiler&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace isamap::cli_test
