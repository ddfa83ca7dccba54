# Two commands matter: `make demo` and `make test`. Everything they need is installed here.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
export UV_PYTHON_DOWNLOADS := never
# Where it is set, each of the hundreds of processes below compiles every module and every test anew.
unexport PYTHONDONTWRITEBYTECODE
# Two cores are what CI has; one Spark and one PostgreSQL are shared per worker.
WORKERS ?= 2

.PHONY: help setup demo test soak check format bench figures versions docs pictures reference lock release clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

.venv/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements-uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

setup: .venv/.installed ## install into .venv, so that .venv/bin/discreet runs

demo: setup ## the product's story on a bundled, synthetic hospital
	@$(BIN)/discreet demo build/demo --force

.PHONY: system
system: # what the tests need from Debian: Java for Spark, a browser for reports, clients of a server, a directory, an HSM in software
	@missing=""; \
	command -v javac >/dev/null || missing="$$missing default-jdk-headless"; \
	command -v chromium >/dev/null || missing="$$missing chromium fonts-dejavu-core"; \
	command -v psql >/dev/null || missing="$$missing postgresql-client"; \
	test -e /usr/share/java/postgresql.jar || missing="$$missing libpostgresql-jdbc-java"; \
	command -v curl >/dev/null || missing="$$missing curl"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	test -e /usr/lib/softhsm/libsofthsm2.so || missing="$$missing softhsm2"; \
	test -x /usr/sbin/slapd || missing="$$missing slapd"; \
	if [ -n "$$missing" ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	fi

test: setup system ## format, lint, layers, types, all tests, examples of the documentation
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

# Ten times as many examples as `make test` draws, and what is marked `soak`: hours, not days.
soak: setup system ## all tests, those that take long too, with ten times as many examples
	DISCREET_EXAMPLES=thorough DISCREET_FUZZ=20000 DISCREET_QUERIES=200 DISCREET_SOAK=10 \
	  $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --soak $(ARGS)

check: setup ## all tests, with the coverage of each module
	$(MAKE) test ARGS="--cov --cov-report=term:skip-covered"

format: setup ## put the code into its one form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## ratios against the engine and against peers
	$(BIN)/python -m bench.assess
	$(BIN)/python -m bench.release
	$(BIN)/python -m bench.answer_accuracy
	$(BIN)/python -m bench.answer
	$(BIN)/python -m bench.attack
	$(BIN)/python -m bench.serve

figures: setup ## measure the figures of the documentation anew, and render them into its pages
	$(BIN)/python -m bench.figures

versions: setup ## test with the lowest and the highest version of every library (minutes, 5 GB)
	$(BIN)/python -m bench.figures versions

docs: setup ## the documentation as a site, which `discreet serve` shows at /docs
	rm -rf src/discreet/data/site
	$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees -c scripts/site docs src/discreet/data/site
	@echo "src/discreet/data/site/index.html"

pictures: setup ## make the pictures of the documentation anew, from the demo
	$(BIN)/python scripts/pictures.py

pictures: setup system ## take the pictures of the console for the documentation
	$(BIN)/python scripts/console_pictures.py

reference: setup ## write docs/reference/python.md and settings.md from the code
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/settings_reference.py

lock: setup ## renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --all-extras \
	  --group test --group check --group docs --group build --python-version 3.11 pyproject.toml -o requirements.lock
	awk '/^uv==/{p=1;print;next} /^[^ ]/{p=0} p' requirements.lock > requirements-uv.lock

release: setup docs ## VERSION=1.2.3: changelog, wheel, its checks, commit and tag
	$(if $(VERSION),,$(error write make release VERSION=1.2.3))
	$(BIN)/python scripts/release.py $(VERSION)

clean: ## remove what the other commands made
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .coverage*
