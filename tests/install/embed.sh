#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the library anew inside another project, from an empty folder, by add_subdirectory or FetchContent; runs a
# program that links it, and looks that the other project keeps its flags and its target names.
set -euo pipefail
cmake=$1 source=$2 compiler=$3 how=$4 jobs=${5:-2}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/outer"
cat >"$place/outer/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(outer LANGUAGES CXX)
set(flags_before "${CMAKE_CXX_FLAGS_RELEASE}")
add_custom_target(docs)
add_custom_target(examples)
add_library(options INTERFACE)
if(HOW STREQUAL FetchContent)
  include(FetchContent)
  FetchContent_Declare(isamap SOURCE_DIR ${ISAMAP_SOURCE})
  FetchContent_MakeAvailable(isamap)
else()
  add_subdirectory(${ISAMAP_SOURCE} isamap)
endif()
if(NOT CMAKE_CXX_FLAGS_RELEASE STREQUAL flags_before)
  message(FATAL_ERROR "the flags of the outer project have become ${CMAKE_CXX_FLAGS_RELEASE}")
endif()
foreach(target test_support bench_map write_mobilenet)
  if(TARGET ${target})
    message(FATAL_ERROR "${target} is a target of the outer project")
  endif()
endforeach()
if(NOT EXISTS ${isamap_MODELS}/a1.yaml)
  message(FATAL_ERROR "no a1.yaml in ${isamap_MODELS}")
endif()
add_executable(outer ${ISAMAP_SOURCE}/examples/library/main.cpp)
target_link_libraries(outer PRIVATE isamap::isamap)
install(TARGETS outer)
EOF
"$cmake" -G Ninja -S "$place/outer" -B "$place/build" -DISAMAP_SOURCE="$source" -DHOW="$how" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$place/build" --target outer -j "$jobs" >"$place/log" 2>&1 || { tail -n 40 "$place/log" >&2; exit 1; }
"$place/build/outer" "$source/hardware_models/scalar_c.yaml" "$source/examples/gemm.yaml" | grep 'evaluations'
"$cmake" --install "$place/build" --prefix "$place/prefix" >/dev/null
[ "$(cd "$place/prefix" && find . -type f)" = ./bin/outer ] || { echo "more is installed than the outer program" >&2; exit 1; }
