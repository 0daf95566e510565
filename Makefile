# The five things people do with this tree; everything else is CMake's (see CMakePresets.json).
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
BENCH  ?= --colls all --sizes 8,1K,64K,1M,16M,128M --dtypes f32,bf16 --budget 0.05 --max-memory 1G
export JOBS

.DEFAULT_GOAL := help
.PHONY: help demo check stress bench install build

help:
	@echo "make demo     train a small GPT on four ranks and prove that one rank gives the same bits"
	@echo "make check    build and run all tests, also under sanitizers (under 15 minutes on 2 cores)"
	@echo "make stress   the long forms of the tests, some also under sanitizers (hours;"
	@echo "              make stress TESTS='conformance.*mix' does those whose names match)"
	@echo "make bench    compare the collectives with Open MPI, MPICH and Gloo, where they are there"
	@echo "              (25 minutes; make bench BENCH='--colls all_reduce --ranks 2' does a part)"
	@echo "make install  install library, headers and command (PREFIX=$(PREFIX), DESTDIR=)"
	@echo
	@echo "All of them install missing packages first and say so (Debian, Ubuntu; needs root or sudo)."

build:
	@scripts/setup.sh build
	@cmake --preset release
	@cmake --build build/release -j $(JOBS)

demo:
	@scripts/setup.sh demo
	@scripts/demo.sh

check:
	@scripts/setup.sh check
	@scripts/check.sh

stress:
	@scripts/setup.sh check
	@scripts/check.sh stress '$(TESTS)'

bench: build
	@build/release/hocket bench --vs all $(BENCH) --markdown docs/performance.md \
	    --plot docs/performance.svg

install: build
	@cmake --install build/release --prefix $(PREFIX)
