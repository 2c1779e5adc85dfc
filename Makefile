# Needs a C compiler, make, and Python 3.11 or newer with venv and headers; tools/check.sh names what
# is missing. Everything else goes into $(VENV), installed when a target needs it.
# Variables: PYTHON= CC= CXX= VENV=, ARGS= for pytest, REAL= (empty: no tests beside the real Paddle
# and PyTorch), and PYRIGHT= (empty: mypy alone checks types). PACKAGES= names an environment of the
# same Python with all packages (make .venv/dev): they are used instead of being installed again.
PYTHON ?= python3
VENV   ?= .venv
PROFILE ?= full
REAL    ?= build/real
PYRIGHT ?= yes
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin CXX),default)
CXX := c++
endif
export CC CXX PYTHON

BIN      := $(VENV)/bin
PIP      := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
SOURCES  := setup.py build_ffi.py build_targets.py pyproject.toml $(shell find csrc -type f)
# Two workers for a core, as many tests wait for a process. pytest-xdist would wait forever for a
# worker that it starts again after a crash.
PYTEST    = $(BIN)/python -m pytest -n $$((2 * $$(nproc))) --dist loadfile --max-worker-restart 0
C_FILES   = $(shell find csrc examples tests -name '*.[ch]' -o -name '*.cc')
SETTINGS := $(strip $(CURDIR) $(PYTHON) $(CC) $(CFLAGS) $(LDFLAGS) $(PD_SANITIZE))

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
	  while IFS='|' read -r name text; do printf 'make %-18s %s\n' "$$name" "$$text"; done

real: $(REAL)/made ## Install the real Paddle, PyTorch, Ray and Dask for tests beside them, 2 GB, into build/real

demo: $(VENV)/built ## Build the library and a plugin, and show what a program does with their flags
	@tools/step.sh "Compile a plugin in C, which doesn't link the library" \
	  $(MAKE) -C examples demo BUILD=$(CURDIR)/build
	@examples/demo/run.sh $(BIN)/python

live: $(VENV)/dev ## Serve the flags of an example, show its page, and make pictures of it in build/live; ARGS=--print
	@tools/step.sh "Compile three plugins, which do not link the library" \
	  $(MAKE) -C examples BUILD=$(CURDIR)/build
	@tools/step.sh "Make pictures of the page into build/live, with Chromium if it is there" \
	  env PD_SCREENSHOTS=$(CURDIR)/build/live $(BIN)/python -m pytest tests/gateway_page/test_page_pictures.py
	@examples/live/show.sh $(BIN) $(ARGS)

fluid: $(VENV)/fluid ## Train a model with servers and trainers that get their flags from a fleet; ARGS=--steps=660
	@tools/step.sh "Build the smallest registry, the profile no-input" env PD_PROFILE=no-input \
	  $(BIN)/python setup.py -q build_library --build-lib build/no-input --build-temp build/temp/no-input
	@tools/step.sh "Compile kernels, a runtime for them, and a program of kernels alone" \
	  $(MAKE) -C examples/fluid all lite BUILD=$(CURDIR)/build/fluid SMALL=$(CURDIR)/build/no-input/lib
	@$(BIN)/python examples/fluid/run.py $(ARGS)

test: $(VENV)/test ## Run the tests that need only what this Makefile needs
	$(PYTEST) -m "not extended" $(ARGS)

test-all: $(VENV)/dev $(if $(REAL),$(REAL)/tried) ## Run all tests; tests that lack a tool or the network are skipped and name it
	$(PYTEST) $(or $(ARGS),--ignore tests/gateway_page --ignore tests/fleet)
	@# By themselves: Playwright brings greenlets, beside which scoped values are refused, and
	@# engines of fleets bring all that their packages import. Tests of fleets mostly wait.
	$(if $(ARGS),,$(BIN)/python -m pytest -n 1 tests/gateway_page)
	$(if $(ARGS),,PYTHONPATH="$$(echo $(CURDIR)/$(REAL)/lib/python3*/site-packages)" $(PYTEST) -n 4 tests/fleet)

lint: $(VENV)/dev ## Check style and types of Python and C
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(PYRIGHT),$(BIN)/pyright --pythonpath $(BIN)/python)
	@clang-format --dry-run -Werror $(C_FILES)
	@$(call tidy,-clang-analyzer-*,)

analyze: $(VENV)/dev ## Search all paths of each function in C for errors, with clang's analyzer
	@$(call tidy,,$(ANALYZER))

# $(call tidy,CHECKS,OPTIONS OF THE COMPILER): one file at a time, since clang-tidy 14 reports
# uninitialized va_lists if it gets several.
tidy = printf '%s\n' $(filter csrc/live/%.c,$(C_FILES)) | \
	  xargs -P 2 -I{} clang-tidy --quiet --checks=$(1) {} -- -std=gnu11 \
	  -Icsrc/include -Icsrc/live -D_GNU_SOURCE -DPD_HEADER_ONLY $(2) && \
	printf '%s\n' $(filter-out csrc/live/% tests/% examples/gen/%,$(filter %.c,$(C_FILES))) | \
	  xargs -P 2 -I{} clang-tidy --quiet --checks=$(1) {} -- -std=gnu11 -Icsrc/include \
	  -isystem "$$($(BIN)/python -c 'import sysconfig as s; print(s.get_path("include"))')" \
	  -DPy_LIMITED_API=0x030B0000 $(2)
# A third of the default number of nodes finds the same errors when they are added to our longest
# functions.
ANALYZER := -Xclang -analyzer-config -Xclang max-nodes=75000

