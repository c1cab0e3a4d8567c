// SPDX-License-Identifier: Apache-2.0
// Parquet is an export, never the log: a column file that was cut off is lost.

#include "jobs/export.h"

#ifdef ISAMAP_WITH_ARROW
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>
#endif

namespace isamap::jobs {

#ifdef ISAMAP_WITH_ARROW

namespace {

arrow::Result<std::shared_ptr<arrow::Array>> texts(const std::vector<Row>& rows, std::string Row::*column) {
  arrow::StringBuilder builder;
  for (const Row& row : rows) ARROW_RETURN_NOT_OK(builder.Append(row.*column));
  return builder.Finish();
}

arrow::Status write(const std::vector<Row>& rows, const std::string& path) {
  static const std::vector<std::pair<const char*, std::string Row::*>> columns = {
      {"key", &Row::key},         {"verb", &Row::verb},     {"name", &Row::name},     {"end", &Row::end},
      {"host", &Row::host},       {"device", &Row::device}, {"isamap", &Row::isamap}, {"result", &Row::result},
      {"failure", &Row::failure}, {"job", &Row::job}};
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& [name, column] : columns) {
    fields.push_back(arrow::field(name, arrow::utf8(), false));
    ARROW_ASSIGN_OR_RAISE(auto array, texts(rows, column));
    arrays.push_back(array);
  }
  arrow::Int32Builder attempts;
  arrow::DoubleBuilder seconds;
  for (const Row& row : rows) {
    ARROW_RETURN_NOT_OK(attempts.Append(row.attempt));
    ARROW_RETURN_NOT_OK(seconds.Append(row.seconds));
  }
  fields.push_back(arrow::field("attempt", arrow::int32(), false));
  fields.push_back(arrow::field("seconds", arrow::float64(), false));
  arrays.resize(arrays.size() + 2);
  ARROW_RETURN_NOT_OK(attempts.Finish(&arrays[arrays.size() - 2]));
  ARROW_RETURN_NOT_OK(seconds.Finish(&arrays.back()));
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::FileOutputStream::Open(path));
  constexpr std::int64_t rows_of_a_group = 1 << 16;
  ARROW_RETURN_NOT_OK(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, rows_of_a_group));
  return file->Close();
}

}  // namespace

bool parquet_supported() { return true; }

Diagnostics write_parquet(const std::vector<Row>& rows, const std::string& path) {
  const arrow::Status status = write(rows, path);
  if (status.ok()) return {};
  return {error_at({path, 0, 0}, "cannot be written: " + status.ToString())};
}

#else

bool parquet_supported() { return false; }

Diagnostics write_parquet(const std::vector<Row>&, const std::string& path) {
  return {error_at({path, 0, 0}, "cannot be written: this program was built without Arrow's C++ library",
                   "install Arrow (libarrow-dev, libparquet-dev of apache.org) and run CMake again, or take --csv")};
}

#endif

}  // namespace isamap::jobs
