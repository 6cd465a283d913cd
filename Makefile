# `make demo` and `make test` do all their own set-up; they need Python 3.11 (or newer) and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python
CHECKED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/boundscheck-cache
# The files with a marker: to collect all others as well takes longer than to run some of these.
MARKED = $$(grep -rlw --include='test_*.py' $(1) tests)

.PHONY: help demo test serve-test bench-serve lint validate docs pages pictures numbers release-check bench bench-kernels bench-instructions bench-start bench-first bench-house bench-family bench-learning paper test-cuda bench-many clean

help:
	@echo "make demo      certificates beside the truth in five small worlds, and a page that says what came out (half a minute)"
	@echo "make test      the test suite: compiled, interpreted and with bounds checked (about 9 minutes)"
	@echo "make test-cuda play_many on a GPU against the cores; needs an NVIDIA GPU (a few minutes)"
	@echo "make serve-test  the service with a real PostgreSQL, in a temporary folder; needs Debian's package postgresql"
	@echo "make lint      ruff, mypy, the import contract, and types as users see them: mypy, pyright, stubtest"
	@echo "make validate  the long measurements behind the claims of the docs (an hour or more)"
	@echo "make docs      the site, in site/index.html; asks nothing of other hosts (under a minute)"
	@echo "make paper-pdf the theorems of docs/theory as one PDF, in results/; needs Debian's packages pandoc and texlive-xetex"
	@echo "make pages     what is written from the code: stubs, reference, list of agents, menu, the way of a call"
	@echo "make pictures  the pictures of README and docs/idea.md, from new runs (under a minute)"
	@echo "make numbers   what README and docs say of runs, from the files that the runs wrote"
	@echo "make release-check  build wheel and sdist, install and try them in fresh environments (some minutes)"
	@echo "make bench     speed and reward against peers; installs the peers (ARGS=--quick, ARGS='--only reward')"
	@echo "make bench-kernels       times of single kernels (ARGS=... for pytest-benchmark)"
	@echo "make bench-instructions  instruction counts of two kernels by valgrind; fails if they have grown"
	@echo "make bench-start         time of import and of the first decision"
	@echo "make bench-first         time of pip install and of the first decision in a fresh clone and environment (minutes)"
	@echo "make bench-house         speed against an earlier commit, side by side (about 5 minutes)"
	@echo "make bench-family        speed of Guarded, PhasedElimination and LinGapE beside NestedOFUL (a minute)"
	@echo "make bench-serve         the service beside FastAPI, its latency and its starts (about 15 minutes)"
	@echo "make bench-many          play_many on a GPU and the cores: speed, equality, validity at scale; needs an NVIDIA GPU (5 minutes)"
	@echo "make bench-learning      episodes to learn Gymnasium's toy problems, beside tuned Q-learning (about 10 minutes)"
	@echo "make paper     the full experiments, their report and docs/results/experiments.md (more than an hour);"
	@echo "               some alone: ONLY='e12-mdps e14-mixtures', less of them: ARGS='--seeds 5'"
	@echo "make clean     remove the environment and what was built"

$(VENV)/.experiments: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --editable ".[experiments]"
	@touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.experiments
	$(VENV)/bin/python -m pip install --quiet --editable ".[experiments,data]"
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.experiments
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(VENV)/.demo
	@$(VENV)/bin/unipac demo

test: $(VENV)/.dev
	$(RUN) tests/helpers/warm.py
	$(RUN) -m pytest -q -n auto --dist loadfile
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -q -n auto --dist loadfile -m "nojit and not slow" $(call MARKED,nojit)
	$(CHECKED) $(RUN) tests/helpers/warm.py
	$(CHECKED) $(RUN) -m pytest -q -n auto --dist loadfile \
		-m "boundscheck and not slow" --every-kernel $(call MARKED,boundscheck)

$(VENV)/.cuda: pyproject.toml $(VENV)/.dev
	$(VENV)/bin/python -m pip install --quiet --editable ".[cuda]"
	@touch $@

test-cuda: $(VENV)/.cuda
	$(RUN) -c "from unipac.many import run; problem = run.missing(); assert not problem, problem"
	$(RUN) -m pytest -q -p no:xdist tests/many/test_gpu.py

serve-test: $(VENV)/.dev
	$(RUN) -m pytest -q -n auto --dist loadfile -m "postgres and not slow" tests/serve

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(RUN) tests/typing/check.py
	$(RUN) -m mypy.stubtest --concise --ignore-disjoint-bases --mypy-config-file pyproject.toml \
		--allowlist tests/typing/allowlist.txt unipac

validate: $(VENV)/.dev
	$(RUN) -m pytest -q -n auto -m "slow and not postgres" tests
	$(RUN) -m pytest -q -n auto -m "slow and postgres" tests/serve

$(VENV)/.docs: pyproject.toml $(VENV)/.experiments
	$(VENV)/bin/python -m pip install --quiet --editable ".[docs]"
	@touch $@

docs: $(VENV)/.docs
	$(RUN) docs/write_pages.py
	$(VENV)/bin/zensical build --clean --strict
	$(RUN) docs/finish_site.py site

.PHONY: paper-pdf
paper-pdf:
	@mkdir -p results
	$(PYTHON) docs/write_paper.py results/theorems.pdf

pages: $(VENV)/.experiments
	$(RUN) docs/write_pages.py
	$(RUN) docs/write_traces.py

pictures: $(VENV)/.experiments
	$(RUN) docs/draw_idea.py
	$(RUN) docs/draw_certificate.py
	$(RUN) docs/write_numbers.py

numbers: $(VENV)/.experiments
	$(RUN) docs/write_numbers.py

release-check: $(VENV)/.dev
	.ci/release-check $(VENV)/bin/python

bench: $(VENV)/.dev
	$(RUN) benchmarks/run.py $(ARGS)

bench-kernels: $(VENV)/.dev
	$(RUN) -m pytest -q -p no:xdist benchmarks/test_kernels.py --benchmark-columns=min,median,iqr,rounds $(ARGS)

bench-instructions: $(VENV)/.dev
	$(RUN) benchmarks/instructions.py $(ARGS)

bench-start: $(VENV)/.dev
	$(RUN) benchmarks/start.py $(ARGS)

bench-first: $(VENV)/.dev
	$(RUN) benchmarks/first.py

bench-house: $(VENV)/.dev
	$(RUN) benchmarks/house.py $(ARGS)

bench-family: $(VENV)/.dev
	$(RUN) benchmarks/family.py $(ARGS)

bench-serve: $(VENV)/.dev
	$(RUN) benchmarks/serve.py $(ARGS)

bench-many: $(VENV)/.cuda
	$(RUN) benchmarks/many_seeds.py $(ARGS)

bench-learning: $(VENV)/.dev
	$(RUN) benchmarks/learning.py $(ARGS)

ONLY ?= paper

paper: $(VENV)/.experiments
	for name in $(ONLY); do \
		$(VENV)/bin/unipac run $$name --full $(ARGS) && $(VENV)/bin/unipac report results/$$name && \
		$(RUN) docs/results/write_experiments.py results/$$name || exit 1; \
	done

clean:
	rm -rf $(VENV) .venv-peers results site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src -name __pycache__ -prune -exec rm -rf {} +
