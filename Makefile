# Needs a C compiler, make, and Python 3.9 or newer with venv and headers; what
# is missing is named first. All else goes into .venv: what builds and runs the package
# first, then what a target needs.
# Settings: PYTHON= CC= CXX= VENV=, and ARGS= for pytest. PACKAGES= is an environment of the
# same Python that has all packages (make .venv/dev): they needn't be installed again.
PYTHON ?= python3
VENV   ?= .venv
PROFILE ?= full
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin CXX),default)
CXX := c++
endif
export CC CXX PYTHON

BIN      := $(VENV)/bin
PIP      := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile \
              $(if $(PACKAGES),--no-build-isolation)
SOURCES  := setup.py build_ffi.py pyproject.toml $(shell find csrc -type f)
PYTEST   := $(BIN)/python -m pytest -n auto --dist loadfile
C_FILES   = $(shell find csrc examples tests -name '*.[ch]' -o -name '*.cc')
SETTINGS := $(strip $(CURDIR) $(PYTHON) $(CC) $(CFLAGS) $(LDFLAGS) $(PD_SANITIZE))

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
	  while IFS='|' read -r name text; do printf 'make %-18s %s\n' "$$name" "$$text"; done

demo: $(VENV)/built ## Build library and example plugins, run them from Python over real files
	@tools/step.sh "Compile three plugins, which link nothing of ours, and a host in C" \
	  $(MAKE) -C examples BUILD=$(CURDIR)/build
	@examples/demo/run.sh $(BIN)/python

test: $(VENV)/test ## Run the tests that need no more than this Makefile does
	$(PYTEST) -m "not extended" $(ARGS)

test-all: $(VENV)/test ## Run all tests; those that lack a tool or the network are skipped, with its name
	$(PYTEST) $(ARGS)

lint: $(VENV)/dev ## Check style and types of Python and C
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	clang-format --dry-run -Werror $(C_FILES)
	@# A file at a time: over several, clang-tidy 14 sees va_lists that aren't set. With the
	@# third of its nodes it finds the same errors that were put behind our longest functions.
	printf '%s\n' $(filter-out tests/% examples/gen/%,$(filter %.c,$(C_FILES))) | \
	  xargs -P 2 -I{} clang-tidy --quiet {} -- -std=gnu11 -Icsrc/include \
	  -isystem "$$($(BIN)/python -c 'import sysconfig as s; print(s.get_path("include"))')" -DPy_LIMITED_API=0x03090000 \
	  -Xclang -analyzer-config -Xclang max-nodes=75000

format: $(VENV)/dev ## Format Python and C, mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	clang-format -i $(C_FILES)

matrix: $(VENV)/test ## Run all ways to link and load plugins, a process each; ARGS="--platform musl --sample 99"
	$(BIN)/python tests/matrix/matrix.py $(ARGS)

matrix-peers: $(VENV)/test ## The same with gflags, abseil and LLVM, of Debian's packages, and with ours beside them
	$(BIN)/python tests/matrix/peers/peers.py $(ARGS)

bench: $(VENV)/test ## Measure ours beside its peers; ARGS="--quick" or "--record"
	$(BIN)/python -m bench $(ARGS)

bench-instructions: $(VENV)/built ## Count instructions, compare with the record; ARGS=--renew
	$(BIN)/python -m bench.instructions $(ARGS)

layers: ## Check that files use earlier layers alone; ARGS="--draw" or "--write"
	$(PYTHON) tools/layers.py $(ARGS)

lists: ## Write what is made from the lists of pd_flags.h: parts of the package, and the generator's schemas
	$(PYTHON) tools/lists.py
	$(MAKE) $(VENV)/test
	$(BIN)/python tools/schemas.py

abi: ## Compare the binary interface with its record; ARGS=--renew
	$(PYTHON) tools/abi.py $(ARGS)

asan: check ## Run all tests under AddressSanitizer and UBSan, in a copy under build/
	tools/asan.sh $(ARGS)

tsan: check ## Run all tests under ThreadSanitizer, in a copy under build/
	tools/tsan.sh $(ARGS)

fuzz: check ## Fuzz for 10 minutes each, compare with gflags; ARGS="--seconds 30 --lines 20000"
	$(MAKE) --silent -C tests/fuzz OUT=$(CURDIR)/build/fuzz
	$(PYTHON) tests/fuzz/run.py $(ARGS)

wheel: $(VENV)/dev ## Build the wheel into dist/
	$(BIN)/python -m build --wheel

library: $(VENV)/dev ## Build the library alone into build/full; PROFILE=no-report or no-input
	PD_PROFILE=$(PROFILE) $(BIN)/python setup.py -q build_library \
	  --build-lib build/$(PROFILE) --build-temp build/temp/$(PROFILE)

sdist: $(VENV)/dev ## Build the source distribution into dist/
	$(BIN)/python -m build --sdist

release: $(VENV)/release ## Build all that is released into dist/, alike everywhere; ARGS=manylinux
	$(BIN)/python tools/release.py $(ARGS)

docs: $(VENV)/docs ## Build the site into build/site; ARGS="-D nitpicky=1"
	$(BIN)/python -m sphinx -q -E -W --keep-going $(ARGS) docs build/site

clean: ## Remove whatever these targets made
	rm -rf build dist .venv .venv-* .*_cache .hypothesis *.egg-info
	rm -rf paddle_flags/include paddle_flags/lib paddle_flags/_*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

# A change of the settings renews the environment, a change of the sources the
# package in it, which is installed editable: a change of a .py file needs neither.
ifneq ($(SETTINGS),$(strip $(shell cat $(VENV)/settings 2>/dev/null)))
.PHONY: $(VENV)/settings
endif
$(VENV)/settings: | check
	@tools/step.sh "Make a Python environment in $(VENV)" \
	  $(PYTHON) -m venv --clear $(if $(PACKAGES),--without-pip) $(VENV)
	$(if $(PACKAGES),$(BIN)/python tools/borrow.py $(PACKAGES))
	@echo '$(SETTINGS)' >$@

$(VENV)/built: $(VENV)/settings $(SOURCES) | check
	@tools/step.sh "Build the library and its Python modules into $(VENV), with cffi" \
	  $(PIP) --editable .
	@touch $@

# The package is there, so that pip gets what the extra names and nothing else.
$(VENV)/test $(VENV)/dev $(VENV)/docs $(VENV)/release: $(VENV)/built | check
	@tools/step.sh "Install what $(@F) needs into $(VENV)" $(PIP) 'paddle_flags[$(@F)]'
	@touch $@

check:
	@tools/check.sh $(MAKECMDGOALS)

.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint format matrix matrix-peers bench bench-instructions layers lists abi asan tsan fuzz library wheel sdist release docs clean check
