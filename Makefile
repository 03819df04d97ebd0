# `make demo` and `make test` need Python 3.11 or later and a C++17 compiler; they build .venv themselves.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := CMakeLists.txt $(wildcard cpp/*/*.cpp cpp/*/*.hpp)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow coverage explore docs lint format types lock wheel clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# The stamp holds what was installed: a newer file with the same content installs nothing again. After a change in cpp/
# the extension alone is built again, by the compiler's own rules.
$(STAMP): requirements-dev.lock pyproject.toml $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@if [ "$$(cat $(STAMP) 2>/dev/null)" != "$$(cat requirements-dev.lock pyproject.toml | cksum)" ]; then \
		set -e; \
		$(PIP) "$$(grep '^torch==' requirements-dev.lock)"; \
		$(PIP) -r requirements-dev.lock; \
	fi
	@$(PIP) --no-deps --no-build-isolation --editable .
	@cat requirements-dev.lock pyproject.toml | cksum > $(STAMP)

demo: $(STAMP) ## train with cross-entropy and for the metric, and compare
	@$(BIN)/metricfit demo

test: $(STAMP) ## run the tests, the doctests and the snippets of the README
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

coverage: $(STAMP) ## run the tests, and print which lines of the package they do not reach
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow" --cov --cov-report=term:skip-covered

test-slow: $(STAMP) ## run the tests that take longer
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

docs: $(STAMP) ## build the site into docs/_build/html; warnings and broken links are errors
	@OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -a -W --keep-going -q docs docs/_build/html
	@$(BIN)/python docs/links.py docs/_build/html

explore: $(STAMP) ## run the tests of drawn examples on new ones, and more of them
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "hypothesis and not slow" --hypothesis-profile=explore

lint: $(STAMP) ## check style
	@$(BIN)/ruff check --no-cache .
	@$(BIN)/ruff format --check --no-cache .

format: $(STAMP) ## apply style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(STAMP) ## check types
	@$(BIN)/mypy

lock: $(STAMP) ## pin what is installed in .venv
	@$(BIN)/python -m pip freeze --exclude-editable | sed -e 's/+[a-z0-9.]*$$//' | grep -E '^[A-Za-z0-9_.-]+==' > requirements-dev.lock

wheel: $(STAMP) ## build a wheel into dist, with all it needs but Python packages; with the GPU's kernel where there is nvcc
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --config-settings=cmake.define.METRICFIT_KERNEL=ON --wheel-dir build/wheel .
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/metricfit-*.whl

clean: ## remove the environment and all caches
	rm -rf $(VENV) .coverage src/metricfit/_core*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/_build docs/auto_examples
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
