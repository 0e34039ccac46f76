# Everything runs in .venv, which is built from nothing on the first call.
PYTHON ?= python3
BIN := .venv/bin
PIP := PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: install system demo test test-all lint bench clean

install: .venv/.installed

.venv/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Palestra needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml
	$(PIP) --editable .
	touch $@

# What the tests and benchmarks compare with. torch comes first and by itself: where a CPU build is at hand, pip takes it.
.venv/.tested: .venv/.installed
	$(PIP) 'torch>=2.6,<2.14'
	$(PIP) --editable '.[dev,peers]'
	touch $@

# System packages: installed where that is allowed; else said, and what needs them is left out.
APT := $(shell [ "$$(id -u)" = 0 ] && echo apt-get || { sudo -n true 2>/dev/null && echo sudo -n apt-get; })

system:
	@command -v bwrap >/dev/null || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq bubblewrap >/dev/null; } \
	  || echo "bubblewrap is missing and cannot be installed from here. Untrusted programs then run under Landlock, if at" \
	          "all: 'palestra doctor' says what works. The tests of bubblewrap are left out. To get it: apt-get install bubblewrap"

demo: .venv/.installed
	$(BIN)/palestra demo $(ARGS)

test: .venv/.tested system lint
	$(BIN)/pytest -n auto -m 'not slow' $(ARGS)

test-all: .venv/.tested system lint
	$(BIN)/pytest -n auto $(ARGS)

lint: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.tested system
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.worlds
	$(BIN)/python -m benchmarks.stream $(ARGS)

clean:
	rm -rf .venv demo build
