#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What docs/contributing.md promises: each patch of tests/data/seams adds one thing to a copy of the tree and touches at
# most three code files; the copy is built, and the addition does what the lines of the patch say:
#
#   run: show --compute 'C[i] += A[i]' --dims i=4     arguments of the program
#   says: C[i] += A[i]                                a text that must be in what the line before printed
set -euo pipefail
cmake=$1 source=$2 compiler=$3 jobs=${4:-2}
most=3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir "$place/tree"
tar -C "$source" --exclude='./build*' --exclude=./.git -cf - . | tar -C "$place/tree" -xf -
cd "$place/tree"
git init -q  # so that `git apply` takes this folder for the root
shopt -s nullglob
patches=("$source"/tests/data/seams/*.patch)
[ ${#patches[@]} -ge 2 ] || fail "there are ${#patches[@]} patches in tests/data/seams; two kinds of addition are tried"
for patch in "${patches[@]}"; do
  touched=$(sed -n 's|^+++ b/||p' "$patch" | grep -E '\.(cpp|h|in)$' | grep -vc '^tests/' || true)
  [ "$touched" -ge 1 ] && [ "$touched" -le $most ] || fail "$(basename "$patch") touches $touched code files, at most $most"
  git apply "$patch" || fail "$(basename "$patch") does not apply: write it anew for the tree as it is"
done
"$cmake" -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DISAMAP_TESTS=OFF -DISAMAP_BENCH=OFF >/dev/null
"$cmake" --build build --target isamap_cli -j "$jobs" >build.log 2>&1 || { tail -n 40 build.log >&2; fail "the build"; }

checks=0
for patch in "${patches[@]}"; do
  said=
  while read -r key text; do
    case $key in
      run:) said=$(eval "build/isamap $text" 2>&1) || fail "$(basename "$patch"): isamap $text: $said" ;;
      says:)
        [[ "$said" == *"$text"* ]] || fail "$(basename "$patch"): '$text' is not in: $said"
        checks=$((checks + 1))
        ;;
      diff) break ;;
    esac
  done <"$patch"
done
[ $checks -ge ${#patches[@]} ] || fail "$checks checks for ${#patches[@]} patches"
echo "${#patches[@]} additions of at most $most code files each: built, and $checks checks hold"
