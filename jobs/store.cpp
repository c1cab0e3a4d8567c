// SPDX-License-Identifier: Apache-2.0
#include "jobs/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/file_system.h"

namespace isamap::jobs {
namespace {

namespace fs = std::filesystem;

constexpr double alive_seconds = 60;  ///< a process that said nothing for longer is taken for dead

/// "node7.4711".
std::string process_name() {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}.{}", host, ::getpid());
}

Diagnostic cannot_read(const std::string& path) {
  return error_at({path, 0, 0}, fmt::format("cannot be read: {}", std::strerror(errno)));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

/// Bytes from `offset` to the end of the file.
std::optional<std::string> bytes_from(int file, std::uint64_t offset, std::uint64_t size) {
  std::string text(size, '\0');
  for (std::uint64_t have = 0; have < size;) {
    const ssize_t got = ::pread(file, text.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::uint64_t>(got);
  }
  return text;
}

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

}  // namespace

std::string host_name() {
  const std::string process = process_name();
  return process.substr(0, process.rfind('.'));
}

struct JobStore::State {
  struct File {
    std::string path;
    std::uint64_t read = 0;  ///< bytes that were read: whole lines
    int lines = 0;
  };
  std::string path;
  std::vector<File> files;
  std::map<std::string, Known> jobs;
  std::size_t damaged = 0;   ///< lines
  int own = -1;              ///< our file, open for appending
  std::uint64_t length = 0;  ///< of our file
  std::string own_path, now_path;
  std::set<std::string> written;  ///< blobs known to be there
  int reading = -1;               ///< the file that was read last, since neighbours are read together
  std::size_t read_file = 0;

  ~State() {
    if (own >= 0) ::close(own);
    if (reading >= 0) ::close(reading);
    std::error_code ignored;
    if (!now_path.empty()) fs::remove(now_path, ignored);
  }

  std::size_t file_of(const std::string& name) {
    for (std::size_t f = 0; f < files.size(); ++f)
      if (files[f].path == name) return f;
    files.push_back({name, 0, 0});
    return files.size() - 1;
  }

  Diagnostics read_more(std::size_t at);
  void learn(const RecordHead& head, const Place& place);
  Diagnostics open_own();
};

void JobStore::State::learn(const RecordHead& head, const Place& place) {
  Known& known = jobs[std::string(head.key)];
  (head.end == End::ok ? known.ok : head.end == End::wrong ? known.wrong : known.failed).push_back(place);
  if (head.end != End::failed) return;
  if (!known.last_failed || head.attempt >= known.attempts) known.last_failed = place;
  known.failed_at(head.attempt, head.attempts);
}

Diagnostics JobStore::State::read_more(std::size_t at) {
  File& file = files[at];
  const Descriptor open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (open.get() < 0 || ::fstat(open.get(), &facts) != 0) return {cannot_read(file.path)};
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size <= file.read) return {};
  const auto text = bytes_from(open.get(), file.read, size - file.read);
  if (!text) return {cannot_read(file.path)};
  Diagnostics warnings;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++file.lines;
    const std::string_view line(text->data() + begin, end - begin);
    if (const auto head = head_of_record(line)) {
      learn(*head, {at, file.read + begin, end - begin, check_holds(line).has_value()});
    } else if (!line.empty()) {
      ++damaged;
      warnings.push_back(
          error_at({file.path, file.lines, 0},
                   head_of(line) ? "is a record that was changed: left out" : "is no whole record: left out",
                   "its job is done again; `isamap merge DIR -o NEW` makes a store without the line"));
      warnings.back().severity = Severity::warning;
    }
  }
  file.read += begin;  // a last line without its end may still be written
  return warnings;
}

