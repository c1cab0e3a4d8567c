#!/usr/bin/env bash
# Installs into an empty folder, builds examples/library against it with find_package, runs it and the installed program.
set -euo pipefail
cmake=$1 source=$2 build=$3 compiler=$4 sanitize=${5:-}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$cmake" --install "$build" --prefix "$place/prefix" >/dev/null
flags=""
[ -z "$sanitize" ] || flags="-fsanitize=${sanitize//;/,}"
"$cmake" -G Ninja -S "$source/examples/library" -B "$place/build" -DCMAKE_PREFIX_PATH="$place/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
"$cmake" --build "$place/build" >/dev/null

said=$("$place/build/library_example" "$place/prefix/share/isamap/hardware_models/scalar_c.yaml" "$source/examples/gemm.yaml")
printf '%s\n' "$said"
grep -q 'evaluations' <<<"$said" || { echo "the example did not report its search" >&2; exit 1; }
said=$("$place/build/library_mappings" "$place/prefix/share/isamap/hardware_models/x86_avx2.yaml" "$source/examples/conv1d.yaml")
printf '%s\n' "$said"
[ "$(grep -c ': proved$' <<<"$said")" = 5 ] || { echo "the example did not prove five mappings" >&2; exit 1; }
# The installed program finds the installed models by name.
cd "$place"
env -u ISAMAP_MODELS "$place/prefix/bin/isamap" hw check scalar_c
