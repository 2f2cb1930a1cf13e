# Every target creates and reuses .venv by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNTIME := $(VENV)/.installed-runtime
SITE := $(VENV)/.installed-docs

# One thread per process: results and timings do not depend on the number of cores.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
# Compiled modules are kept: the tests start Python hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test coverage docs gallery pages docs-test newcomer lint architecture pythons bench validity torture versions clean

setup: $(STAMP)

# The package and what it needs to run; the tools of developers bring gigabytes more.
$(RUNTIME): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $(RUNTIME)

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP) $(SITE)

# What the site needs: a minute, where the tools of developers take many.
$(SITE): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $(SITE)

demo: $(RUNTIME)
	$(BIN)/fairaudit demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

# The default tests; [tool.coverage.report] of pyproject.toml has the share below which this fails.
coverage: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The documentation site, in site/; a warning is an error.
docs: $(SITE)
	$(BIN)/python docs/builder/build_site.py

# A minute. The pages of docs/gallery, from the scripts of examples/.
gallery: $(STAMP)
	$(BIN)/python examples/render.py

# Minutes. The quick Python blocks and shell commands of README and docs; CI runs them.
pages: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m pages tests/docs

# Eight CPU minutes. All of them, one after the other; it counts them.
docs-test: $(STAMP)
	$(BIN)/python tests/docs/documents.py

# Minutes. A wheel in an environment of its own, an empty folder: README, own models, CI, a remedy.
newcomer: $(STAMP)
	$(BIN)/python tests/docs/newcomer.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The picture of docs/architecture.md, from the imports.
architecture: $(STAMP)
	$(BIN)/python tests/architecture/draw.py

# Long. Python 3.10 to 3.14 as far as they are installed, the lowest and the newest dependencies.
pythons: $(STAMP)
	$(BIN)/nox

bench: $(STAMP)
	$(BIN)/python benchmarks/kpc.py
	$(BIN)/python benchmarks/speed.py

# Hours. The tables of docs/validity.md, docs/monitor.md and docs/compare.md; the same as
# assertions: -m slow.
validity: $(STAMP)
	$(BIN)/python tests/validity/size.py --replications 1000
	$(BIN)/python tests/validity/continuous_size.py --replications 1000 --jobs 2
	$(BIN)/python tests/validity/gate_power.py --replications 300 --test default max --jobs 2
	$(BIN)/python tests/validity/monitor.py
	$(BIN)/python tests/validity/comparison.py
	$(BIN)/python tests/validity/equivalence.py --replications 2000
	$(BIN)/python tests/validity/small_groups.py --replications 1000
	$(BIN)/python tests/validity/class_gaps.py --replications 1000
	$(BIN)/python tests/validity/comparison_settings.py --replications 1000
	$(BIN)/python tests/validity/centered_size.py --first 60000 --replications 1000
	$(BIN)/python tests/validity/told_apart.py --false --first 30000 --replications 1000
	$(BIN)/python tests/validity/planning.py --replications 1000
	$(BIN)/python -m pytest -n 2 -m slow
	$(BIN)/python tests/validity/localisation.py --replications 1000
	$(BIN)/python tests/validity/named_groups.py --intervals 2000
	$(BIN)/python tests/validity/incomplete.py --replications 1000

# About half an hour. The counts of docs/reliability.md.
torture: $(STAMP)
	$(BIN)/python tests/hostile/torture.py

# Minutes each. Model files of other versions; each Python has wheels of some of them.
VERSIONS ?= scikit-learn==1.5 scikit-learn==1.6 scikit-learn==1.7 \
	xgboost-cpu==2.1,scikit-learn==1.6 xgboost-cpu==3.0,scikit-learn==1.7 \
	lightgbm==4.3,scikit-learn==1.5 lightgbm==4.5,scikit-learn==1.6 \
	catboost==1.2.7,scikit-learn==1.6
versions: $(STAMP)
	$(BIN)/python tests/hostile/versions.py $(VERSIONS) --python $(PYTHON)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
