#include "backends/cpp/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/process.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_entries = 400;
constexpr std::size_t max_text = 256 << 20;

/// FNV-1a, 64 bits (Fowler, Noll, Vo): names entries; equality of the texts decides.
std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Size and time of the compiler's file: a new compiler makes new entries.
std::string identity(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string folders = program.find('/') != std::string::npos ? "" : path == nullptr ? "/usr/bin" : path;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string file = folders.empty() ? program : folders.substr(at, end - at) + "/" + program;
    struct stat info {};
    if (stat(file.c_str(), &info) == 0) return fmt::format("{} {} {}", file, info.st_size, info.st_mtim.tv_sec);
    at = end + 1;
  }
  return program;
}

/// A directory that belongs to this user and that nobody else can enter, or nothing: then nothing is cached.
std::optional<fs::path> cache_directory() {
  fs::path path;
  if (const char* own = std::getenv("ISAMAP_CACHE"); own != nullptr && *own != 0)
    path = own;
  else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    path = fs::path(xdg) / "isamap";
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    path = fs::path(home) / ".cache" / "isamap";
  else
    return std::nullopt;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 022) != 0)
    return std::nullopt;
  return path;
}

bool copied(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  return !failed;
}

/// Keeps the directory small: the entries that were made first go first.
void prune(const fs::path& cache) {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> entries;
  for (fs::directory_iterator it(cache, failed), end; !failed && it != end; it.increment(failed)) {
    const auto time = fs::last_write_time(it->path(), failed);
    if (failed)
      failed.clear();
    else
      entries.emplace_back(time, it->path());
  }
  if (entries.size() <= max_entries) return;
  std::sort(entries.begin(), entries.end());
  for (std::size_t i = 0; i < entries.size() - max_entries * 3 / 4; ++i) fs::remove_all(entries[i].second, failed);
}

void store(const fs::path& cache, const fs::path& entry, const std::string& key, const fs::path& executable) {
  std::string pattern = (cache / "new-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return;
  const fs::path made = pattern;
  std::error_code failed;
  if (copied(executable, made / "program") && write_file(made / "key", key.data(), key.size()))
    fs::rename(made, entry, failed);
  else
    failed = std::make_error_code(std::errc::io_error);
  if (failed) fs::remove_all(made, failed);  // another process was first, or the disk is full
  prune(cache);
}

}  // namespace

std::vector<std::string> compiler_command() {
  const char* chosen = std::getenv("CXX");
  auto words = split_command(chosen == nullptr ? "" : chosen);
  if (words.empty()) words.emplace_back("g++");
  return words;
}

std::vector<std::string> compile_command(const HardwareModel& model, const std::vector<std::string>& sources,
                                         const std::string& executable) {
  auto command = compiler_command();
  const bool clang = std::any_of(command.begin(), command.end(),
                                 [](const std::string& w) { return w.find("clang") != std::string::npos; });
  for (const char* flag : {"-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"})
    command.emplace_back(flag);
  if (!model.program.run_emulated.empty()) command.emplace_back("-static");
  for (const std::string& set : {std::string("any"), std::string(clang ? "clang" : "gcc")})
    if (const auto found = model.program.flags.find(set); found != model.program.flags.end())
      command.insert(command.end(), found->second.begin(), found->second.end());
  command.insert(command.end(), sources.begin(), sources.end());
  command.insert(command.end(), {"-o", executable});
  return command;
}

bool compiler_works(const fs::path& folder) {
  const std::string text = "int main() {}\n";
  const fs::path source = folder / "empty.cpp";
  if (!write_file(source, text.data(), text.size())) return false;
  auto command = compiler_command();
  command.insert(command.end(), {source.string(), "-o", (folder / "empty").string()});
  const auto result = run_process(command, {60, std::int64_t{8} << 30, std::int64_t{1} << 30}, folder / "empty.log");
  return result.started && result.exit_code == 0 && fs::exists(folder / "empty");
}

Result<std::monostate> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                               const fs::path& executable) {
  const auto generic = compile_command(model, {"kernel.cpp", "driver.cpp"}, "program");
  const std::string key = join(generic) + "\n" + identity(generic[0]) + "\n" + driver + "\n" + kernel;
  const auto cache = cache_directory();
  const fs::path entry = cache ? *cache / fmt::format("{:016x}", hash(key)) : fs::path();
  if (cache && read_file(entry / "key", max_text) == key && copied(entry / "program", executable))
    return std::monostate{};

  const fs::path folder = executable.parent_path();
  if (!write_file(folder / "kernel.cpp", kernel.data(), kernel.size()) ||
      !write_file(folder / "driver.cpp", driver.data(), driver.size()))
    return error(fmt::format("cannot write to {}", folder.string()), "is the disk full?");
  const auto command =
      compile_command(model, {(folder / "kernel.cpp").string(), (folder / "driver.cpp").string()}, executable.string());
  const auto result =
      run_process(command, {300, std::int64_t{8} << 30, std::int64_t{1} << 30}, folder / "compiler.log");
  if (!result.started)
    return error(fmt::format("the compiler '{}' cannot be executed", command[0]),
                 "install g++, or name another one in $CXX");
  if (result.exit_code != 0) {
    Diagnostic problem = error(result.timed_out ? "the emitted program took more than 300 s to compile"
                                                : "the emitted program does not compile",
                               "the command was: " + join(command));
    for (std::size_t at = 0, lines = 0; at < result.output.size() && lines < 20; ++lines) {
      const std::size_t end = std::min(result.output.find('\n', at), result.output.size());
      problem.notes.push_back(result.output.substr(at, end - at));
      at = end + 1;
    }
    return problem;
  }
  if (cache) store(*cache, entry, key, executable);
  return std::monostate{};
}

}  // namespace isamap
