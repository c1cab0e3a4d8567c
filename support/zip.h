// SPDX-License-Identifier: Apache-2.0
#pragma once
// Zip archives as far as arrays need them: files without folders, encryption or parts. Read: stored or deflated (where
// the build has zlib), 64-bit sizes too. Written: stored, each file below 4 GiB. (PKWARE APPNOTE.TXT 6.3.10)

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/result.h"

namespace isamap {

struct ZipEntry {
  std::string name;
  std::string bytes;
};

/// Every file of the archive in its order, checked against the stated sizes and checksums. `path` is for messages.
Result<std::vector<ZipEntry>> read_zip(const std::string& archive, const std::string& path);

/// The archive as bytes: the same entries give the same bytes. An error if one is too large.
Result<std::string> write_zip(const std::vector<ZipEntry>& entries, const std::string& path);

/// CRC-32 as zip has it.
std::uint32_t crc32_of(const std::string& bytes);

}  // namespace isamap
