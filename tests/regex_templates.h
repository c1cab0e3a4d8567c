// SPDX-License-Identifier: Apache-2.0
#pragma once
// What libstdc++ compiles regular expressions with, instantiated once (regex_templates.cpp) and not in each of eight
// folders of tests: 1.0 of the 1.3 CPU-s that a unit with a regular expression takes (g++ 12, -Og). Precompiled with
// the headers of all tests; nothing includes it.

#include <regex>

#if defined(__GLIBCXX__)
extern template class std::__detail::_Compiler<std::regex_traits<char>>;
extern template class std::__detail::_Scanner<char>;
extern template class std::__detail::_NFA<std::regex_traits<char>>;
#endif
