// SPDX-License-Identifier: Apache-2.0
#include "support/allocate.h"

#include <algorithm>
#include <cstdlib>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace isamap {

void FreedArray::operator()(void* memory) const { std::free(memory); }

ArrayMemory allocate_array(std::int64_t bytes) {
  const bool large = bytes >= large_page / 8;
  const auto unit = static_cast<std::size_t>(large ? large_page : 64);
  const std::size_t size = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + unit - 1) / unit * unit;
  ArrayMemory memory(static_cast<std::uint8_t*>(std::aligned_alloc(unit, size)));
#ifdef MADV_HUGEPAGE
  if (memory && large) madvise(memory.get(), size, MADV_HUGEPAGE);  // only a hint
#endif
  return memory;
}

}  // namespace isamap
