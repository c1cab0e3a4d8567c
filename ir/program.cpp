#include "ir/program.h"

namespace isamap {

std::int64_t element_span(const Buffer& buffer) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.extents.size(); ++i) {
    if (buffer.extents[i] == 0) return 0;
    if (i < buffer.strides.size()) last += (buffer.extents[i] - 1) * buffer.strides[i];
  }
  return last + 1;
}

}  // namespace isamap
