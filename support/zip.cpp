// SPDX-License-Identifier: Apache-2.0
#include "support/zip.h"

#include <algorithm>
#include <array>
#include <optional>

#include "support/utf8.h"

#ifdef ISAMAP_WITH_ZLIB
#include <zlib.h>
#endif

namespace isamap {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::uint32_t end64_mark = 0x06064b50, locator_mark = 0x07064b50;
constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22, end64_size = 56, locator_size = 20;
constexpr std::uint64_t in_extra = 0xffffffff;  ///< the number stands in the 64-bit extra field

/// Little-endian numbers; beyond the end they are 0, and `failed` says so.
class ZipBytes {
 public:
  explicit ZipBytes(const std::string& bytes) : bytes_(bytes) {}

  bool failed = false;

  std::uint64_t number(std::uint64_t at, std::size_t width) {
    if (!has(at, width)) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes_[at + i]);
    return value;
  }

  std::string text(std::uint64_t at, std::uint64_t size) { return has(at, size) ? bytes_.substr(at, size) : ""; }

  bool has(std::uint64_t at, std::uint64_t size) {
    const bool inside = at <= bytes_.size() && size <= bytes_.size() - at;
    failed = failed || !inside;
    return inside;
  }

 private:
  const std::string& bytes_;
};

struct Listed {
  std::string name;
  std::uint64_t flags = 0, method = 0, crc = 0, packed = 0, size = 0, local = 0;
};

struct Directory {
  std::uint64_t first = 0, count = 0;
};

/// The end record is the last one that fits a comment behind it.
std::optional<Directory> directory_of(const std::string& archive) {
  ZipBytes bytes(archive);
  constexpr std::size_t most_comment = 0xffff;
  if (archive.size() < end_size) return std::nullopt;
  const std::size_t last = archive.size() - end_size;
  for (std::size_t back = 0; back <= std::min(last, most_comment); ++back) {
    const std::size_t at = last - back;
    if (bytes.number(at, 4) != end_mark || bytes.number(at + 20, 2) != back) continue;
    Directory found{bytes.number(at + 16, 4), bytes.number(at + 10, 2)};
    if (at < locator_size || bytes.number(at - locator_size, 4) != locator_mark) return found;
    const std::uint64_t end64 = bytes.number(at - locator_size + 8, 8);
    if (!bytes.has(end64, end64_size) || bytes.number(end64, 4) != end64_mark) return std::nullopt;
    return Directory{bytes.number(end64 + 48, 8), bytes.number(end64 + 32, 8)};
  }
  return std::nullopt;
}

/// Numbers of 64 bits stand in the extra field 1, in this order, where the 32-bit ones are all ones.
void read_extra(ZipBytes& bytes, std::uint64_t at, std::uint64_t size, Listed& entry) {
  const std::uint64_t end = at + size;
  while (at + 4 <= end) {
    const std::uint64_t id = bytes.number(at, 2), length = bytes.number(at + 2, 2);
    at += 4;
    if (id == 1) {
      std::uint64_t field = at;
      for (std::uint64_t* into : {&entry.size, &entry.packed, &entry.local}) {
        if (*into != in_extra) continue;
        *into = bytes.number(field, 8);
        field += 8;
      }
    }
    at += length;
  }
}

Result<std::string> inflated(const std::string& packed, std::uint64_t size, const std::string& name) {
#ifdef ISAMAP_WITH_ZLIB
  std::string bytes(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return error("'" + name + "' cannot be inflated");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  constexpr std::uint64_t most = 1u << 30;
  std::uint64_t in = packed.size(), out = size;
  int state = Z_OK;
  while (state == Z_OK) {
    stream.avail_in = static_cast<uInt>(std::min(in, most));
    stream.avail_out = static_cast<uInt>(std::min(out, most));
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    in -= in_before - stream.avail_in;
    out -= out_before - stream.avail_out;
    if (in_before == stream.avail_in && out_before == stream.avail_out) break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || out != 0) return error("'" + name + "' is damaged: its deflated bytes do not end");
  return bytes;
#else
  (void)size;
  (void)packed;
  return error("'" + name + "' is deflated, and this isamap was built without zlib",
               "install zlib1g-dev and build again, or store the file (numpy.savez)");
#endif
}

/// Deflate yields at most 1032 bytes from one.
bool is_plausible(const Listed& entry) {
  return entry.method == 0 ? entry.size == entry.packed : entry.size / 1032 <= entry.packed + 1;
}

Result<ZipEntry> entry_of(const std::string& archive, const Listed& listed) {
  ZipBytes bytes(archive);
  const std::string name = "'" + listed.name + "'";
  if ((listed.flags & 1) != 0) return error(name + " is encrypted");
  if (listed.method != 0 && listed.method != 8)
    return error(name + " is packed by method " + std::to_string(listed.method), "store or deflate it");
  if (bytes.number(listed.local, 4) != local_mark) return error(name + " is not where the archive's end says");
  const std::uint64_t start =
      listed.local + local_size + bytes.number(listed.local + 26, 2) + bytes.number(listed.local + 28, 2);
  if (!is_plausible(listed) || !bytes.has(start, listed.packed))
    return error(name + " is cut off or its size is wrong");
  ZipEntry entry{listed.name, bytes.text(start, listed.packed)};
  if (listed.method == 8) {
    auto unpacked = inflated(entry.bytes, listed.size, listed.name);
    if (!unpacked) return unpacked.diagnostics();
    entry.bytes = std::move(*unpacked);
  }
  if (crc32_of(entry.bytes) != listed.crc) return error(name + " is damaged: its checksum differs");
  return entry;
}

std::string little(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i, value >>= 8) bytes += static_cast<char>(value & 0xff);
  return bytes;
}

