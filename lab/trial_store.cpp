// SPDX-License-Identifier: Apache-2.0
#include "lab/trial_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "support/file_system.h"

namespace isamap::lab {

namespace {

constexpr int application_id = 0x15a3a9;  ///< identifies the store in the header of the file
constexpr int schema_version = 1;
constexpr int patience_ms = 60'000;  ///< lock timeout for concurrent writers
constexpr const char* schema = R"sql(
create table if not exists run(
  id integer primary key, verb text not null, kernel_hash text not null, target_hash text not null,
  space_hash text not null, target_text text not null, options text not null, known text not null, result text not null,
  features text not null);
create table if not exists trial(
  run integer not null references run(id), statement integer not null, number integer not null, point text not null,
  schedule text not null, problem text not null, objective real not null, cycles real not null, energy_pJ real not null,
  bytes real not null, measured real, checked integer not null, features text not null,
  primary key(run, statement, number)) without rowid;
create index if not exists run_by_inputs on run(kernel_hash, target_hash, space_hash);
)sql";
constexpr const char* trial_columns =
    "statement, number, point, schedule, problem, objective, cycles, energy_pJ, bytes, measured, checked, "
    "trial.features";

}  // namespace

struct Closer {  // of a type with a name: TrialStore::State, which has one too, holds it
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

struct TrialStore::State {
  std::string path;
  std::unique_ptr<sqlite3, Closer> db;
  std::unique_ptr<sqlite3_stmt, Closer> insert;  // used for every trial, so prepared once; finalised before db closes
  mutable std::mutex mutex;

  Diagnostic problem() const { return error_at({path, 0, 0}, std::string("SQLite: ") + sqlite3_errmsg(db.get())); }
  Diagnostics execute(const std::string& sql) const {
    if (sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return {problem()};
  }
  std::int64_t number(const char* sql) const;
  /// A condition on runs: those measured on this device. Runs of older stores do not say where; they count as ours.
  std::string only_of(const std::string& device) const;
};

namespace {

/// One statement: numbers and texts are bound in order, columns are read in order.
class Query {
 public:
  Query(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v2(db, sql.c_str(), -1, &made, nullptr);
    own_.reset(made);
    statement_ = made;
  }
  explicit Query(sqlite3_stmt* prepared) : statement_(prepared) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Query& operator<<(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Query& operator<<(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Query& operator<<(double value) {
    sqlite3_bind_double(statement_, ++bound_, value);
    return *this;
  }
  Query& operator<<(const std::optional<double>& value) {
    if (value) return *this << *value;
    sqlite3_bind_null(statement_, ++bound_);
    return *this;
  }
  int step() { return column_ = 0, statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }
  std::string text() {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column_));
    const int size = sqlite3_column_bytes(statement_, column_++);
    return bytes ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
  }
  std::int64_t whole() { return sqlite3_column_int64(statement_, column_++); }
  double real() { return sqlite3_column_double(statement_, column_++); }
  std::optional<double> maybe() {
    if (sqlite3_column_type(statement_, column_) != SQLITE_NULL) return real();
    ++column_;
    return std::nullopt;
  }

