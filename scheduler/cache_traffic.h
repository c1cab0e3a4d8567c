#pragma once
// What flows into caches that the nest does not mention: the access model with stages that nobody wrote.
//
// A cache holds, at the outermost walk where everything below fits, the tiles of all accesses that pass it. Room is
// counted in lines and sets: rows a power of two apart share few sets, so a tile may need many times its bytes. Of the
// tile of the next walk outwards it keeps what it has room for: replacement is not exact, so little is lost at a time.

#include "scheduler/traffic.h"

namespace isamap {

void add_cache_traffic(const NestView& view, const TileCounts& counts, Traffic& traffic);

}  // namespace isamap
