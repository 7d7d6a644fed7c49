#!/usr/bin/env bash
# Brings what linac is built from: Debian packages (deps/apt.txt) and the libraries of LibTorch and Arrow out of pinned wheels
# (deps/wheels.txt). Incremental: a second run looks and does nothing. LINAC_SKIP_APT=1 leaves the system alone (packages come from
# elsewhere); Torch_DIR (a CMake package folder of LibTorch) leaves LibTorch's wheels alone. LINAC_CUDA=1 adds what -DLINAC_CUDA=ON is built with
# (deps/wheels-cuda.txt), LINAC_CUDA=run also what it runs with on a GPU (deps/wheels-cuda-run.txt). The word `packaging` adds what
# packages are made with (deps/apt-packaging.txt).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$here/prefix
mkdir -p "$prefix"

say() { printf '\033[1m[deps]\033[0m %s\n' "$*"; }
words() { sed 's/#.*//' "$1" | tr -s ' \t\n' '\n' | sed '/^$/d'; }

# Of the lists that are named.
install_apt() {
  command -v apt-get >/dev/null || {
    echo "[deps] error: apt-get not found (linac's set-up knows Debian 12); install the packages of $* your way and set LINAC_SKIP_APT=1" >&2
    exit 1
  }
  local missing=()
  for package in $(for list in "$@"; do words "$list"; done); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local sudo=
  if [ "$(id -u)" != 0 ]; then
    sudo="sudo -n"
    $sudo true 2>/dev/null || sudo=sudo
    command -v sudo >/dev/null || { echo "[deps] error: need root or sudo to install: ${missing[*]}" >&2; exit 1; }
  fi
  say "apt: ${missing[*]}"
  local log=$prefix/apt.log
  if ! { $sudo apt-get update && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -20 "$log" >&2
    echo "[deps] error: apt-get failed; whole log: $log" >&2
    exit 1
  fi
}

# Wheels by name and version into a folder.
download() {
  local to=$1
  shift
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --dest "$to" "$@"
}

# Arrow and Parquet: headers and the two libraries, nothing of Python.
install_arrow() {
  local stamp=$prefix/arrow.stamp wheel wanted tmp
  wheel=$(words "$here/wheels.txt" | grep '^pyarrow==')
  wanted=$(echo "$wheel"; cksum <"$here/get.sh")
  [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ] || return 0
  tmp=$(mktemp -d "$prefix/wheels.XXXXXX")
  trap 'rm -rf "$tmp"' RETURN
  say "wheel: $wheel"
  download "$tmp" "$wheel"
  rm -rf "$prefix/pyarrow" "$prefix"/pyarrow-*.dist-info
  unzip -q -o "$tmp"/pyarrow-*.whl 'pyarrow/include/*' 'pyarrow/libarrow.so.*' 'pyarrow/libparquet.so.*' 'pyarrow-*.dist-info/*' \
    -x 'pyarrow/include/arrow/python/*' -d "$prefix"
  printf '%s\n' "$wanted" >"$stamp"
}

# Only the CPU half of the torch wheel is unpacked: headers, libtorch, libtorch_cpu, c10 and the OpenMP runtime they were built with.
install_torch() {
  local stamp=$prefix/wheels.stamp wheels wanted tmp
  wheels=$(words "$here/wheels.txt" | grep -v '^pyarrow==')
  wanted=$(echo "$wheels"; cksum <"$here/get.sh")
  [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ] || return 0
  tmp=$(mktemp -d "$prefix/wheels.XXXXXX")
  trap 'rm -rf "$tmp"' RETURN
  say "wheels: $(echo "$wheels" | tr '\n' ' ')"
  download "$tmp" $wheels
  rm -rf "$prefix/torch" "$prefix/nvidia" "$prefix/cuda.stamp"
  unzip -q -o "$tmp"/torch-*.whl 'torch/include/*' 'torch/lib/libtorch.so' 'torch/lib/libtorch_cpu.so' 'torch/lib/libc10.so' \
    'torch/lib/libgomp*' 'torch/share/cmake/*' 'torch-*.dist-info/*' -d "$prefix"
  for wheel in "$tmp"/nvidia*.whl; do unzip -q -o "$wheel" -d "$prefix"; done
  printf '%s\n' "$wanted" >"$stamp"
}

# The CUDA compiler and the other half of the torch wheel, beside the first; for `run` also the libraries LibTorch loads there.
install_cuda() {
  local stamp=$prefix/cuda.stamp lists=("$here/wheels-cuda.txt") list wanted tmp
  [ "$LINAC_CUDA" != run ] || lists+=("$here/wheels-cuda-run.txt")
  wanted=$(for list in "${lists[@]}"; do words "$list"; done; words "$here/wheels.txt"; cksum <"$here/get.sh")
  [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ] || return 0
  tmp=$(mktemp -d "$prefix/wheels.XXXXXX")
  trap 'rm -rf "$tmp"' RETURN
  say "CUDA wheels: $(for list in "${lists[@]}"; do words "$list"; done | tr '\n' ' ')"
  download "$tmp" $(for list in "${lists[@]}"; do words "$list"; done)
  for wheel in "$tmp"/*.whl; do unzip -q -o "$wheel" -d "$prefix"; done
  if [ -z "${Torch_DIR:-}" ]; then
    download "$tmp" $(words "$here/wheels.txt" | grep '^torch==')
    unzip -q -o "$tmp"/torch-*.whl 'torch/lib/libc10_cuda.so' 'torch/lib/libtorch_cuda.so' 'torch/lib/libtorch_cuda_linalg.so' \
      'torch/lib/libcaffe2_nvrtc.so' 'torch/lib/libtorch_nvshmem.so' -d "$prefix"
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

lists=("$here/apt.txt")
[ "${1:-}" != packaging ] || lists+=("$here/apt-packaging.txt")
[ "${LINAC_SKIP_APT:-0}" = 1 ] || install_apt "${lists[@]}"
install_arrow
[ -n "${Torch_DIR:-}" ] || install_torch
[ "${LINAC_CUDA:-0}" = 0 ] || install_cuda
