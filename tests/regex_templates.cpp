// SPDX-License-Identifier: Apache-2.0
#include "tests/regex_templates.h"

#if defined(__GLIBCXX__)
template class std::__detail::_Compiler<std::regex_traits<char>>;
template class std::__detail::_Scanner<char>;
template class std::__detail::_NFA<std::regex_traits<char>>;
#endif
