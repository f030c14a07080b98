# Two commands do everything: `make demo` and `make test`. Each creates the environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEER := .venv-peer
BESIDE := .venv-recall

.PHONY: demo test check lint types imports words docs package bench bench-peer bench-recall bench-year soak format clean

demo: $(VENV)/.core
	$(BIN)/symfonic-memory demo

test: $(VENV)/.dev
	$(BIN)/pytest --cov --cov-report=term:skip-covered --cov-fail-under=95

check: lint types imports words docs package

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/interrogate -q src

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	PYTHONPATH=src $(BIN)/lint-imports

words: $(VENV)/.dev
	$(BIN)/codespell src tests docs benchmarks README.md CHANGELOG.md

docs: $(VENV)/.dev
	$(BIN)/python -m symfonic.capabilities.memory.reference
	$(BIN)/pytest tests/docs

package: $(VENV)/.dev
	$(BIN)/python tests/package/check_wheel.py
	$(BIN)/python tests/package/check_scaffold.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

bench-peer: $(VENV)/.dev $(PEER)/.ready
	$(BIN)/python benchmarks/peer.py $(PEER_FLAGS)

bench-recall: $(VENV)/.dev $(BESIDE)/.ready
	$(BIN)/python benchmarks/recall_beside.py $(FILE)

bench-year: $(VENV)/.dev
	$(BIN)/python benchmarks/year.py $(YEAR_FLAGS)

soak: $(VENV)/.dev
	SYMFONIC_HYPOTHESIS=soak $(BIN)/pytest -m soak tests/integration
	SYMFONIC_HYPOTHESIS=soak $(BIN)/pytest tests/property

$(BESIDE)/.ready:
	$(PYTHON) -m venv $(BESIDE)
	$(BESIDE)/bin/pip install --quiet --disable-pip-version-check \
	  chromadb==1.5.9 mem0ai==2.2.1 langgraph==1.2.24
	@touch $@

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(PEER) $(BESIDE) build dist .coverage htmlcov .mypy_cache .ruff_cache .hypothesis

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.venv pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

# The other package has the same namespace, and so an environment of its own.
$(PEER)/.ready:
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/pip install --quiet --disable-pip-version-check symfonic-core==9.12.0
	@touch $@
