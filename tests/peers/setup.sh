#!/bin/sh
# Makes the Python environment of the peer tests in build/peers (or in the folder given), once for each state of
# requirements.txt, of alone.txt, whose own dependencies stay away, and of sources.txt, which has peers without wheels.
# Prints the interpreter's path.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/peers}
stamp=$folder/requirements.installed
wanted() { cat "$here/requirements.txt" "$here/alone.txt" "$here/sources.txt"; }

if ! wanted | cmp -s - "$stamp"; then
  mkdir -p "$folder"
  python3 -m venv "$folder" >&2
  pip="$folder/bin/python -m pip install --quiet --disable-pip-version-check"
  wheels=--only-binary=:all:
  # uv unpacks and compiles in a third of pip's time; where it does not come or finds no index, pip does it.
  $pip $wheels uv==0.13.9 >&2 && "$folder/bin/uv" pip install --quiet --python "$folder/bin/python" $wheels \
    --compile-bytecode -r "$here/requirements.txt" >&2 || $pip $wheels -r "$here/requirements.txt" >&2
  $pip $wheels --no-deps -r "$here/alone.txt" >&2
  $pip -r "$here/sources.txt" >&2
  wanted > "$stamp"
fi
echo "$folder/bin/python"
