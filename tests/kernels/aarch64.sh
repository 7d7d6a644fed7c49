#!/bin/sh
# The kernels compiled for AArch64, and their tests run by an emulator: aarch64.sh FOLDER [GTEST_FILTER]
# Exit status 77 where the tools are not installed: apt install g++-aarch64-linux-gnu qemu-user-static googletest
set -eu
folder=$1 filter=${2:-*}
cd "$(dirname "$0")/../.."

compiler=aarch64-linux-gnu-g++ gtest=/usr/src/googletest/googletest
for needed in "$compiler" qemu-aarch64-static; do
  command -v "$needed" >/dev/null || { echo "skipped: no $needed"; exit 77; }
done
[ -d "$gtest" ] || { echo "skipped: no $gtest"; exit 77; }

# Headers that are the same on every processor, without the others beside them.
mkdir -p "$folder/include"
for library in fmt nlohmann; do ln -sfn "/usr/include/$library" "$folder/include/$library"; done

cat >"$folder/Makefile" <<'END'
flags := -std=c++20 -O1 -ffp-contract=off -DFMT_HEADER_ONLY -Isrc -isystem $(folder)/include -isystem $(gtest)/include -I$(gtest) -Wall -Wextra -Werror
sources := $(filter-out %/kernels_avx2.cpp %/kernels_avx512.cpp,$(wildcard src/linac/model/kernels/*.cpp)) src/linac/model/kernels/cuda/no_cuda.cpp
sources += $(patsubst %,src/linac/base/base/%.cpp,error rng turned_bit thread_pool thread_team)
sources += $(gtest)/src/gtest-all.cc $(gtest)/src/gtest_main.cc
objects := $(patsubst %,$(folder)/%.o,$(subst /,_,$(basename $(sources))))
$(folder)/kernels_test: $(objects)
	$(compiler) -static $^ -o $@ -lpthread
define compile
$(folder)/$(subst /,_,$(basename $(1))).o: $(1)
	$(compiler) $(flags) $(if $(findstring kernels/kernels_,$(1)),-O3) -c $$< -o $$@
endef
$(foreach source,$(sources),$(eval $(call compile,$(source))))
END
make --no-print-directory -j"${JOBS:-2}" -f "$folder/Makefile" folder="$folder" gtest="$gtest" compiler="$compiler" >"$folder/make.log" 2>&1 || {
  cat "$folder/make.log"
  exit 1
}
# The one that is left out starts itself again, which the emulator does not do.
qemu-aarch64-static "$folder/kernels_test" --gtest_brief=1 --gtest_filter="$filter:-Isa.TheEnvironmentLowersIt"
