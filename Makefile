# Two commands matter: `make demo` and `make test`. Both bring what they need.
PYTHON ?= python3
VENV := .venv
FACET := $(VENV)/bin/facet
MARK := $(VENV)/.installed

APART := harbor or weak_model or audit or sft or deploy

.PHONY: demo test lint unit parts line ui install clean test-harbor test-deploy test-audit test-weak-model test-sft

demo: install  ## skills in, verified tasks, trajectories and an SFT set out (recorded model)
	@$(FACET) doctor --fix
	@FACET_ATTEMPTS=$${FACET_ATTEMPTS:-2} $(FACET) run  # as many attempts of the teacher as are recorded

ui: install  ## Dagster on the same instance, http://127.0.0.1:3000
	@$(FACET) ui

test: install  ## everything that CI runs
	@$(FACET) doctor --fix
	@$(MAKE) --no-print-directory -j2 --output-sync=line parts line  # the whole line beside everything else

lint: install
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

unit: install  ## a few minutes, no Docker
	@$(VENV)/bin/pytest -m "not (docker or e2e or $(APART))"

parts: lint  ## all but the whole line
	@$(VENV)/bin/pytest --durations=20 -m "not (e2e or $(APART))"

line: install  ## the whole line in real containers
	@$(VENV)/bin/pytest --durations=10 -m "e2e and not ($(APART))"

test-harbor: install  ## Harbor itself scores the exported demo tasks (installs Harbor in its own environment)
	@$(VENV)/bin/pytest -m harbor tests/harbor

test-deploy: install  ## deploy/compose.yaml really run: a seed walked by a run in a container of its own (builds images)
	@$(VENV)/bin/pytest -m deploy tests/deploy

test-audit: install  ## every hand-made task of tests/fixtures gets its verdict, every control and cheat (minutes)
	@$(VENV)/bin/pytest -m audit

test-sft: install  ## trainers read the SFT sets: datasets, a step of TRL on CPU, LLaMA-Factory (installs them apart)
	@$(VENV)/bin/pytest -m sft tests/sft

test-weak-model: install  ## the line against a third-party server with a very weak model (compiles the server)
	@$(VENV)/bin/pytest -m weak_model tests/weak_model

install: $(MARK)

$(MARK): pyproject.toml constraints.txt scripts/install.sh
	@PYTHON=$(PYTHON) sh scripts/install.sh $(VENV)
	@touch $(MARK)

clean:  ## what the demo made; keeps the environment and the base image
	rm -rf data/store data/out data/dagster
