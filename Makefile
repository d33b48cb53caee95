# `make demo` on a bare Debian 12 machine does everything; see docs/building.md.
JOBS ?= $(shell nproc)
# Processes that run Python tests. Many tests wait for processes that they started.
WORKERS ?= $(shell echo $$(($(JOBS) + ($(JOBS) + 1) / 2)))
PRESET ?= release
PYTHON ?= python3
PY := .venv/bin/python
# make's own flags must not reach the builds it starts.
unexport MAKEFLAGS
export PYTHON

.PHONY: help build cuda demo test test-cpp test-python property sanitize soak faults faults-nightly fuzz lint format bench docs wheel clean
.DEFAULT_GOAL := build

build:  ## install what is missing, compile, generate the Python API
	@tools/setup.sh
	@cmake --preset $(PRESET) --log-level=WARNING >/dev/null
	@cmake --build --preset $(PRESET) -j $(JOBS)

# CUDA_ARCHITECTURES: which GPUs, as CMake names them; default in cmake/cuda.cmake.
cuda: build  ## libargosy_cuda.so for NVIDIA GPUs, into python/argosy/lib; needs a CUDA 13 toolkit, no GPU
	@$(PY) -m pip install -q --disable-pip-version-check -r tools/requirements.cuda.txt
	@cmake --preset $(PRESET) -DARGOSY_CUDA=ON $(CUDA_ARCHITECTURES:%=-DARGOSY_CUDA_ARCHITECTURES=%) --log-level=WARNING >/dev/null
	@cmake --build --preset $(PRESET) -j $(JOBS) --target argosy_cuda

demo: build  ## train an image classifier on Fashion-MNIST and show what it learned
	@$(PY) examples/fashion_mnist.py

test: test-cpp test-python  ## all tests

test-cpp: build
	@ctest --preset $(PRESET) -j $(JOBS)

property: build  ## 2,000 random programs
	@ARGOSY_PROPERTY_PROGRAMS=2000 $(PY) -m pytest -n $(JOBS) --timeout 3600 tests/programs $(PYTEST_ARGS)

test-python: build
	@$(PY) -m pytest -n $(WORKERS) $(PYTEST_ARGS)

sanitize:  ## tests under the address, undefined behaviour and thread sanitizers
	@tools/setup.sh
	@JOBS=$(JOBS) tools/sanitize.sh

soak: build  ## 100,000 training steps among failing calls; memory must stay flat
	@$(PY) tests/soak/failing_calls.py --steps 100000

RUNS ?= 500
faults: build  ## RUNS seeded runs of servers and workers that are killed, cut off and starved
	@$(PY) -m tests.faults.run --runs $(RUNS) --jobs $(JOBS)

faults-nightly: build  ## the same without end, from a seed of this second on
	@$(PY) -m tests.faults.run --runs 0 --first $$(date +%s) --jobs $(JOBS)

# FUZZ_SECONDS for each.
FUZZ_SECONDS ?= 60
FUZZ_CALLS ?= 20000
FUZZERS := program_bytes program_text weights infer service multislot onnx paddle c_calls
PYTHON_FUZZERS := pickle

fuzz: build  ## feed the loaders mutated files for FUZZ_SECONDS each, make FUZZ_CALLS random calls; finds go to build/fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target $(FUZZERS:%=%_fuzz)
	@for name in $(FUZZERS); do echo "$$name:"; build/fuzz/tests/$${name}_fuzz $(FUZZ_SECONDS) \
	  build/fuzz/found/$$name tests/fuzz/corpus/$$name || exit 1; done
	@for name in $(PYTHON_FUZZERS); do echo "$$name:"; $(PY) tests/fuzz/$${name}_fuzz.py \
	  $(FUZZ_SECONDS) build/fuzz/found/$$name tests/fuzz/corpus/$$name || exit 1; done
	@ARGOSY_ALLOCATOR=guard $(PY) -m tests.fuzz.calls --calls $(FUZZ_CALLS) --seed $$(date +%s) --jobs $(JOBS)

lint: build  ## format, style, layers, floors, locks, tests unrun or without assertion, headers that do not compile alone
	@JOBS=$(JOBS) PRESET=$(PRESET) tools/lint.sh

format:  ## rewrite the sources in the project's format
	@git ls-files -z '*.h' '*.cc' '*.cu' '*.cuh' | xargs -0 -r -n 32 -P $(JOBS) clang-format -i
	@$(PY) -m ruff check -q --fix --select I
	@$(PY) -m ruff format -q

bench: build  ## timings beside other frameworks
	@$(PY) benchmarks/run.py

docs: build  ## the searchable site of all documentation: build/site/index.html
	@$(PY) -m pip install -q --disable-pip-version-check -r tools/requirements.docs.txt
	@$(PY) tools/generate_docs.py
	@$(PY) -m sphinx -q -j $(JOBS) -d build/site.cache docs build/site
	@echo build/site/index.html

wheel: build  ## dist/argosy-*.whl, tried in an empty environment
	@tools/test_wheel.sh

clean:  ## everything built; .venv stays
	@rm -rf build dist python/argosy/lib python/argosy/_generated python/argosy/_core.*.so python/argosy/_ps.*.so python/argosy/_net.*.so python/argosy/_core.pyi docs/ops docs/api

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
