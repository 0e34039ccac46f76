# Everything runs in .venv, which is built from nothing on the first call.
PYTHON ?= python3
BIN := .venv/bin
PIP := PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: install system demo test test-all lint style types texts bench tables clean

# Tests start hundreds of processes: what they import is compiled once, whatever the environment wants.
unexport PYTHONDONTWRITEBYTECODE

install: .venv/.installed

.venv/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Palestra needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml
	$(PIP) --editable '.[server]'
	touch $@

# What the tests and benchmarks compare with. torch comes first and by itself: where a CPU build is at hand, pip takes it.
.venv/.tested: .venv/.installed
	$(PIP) 'torch>=2.6,<2.14'
	$(PIP) --editable '.[server,studio,dev,peers,train]'
	touch $@

# System packages: installed where that is allowed; else said, and what needs them is left out.
APT := $(shell [ "$$(id -u)" = 0 ] && echo apt-get || { sudo -n true 2>/dev/null && echo sudo -n apt-get; })
WITHOUT_bubblewrap := untrusted programs run under Landlock, if at all ('palestra doctor' says), and its tests are left out
WITHOUT_chromium := the tests in a browser are left out
WITHOUT_postgresql := the tests on PostgreSQL are left out; SQLite is tested
WITHOUT_libosmesa6 := the robot table's cameras draw with EGL, if at all
WITHOUT_fonts-noto-cjk := pictures of pages lack Chinese letters

system:
	@$(call need,bubblewrap,command -v bwrap)
	@$(call need,chromium,command -v chromium)
	@$(call need,postgresql,ls /usr/lib/postgresql/*/bin/initdb)
	@$(call need,libosmesa6,ls /usr/lib/*/libOSMesa.so.*)
	@$(call need,fonts-noto-cjk,ls /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc)

# need(package, a command that succeeds where it is there). Debian starts a PostgreSQL of its own unless told not to:
# the tests start theirs.
need = $(2) >/dev/null 2>&1 || { [ -n "$(APT)" ] && { [ -n "$$(ls /var/lib/apt/lists/*Packages* 2>/dev/null)" ] || $(APT) update -qq; } \
	  && { mkdir -p /etc/postgresql-common 2>/dev/null && [ "$(1)" = postgresql ] && ! [ -e /etc/postgresql-common/createcluster.conf ] \
	       && echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; true; } 2>/dev/null \
	  && DEBIAN_FRONTEND=noninteractive $(APT) install -y -qq $(1) >/dev/null; } \
	  || echo "$(1) is missing and cannot be installed from here: $(WITHOUT_$(1)). To get it: apt-get install $(1)"

demo: .venv/.installed system
	$(BIN)/palestra demo $(ARGS)

# Neighbours stay together, as what they need is made once; who has none left takes from the others. A quarter of the
# time tests wait for browsers, servers and databases: two processes more than there are cores use it.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST = $(BIN)/python -m tests.postgres --hasty $(BIN)/pytest -n $(WORKERS) --dist worksteal

test: .venv/.tested system style
	@$(call beside_types,$(PYTEST) -m 'not slow' $(ARGS))

test-all: .venv/.tested system style
	@$(call beside_types,EXPLORE=1 $(PYTEST) $(ARGS))

lint: style types

style: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.tested
	$(BIN)/mypy

# The catalogues of Chinese, brought in step with what the code says.
texts: .venv/.tested
	$(BIN)/python -m palestra.i18n.po_files

# beside_types(a command): types are checked meanwhile, on one core for most of a minute where nothing is kept of the
# last time. What is found is told at the end, and either failing fails.
TOLD = build/types.txt
beside_types = mkdir -p build; $(BIN)/mypy >$(TOLD) 2>&1 & types=$$!; trap 'kill $$types 2>/dev/null' EXIT INT TERM; \
	  $(1); tested=$$?; wait $$types; typed=$$?; trap - EXIT; echo $(BIN)/mypy; cat $(TOLD); \
	  [ $$tested = 0 ] && exit $$typed || exit $$tested

bench: .venv/.tested system
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.worlds
	$(BIN)/python -m benchmarks.forecast
	$(BIN)/python -m benchmarks.stream $(ARGS)
	$(BIN)/python -m benchmarks.starving --runs 5
	$(BIN)/python -m benchmarks.table
	$(BIN)/python -m benchmarks.remote
	$(BIN)/python -m tests.postgres $(BIN)/python -m benchmarks.server

# The tables of docs/eye.md and docs/annotate.md, from the answers in docs/predictions and the weights in the package.
tables: .venv/.tested
	$(BIN)/python -m train.tables $(ARGS)

# Weights from nothing: on a GPU in minutes, else in hours. Stopped and started again, those with a work folder go on
# where they were; once they are done, they begin anew.
BUILT = build/weights/$@
WORK = build/train/$@
SHIP = $(BIN)/python -m train.ship --commit "$$(git describe --always --dirty 2>/dev/null)"

build/paper/gaze.npz: | .venv/.tested
	$(BIN)/python -m train.paper build/paper

train-gaze-forecaster: train-%: | .venv/.tested
	$(BIN)/python -m train.$(subst -,_,$*) --work $(WORK) --out $(BUILT)/$(subst -,_,$*).onnx
	$(SHIP) $(BUILT)
	rm -r $(WORK)

train-gaze-%: build/paper/gaze.npz
	$(BIN)/python -m train.gaze_$(subst -,_,$*) --data build/paper --out $(BUILT) --work $(WORK) --weights
	$(SHIP) --all $(BUILT)
	rm -r $(WORK)

train-eye-segmentation-%: build/paper/gaze.npz
	$(BIN)/python -m train.segmentation_$(subst -,_,$*) --data build/paper --out $(BUILT) --work $(WORK)
	$(SHIP) --all $(BUILT)
	rm -r $(WORK)

train-eye-reader train-near-eye-palestra: train-%: | .venv/.tested
	$(BIN)/python -m train.$(subst -,_,$*) --work $(WORK) --out $(BUILT)/$(subst -,_,$*).onnx
	$(SHIP) $(BUILT)
	rm -r $(WORK)

train-remote-gaze-network: | .venv/.tested
	mkdir -p $(BUILT)
	$(BIN)/python -m train.remote_gaze_network --work $(WORK) --out $(BUILT)/remote_gaze_network.onnx
	$(SHIP) $(BUILT)/remote_gaze_network.onnx
	rm -r $(WORK)

train-near-eye-live-pupil: train-%: | .venv/.tested
	$(BIN)/python -m train.$(subst -,_,$*)
	$(SHIP) $(subst -,_,$*)

train-emotion: | .venv/.tested
	mkdir -p $(BUILT)
	$(BIN)/python -m train.emotion_features --size paper --seed 2026 $(BUILT)/features.npz
	$(BIN)/python -m train.emotion_linear $(BUILT)/features.npz
	$(BIN)/python -m train.emotion_network $(BUILT)/features.npz
	$(SHIP) emotion_linear emotion_network emotion_network_usual

clean:
	rm -rf .venv demo build
