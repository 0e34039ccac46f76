# Everything runs in .venv, which is built from nothing on the first call.
PYTHON ?= python3
BIN := .venv/bin
PIP := PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: install demo test test-all lint bench clean

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

demo: .venv/.installed
	$(BIN)/palestra demo $(ARGS)

test: .venv/.tested lint
	$(BIN)/pytest -n auto -m 'not slow' $(ARGS)

test-all: .venv/.tested lint
	$(BIN)/pytest -n auto $(ARGS)

lint: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.tested
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.worlds

clean:
	rm -rf .venv demo build
