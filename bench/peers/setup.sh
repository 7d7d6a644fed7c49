#!/bin/sh
# Makes the Python environment of the benchmark's peers in build/bench-peers (or in the folder given), once for each
# state of requirements.txt. Prints the interpreter's path.
# Torch comes from its CPU index; where that cannot be reached, from the usual one, whose build brings CUDA along (5 GB).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/bench-peers}
stamp=$folder/requirements.installed
cpu_index=https://download.pytorch.org/whl/cpu

install() {
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "$@" >&2
}

if ! cmp -s "$here/requirements.txt" "$stamp"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  torch=$(grep '^torch==' "$here/requirements.txt")
  install --no-deps --retries 0 --timeout 20 --index-url "$cpu_index" "$torch" 2>/dev/null ||
    echo "[bench] $cpu_index not reached: torch with CUDA's libraries instead" >&2
  install -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$stamp"
fi
echo "$folder/bin/python"
