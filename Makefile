# Two commands: `make app` starts the page, `make test` runs every check. Both install what they need first.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: app test check format pictures clean

app: $(VENV)/.installed
	$(BIN)/python app.py

test: $(VENV)/.installed-dev browser check
	$(BIN)/python -m pytest

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pictures: $(VENV)/.installed-dev browser
	$(BIN)/python -m visual.readme
	$(BIN)/python -m visual.record

# The browser tests drive a real Chromium; on Debian and Ubuntu it is installed if it is missing.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium; } || \
	{ echo "The browser tests need Chromium or Chrome: install it and run 'make test' again."; exit 1; }

# torch first and alone: a looser requirement of another package would pull the CUDA build.
$(VENV)/.installed: requirements.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $$(grep '^torch==' requirements.txt)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
