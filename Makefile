# Two commands: `make session` and `make test`. The rest is for those who change the package.
#
#   PYTHON   any Python 3 that starts the tools; the environment is made from it if supported
#   ROS      auto (the sourced ROS 2, else the wheels of Jazzy), sourced, jazzy or kilted
#   BUILD    folder in which everything is made, sessions too; this one unless given
#   WITH     layers that `make environment` installs, with commas (tools/pins.py)
#   ARGS     passed on to the command
#   PORT     at which `make docs-serve` shows the site
#   WORKERS  test processes at the same time
#   MINUTES  how long fuzz tries
#   HOURS    how long soak runs sessions
#   N, LOAD  how often test-repeat and test-fresh run, and beside how many busy processes

PYTHON ?= python3
ROS ?= auto
WORKERS ?= auto
WITH ?= session
N ?= 10
LOAD ?= 0
MINUTES ?= 20
HOURS ?= 2
# A file's tests stay together: they share what is slow to build or to compile.
PARALLEL = -n $(WORKERS) --maxprocesses 8 --dist loadfile
ENVIRONMENT = "$(PYTHON)" -m tools.environment --ros $(ROS) $(if $(BUILD),--build "$(BUILD)")
# Each command names the layer that it needs; another one is added to the same environment.
RUN = $(ENVIRONMENT) --with
# The same, with the numerical code compiled beforehand.
COMPILED = $(ENVIRONMENT) --compiled --with
# The folder of the site, and the port at which it is shown.
SITE = "$(or $(BUILD),build)/docs"
PORT ?= 8000
RESULTS = $(if $(BUILD),--output "$(BUILD)/benchmarks")

.DEFAULT_GOAL := help
.PHONY: help session console environment test test-repeat test-fresh test-interpreted \
	acceptance bench clean colcon diagrams docs docs-serve doctor faults format \
	fuzz gallery lint pins release-check size soak test-docs test-matrix test-matrix-one types

# Told here, where no Python can: everything below starts with one.
ifeq ($(shell command -v "$(PYTHON)" 2>/dev/null),)
$(error $(PYTHON) is not here. On Debian or Ubuntu: `sudo apt install python3 python3-venv`)
endif

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

session:  ## a session with the simulated arm and participant
	@$(COMPILED) $(if $(findstring --console,$(ARGS)),console,session) \
		--in-build reward_learning session $(ARGS)

console:  ## the page in the browser: run a session, watch it, pull the simulated arm
	@$(COMPILED) console --in-build reward_learning console $(ARGS)

environment:  ## install what a session needs, or the layers that WITH names; tell where
	@$(COMPILED) $(WITH)

test:  ## the test suite
	@$(COMPILED) test python -m pytest $(PARALLEL) $(ARGS)

test-repeat:  ## the tests of nodes and processes N times, beside LOAD busy processes
	@$(COMPILED) test python -m tools.repeat --times $(N) --load $(LOAD) $(PARALLEL) $(ARGS)

test-fresh:  ## clone, `make session`, `make test`, N times as a new user; takes N times 10 minutes
	@"$(PYTHON)" -m tools.fresh --times $(N) $(ARGS)

test-interpreted:  ## the core's tests without the compiler, on small sizes
	@NUMBA_DISABLE_JIT=1 $(RUN) test python -m pytest $(PARALLEL) test/unit/core/test_kernels.py \
		test/unit/core/test_samplers.py test/unit/core/test_ensemble.py \
		test/unit/core/test_inference.py test/unit/core/test_accuracy.py \
		test/unit/core/test_human_model.py test/unit/core/test_theory.py $(ARGS)

test-matrix:  ## the suite on Kilted, and on the oldest and newest supported Python
	@"$(PYTHON)" -m tools.matrix $(if $(BUILD),--build "$(BUILD)") $(PARALLEL) $(ARGS)

test-matrix-one:  ## one of them; another with the next commit
	@"$(PYTHON)" -m tools.matrix $(if $(BUILD),--build "$(BUILD)") --one $(PARALLEL) $(ARGS)

bench:  ## the numbers, printed and as JSON under benchmarks/results
	@$(COMPILED) bench python -m benchmarks $(RESULTS) $(ARGS)

acceptance:  ## what sessions teach the arm: four kinds of people, 20 of each; takes hours
	@$(COMPILED) session python -m benchmarks.acceptance $(ARGS)

faults:  ## faults on purpose, and what happens then: ARGS=motion, ARGS=session; takes hours
	@$(COMPILED) session python -m benchmarks.faults $(RESULTS) $(ARGS)

fuzz:  ## hostile files, recordings and messages, for MINUTES
	@$(COMPILED) test python -m benchmarks.fuzz --minutes $(MINUTES) $(RESULTS) $(ARGS)

soak:  ## sessions in a row, for HOURS; does anything grow?
	@$(COMPILED) bench python -m benchmarks.soak --hours $(HOURS) $(RESULTS) $(ARGS)

gallery:  ## draw the pictures of docs/gallery
	@$(COMPILED) test python -m tools.gallery $(ARGS)

diagrams:  ## draw the states of a session in docs/session.md, from the code
	@$(RUN) session python -m tools.session_diagram

docs:  ## the site of the documentation, in build/docs
	@$(RUN) docs python -m tools.documents.build --output $(SITE)

test-docs:  ## run the code of README and docs, and compare what it prints
	@$(COMPILED) study python -m tools.documents.run_blocks $(ARGS)

release-check:  ## build sdist and wheel, try them in an empty environment; uploads nothing
	@$(RUN) lint python -m tools.release_check $(ARGS)

docs-serve:  ## the same, shown at http://127.0.0.1:PORT
	@$(RUN) docs python -m tools.documents.build --output $(SITE) --serve $(PORT)

colcon:  ## colcon build and colcon test against the environment's ROS 2
	@$(RUN) test python -m tools.colcon_check

lint:  ## ruff: rules and format
	@$(RUN) lint ruff check .
	@$(RUN) lint ruff format --check .

types:  ## mypy
	@$(RUN) types mypy

format:  ## rewrite the code as ruff formats it
	@$(RUN) lint ruff check --fix .
	@$(RUN) lint ruff format .

size:  ## Python files and lines of package, tests, tools and benchmarks
	@"$(PYTHON)" -m tools.size

doctor:  ## what is here and what is missing
	@$(RUN) session --in-build reward_learning doctor $(ARGS)

pins:  ## resolve tools/pins.txt; with ARGS=--keep only what is new
	@"$(PYTHON)" -m tools.update_pins $(ARGS)

clean:  ## remove what the commands above made
	cd $(if $(BUILD),"$(BUILD)",.) && rm -rf .venv .venv-* .venv*.lock build install log *.egg-info