/// Both headers of a file share these: version, flags, method, time, date, checksum, sizes. Readers take a name as
/// UTF-8 where its flag says so, else as code page 437, in which any bytes are a name.
std::string common_header(const ZipEntry& entry) {
  constexpr std::uint64_t first_day = 0x21;  // 1980-01-01: no clock in what we write
  const std::uint64_t flags = is_utf8(entry.name) ? 0x800 : 0;
  return little(20, 2) + little(flags, 2) + little(0, 2) + little(0, 2) + little(first_day, 2) +
         little(crc32_of(entry.bytes), 4) + little(entry.bytes.size(), 4) + little(entry.bytes.size(), 4) +
         little(entry.name.size(), 2) + little(0, 2);
}

}  // namespace

std::uint32_t crc32_of(const std::string& bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      made[n] = c;
    }
    return made;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = table[(crc ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return crc ^ 0xffffffffu;
}

Result<std::vector<ZipEntry>> read_zip(const std::string& archive, const std::string& path) {
  const SourceLocation where{path, 0, 0};
  const auto directory = directory_of(archive);
  if (!directory) return error_at(where, "is no zip archive, or its end is missing");
  ZipBytes bytes(archive);
  std::vector<ZipEntry> entries;
  std::uint64_t at = directory->first;
  for (std::uint64_t n = 0; n < directory->count; ++n) {
    if (bytes.number(at, 4) != entry_mark) return error_at(where, "is damaged: its list of files is cut off");
    Listed listed{"",
                  bytes.number(at + 8, 2),
                  bytes.number(at + 10, 2),
                  bytes.number(at + 16, 4),
                  bytes.number(at + 20, 4),
                  bytes.number(at + 24, 4),
                  bytes.number(at + 42, 4)};
    const std::uint64_t name = bytes.number(at + 28, 2), extra = bytes.number(at + 30, 2);
    listed.name = bytes.text(at + entry_size, name);
    read_extra(bytes, at + entry_size + name, extra, listed);
    if (bytes.failed) return error_at(where, "is damaged: its list of files is cut off");
    at += entry_size + name + extra + bytes.number(at + 32, 2);
    auto entry = entry_of(archive, listed);
    if (!entry) {
      const Diagnostic& problem = entry.diagnostics().front();
      return error_at(where, problem.message, problem.hint);
    }
    entries.push_back(std::move(*entry));
  }
  return entries;
}

Result<std::string> write_zip(const std::vector<ZipEntry>& entries, const std::string& path) {
  std::string archive, directory;
  for (const ZipEntry& entry : entries) {
    if (archive.size() + entry.bytes.size() >= in_extra || entries.size() >= 0xffff || entry.name.size() > 0xffff)
      return error_at({path, 0, 0}, "'" + entry.name + "' is too large: archives of 4 GiB and more are not written");
    const std::string header = common_header(entry);
    directory += little(entry_mark, 4) + little(20, 2) + header + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(archive.size(), 4) + entry.name;
    archive += little(local_mark, 4) + header + entry.name + entry.bytes;
  }
  const std::string count = little(entries.size(), 2);
  const std::string end = little(end_mark, 4) + little(0, 4) + count + count + little(directory.size(), 4) +
                          little(archive.size(), 4) + little(0, 2);
  return archive + directory + end;
}

}  // namespace isamap