 private:
  std::unique_ptr<sqlite3_stmt, Closer> own_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0, column_ = 0;
};

TrialRecord trial_of(Query& row) {
  TrialRecord t;
  t.statement = row.whole();
  t.number = row.whole();
  t.point = row.text();
  t.schedule = row.text();
  t.problem = row.text();
  t.objective = row.real();
  t.cycles = row.real();
  t.energy_pJ = row.real();
  t.bytes = row.real();
  t.measured = row.maybe();
  t.verdict = static_cast<RunVerdict>(std::clamp<std::int64_t>(row.whole(), 0, 2));
  t.features = row.text();
  return t;
}

}  // namespace

std::int64_t TrialStore::State::number(const char* sql) const {
  Query query(db.get(), sql);
  return query.step() == SQLITE_ROW ? query.whole() : -1;
}

TrialStore::TrialStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrialStore::~TrialStore() = default;
TrialStore::TrialStore(TrialStore&&) noexcept = default;

bool is_store(const std::string& path) {
  char start[16] = {};
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  const bool whole = std::fread(start, 1, sizeof start, file) == sizeof start;
  std::fclose(file);
  return whole && std::memcmp(start, "SQLite format 3", 16) == 0;
}

Result<TrialStore> TrialStore::open(const std::string& path, bool create) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  auto store = open_file(path, create);
  // A full disk leaves an empty file.
  if (!store && !was_there && std::filesystem::file_size(path, ignored) == 0) std::filesystem::remove(path, ignored);
  return store;
}

Result<TrialStore> TrialStore::open_file(const std::string& path, bool create) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return error_at({path, 0, 0}, "is a folder; this store is one SQLite file",
                    "--store FILE, or `isamap plan` and `isamap work --store DIR` for records in a folder");
  const bool there = std::filesystem::exists(path, ignored) && std::filesystem::file_size(path, ignored) > 0;
  if (there && !is_store(path))
    return error_at({path, 0, 0}, "is no store of trials", "--store FILE makes a new one where there is no file");
  if (!there && !create) return error_at({path, 0, 0}, "cannot be read: there is no store of trials");
  if (create)
    if (const auto refused = no_place_for_sqlite(path)) return *refused;
  auto state = std::make_unique<State>();
  state->path = path;
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(
      path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (create ? SQLITE_OPEN_CREATE : 0), nullptr);
  state->db.reset(db);
  if (opened != SQLITE_OK) return error_at({path, 0, 0}, fmt::format("cannot be opened: {}", sqlite3_errmsg(db)));
  sqlite3_busy_timeout(db, patience_ms);
  // One transaction: another process may be setting the store up.
  if (const Diagnostics failed = state->execute("begin"); has_errors(failed)) return failed;
  const std::int64_t tables = state->number("select count(*) from sqlite_master");
  const std::int64_t owner = state->number("pragma application_id"), version = state->number("pragma user_version");
  if (const Diagnostics failed = state->execute("commit"); has_errors(failed)) return failed;
  if (tables < 0) return state->problem();
  if (owner != application_id && tables > 0) return error_at({path, 0, 0}, "is an SQLite file, but no store of trials");
  if (owner == application_id && version != schema_version)
    return error_at({path, 0, 0},
                    fmt::format("is a store of version {}; this program reads {}", version, schema_version));
  // Created only in an empty file; two processes may do so at once with the same result.
  const std::string set_up =
      fmt::format("begin immediate; pragma application_id={}; pragma user_version={}; {} commit;", application_id,
                  schema_version, schema);
  // Changing the journal mode does not wait for locks by itself.
  Diagnostics failed = state->execute("pragma journal_mode=wal");
  for (int tries = 0; tries < patience_ms / 20 && sqlite3_errcode(db) == SQLITE_BUSY; ++tries) {
    sqlite3_sleep(20);
    failed = state->execute("pragma journal_mode=wal");
  }
  if (!has_errors(failed)) failed = state->execute("pragma synchronous=normal");
  if (!has_errors(failed) && tables == 0) failed = state->execute(set_up);
  if (has_errors(failed)) return failed;
  sqlite3_stmt* insert = nullptr;
  const std::string sql = "insert into trial values(?,?,?,?,?,?,?,?,?,?,?,?,?)";
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &insert, nullptr) != SQLITE_OK) return state->problem();
  state->insert.reset(insert);
  return TrialStore(std::move(state));
}

Result<std::int64_t> TrialStore::begin(const RunRecord& run) {
  Query query(state_->db.get(),
              "insert into run(verb, kernel_hash, target_hash, space_hash, target_text, options, known, result, "
              "features) values(?,?,?,?,?,?,?,'','')");
  query << run.verb << run.kernel_hash << run.target_hash << run.space_hash << run.target_text << run.options
        << run.known;
  if (query.step() != SQLITE_DONE) return state_->problem();
  return static_cast<std::int64_t>(sqlite3_last_insert_rowid(state_->db.get()));
}

Diagnostics TrialStore::add(std::int64_t run, const TrialRecord& t) {
  const std::lock_guard lock(state_->mutex);
  Query query(state_->insert.get());
  query << run << t.statement << t.number << t.point << t.schedule << t.problem << t.objective << t.cycles
        << t.energy_pJ << t.bytes << t.measured << static_cast<std::int64_t>(t.verdict) << t.features;
  const int done = query.step();
  sqlite3_reset(state_->insert.get());
  if (done != SQLITE_DONE) return {state_->problem()};
  return {};
}

Diagnostics TrialStore::measured(std::int64_t run, const TrialRecord& t) {
  Query query(state_->db.get(),
              "update trial set measured = ?, checked = ?, problem = ? where run = ? and statement = ? and number = ?");
  query << t.measured << static_cast<std::int64_t>(t.verdict) << t.problem << run << t.statement << t.number;
  if (query.step() != SQLITE_DONE) return {state_->problem()};
  return {};
}

Diagnostics TrialStore::name_features(std::int64_t run, const std::string& names) {
  Query query(state_->db.get(), "update run set features = ? where id = ?");
  query << names << run;
  if (query.step() != SQLITE_DONE) return {state_->problem()};
  return {};
}

// The table is newer than the first stores: created on first write.
Diagnostics TrialStore::add_compilers(std::int64_t run, const std::vector<CompilerRecord>& compilers) {
  if (compilers.empty()) return {};
  if (Diagnostics failed = state_->execute(
          "create table if not exists compiler(run integer not null references run(id), place integer not null, "
          "command "
          "text not null, version text not null, seconds real not null, primary key(run, place)) without rowid");
      has_errors(failed))
    return failed;
  for (std::size_t place = 0; place < compilers.size(); ++place) {
    Query query(state_->db.get(), "insert into compiler values(?,?,?,?,?)");
    query << run << static_cast<std::int64_t>(place) << compilers[place].command << compilers[place].version
          << compilers[place].seconds;
    if (query.step() != SQLITE_DONE) return {state_->problem()};
  }
  return {};
}

