# Everything happens in .venv; nothing is installed elsewhere, but for what tools/venv.sh and tests/browser/chromium.py
# say: on Debian as root, python3-venv and a Chromium for the tests, if they are missing.

VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
# Test processes: two are fastest on small machines, because the app under test wants a core of its own.
WORKERS ?= 2

export PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run install named test lint types pytest browser bench exactness evidence clean help

help: ## Show the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

run: $(VENV)/run.stamp ## Start the app on its example: http://localhost:8501 (PORT=... for another port).
	$(BIN)/streamlit run app.py --server.port $(PORT)

install: $(VENV)/run.stamp ## Make the environment for running the app, and start nothing.

test: lint types pytest ## Lint, check types, run every test, those in a real browser included.

lint: $(VENV)/dev.stamp ## Check style.
	$(BIN)/ruff check .

types: $(VENV)/dev.stamp ## Check types of the core.
	$(BIN)/mypy

pytest: $(VENV)/dev.stamp browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

browser: $(VENV)/dev.stamp ## Make sure of a browser for the tests.
	$(BIN)/python -m tests.browser.chromium --install

bench: $(VENV)/dev.stamp ## Time plan(), the command line and each page.
	$(BIN)/python -m benchmarks.run

exactness: $(VENV)/run.stamp ## Compare the reading of every config in the corpus with its known answer.
	$(BIN)/python -m tests.corpus

evidence: $(VENV)/run.stamp ## Fit efficiencies to published measurements again and print predicted against measured.
	$(BIN)/python -m tools.evidence

clean: ## Remove the environment and caches.
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	sh tools/venv.sh $(VENV)

# An environment that is there already was perhaps made with another Python than the one named now.
named: $(BIN)/python
	@sh tools/venv.sh $(VENV)

$(VENV)/run.stamp: requirements.txt | $(BIN)/python named
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@

$(VENV)/dev.stamp: requirements.txt requirements-dev.txt | $(BIN)/python named
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	@touch $@ $(VENV)/run.stamp
