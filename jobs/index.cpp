// SPDX-License-Identifier: Apache-2.0
// The SQLite index of a store: one table, made anew from the lines each time.

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "jobs/export.h"
#include "support/file_system.h"

namespace isamap::jobs {
namespace {

constexpr const char* index_schema = R"sql(
drop table if exists record;
create table record(
  key text not null, verb text not null, name text not null, "end" text not null, attempt integer not null,
  host text not null, device text not null, isamap text not null, seconds real not null, result text not null,
  failure text not null, job text not null);
)sql";

struct Finish {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

bool insert(sqlite3_stmt* statement, const Row& row) {
  sqlite3_reset(statement);
  int at = 0;
  const auto text = [&](const std::string& value) {
    sqlite3_bind_text(statement, ++at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  };
  for (const std::string* one : {&row.key, &row.verb, &row.name, &row.end}) text(*one);
  sqlite3_bind_int(statement, ++at, row.attempt);
  for (const std::string* one : {&row.host, &row.device, &row.isamap}) text(*one);
  sqlite3_bind_double(statement, ++at, row.seconds);
  for (const std::string* one : {&row.result, &row.failure, &row.job}) text(*one);
  return sqlite3_step(statement) == SQLITE_DONE;
}

Diagnostics fill_index(const std::vector<Row>& rows, const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(path.c_str(), &opened);
  const std::unique_ptr<sqlite3, Finish> db(opened);
  const auto problem = [&] {
    return Diagnostics{error_at({path, 0, 0}, fmt::format("SQLite: {}", sqlite3_errmsg(db.get())))};
  };
  const auto execute = [&](const char* sql) {
    return sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (code != SQLITE_OK || !execute("begin") || !execute(index_schema)) return problem();
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db.get(), "insert into record values(?,?,?,?,?,?,?,?,?,?,?,?)", -1, &made, nullptr) !=
      SQLITE_OK)
    return problem();
  {
    const std::unique_ptr<sqlite3_stmt, Finish> statement(made);
    for (const Row& row : rows)
      if (!insert(made, row)) return problem();
  }
  if (!execute("create index record_by_key on record(key)") || !execute("commit")) return problem();
  return {};
}

}  // namespace

/// Of a file that was there SQLite takes back what it could not finish; of a new one nothing is left then.
Diagnostics write_index(const std::vector<Row>& rows, const std::string& path) {
  if (const auto refused = no_place_for_sqlite(path)) return {*refused};
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  Diagnostics failed = fill_index(rows, path);
  if (is_new && has_errors(failed))
    for (const char* more : {"", "-journal"}) std::filesystem::remove(path + more, ignored);
  return failed;
}

}  // namespace isamap::jobs