/// A file that no other process ever had: where a process of our number has died before, the next name.
Diagnostics JobStore::State::open_own() {
  const std::string name = process_name();
  for (int more = 1; own < 0; ++more) {
    own_path = path + "/" + name + (more == 1 ? "" : fmt::format(".{}", more)) + ".jsonl";
    own = ::open(own_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    length = 0;
    if (own < 0 && errno != EEXIST) return {cannot_write(own_path, errno)};
  }
  return {};
}

JobStore::JobStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
JobStore::~JobStore() = default;
JobStore::JobStore(JobStore&&) noexcept = default;

const std::string& JobStore::path() const { return state_->path; }
const std::map<std::string, Known>& JobStore::jobs() const { return state_->jobs; }
std::size_t JobStore::damaged() const { return state_->damaged; }

const Known* JobStore::find(const std::string& key) const {
  const auto found = state_->jobs.find(key);
  return found == state_->jobs.end() ? nullptr : &found->second;
}

namespace {

/// No store, and not empty: hidden files, and what a new file system has, do not count.
bool holds_other_files(const fs::path& folder) {
  std::error_code problem;
  if (fs::exists(folder / "blobs", problem)) return false;
  bool others = false;
  for (auto entry = fs::directory_iterator(folder, problem); !problem && entry != fs::directory_iterator();
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (entry->path().extension() == ".jsonl") return false;
    others = others || (!name.starts_with(".") && name != "lost+found");
  }
  return others;
}

}  // namespace

Result<JobStore> JobStore::open(const std::string& path, bool create) {
  std::error_code problem;
  const bool exists = fs::exists(path, problem);
  if (exists && !fs::is_directory(path, problem))
    return error_at({path, 0, 0}, "is a file; a store of jobs is a folder", "--store DIR");
  if (!exists && !create)
    return error_at({path, 0, 0}, "there is no such store", "`isamap work PLAN --store DIR` makes one");
  if (create && exists && holds_other_files(path))
    return error_at({path, 0, 0}, "holds other files and no records: a store is a folder of its own",
                    "--store DIR, of a new folder");
  fs::create_directories(create ? path + "/blobs" : path, problem);
  if (problem) return cannot_write(path, problem.value());
  auto state = std::make_unique<State>();
  state->path = path;
  return JobStore(std::move(state));
}

Diagnostics JobStore::refresh() {
  std::vector<std::string> names;
  std::error_code problem;
  auto entry = fs::directory_iterator(state_->path, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
    if (entry->path().extension() == ".jsonl") names.push_back(entry->path().string());
  if (problem) return {error_at({state_->path, 0, 0}, "cannot be listed: " + problem.message())};
  std::sort(names.begin(), names.end());
  Diagnostics found;
  for (const std::string& one : names) {
    const Diagnostics more = state_->read_more(state_->file_of(one));
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

Result<std::string> JobStore::line(const Place& place) const {
  const std::string& path = state_->files[place.file].path;
  if (state_->reading < 0 || state_->read_file != place.file) {
    if (state_->reading >= 0) ::close(state_->reading);
    state_->reading = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    state_->read_file = place.file;
    if (state_->reading < 0) return cannot_read(path);
  }
  auto text = bytes_from(state_->reading, place.offset, place.size);
  if (!text) return error_at({path, 0, 0}, "is shorter than before: somebody changes the files of the store");
  return std::move(*text);
}

Result<Record> JobStore::read(const Place& place) const {
  const auto text = line(place);
  if (!text) return text.diagnostics();
  auto record = parse_record(*text);
  if (!record) return error_at(where(place), "is a damaged record", "remove the line: the job is done again");
  return std::move(*record);
}

SourceLocation JobStore::where(const Place& place) const {
  SourceLocation at{state_->files[place.file].path, 0, 0};
  if (const auto before = line({place.file, 0, place.offset}))
    at.line = 1 + static_cast<int>(std::count(before->begin(), before->end(), '\n'));
  return at;
}

void JobStore::keep_results(const std::string& key, const std::function<bool(const Place&)>& keep) {
  const auto found = state_->jobs.find(key);
  if (found != state_->jobs.end()) std::erase_if(found->second.ok, [&](const Place& place) { return !keep(place); });
}

Diagnostics JobStore::append(const Record& record) { return append_lines(line_of(record)); }

Diagnostics JobStore::append_lines(const std::string& lines) {
  if (state_->own < 0)
    if (Diagnostics failed = state_->open_own(); has_errors(failed)) return failed;
  if (!write_all(state_->own, lines)) {
    const Diagnostic problem = cannot_write(state_->own_path, errno);
    if (::ftruncate(state_->own, static_cast<off_t>(state_->length)) != 0) {  // the next record gets a file of its own
      ::close(state_->own);
      state_->own = -1;
    }
    return {problem};
  }
  const std::size_t file = state_->file_of(state_->own_path);
  for (std::size_t begin = 0, end = 0; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (const std::string_view line = std::string_view(lines).substr(begin, end - begin);
        const auto head = head_of(line))
      state_->learn(*head, {file, state_->length + begin, end - begin, check_holds(line).has_value()});
  state_->length += lines.size();
  state_->files[file].read = state_->length;
  return {};
}

void Known::failed_at(int attempt, int of) {
  if (attempt < attempts) return;
  attempts = attempt;
  allowed = of;
}

void JobStore::note(const std::string& key, End end, int attempt, int allowed) {
  Known& known = state_->jobs[key];
  known.told_ok = known.told_ok || end == End::ok;
  known.told_wrong = known.told_wrong || end == End::wrong;
  if (end == End::failed) known.failed_at(attempt, allowed);
}

Result<std::string> JobStore::put(const std::string& text) {
  const std::string hash = content_key(text), path = state_->path + "/blobs/" + hash;
  std::error_code ignored;
  if (!state_->written.insert(hash).second || get(hash)) return hash;  // one that is damaged is written anew
  const std::string temporary = fmt::format("{}.{}.tmp", path, process_name());
  {
    const Descriptor open(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (open.get() >= 0 && write_all(open.get(), text) && std::rename(temporary.c_str(), path.c_str()) == 0)
      return hash;
  }
  const Diagnostic problem = cannot_write(path, errno);
  fs::remove(temporary, ignored);
  state_->written.erase(hash);
  return problem;
}

Result<std::string> JobStore::get(const std::string& hash) const {
  const std::string path = state_->path + "/blobs/" + hash;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return error_at({path, 0, 0}, "cannot be read: a text that records of the store refer to");
  if (content_key(text) != hash) return error_at({path, 0, 0}, "is damaged: its text has another hash");
  return text;
}

std::vector<std::string> JobStore::blobs() const {
  std::vector<std::string> names;
  std::error_code problem;
  auto entry = fs::directory_iterator(state_->path + "/blobs", problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
    if (entry->path().extension().empty()) names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void JobStore::mark(const std::vector<Mark>& marks) {
  if (state_->now_path.empty()) state_->now_path = state_->path + "/" + process_name() + ".now";
  std::string text;
  for (const auto& [key, since, claim] : marks) {
    nlohmann::json line{{"key", key}, {"host", host_name()}, {"pid", ::getpid()}, {"since", since}};
    if (claim) line["claim"] = true;
    text += line.dump() + "\n";
  }
  // Put in place whole: who looks while it is written again sees the marks before or those after.
  const std::string temporary = state_->now_path + ".tmp";
  {
    const Descriptor open(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (open.get() >= 0 && write_all(open.get(), text) && std::rename(temporary.c_str(), state_->now_path.c_str()) == 0)
      return;
  }
  std::error_code ignored;  // a mark that cannot be written costs nothing but the mark
  for (const std::string& path : {temporary, state_->now_path}) fs::remove(path, ignored);
}

std::vector<Running> JobStore::running() const {
  std::vector<Running> found;
  std::error_code problem;
  std::vector<std::pair<fs::path, fs::file_time_type>> marks;
  auto entry = fs::directory_iterator(state_->path, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem))
    if (entry->path().extension() == ".now" && entry->path().string() != state_->now_path)
      if (const auto time = entry->last_write_time(problem); !problem) marks.emplace_back(entry->path(), time);
  // Ages by the clock of the file system where we have a mark too: clocks of hosts differ.
  auto now = fs::file_time_type::clock::now();
  if (!state_->now_path.empty())
    if (const auto own = fs::last_write_time(state_->now_path, problem); !problem && own > now) now = own;
  const std::string here = host_name();
  for (const auto& [path, time] : marks) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_object()) continue;
      Running one{
          json.value("key", ""),     json.value("host", ""), json.value("pid", 0), json.value("since", 0.0), true,
          json.value("claim", false)};
      one.alive = std::chrono::duration<double>(now - time).count() < alive_seconds &&
                  (one.host != here || ::kill(one.pid, 0) == 0 || errno == EPERM);
      found.push_back(std::move(one));
    }
  }
  return found;
}

}  // namespace isamap::jobs
