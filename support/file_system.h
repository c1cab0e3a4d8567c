// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that cannot be written, and kinds of file systems. SQLite's write-ahead log needs memory that all writers
// share, and locks that hold: network file systems have neither (https://sqlite.org/wal.html, section 1).

#include <optional>
#include <string>

#include "isamap/result.h"

namespace isamap {

/// Why a file cannot be written, after a call that failed with this errno, and what helps: a folder that is not there
/// is named, with the command that makes it.
Diagnostic cannot_write(const std::string& path, int error_number);

/// "nfs", "lustre", ... of a number of statfs(2); empty: no network file system that we know.
std::string network_file_system(long type);
/// The same of the mount of a device "MAJOR:MINOR" in the text of /proc/self/mountinfo (proc(5)): file systems of user
/// processes have one number for all. Such a mount is one of a network if its source names a host ("node:/data"), or if
/// its type is that of a known one.
std::string network_mount(const std::string& mounts, const std::string& device);
/// The same of an existing path, or of the folder that it would be made in.
std::string network_file_system_of(const std::string& path);
/// Why no SQLite file may be at `path`; nothing: it may.
std::optional<Diagnostic> no_place_for_sqlite(const std::string& path);

}  // namespace isamap
