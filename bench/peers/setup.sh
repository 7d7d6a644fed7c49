#!/bin/sh
# Makes the Python environment of the benchmark's peers in build/bench-peers (or in the folder given), once for each
# state of requirements.txt. With the name of a library behind the folder only that one and numpy are installed:
# `setup.sh build/bench-peers torch` is enough for bench/network.py. Prints the interpreter's path.
# The usual build of torch brings CUDA's libraries along (5 GB); pip's own environment variables can name another source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/bench-peers}
wanted=$(grep -E "^(${2:+numpy|}${2:-.*})==" "$here/requirements.txt")
stamp=$folder/requirements.installed

if [ ! -f "$stamp" ] || echo "$wanted" | grep -qvxFf "$stamp"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  # shellcheck disable=SC2086
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: $wanted >&2
  echo "$wanted" >"$stamp"
fi
echo "$folder/bin/python"
