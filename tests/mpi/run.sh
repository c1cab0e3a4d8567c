#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plans under launchers that are not ours: MPI ranks, a rank that dies, GNU parallel. Only under `./dev test --all`.
# What is not installed is said and skipped (77 if nothing could be tried).
#   run.sh ISAMAP [ISAMAP_MPI]
set -uo pipefail
isamap=$1 isamap_mpi=${2:-}
examples=$(cd "$(dirname "$0")/../../examples" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
tried=0 failed=0
lab=(small --strategies random,genetic --seeds 3 --budget evals=60)
"$isamap" plan lab "${lab[@]}" -o plan 2>/dev/null || exit 1
"$isamap" lab run "${lab[@]}" -o serial.jsonl 2>/dev/null || exit 1

# expect NAME COMMAND: the command succeeds.
expect() {
  local name=$1; shift
  if "$@" >said 2>&1; then echo "ok: $name"; else echo "FAILED: $name"; cat said; failed=1; fi
}
same_results() { "$isamap" results plan --store "$1" | cmp - serial.jsonl; }

if [ -x "$isamap_mpi" ] && command -v mpirun >/dev/null; then
  tried=1
  # Ranks of a test share few processors, and may be root's.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  expect "four ranks do a plan" timeout 300 mpirun -n 4 "$isamap_mpi" work plan --store ranks
  expect "the results are those of one process" same_results ranks
  expect "lab run on ranks" timeout 300 mpirun -n 3 "$isamap_mpi" lab run "${lab[@]}" -o ranks.jsonl
  expect "its file is that of one process" cmp ranks.jsonl serial.jsonl

  timeout 300 mpirun -n 3 "$isamap_mpi" work plan --store death >said 2>&1 &
  for _ in $(seq 2000); do  # until some jobs are recorded, then one rank dies
    [ "$(cat death/*.jsonl 2>/dev/null | wc -l)" -lt 5 ] || break
    sleep 0.005
  done
  victim=$(pgrep -f "$isamap_mpi work plan --store death" -P "$(pgrep -f "mpirun -n 3 $isamap_mpi work plan --store death" | tail -1)" | tail -1)
  [ -z "$victim" ] || kill -9 "$victim"
  wait
  kept=$(cat death/*.jsonl | wc -l)
  expect "what was recorded before the death is kept ($kept jobs)" test "$kept" -ge 5
  expect "no job of the other ranks has failed" test "$(cat death/*.jsonl | grep -c '"end":"failed"')" -eq 0
  expect "the same command goes on" timeout 300 mpirun -n 3 "$isamap_mpi" work plan --store death
  expect "and ends with the same results" same_results death
  expect "nothing was done twice" test "$(cat death/*.jsonl | grep -c '"end":"ok"')" -eq 30

  # An MPI with fault tolerance (deaths.h): the others go on, and do what the dead one had in flight.
  if ompi_info 2>/dev/null | grep -q 'FT MPI support: yes'; then
    timeout 300 mpirun --with-ft ulfm -n 4 "$isamap_mpi" work plan --store living >words 2>&1 &
    launcher=$!
    for _ in $(seq 2000); do
      [ "$(cat living/*.jsonl 2>/dev/null | wc -l)" -lt 5 ] || break
      sleep 0.005
    done
    for victim in $(pgrep -f "^$isamap_mpi work plan --store living" | sed -n '2p;4p'); do kill -9 "$victim"; done
    expect "the other ranks end the work" wait $launcher
    expect "they say who died" grep -q "has died; the others go on" words
    expect "and have the same results" same_results living
    expect "no death counts as an attempt" test "$(cat living/*.jsonl | grep -c '"end":"failed"')" -eq 0
    for round in 1 2 3; do  # the last results are there, and rank 0 has hardly seen them
      timeout 60 mpirun --with-ft ulfm -n 4 "$isamap_mpi" work plan --store "ending$round" >words 2>&1 &
      launcher=$!
      for _ in $(seq 2000); do
        [ "$(cat "ending$round"/*.jsonl 2>/dev/null | wc -l)" -lt 30 ] || break
        sleep 0.005
      done
      for victim in $(pgrep -f "^$isamap_mpi work plan --store ending" | sed -n '2p;4p'); do kill -9 "$victim"; done
      expect "nobody waits for those who die at the end" wait $launcher
    done
  else
    echo "not tried: an MPI with fault tolerance (Open MPI 5)"
  fi

  # One search on all ranks: the bytes of one process, also where statements are fused and where points are illegal.
  for kernel in "$examples/gemm.yaml x86_avx512" "$examples/linear_relu.yaml x86_avx512" "$examples/gemm_s8.yaml systolic16"; do
    read -r file target <<<"$kernel"
    "$isamap" schedule "$file" --target "$target" --budget evals=300 >alone.yaml 2>/dev/null
    for ranks in 2 3; do
      expect "schedule of $(basename "$file") on $ranks ranks" timeout 300 mpirun -n $ranks "$isamap_mpi" schedule "$file" \
        --target "$target" --budget evals=300 -o ranks.yaml
      expect "its bytes are those of one process" cmp ranks.yaml alone.yaml
    done
  done
  expect "a search on ranks has no time limit" \
    sh -c "mpirun -n 2 '$isamap_mpi' schedule '$examples/gemm.yaml' --target x86_avx512 --budget seconds=1; [ \$? = 2 ]"

  # A cost model that fails on ranks: its words, and the exit code that it has on one. Of a plan each job is tried.
  expect "a cost model fails in a search on ranks" \
    sh -c "timeout 60 mpirun -n 2 '$isamap_mpi' schedule '$examples/gemm.yaml' --target x86_avx512 \
      --cost external:command=/bin/false 2>words; [ \$? = 4 ]"
  expect "its words are said" grep -q "the external cost model '/bin/false' ended with code 1" words
  expect "a cost model fails in a plan on ranks" \
    sh -c "timeout 60 mpirun -n 2 '$isamap_mpi' lab run small --strategies random --seeds 1 -o failing.jsonl \
      --cost external:command=/bin/false 2>words; [ \$? = 4 ]"
  expect "its words are said" grep -q "the external cost model '/bin/false' ended with code 1" words

  # Ctrl-C, as a terminal sends it to the launcher: within a second, and nothing recorded is lost.
  timeout 300 mpirun -n 3 "$isamap_mpi" lab run small --strategies random,genetic --seeds 40 --budget evals=600 \
    -o stopped.jsonl >words 2>&1 &
  launcher=$!
  for _ in $(seq 2000); do
    [ "$(cat stopped.jsonl.jobs/*.jsonl 2>/dev/null | wc -l)" -lt 5 ] || break
    sleep 0.005
  done
  begun=$(date +%s%N)
  kill -INT "$(pgrep -P $launcher | head -1)"
  wait $launcher
  code=$? took=$((($(date +%s%N) - begun) / 1000000))
  expect "Ctrl-C ends a run on ranks (after $took ms)" test $took -lt 2000 -a $code != 0
  # Open MPI 5 forwards nothing that ranks say after Ctrl-C.
  mpirun --version | grep -q 'Open MPI) 5' ||
    expect "it says what is kept" grep -q "jobs that have ended are recorded; the same command goes on" words

  expect "tune on ranks" timeout 300 mpirun -n 2 "$isamap_mpi" tune --compute 'C[i,j] += s32(A[i,k]) * s32(B[k,j])' \
    --dims i=24,j=33,k=20 --dtypes A=s8,B=s8,C=s32 --target npu16 --budget evals=40 --measured 2 --store tuned -o best
  expect "its schedule" grep -q 'do s0 with mma' best
  mpirun -n 2 "$isamap_mpi" tune --compute 'C[i] += A[i,k] * B[k]' --dims i=4,k=4 --target npu16 --store q.db >words 2>&1
  expect "a database is no store of ranks" test $? = 2 -a ! -e q.db
else
  echo "not tried: MPI (./dev setup mpi, then build again)"
fi

if command -v parallel >/dev/null; then
  tried=1
  expect "GNU parallel" parallel --will-cite "$isamap" work plan --shard {}/4 --store parallel ::: 0 1 2 3
  expect "its results" same_results parallel
else
  echo "not tried: GNU parallel (./dev setup mpi)"
fi

[ $tried = 1 ] || exit 77
exit $failed
