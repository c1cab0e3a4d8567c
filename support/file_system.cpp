// SPDX-License-Identifier: Apache-2.0
#include "support/file_system.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace isamap {
namespace {

const char* help_with(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or name a file on another disk";
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a file in a folder that you may write to";
    default:
      return "name another file";
  }
}

}  // namespace

Diagnostic cannot_write(const std::string& path, int error_number) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::exists(folder, ignored))
    return error_at({path, 0, 0}, fmt::format("cannot be written: there is no folder '{}'", folder.string()),
                    fmt::format("mkdir -p {}", folder.string()));
  const std::string why = error_number == 0 ? "" : fmt::format(": {}", std::strerror(error_number));
  return error_at({path, 0, 0}, "cannot be written" + why, help_with(error_number));
}

std::string network_file_system(long type) {
  // statfs(2), linux/magic.h, and the sources of Lustre, Spectrum Scale and BeeGFS.
  static const std::map<std::uint32_t, const char*> names = {
      {0x6969, "nfs"},        {0x517b, "smb"},      {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},
      {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"}, {0x00c36400, "ceph"},   {0x5346414f, "afs"},
      {0x6b414653, "afs"},    {0x01021997, "9p"},   {0x19830326, "beegfs"}, {0x20030528, "pvfs2"},
      {0x73757245, "coda"},   {0x01161970, "gfs2"}, {0x7461636f, "ocfs2"},  {0x013111a8, "ibrix"}};
  const auto found = names.find(static_cast<std::uint32_t>(type));
  return found == names.end() ? "" : found->second;
}

std::string network_mount(const std::string& mounts, const std::string& device) {
  static const std::set<std::string> types = {
      "fuse.alluxio-fuse", "fuse.blobfuse2", "fuse.ceph",    "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.cvmfs2",
      "fuse.davfs",        "fuse.gcsfuse",   "fuse.goofys",  "fuse.juicefs",   "fuse.mfs",       "fuse.moosefs",
      "fuse.rclone",       "fuse.s3fs",      "fuse.seaweed", "fuse.weed",      "virtiofs"};
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    // ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS..] - TYPE SOURCE SUPER_OPTIONS
    std::istringstream words(line);
    std::string id, parent, number, word, type, source;
    words >> id >> parent >> number;
    if (number != device) continue;
    while (words >> word && word != "-") {
    }
    words >> type >> source;
    const std::size_t colon = source.find(':');
    const bool names_host = colon != std::string::npos && colon > 0 && source.find('/') > colon;
    return names_host || types.contains(type) ? type : "";
  }
  return "";
}

std::string network_file_system_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const std::string& at : {path, folder.empty() ? "." : folder}) {
    struct statfs facts {};
    struct stat file {};
    if (::statfs(at.c_str(), &facts) != 0) continue;
    constexpr std::uint32_t of_user_processes = 0x65735546;  // FUSE, and virtiofs
    if (static_cast<std::uint32_t>(facts.f_type) != of_user_processes)
      return network_file_system(static_cast<long>(facts.f_type));
    if (::stat(at.c_str(), &file) != 0) return "";
    std::ifstream mounts("/proc/self/mountinfo");
    std::ostringstream text;
    text << mounts.rdbuf();
    return network_mount(text.str(), fmt::format("{}:{}", major(file.st_dev), minor(file.st_dev)));
  }
  return "";
}

std::optional<Diagnostic> no_place_for_sqlite(const std::string& path) {
  const std::string kind = network_file_system_of(path);
  if (kind.empty()) return std::nullopt;
  return error_at({path, 0, 0},
                  "lies on a network file system (" + kind + "), where SQLite loses data of several writers",
                  "name a file on a local disk, or write records as lines: `isamap plan`, `isamap work --store DIR`, "
                  "then `isamap store index DIR -o FILE` (docs/clusters.md)");
}

}  // namespace isamap
