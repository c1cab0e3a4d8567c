#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A C++ compiler for the bundles of bench_test.cpp, which share most of their programs: each is compiled once and kept in
# $KEPT_PROGRAMS, known by its text after preprocessing, its flags and its objects.
set -uo pipefail
words=() inputs=() made=
for ((i = 1; i <= $#; ++i)); do
  word=${!i}
  case $word in
    -o) ((++i)); made=${!i} ;;
    *.cpp | *.o) inputs+=("$word") ;;
    *) words+=("$word") ;;
  esac
done
key=$(
  {
    c++ --version
    printf '%s\n' "${words[@]}"
    for input in "${inputs[@]}"; do
      case $input in
        *.cpp) c++ -E -P "${words[@]}" "$input" 2>/dev/null ;;
        *) cat "$input" ;;
      esac
    done
  } | sha256sum
)
kept=$KEPT_PROGRAMS/${key%% *}
if [ -n "$made" ] && cp -p "$kept" "$made" 2>/dev/null; then exit 0; fi
# What runs kernels and compares is no emitted code, and most of the time of its compiler is optimization.
quick=()
case " ${inputs[*]} " in *"/runner.cpp "*) quick=(-O0) ;; esac
c++ "$@" ${quick[@]+"${quick[@]}"} || exit
[ -n "$made" ] || exit 0
mkdir -p "$KEPT_PROGRAMS" && cp -p "$made" "$kept.$$" && mv "$kept.$$" "$kept"
exit 0
