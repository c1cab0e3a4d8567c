#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into an empty folder, moves it, builds examples/library against it with find_package, runs it and the
# installed program.
set -euo pipefail
cmake=$1 source=$2 build=$3 compiler=$4 sanitize=${5:-}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$cmake" --install "$build" --prefix "$place/first" >/dev/null
mv "$place/first" "$place/prefix"  # an installed tree may be moved
flags=""
[ -z "$sanitize" ] || flags="-fsanitize=${sanitize//;/,}"
"$cmake" -G Ninja -S "$source/examples/library" -B "$place/build" -DCMAKE_PREFIX_PATH="$place/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >"$place/configured"
models=$(sed -n 's/^-- hardware models: //p' "$place/configured")
[ "$models" = "$place/prefix/share/isamap/hardware_models" ] || { echo "isamap_MODELS is '$models'" >&2; exit 1; }
"$cmake" --build "$place/build" >/dev/null

# A strategy and a cost model of the example's own, on kernels of one statement and of several.
for kernel in gemm depthwise softmax layer_norm attention depthwise_nhwc; do
  said=$("$place/build/library_example" "$models/x86_avx512.yaml" "$source/examples/$kernel.yaml")
  [ $kernel != gemm ] || printf '%s\n' "$said"
  grep -q ' spaces; [0-9]* evaluations' <<<"$said" || { echo "$kernel: the example did not report its search" >&2; exit 1; }
done
said=$("$place/build/library_mappings" "$models/x86_avx2.yaml" "$source/examples/conv1d.yaml")
printf '%s\n' "$said"
[ "$(grep -c ': proved$' <<<"$said")" = 5 ] || { echo "the example did not prove five mappings" >&2; exit 1; }
said=$("$place/build/library_compile" "$models/x86_avx2.yaml" "$source/examples/gemm.yaml")
grep -q 'extern "C" void gemm(' <<<"$said" || { echo "the example did not emit a program" >&2; exit 1; }
# The installed program finds the installed models by name.
cd "$place"
env -u ISAMAP_MODELS "$place/prefix/bin/isamap" hw check scalar_c
