#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# capture.sh <kit> <output folder>: golden files of the GPU here, from the programs and inputs of a kit (README.md). Prints
# what differs from the expectations; fails where a program could not do its work. Needs no network, and nvcc only where the
# programs do not start: then it builds them from the kit's sources.
set -uo pipefail
if [ $# -ne 2 ]; then
  echo "usage: $0 <kit folder> <output folder>" >&2
  exit 2
fi
kit=$1
out=$2
limit=240 # seconds for each program: none comes near it
mkdir -p "$out/log" || exit 1
logs=$(cd "$out/log" && pwd)

build() { # <program> <sources...>
  local program=$1
  shift
  (cd "$kit/source/tests" && nvcc -cudart static -std=c++20 -gencode arch=compute_90a,code=sm_90a -I.. -o "$programs/$program" "$@")
}
programs=$kit
"$kit/emu_capture" >/dev/null 2>&1
if [ $? -ne 2 ]; then # what it says of missing arguments
  echo "the programs of $kit do not start here; building them"
  programs=$(mktemp -d)
  build emu_capture vectors/capture.cpp vectors/form_file.cpp isolate.cpp &&
    build tensor_copies tma/copy.cu tma/copy_file.cpp tma/tensor_copies.cpp isolate.cpp &&
    build gemm_hashes hopper/gemm.cu hopper/gemm_hashes.cpp || exit 1
fi

# Processes of their own: what goes wrong in one leaves the others alone, and the driver compiles for several at a time.
declare -A processes
start() { # <name> <command...>
  local name=$1
  shift
  timeout "$limit" "$@" >"$logs/$name.txt" 2>&1 &
  processes[$name]=$!
}
for file in "$kit"/*.txt; do
  name=$(basename "$file" .txt)
  if [[ "$name" == *copies ]]; then
    start "$name" "$programs/tensor_copies" "$file" "$out"
  else
    start "$name" "$programs/emu_capture" "$out" "$file"
  fi
done
start hopper_gemm "$programs/gemm_hashes"
status=0
failed=()
for name in "${!processes[@]}"; do
  wait "${processes[$name]}" || { failed+=("$name"); status=1; }
done

# The driver's own version, which its interface does not tell.
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader --id=0 2>/dev/null | head -n 1)
if [ -n "$driver" ]; then
  sed -i "s/^# Driver API: \(.*\)\$/# Driver: $driver (API \1)/" "$out"/*.txt
fi
head_of=$(ls "$out"/sm_*.txt 2>/dev/null | head -n 1)
if [ -n "$head_of" ] && [ -s "$logs/hopper_gemm.txt" ] && [[ " ${failed[*]-} " != *" hopper_gemm "* ]]; then
  {
    echo "# Hashes of a GPU's outputs, printed by gemm_hashes (emu/tests/hopper/gemm_hashes.cpp)."
    grep -E '^# (GPU|Driver|Driver API|Date):' "$head_of"
    cat "$logs/hopper_gemm.txt"
  } >"$out/hopper_gemm.txt"
fi

echo "--- what the programs say"
for log in "$logs"/*.txt; do
  [ "$(basename "$log")" = hopper_gemm.txt ] || cat "$log"
done
echo "--- files"
(cd "$out" && du -b -- *.txt 2>/dev/null)
for name in "${failed[@]-}"; do
  [ -z "$name" ] || { echo "FAILED: $name"; cat "$logs/$name.txt"; }
done
exit "$status"
