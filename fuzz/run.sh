#!/bin/sh
# Builds the fuzz targets and runs each for SECONDS (default 60), as many side by side as there are cores: fuzz/run.sh [SECONDS].
# Fails if one crashes; its input stays in build/fuzz/crashes/. Needs clang with libFuzzer (Debian: clang libclang-rt-14-dev;
# fuzz_request also needs coroutines, which clang has from 15 on: CXX=clang++-16 CC=clang-16).
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = --one ]; then  # NAME SECONDS: what the end of this file starts for each target
  name=$2 seconds=$3 found=build/fuzz/found/$2 log=build/fuzz/$2.log
  mkdir -p "$found"
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1  # or what it finds is printed, and nobody hears of it
  if ! "build/asan/bin/fuzz_$name" -max_total_time="$seconds" -max_len=32768 -timeout=10 -rss_limit_mb=1024 \
      -print_final_stats=1 -artifact_prefix="build/fuzz/crashes/$name-" "$found" "fuzz/corpus/$name" > "$log" 2>&1; then
    tail -n 40 "$log"
    echo "fuzz_$name: FAILED (log: $log)" >&2
    exit 1
  fi
  echo "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") execs in $seconds s, no crash"
  exit
fi

seconds=${1:-60}
cmake --preset asan -D CMAKE_C_COMPILER="${CC:-clang}" -D CMAKE_CXX_COMPILER="${CXX:-clang++}" > /dev/null
targets="chain checkpoint example exported expression filter hdf5_lists keras keras_h5 membership optuna plan position root run_record s3_answer tfrecord"
[ "$("${CXX:-clang++}" -dumpversion | cut -d. -f1)" -lt 15 ] || targets="$targets request"
cmake --build --preset asan --target $(printf 'fuzz_%s ' $targets)
mkdir -p build/fuzz/crashes
printf '%s\n' $targets | xargs -P "$(nproc)" -I NAME fuzz/run.sh --one NAME "$seconds"
