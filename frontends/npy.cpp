// SPDX-License-Identifier: Apache-2.0
#include "frontends/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/file_system.h"
#include "support/yaml.h"
#include "support/zip.h"

namespace isamap {
namespace {

const std::string npy_mark = "\x93NUMPY";

struct NpyType {
  const char* text;  ///< numpy's name behind the byte order
  DType dtype;
};
constexpr NpyType npy_types[] = {{"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::s64},
                                 {"i4", DType::s32}, {"i2", DType::s16}, {"i1", DType::s8},  {"u8", DType::u64},
                                 {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8},  {"b1", DType::boolean}};

/// What the header says: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// A Python dictionary of a string, a truth value and a tuple of integers.
class NpyHeaderReader {
 public:
  explicit NpyHeaderReader(std::string text) : text_(std::move(text)) {}

  std::optional<NpyHeader> read() {
    NpyHeader header;
    int keys = 0;
    if (!accept('{')) return std::nullopt;
    while (!accept('}')) {
      const auto key = quoted();
      if (!key || !accept(':') || !value(*key, header)) return std::nullopt;
      ++keys;
      accept(',');
    }
    if (keys != 3 || header.descr.empty()) return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool accept(const std::string& word) {
    skip();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> quoted() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) return std::nullopt;
    const std::string word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  bool value(const std::string& key, NpyHeader& header) {
    if (key == "descr") {
      const auto word = quoted();
      header.descr = word.value_or("");
      return word.has_value();
    }
    if (key == "fortran_order") {
      header.fortran_order = accept("True");
      return header.fortran_order || accept("False");
    }
    return key == "shape" && tuple(header.shape);
  }
  bool tuple(std::vector<std::int64_t>& sizes) {
    if (!accept('(')) return false;
    while (!accept(')')) {
      skip();
      std::int64_t size = 0;
      const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (problem != std::errc() || size < 0) return false;
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');
      sizes.push_back(size);
      if (!accept(',')) return accept(')');
    }
    return true;
  }

  const std::string text_;
  std::size_t at_ = 0;
};

/// The header's text and where the data begins.
std::optional<std::pair<std::string, std::size_t>> npy_header(const std::string& bytes) {
  if (bytes.size() < 10 || bytes.compare(0, npy_mark.size(), npy_mark) != 0) return std::nullopt;
  const int version = static_cast<std::uint8_t>(bytes[6]);
  const std::size_t width = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || bytes.size() < 8 + width) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | static_cast<std::uint8_t>(bytes[8 + i]);
  const std::size_t start = 8 + width;
  if (length > bytes.size() - start) return std::nullopt;
  return std::pair(bytes.substr(start, length), start + length);
}

/// The element of a column-major array for each element of a row-major one.
std::vector<std::uint8_t> row_major_bytes(const std::vector<std::uint8_t>& from, const std::vector<std::int64_t>& shape,
                                          std::size_t width) {
  std::vector<std::uint8_t> result(from.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t at = 0; at < from.size(); at += width) {
    std::int64_t place = 0;
    for (std::size_t d = shape.size(); d-- > 0;) place = place * shape[d] + index[d];
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(place) * width), width,
                result.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

Result<DType> npy_dtype(const std::string& descr) {
  const std::string type = descr.substr(std::min<std::size_t>(1, descr.size()));
  if (std::string("<>|=").find(descr.front()) != std::string::npos) {
    for (const NpyType& known : npy_types)
      if (type == known.text) return known.dtype;
    if (type == "V2") return DType::bf16;  // as packages with a bfloat16 type of their own store it
  }
  return error("its type is '" + descr + "'", "arrays may be f2, f4, f8, i1 to i8, u1 to u8 or b1");
}

std::string npy_text(DType dtype) {
  for (const NpyType& known : npy_types)
    if (known.dtype == dtype) return (bytes(dtype) == 1 ? "|" : "<") + std::string(known.text);
  return bytes(dtype) == 1 ? "|u1" : fmt::format("<u{}", bytes(dtype));
}

/// bf16, tf32, e4m3, ..: types that numpy has not.
bool is_foreign(DType dtype) {
  return std::none_of(std::begin(npy_types), std::end(npy_types), [&](const NpyType& t) { return t.dtype == dtype; });
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

bool ends_with_npy(const std::string& path) { return path.size() > 4 && path.substr(path.size() - 4) == ".npy"; }

}  // namespace

Result<TensorData> parse_npy(const std::string& bytes) {
  const auto found = npy_header(bytes);
  if (!found) return error("is no .npy array: its first bytes are no header of version 1 to 3");
  const auto header = NpyHeaderReader(found->first).read();
  if (!header) return error("its header is damaged", "it states 'descr', 'fortran_order' and 'shape'");
  const auto dtype = npy_dtype(header->descr);
  if (!dtype) return dtype.diagnostics();
  TensorData data;
  data.dtype = *dtype;
  data.shape = header->shape;
  const auto width = static_cast<std::size_t>(isamap::bytes(*dtype));
  const std::size_t size = bytes.size() - found->second;
  std::size_t expected = width;
  const bool empty = std::find(data.shape.begin(), data.shape.end(), 0) != data.shape.end();
  if (empty) expected = 0;
  for (const std::int64_t extent : data.shape) {
    if (expected > 0 && static_cast<std::uint64_t>(extent) > size / expected) expected = size + 1;
    if (expected <= size) expected *= static_cast<std::size_t>(extent);
  }
  if (expected != size)
    return error(fmt::format("holds {} bytes; its shape {} of {} needs {}", size, shape_text(data.shape), name(*dtype),
                             expected > size ? "more" : std::to_string(expected)));
  data.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(found->second), bytes.end());
  if (header->descr.front() == '>')
    for (std::size_t at = 0; at < data.bytes.size(); at += width)
      std::reverse(data.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   data.bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  if (header->fortran_order) data.bytes = row_major_bytes(data.bytes, data.shape, width);
  if (data.dtype == DType::boolean)
    for (std::uint8_t& b : data.bytes) b = b != 0 ? 1 : 0;
  return data;
}

std::string print_npy(const TensorData& data) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", npy_text(data.dtype),
                                   shape_text(data.shape));
  constexpr std::size_t alignment = 64, before = 10;  // of the data; bytes before the header
  header += std::string((alignment - (before + header.size() + 1) % alignment) % alignment, ' ') + "\n";
  std::string text = npy_mark + std::string("\x01\x00", 2);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(data.bytes.begin(), data.bytes.end());
}

Result<std::vector<NamedData>> load_arrays(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const SourceLocation where{path, 0, 0};
  if (!std::filesystem::exists(path)) return error_at(where, "there is no such file", yaml::nearest_file(path));
  if (!file || std::filesystem::is_directory(path)) return error_at(where, "cannot be read");
  if (text.str().empty())
    return error_at(where, "the file is empty", "numpy.savez writes an .npz file, numpy.save an .npy file");
  std::vector<ZipEntry> entries = {{"", text.str()}};
  if (!ends_with_npy(path)) {
    auto archive = read_zip(entries[0].bytes, path);
    if (!archive) return archive.diagnostics();
    entries = std::move(*archive);
  }
  std::vector<NamedData> arrays;
  for (const ZipEntry& entry : entries) {
    auto data = parse_npy(entry.bytes);
    if (!data) {
      const Diagnostic& problem = data.diagnostics().front();
      return error_at(where, (entry.name.empty() ? "" : "array '" + entry.name + "': ") + problem.message,
                      problem.hint);
    }
    const std::string name = ends_with_npy(entry.name) ? entry.name.substr(0, entry.name.size() - 4) : entry.name;
    arrays.push_back({name, std::move(*data)});
  }
  return arrays;
}

Result<bool> save_arrays(const std::string& path, const std::vector<NamedData>& arrays) {
  const SourceLocation where{path, 0, 0};
  std::string bytes;
  if (ends_with_npy(path)) {
    if (arrays.size() != 1)
      return error_at(where, fmt::format("a .npy file holds one array, not {}", arrays.size()), "name it .npz");
    bytes = print_npy(arrays[0].data);
  } else {
    std::vector<ZipEntry> entries;
    for (const NamedData& array : arrays) entries.push_back({array.name + ".npy", print_npy(array.data)});
    auto archive = write_zip(entries, path);
    if (!archive) return archive.diagnostics();
    bytes = std::move(*archive);
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return cannot_write(path, errno);
  return true;
}

TensorData as_type(TensorData data, DType type) {
  const bool unsigned_bits = data.dtype == DType::u8 || data.dtype == DType::u16 || data.dtype == DType::u32;
  if (unsigned_bits && is_foreign(type) && bytes(type) == bytes(data.dtype)) data.dtype = type;
  return data;
}

}  // namespace isamap
