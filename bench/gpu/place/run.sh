#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that this folder is for, on a machine with a GPU, its driver and a C++20 compiler. cuBLASLt takes part where
# the CUDA toolkit is; code for the GPU is in the folder, or is made by the toolkit's runtime compiler.
#
#   ./run.sh [PHASE...] [--retry]      phases: probe build instructions check time summary; without any: all, in turn
#                                      (one at a time in a folder: a second one ends at once with 3)
#
# It may be stopped at any time and started again: each step leaves a file below results/ that is written whole or not at
# all, and a step that has one is not done again (--retry: those that failed are). What was skipped, since there was no
# GPU or it has too little memory, is tried by every run. Each phase has a limit of its own in
# seconds (LIMIT_build=1800 and so on), and so has each of its steps (STEP_build=300). BENCH_SECONDS is how long each
# candidate is timed (0.5); BENCH_PEERS=0 leaves cuBLASLt out; CUDA_HOME says where the toolkit is, CXX what compiles. Exit codes: 0 all is right,
# 5 something is wrong, 4 a phase's time was over before it had ended, 77 there is no GPU, or none of a phase's steps ran.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1

declare -A limit=([probe]=120 [build]=3600 [instructions]=1800 [check]=3600 [time]=7200 [summary]=60)
declare -A step=([probe]=60 [build]=300 [instructions]=120 [check]=300 [time]=300 [summary]=60)
for phase in "${!limit[@]}"; do
  from=LIMIT_$phase; limit[$phase]=${!from:-${limit[$phase]}}
  from=STEP_$phase; step[$phase]=${!from:-${step[$phase]}}
  for word in "LIMIT_$phase=${limit[$phase]}" "STEP_$phase=${step[$phase]}"; do
    [[ ${word#*=} =~ ^[0-9]+$ ]] || { echo "$word: whole seconds are wanted" >&2; exit 2; }
  done
done
phases=() retry=0
for word in "$@"; do
  case $word in
    --retry) retry=1 ;;
    probe|build|instructions|check|time|summary) phases+=("$word") ;;
    -h|--help) sed -n '2,/^set /p' "$0" | sed '/^set /d; s/^# \{0,1\}//'; exit 0 ;;
    *) echo "'$word' is no phase: probe build instructions check time summary (--help says more)" >&2; exit 2 ;;
  esac
