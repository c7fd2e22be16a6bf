# Two commands: `make app` starts the page, `make test` runs every check. Both install what they need first.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
NODE := PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: app test test-long bench-page check format pictures docs site wheel space lock audit clean

app: $(VENV)/.installed
	$(BIN)/python app.py

test: $(VENV)/.installed-dev browser check
	$(BIN)/python -m pytest

test-long: $(VENV)/.installed-dev $(VENV)/.installed-docs browser
	$(BIN)/pip install --quiet --disable-pip-version-check jupyterlab==4.6.6
	$(BIN)/python -m pytest -m long

# What a visitor feels: a step under a key, a long file, and the page, each beside a yardstick; minutes, and a quiet machine.
bench-page: $(VENV)/.installed-dev browser
	$(BIN)/python -m tests.browser.bench_page

check: $(VENV)/.installed-dev node_modules/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NODE) node_modules/.bin/biome check --error-on-warnings
	$(NODE) node_modules/.bin/tsc -p .

format: $(VENV)/.installed-dev node_modules/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NODE) node_modules/.bin/biome check --write

pictures: $(VENV)/.installed-dev browser
	$(BIN)/python -m visual.readme
	$(BIN)/python -m visual.record

# The documentation as pages, in site/docs; a link that leads nowhere is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Gallery, Learn, recorded results and the documentation as files for any web server.
site: $(VENV)/.installed docs
	$(BIN)/python -m visual.site site

# Uploads what a Space needs; `make space SPACE=owner/name DRY=--dry-run` only lists it.
space: $(VENV)/.installed
	$(BIN)/python -m visual.space $(or $(SPACE),$(error name the Space: make space SPACE=owner/name)) $(DRY)

# What is installed, by version and hash, after a change of requirements.txt.
lock:
	PYTHON=$(PYTHON) .ci/lock.sh

# Whether anything that is locked has a known weakness; asks a database on the network.
audit:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)-audit/bin/pip-audit --require-hashes --disable-pip -r requirements.lock

# From nothing: a build folder left over would put files into the wheel that are no longer there.
wheel: $(VENV)/.installed-dev
	rm -rf build dist
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	rm -rf build *.egg-info

# The browser tests drive a real Chromium; on Debian and Ubuntu it is installed if it is missing.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; } || \
	{ echo "The browser tests need Chromium or Chrome: install it and run 'make test' again."; exit 1; }

# Everything that is locked, then torch alone, whose builds differ: nothing of the lock asks for it.
$(VENV)/.installed: requirements.txt requirements.lock
	@test -d $(VENV) || $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || \
	{ echo "DARD Studio needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) -V 2>/dev/null || echo missing). Name another one: make app PYTHON=python3.12"; exit 1; }
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check $$(grep '^torch==' requirements.txt)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(VENV)/.installed-docs: requirements-docs.txt $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

# What checks the scripts of assets/web, run by the Node that requirements-dev.txt brings.
node_modules/.installed: package.json $(VENV)/.installed-dev
	$(NODE) npm install --no-package-lock --no-audit --no-fund --silent
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-audit node_modules build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
