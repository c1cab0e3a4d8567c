// SPDX-License-Identifier: Apache-2.0
#include "support/file_system.h"

#include <sys/vfs.h>

#include <filesystem>
#include <map>

namespace isamap {

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

std::string network_file_system_of(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) == 0) return network_file_system(static_cast<long>(facts.f_type));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (::statfs(folder.empty() ? "." : folder.c_str(), &facts) != 0) return "";
  return network_file_system(static_cast<long>(facts.f_type));
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