done
[ ${#phases[@]} -gt 0 ] || phases=(probe build instructions check time summary)
compiler=${CXX:-c++}
toolkit=${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}}
results=results
mkdir -p $results/build $results/instructions $results/check $results/time

say() { printf '== %s\n' "$*" >&2; }

# Two at once would disturb each other's times, and write the same files.
exec 9> $results/lock
if command -v flock > /dev/null && ! flock -n 9; then say "another run.sh is at work in $PWD"; exit 3; fi

# done_before FILE: it is there, and it is not to be tried again.
done_before() {
  [ -s "$1" ] || return 1
  grep -q '"status": "skipped"' "$1" && return 1
  [ $retry = 1 ] && grep -qE '"status": "(failed|timeout|wrong)"' "$1" && return 1
  return 0
}

# report FILE PHASE CASE STATUS WHAT: the row of a step that left none.
report() {
  local what
  what=$(printf '%s' "$5" | tr '\n"\\,' "    " | cut -c1-400)
  printf '%s,%s,,,,%s,,,,,,,,,,%s\n' "$2" "$3" "$4" "$what" > "$1.csv"
  printf '{"phase": "%s", "case": "%s", "status": "%s", "what": "%s"}\n' "$2" "$3" "$4" "$what" > "$1.part"
  mv "$1.part" "$1"
}

# attempt PHASE CASE FILE COMMAND...: within the time of a step, or what is left of the phase's; leaves FILE.
attempt() {
  local phase=$1 name=$2 file=$3 left; shift 3
  left=$((began + limit[$phase] - SECONDS))
  [ "$left" -gt 0 ] || return 4
  local within=${step[$phase]} log=$file.log code=0
  [ "$left" -ge "$within" ] || within=$left
  rm -f "$file"
  timeout -k 5 "$within" "$@" > "$log" 2>&1 || code=$?
  if [ $code = 124 ] || [ $code = 137 ]; then
    [ "$within" -lt "${step[$phase]}" ] && return 4  # cut short by the phase: it is done anew next time
    report "$file" "$phase" "$name" timeout "not ended after $within s"
  elif [ $code = 77 ]; then
    report "$file" "$phase" "$name" skipped "$(head -c 400 "$log")"
  elif [ $code != 0 ] || [ ! -s "$file" ]; then
    report "$file" "$phase" "$name" failed "exit code $code: $(head -c 400 "$log")"
  fi
}

ok() { [ -s "$1" ] && grep -q '"status": "ok"' "$1"; }

probe() {
  "$compiler" -std=c++20 -O1 -Iplace place/probe.cpp -o probe -ldl > $results/probe.log 2>&1 ||
    { say "the C++ compiler '$compiler' does not make programs: $(head -5 $results/probe.log)"; exit 77; }
  timeout "${step[probe]}" ./probe > $results/probe.part 2> $results/probe.log ||
    { say "no GPU here: $(cat $results/probe.log)"; exit 77; }
  mv $results/probe.part $results/probe.json
  cat $results/probe.json >&2
}

# Programs of instructions, then of cases; each once.
build() {
  local folder name flags=(-std=c++20 -O1 -Iplace) link=(-ldl -pthread)
  if [ ! -s place/runner.o ]; then
    "$compiler" -std=c++20 -O2 -Iplace -c place/runner.cpp -o place/runner.part > place/runner.log 2>&1 ||
      { say "place/runner.cpp does not compile: $(head -5 place/runner.log)"; exit 1; }
    mv place/runner.part place/runner.o
  fi
  if [ ! -s place/peers.o ]; then
    if [ "${BENCH_PEERS:-1}" != 0 ] &&
      "$compiler" -std=c++20 -O2 -Iplace "-I$toolkit/include" -c place/peers.cpp -o place/peers.o > place/peers.log 2>&1
    then echo "-L$toolkit/lib64 -L$toolkit/lib -Wl,-rpath,$toolkit/lib64:$toolkit/lib -lcublasLt -lcudart" > place/peers.link
    else
      if [ "${BENCH_PEERS:-1}" = 0 ]; then say "without cuBLASLt, as asked (BENCH_PEERS=0)"
      else say "without cuBLASLt: $(grep -m1 error place/peers.log 2>/dev/null)"; fi
      "$compiler" -std=c++20 -O2 -DBENCH_NO_PEERS -Iplace -c place/peers.cpp -o place/peers.o && : > place/peers.link
    fi
  fi
  for folder in instructions/p* cases/*/; do
    folder=${folder%/} name=${folder##*/}
    [ -f "$folder/program.cpp" ] || continue
    done_before "$results/build/$name" && continue
    local extra=() sources=("$folder/program.cpp")
    if [ -f "$folder/case" ]; then
      read -ra extra < place/peers.link
      sources+=(place/runner.o place/peers.o)
      [ -f "$folder/reference.cpp" ] && sources+=("$folder/reference.cpp")
    fi
    attempt build "$name" "$results/build/$name" bash -c '
      "$@" && printf "{\"phase\": \"build\", \"case\": \"%s\", \"status\": \"ok\"}\n" "$0" > "'"$results/build/$name"'"' \
      "$name" "$compiler" "${flags[@]}" "${sources[@]}" -o "$folder/program" "${extra[@]}" "${link[@]}" || return 4
  done
}