Result<std::vector<CompilerRecord>> TrialStore::compilers(std::int64_t run) const {
  std::vector<CompilerRecord> found;
  if (state_->number("select count(*) from sqlite_master where name = 'compiler'") < 1) return found;
  Query query(state_->db.get(), "select command, version, seconds from compiler where run = ? order by place");
  query << run;
  int state = query.step();
  for (; state == SQLITE_ROW; state = query.step()) {
    CompilerRecord one;
    one.command = query.text();
    one.version = query.text();
    one.seconds = query.real();
    found.push_back(std::move(one));
  }
  if (state != SQLITE_DONE) return state_->problem();
  return found;
}

// A table newer than the first stores, like that of compilers.
Diagnostics TrialStore::measured_by(std::int64_t run, const std::string& device) {
  if (Diagnostics failed =
          state_->execute("create table if not exists device(run integer primary key, key text not null)");
      has_errors(failed))
    return failed;
  Query query(state_->db.get(), "insert or replace into device values(?,?)");
  query << run << device;
  if (query.step() != SQLITE_DONE) return {state_->problem()};
  return {};
}

std::string TrialStore::State::only_of(const std::string& device) const {
  if (device.empty() || number("select count(*) from sqlite_master where name = 'device'") < 1) return "";
  return " and not exists (select 1 from device where device.run = run.id and device.key <> '" + device + "')";
}

Diagnostics TrialStore::finish(std::int64_t run, const std::string& result) {
  Query query(state_->db.get(), "update run set result = ? where id = ?");
  query << result << run;
  if (query.step() != SQLITE_DONE) return {state_->problem()};
  return {};
}

Result<RunRecord> TrialStore::run(std::int64_t id) const {
  Query query(
      state_->db.get(),
      "select id, verb, kernel_hash, target_hash, space_hash, target_text, options, known, result, features from run "
      "where id = ? or ? = 0 order by id desc limit 1");
  query << id << id;
  if (query.step() != SQLITE_ROW)
    return error_at({state_->path, 0, 0}, id == 0 ? "holds no run" : fmt::format("holds no run {}", id));
  RunRecord run;
  run.id = query.whole();
  for (std::string* text : {&run.verb, &run.kernel_hash, &run.target_hash, &run.space_hash, &run.target_text,
                            &run.options, &run.known, &run.result, &run.features})
    *text = query.text();
  return run;
}

Result<std::vector<TrialRecord>> TrialStore::trials(std::int64_t run) const {
  Query query(state_->db.get(),
              fmt::format("select {} from trial where run = ? order by statement, number", trial_columns));
  query << run;
  std::vector<TrialRecord> found;
  int state = query.step();
  for (; state == SQLITE_ROW; state = query.step()) found.push_back(trial_of(query));
  if (state != SQLITE_DONE) return state_->problem();
  return found;
}

Result<std::vector<std::string>> TrialStore::best_points(const RunRecord& like, bool measured,
                                                         const std::string& device) const {
  const std::string cost = measured ? "measured" : "objective";
  const std::string legal = measured ? "checked = 1 and measured is not null" : "schedule <> '' and problem = ''";
  Query query(
      state_->db.get(),
      fmt::format(
          "select statement, point, min({}) from trial join run on run.id = trial.run where kernel_hash = ? "
          "and target_hash = ? and space_hash = ? and point <> '' and {}{} group by statement order by statement",
          cost, legal, measured ? state_->only_of(device) : ""));
  query << like.kernel_hash << like.target_hash << like.space_hash;
  std::vector<std::string> points;
  int state = query.step();
  for (; state == SQLITE_ROW; state = query.step()) {
    const auto statement = static_cast<std::size_t>(query.whole());
    if (points.size() <= statement) points.resize(statement + 1);
    points[statement] = query.text();
  }
  if (state != SQLITE_DONE) return state_->problem();
  return points;
}

Result<std::vector<TrialRecord>> TrialStore::measured_on(const std::string& target_hash,
                                                         const std::string& device) const {
  Query query(
      state_->db.get(),
      fmt::format("select {} from trial join run on run.id = trial.run where target_hash = ? and "
                  "checked = 1 and measured is not null and trial.features <> ''{} order by run, statement, number",
                  trial_columns, state_->only_of(device)));
  query << target_hash;
  std::vector<TrialRecord> found;
  int state = query.step();
  for (; state == SQLITE_ROW; state = query.step()) found.push_back(trial_of(query));
  if (state != SQLITE_DONE) return state_->problem();
  return found;
}

}  // namespace isamap::lab
