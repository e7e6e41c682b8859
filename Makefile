# make demo:  the main job, on a made-up web served from this machine.
# make check: style, types and the fast core of the tests, in a minute and a half: what to run after every change.
# make test:  every check there is, the slow tests and those of the lab and of peers too: what to run before a change is shared.
# make fortress: attacks by the hundred (crafted collections, kills, hostile servers and peers): up to an hour.
# make tools: other people's programs that tests try archives and exports with, in an environment of their own; a test whose
#             program could not be installed is skipped and says so.
# make browser: chromium and Playwright, for the tests that look at the screens in a browser; where they cannot be installed,
#             it says so and these tests are skipped.
# make dist:  wheel and sdist, in dist/.
# make golden: studies at the small scale and all else that is on record, compared with it: half an hour.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .venv-tools
# Many tests wait for processes and connections: one process more than there are cores keeps these busy.
LYCOSA_TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PYTEST = $(BIN)/pytest --numprocesses $(LYCOSA_TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes: what one has compiled the next shall find

.PHONY: setup tools browser demo style types core everything check test fortress dist golden bench clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Lycosa needs Python 3.11 or newer; say which one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[test]'
	@touch $@

tools: $(TOOLS)/.installed

$(TOOLS)/.installed: tests/tools.txt
	@echo "installing other people's tools into $(TOOLS) ..."
	@$(PYTHON) -m venv $(TOOLS) && \
	 $(TOOLS)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --requirement tests/tools.txt && touch $@ || \
	 echo "they could not be installed; the tests that need them will be skipped"

browser: $(VENV)/.browser

$(VENV)/.browser: $(VENV)/.installed
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null || \
	 if ! command -v apt-get > /dev/null; then echo "there is no chromium, and no apt-get to install it with"; exit 1; \
	 elif [ "$$(id -u)" != 0 ]; then echo "there is no chromium, and only root may install it: apt-get install chromium"; exit 1; \
	 else echo "installing chromium ..."; export DEBIAN_FRONTEND=noninteractive; \
	  install="timeout 600 apt-get -qq -y install --no-install-recommends chromium"; \
	  { $$install || { timeout 300 apt-get -qq update && $$install; }; } > $(VENV)/browser.log 2>&1 || \
	  { echo "chromium could not be installed; see $(VENV)/browser.log"; exit 1; }; \
	 fi && \
	 { $(BIN)/python -m pip install --quiet --disable-pip-version-check 'playwright>=1.49' > $(VENV)/browser.log 2>&1 || \
	  { echo "Playwright could not be installed; see $(VENV)/browser.log"; exit 1; }; } && touch $@ || \
	 echo "the tests that look at the screens in a browser will be skipped"

demo: setup
	@$(BIN)/lycosa demo

style: setup
	$(BIN)/ruff check src tests benchmarks training docs examples
	$(BIN)/ruff format --check src tests benchmarks training docs examples

types: setup
	$(BIN)/mypy

core: setup
	$(PYTEST) -m "not slow and not lab and not peers and not fortress"

everything: setup
	$(PYTEST) -m "not fortress"

check: style  # types and tests at a time: mypy keeps one core busy, and no more
	@$(MAKE) --no-print-directory --jobs 2 types core

test:  # what is to be installed at a time, for half of that is waiting
	@$(MAKE) --no-print-directory --jobs 3 style tools browser
	@$(MAKE) --no-print-directory --jobs 2 types everything

fortress: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris || echo "without atheris, the fuzzers draw inputs at random"
	$(BIN)/pytest --numprocesses auto --dist load -m fortress tests/fortress
	$(BIN)/python tests/fortress/fuzz.py --seconds 1200

dist: setup
	$(BIN)/python -m build --no-isolation --outdir dist

golden: setup
	$(BIN)/python tests/golden/record.py --check

bench: setup
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[test,bench]'
	$(BIN)/python benchmarks/against_scrapy.py

clean:
	rm -rf $(VENV) $(TOOLS) demo dist build