format: $(VENV)/dev ## Format Python and C, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	clang-format -i $(C_FILES)

matrix: $(VENV)/test ## Test all ways to link and load plugins, one process each; ARGS="--platform musl --sample 99"
	$(BIN)/python tests/matrix/matrix.py $(ARGS)

matrix-peers: $(VENV)/test ## The same for Debian's gflags, abseil and LLVM, alone and with this library
	$(BIN)/python tests/matrix/peers/peers.py $(ARGS)

bench: $(VENV)/test $(VENV)/bench ## Compare speed and memory with other libraries; ARGS="--quick" or "--record"
	$(BIN)/python -m bench $(ARGS)

bench-instructions: $(VENV)/built ## Count instructions and compare them with the record; ARGS=--renew
	$(BIN)/python -m bench.instructions $(ARGS)
	$(BIN)/python -m bench.linear

layers: ## Check that files use only earlier layers; ARGS="--draw" or "--write"
	$(PYTHON) tools/layers.py $(ARGS)

lists: ## Generate the code that follows from the lists in the headers
	$(PYTHON) tools/lists.py

corpus: $(VENV)/test $(VENV)/release ## Build this version's plugins of tests/corpus again, until it is released
	$(BIN)/python tests/corpus/build.py $(ARGS)

abi: ## Compare the binary interface with its record; ARGS=--renew
	$(PYTHON) tools/abi.py $(ARGS)

asan: check ## Run all tests under AddressSanitizer and UBSan, in a copy under build/
	tools/asan.sh $(ARGS)

tsan: check ## Run all tests under ThreadSanitizer, in a copy under build/
	tools/tsan.sh $(ARGS)

stress: ## Load, set, scope and fork on 4 threads, 10 minutes a build; ARGS="--seconds 60 --seed 1 --build tsan"
	$(PYTHON) tests/stress/run.py $(ARGS)

mutation: ## Change lines of the library, and list the changes that no test in C notices; ARGS="--sample 200 --seed 1"
	$(PYTHON) tools/mutate.py $(ARGS)

fuzz: check ## Run each fuzzer for 10 minutes, and compare with gflags; ARGS="--seconds 30 --lines 20000"
	$(MAKE) --silent -C tests/fuzz OUT=$(CURDIR)/build/fuzz
	$(PYTHON) tests/fuzz/run.py $(ARGS)

wheel: $(VENV)/dev ## Build the wheel into dist/
	$(BIN)/python -m build --wheel

library: $(VENV)/dev ## Build only the library into build/full; PROFILE=no-report or no-input
	PD_PROFILE=$(PROFILE) $(BIN)/python setup.py -q build_library \
	  --build-lib build/$(PROFILE) --build-temp build/temp/$(PROFILE)

sdist: $(VENV)/dev ## Build the source distribution into dist/
	$(BIN)/python -m build --sdist

release: $(VENV)/release ## Build the release files into dist/, reproducibly; ARGS=manylinux
	$(BIN)/python tools/release.py $(ARGS)

docs: $(VENV)/docs ## Build the documentation into build/site; ARGS="-D nitpicky=1"
	$(BIN)/python -m sphinx -q -E -W --keep-going $(ARGS) docs build/site

clean: ## Remove everything that these targets made
	rm -rf build dist .venv .venv-* .*_cache .hypothesis *.egg-info
	rm -rf paddle_flags/include paddle_flags/lib paddle_flags/_*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

# New settings rebuild the environment, changed sources rebuild the package in it. The package is
# installed editable, so changed .py files need neither.
ifneq ($(SETTINGS),$(strip $(shell cat $(VENV)/settings 2>/dev/null)))
.PHONY: $(VENV)/settings
endif
$(VENV)/settings: | check
	@tools/step.sh "Create a Python environment in $(VENV)" \
	  $(PYTHON) -m venv --clear $(if $(PACKAGES),--without-pip) $(VENV)
	$(if $(PACKAGES),$(BIN)/python tools/borrow.py $(PACKAGES))
	@echo '$(SETTINGS)' >$@

# What builds the package is installed once, here, and not by pip into environments of its own. With
# editable_mode=compat, setuptools writes the path of this directory instead of an import hook, which
# makes each start of Python take 35 ms instead of 15.
$(VENV)/built: $(VENV)/settings $(SOURCES) | check
	$(if $(PACKAGES),,@tools/step.sh "Install cffi and setuptools into $(VENV)" \
	  $(PIP) $$($(BIN)/python -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])'))
	@tools/step.sh "Build the library and its extension modules into $(VENV)" \
	  $(PIP) --no-build-isolation --config-settings editable_mode=compat --editable .
	@touch $@

# The package itself is installed already, so pip installs only what the extra lists.
$(VENV)/test $(VENV)/bench $(VENV)/dev $(VENV)/docs $(VENV)/release $(VENV)/fluid: $(VENV)/built | check
	@tools/step.sh "Install the packages for $(@F) into $(VENV)" $(PIP) 'paddle_flags[$(@F)]'
	@touch $@

# Without these packages, on another system for example, the tests beside them say so.
$(REAL)/made $(REAL)/tried: tests/real/requirements.txt | check
	@tools/step.sh "Install the real Paddle, PyTorch, Ray and Dask into $(REAL)" \
	  tests/real/install.sh $(PYTHON) $(REAL) $(@F)

check:
	@tools/check.sh $(MAKECMDGOALS)

.DELETE_ON_ERROR:
.PHONY: help real live demo fluid test test-all lint analyze format matrix matrix-peers bench bench-instructions layers lists corpus abi asan tsan stress mutation fuzz library wheel sdist release docs clean check
