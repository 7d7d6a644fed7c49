#!/bin/sh
# Types of the pages and unit tests of what is pure in them, with the packages that the build in $1 has got. Exit 77 if it got none.
set -eu
ui=$(cd "$(dirname "$0")/../../ui" && pwd)
work=$1/ui/work
[ -d "$work/node_modules" ] || { echo "the build has no pages: skipped"; exit 77; }
rm -rf "$work/src" "$work/test"
cp -r "$ui/src" "$ui/test" "$ui/tsconfig.json" "$work/"
cd "$work"
node node_modules/typescript/bin/tsc --noEmit
exec node test/run.mjs
