// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lists of keys in hwdesc/README.md, made from the table of keys.

#include <string>
#include <string_view>

namespace isamap::keys {

/// The keys of one section and of the maps inside it, as Markdown.
std::string section_list(std::string_view section);

/// The page with every block between `<!-- keys: NAME -->` and `<!-- end of keys -->` replaced. NAME is a section,
/// `types`, `quantities` or `reserved`.
std::string with_key_lists(const std::string& page);

}  // namespace isamap::keys
