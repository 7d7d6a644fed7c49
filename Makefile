# The usual tasks. Each target sets up what it needs (Debian packages, pinned wheels in deps/prefix, a build in build/) and is incremental.
PRESET ?= release
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
DEMO_OUT ?= runs/demo
DEMO_ARGS ?=

.PHONY: help demo test test-long build install dist deb image configure deps bench format sanitize fuzz clean

help:
	@echo "make demo     train on from the generator in models/ with 2 workers, lose one on the way, and judge the showers"
	@echo "make test     build and run the tests: every feature, in minutes"
	@echo "make test-long  the soaks, faults and zoos of models that take longer"
	@echo "make build    build/linac"
	@echo "make install  the program and what plug-ins are built with, into PREFIX=/usr/local"
	@echo "make dist     one archive with all libraries, for any Linux with glibc 2.34; make deb: Debian packages; make image: for containers"
	@echo "make bench    measure a training step on this machine beside PyTorch and TensorFlow (BENCH_REPEAT=5 rounds; sets them up)"
	@echo "make sanitize module tests under ASan and UBSan (SANITIZER=tsan: under TSan)"
	@echo "make fuzz     fuzz the parsers of foreign bytes (FUZZ_SECONDS=60 each)"
	@echo "make format   clang-format over src/, tests/, fuzz/"
	@echo "make clean    remove build/"

deps:
	@deps/get.sh

configure: deps
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) >build-configure.log || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS)
	@ln -sfn $(PRESET)/bin/linac build/linac

PREFIX ?= /usr/local
install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

# Into PACKAGES.
PACKAGES ?= build/packages
dist: build
	@deps/get.sh packaging
	@packaging/archive.py $(BUILD) --out $(PACKAGES)

deb: build
	@deps/get.sh packaging
	@packaging/debian.py $(BUILD) --out $(PACKAGES)

image: deb
	@packaging/image.py --out $(PACKAGES)

demo: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target linac
	@ln -sfn $(PRESET)/bin/linac build/linac
	@rm -rf $(DEMO_OUT)
	@examples/demo.py $(DEMO_OUT) $(DEMO_ARGS)

# Two tests more at work than there are cores: many wait for most of their time. What ctest remembers of former runs goes
# before COST in its order, and would leave those that want two cores for the end, when nothing is left to run beside them.
test: build
	@tests/peers/setup.sh
	@cd $(BUILD) && rm -f Testing/Temporary/CTestCostData.txt && ctest --parallel $$(($(JOBS) + 2)) -LE '^long$$' --output-on-failure --no-tests=error

# LONG_BUDGET seconds and LONG_TURN, a text: a part of them, which the text chooses.
LONG_BUDGET ?= inf
LONG_TURN ?=
test-long: build
	@tests/peers/setup.sh
	@tests/long.py $(BUILD) --budget $(LONG_BUDGET) --turn "$(LONG_TURN)"

BENCH_REPEAT ?= 5
bench: build
	@bench/peers/setup.sh
	bench/compare.py --precision fp32 --batch 16 --threads 1 --repeat $(BENCH_REPEAT)
	bench/compare.py --precision bf16 --batch 16 --threads 1 --repeat $(BENCH_REPEAT)
	bench/compare.py --precision fp32 --batch 16 --threads 2 --repeat $(BENCH_REPEAT)
	bench/recurrent.py --cell gru --repeat $(BENCH_REPEAT)
	bench/models.py --repeat $(BENCH_REPEAT)

# Tests of the modules that read foreign bytes, compute on pointers or start threads. Those on LibTorch are left out: its
# libraries are not instrumented, and the control plane's: what it reads of strangers runs under both in its fuzz targets.
SANITIZER ?= asan
SANITIZED := base stacks net weights expression storage job data graph keras kernels chain physics comm workers
sanitize: deps
	@cmake --preset $(SANITIZER) >/dev/null
	@cmake --build build/$(SANITIZER) --parallel $(JOBS) --target $(SANITIZED:%=%_test)
	@cd build/$(SANITIZER) && UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:suppressions=$(CURDIR)/tests/ubsan.supp TSAN_OPTIONS=halt_on_error=1 \
		ctest --parallel $(JOBS) --output-on-failure --no-tests=error -R '^($(subst $() ,|,$(SANITIZED)))$$'

FUZZ_SECONDS ?= 60
fuzz: deps
	@fuzz/run.sh $(FUZZ_SECONDS)

format:
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

clean:
	@rm -rf build
