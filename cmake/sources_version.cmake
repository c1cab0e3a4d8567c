# SPDX-License-Identifier: Apache-2.0
# Writes the file `made`: a hash of the sources that `list` names, by their texts and their paths below `root`.
file(STRINGS ${list} files)
set(hashes "")
foreach(file IN LISTS files)
  file(SHA256 ${root}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${made} "#include \"cli/sources_version.h\"\n\nconst char* const isamap::cli::sources_version = \"${hash}\";\n")