instructions() {
  local folder name
  for folder in instructions/p*/; do
    folder=${folder%/} name=${folder##*/}
    [ -x "$folder/program" ] || continue
    done_before "$results/instructions/$name" && continue
    rm -f "$folder/result" "$folder/log"
    attempt instructions "$name" "$results/instructions/$name" bash -c '
      "$1/program" "$1" 0 > "$1/log" 2>&1 || { code=$?; cat "$1/log"; exit $code; }
      equal=0 all=0
      for e in "$1"/*.expected; do all=$((all + 1)); cmp -s "$e" "${e%.expected}.out" && equal=$((equal + 1)); done
      printf "{\"phase\": \"instructions\", \"case\": \"%s\", \"status\": \"ok\", \"what\": \"%d of %d results are the expected bits; the import judges the others by their bounds\"}\n" \
        "$0" $equal $all > "$2.part" && mv "$2.part" "$2"' "$name" "$folder" "$results/instructions/$name" || return 4
  done
}

cases_of() {  # check or time
  local phase=$1 folder name file
  for folder in cases/*/; do
    folder=${folder%/} name=${folder##*/} file=$results/$phase/${folder##*/}
    done_before "$file" && continue
    if ! ok "$results/build/$name"; then
      [ -s "$results/build/$name" ] && report "$file" "$phase" "$name" failed "its program was not built"
      continue
    fi
    [ "$phase" = check ] || ok "$results/check/$name" || continue  # what is wrong has no time
    attempt "$phase" "$name" "$file" "$folder/program" "$phase" "$file" || return 4
  done
}
check() { cases_of check; }
time_() { cases_of time; }

summary() {
  {
    echo "phase,case,family,kernel,target,status,max_error,seconds,seconds_min,seconds_p90,gflops,gbytes_per_s,peer_default_seconds,peer_best_seconds,predicted_seconds,what"
    find $results/check $results/time -name '*.csv' | sort | xargs -r cat
  } > $results/results.csv.part && mv $results/results.csv.part $results/results.csv
  { cat $results/probe.json; find $results/build $results/instructions $results/check $results/time -type f \
      ! -name '*.log' ! -name '*.csv' ! -name '*.part' | sort | xargs cat; } 2>/dev/null > $results/results.jsonl.part
  mv $results/results.jsonl.part $results/results.jsonl
  { echo '{"schema_version": 1, "rows": ['; sed '$!s/$/,/' $results/results.jsonl; echo ']}'; } > $results/results.json.part
  mv $results/results.json.part $results/results.json
  {
    echo "machine: $(cat $results/probe.json 2>/dev/null)"
    for phase in build instructions check time; do
      printf '%-13s' "$phase"
      { grep -ho '"status": "[a-z]*"' $results/$phase/* 2>/dev/null || true; } | sort | uniq -c |
        awk '{ gsub(/"/, "", $3); printf " %d %s", $1, $3 } END { if (NR == 0) printf " nothing"; print "" }'
    done
    awk -F, '$1 == "check" && $6 == "wrong" { print "WRONG " $2 ": " $16 }' $results/results.csv
    awk -F, '$1 == "time" && $6 == "ok" {
        if (!($4 in best) || $8 < best[$4]) { best[$4] = $8; row[$4] = $0; if (!($4 in order)) { order[$4] = ++count; name[count] = $4 } }
      }
      END {
        if (count) printf "%-34s %12s %10s %9s %12s %12s\n", "kernel (the best schedule)", "us", "GFLOP/s", "GB/s", "of default", "of best"
        copied = 0  # bytes a second of the copy: what the memory of this machine gives a kernel
        for (i = 1; i <= count; ++i) { split(row[name[i]], f, ","); if (f[3] == "copy" && f[12] + 0 > copied) copied = f[12] + 0 }
        for (i = 1; i <= count; ++i) {
          split(row[name[i]], f, ",")
          line = sprintf("%-34s %12.3f %10.1f %9.1f", name[i], f[8] * 1e6, f[11], f[12])
          if (f[13] + 0 > 0) { line = line sprintf(" %11.1f%% %11.1f%%", 100 * f[13] / f[8], 100 * f[14] / f[8]); l += log(f[14] / f[8]); n++ }
          if (copied && f[3] !~ /^(product|sum)_/) {
            line = line sprintf(" %6.1f%% of the copy\047s GB/s", 100 * f[12] / copied)
            if (f[3] != "copy") { bound++; if (f[12] >= 0.85 * copied) near++ }
          }
          print line
        }
        if (bound) printf "bound by memory: %d of %d kernels reach 85%% of the copy\047s GB/s\n", near, bound
        if (n) printf "geometric mean of best library time / ours: %.3f over %d\n", exp(l / n), n
      }' $results/results.csv
  } | tee $results/summary.txt.part
  mv $results/summary.txt.part $results/summary.txt
}

code=0
for phase in "${phases[@]}"; do
  began=$SECONDS
  say "$phase (at most ${limit[$phase]} s)"
  if [ "$phase" = time ]; then time_; else $phase; fi
  if [ $? = 4 ]; then
    say "the time of phase '$phase' is over; ./run.sh goes on where it was"
    code=4
  fi
done
for phase in "${phases[@]}"; do  # nothing but skipped steps: there is no GPU
  if [ $code = 0 ] && grep -qs '"status": "skipped"' $results/$phase/* && ! grep -qs '"status": "ok"' $results/$phase/*
  then code=77; fi
done
grep -qsE '"status": "(wrong|failed|timeout)"' $results/*/* && code=5
exit $code
