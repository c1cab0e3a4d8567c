// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the build knows of the sources (cmake/sources_version.cmake). Only the object of this constant changes with it.

namespace isamap::cli {

/// 16 hexadecimal digits, a hash of the sources that results depend on.
extern const char* const sources_version;

}  // namespace isamap::cli
