#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace isamap {

void internal_error(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "internal error: %s (%s:%d)\n", what.c_str(), file, line);
  std::exit(70);
}

}  // namespace isamap
