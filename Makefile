# The usual tasks. Each target sets up what it needs (Debian packages, pinned wheels in deps/prefix, a build in build/) and is incremental.
PRESET ?= release
BUILD  := build/$(PRESET)
JOBS   ?= $(shell nproc)
DEMO_OUT ?= runs/demo
DEMO_ARGS ?=

.PHONY: help demo test test-long docs build install dist deb image wheel configure deps bench gpu-day gpu-day-bring format sanitize fuzz clean

help:
	@echo "make demo     train a generator of showers with 2 workers, lose one on the way, compare the bits, and judge the showers"
	@echo "make test     build and run the tests: every feature, in minutes"
	@echo "make test-long  the soaks, faults and zoos of models that take longer"
	@echo "make docs     the pages as a site with a search, the verbs, routes, functions and executed notebooks: build/docs/html/index.html"
	@echo "make build    build/linac"
	@echo "make install  the program and what plug-ins are built with, into PREFIX=/usr/local"
	@echo "make dist     one archive with all libraries, for any Linux with glibc 2.34; make deb: Debian packages; make image: for containers"
	@echo "make wheel    the Python package with the program, for pip"
	@echo "make bench    measure a training step on this machine beside PyTorch and TensorFlow (BENCH_REPEAT=5 rounds; sets them up)"
	@echo "make gpu-day  on a host with a GPU and no network: CUDA built, tested and measured beside PyTorch; make gpu-day-bring: what to carry there"
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

wheel: build
	@deps/get.sh packaging
	@packaging/wheel.py $(BUILD) --out $(PACKAGES)

deb: build
	@deps/get.sh packaging
	@packaging/debian.py $(BUILD) --out $(PACKAGES)

image: deb
	@packaging/image.py --out $(PACKAGES)

# What computes alone: the control plane is another program.
demo: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target linac_compute
	@ln -sfn $(PRESET)/bin/linac-compute build/linac-compute
	@rm -rf $(DEMO_OUT)
	@examples/demo.py $(DEMO_OUT) $(DEMO_ARGS)

# TEST_ARGS: of tests/run.py, as --strict. The light servers that tests use are brought where this user may.
TEST_ARGS ?=
test: build
	@tests/peers/setup.sh
	@tests/run.py $(BUILD) --jobs $(JOBS) --light-servers $(TEST_ARGS)

# LONG_PART=due: those whose turn it is (tests/runner/turns.py); LONG_PART=3: this part of them.
LONG_PART ?=
test-long: build
	@tests/peers/setup.sh
	@tests/run.py $(BUILD) $(if $(LONG_PART),--part $(LONG_PART),--long) $(TEST_ARGS)

# The notebooks see the packages of the peers.
docs: build
	@tests/peers/setup.sh >/dev/null
	@$$(docs/site/setup.sh) docs/site/build.py

BENCH_REPEAT ?= 5
bench: build
	@bench/peers/setup.sh
	bench/compare.py --precision fp32 --batch 16 --threads 1 --repeat $(BENCH_REPEAT)
	bench/compare.py --precision bf16 --batch 16 --threads 1 --repeat $(BENCH_REPEAT)
	bench/compare.py --precision fp32 --batch 16 --threads 2 --repeat $(BENCH_REPEAT)
	bench/recurrent.py --cell gru --repeat $(BENCH_REPEAT)
	bench/models.py --repeat $(BENCH_REPEAT)

# On a host without network (docs/internals/gpu-day.md): sets nothing up, and says what is missing. gpu-day-bring makes what it wants.
OUT ?= build/gpu-day
MINUTES ?= 25
REHEARSE ?=
GPU_DAY_ARGS ?=
gpu-day:
	@bench/gpu_day/day.py --out $(OUT) --minutes $(MINUTES) $(if $(REHEARSE),--rehearse) $(GPU_DAY_ARGS)

gpu-day-bring: configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target kernels_test nn_test devices_test linac_compute
	@bench/gpu_day/bring.py $(BUILD) build/gpu-day.tar.xz

# Tests of the modules that read foreign bytes, compute on pointers or start threads. Those on LibTorch are left out: its
# libraries are not instrumented, and the control plane's: what it reads of strangers runs under both in its fuzz targets.
SANITIZER ?= asan
SANITIZED := base plan energy stacks net relay weights expression storage job data graph keras kernels primaries chain physics comm workers
sanitize: deps
	@cmake --preset $(SANITIZER) >/dev/null
	@cmake --build build/$(SANITIZER) --parallel $(JOBS) --target $(SANITIZED:%=%_test)
	@UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:suppressions=$(CURDIR)/tests/ubsan.supp TSAN_OPTIONS=halt_on_error=1 \
		tests/run.py build/$(SANITIZER) --jobs $(JOBS) -R '^($(subst $() ,|,$(SANITIZED)))$$' $(TEST_ARGS)

FUZZ_SECONDS ?= 60
fuzz: deps
	@fuzz/run.sh $(FUZZ_SECONDS)

format:
	@git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

clean:
	@rm -rf build
