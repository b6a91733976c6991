# Two commands: `make session` and `make test`. The rest is for those who change the package.
#
#   PYTHON   any Python 3 that starts the tools; the environment is made from it if supported
#   ROS      auto (the sourced ROS 2, else the wheels of Jazzy), sourced, jazzy or kilted
#   ARGS     passed on to the command
#   WORKERS  test processes at the same time

PYTHON ?= python3
ROS ?= auto
WORKERS ?= auto
# A file's tests stay together: they share what is slow to build or to compile.
PARALLEL = -n $(WORKERS) --dist loadfile
RUN = $(PYTHON) -m tools.environment --ros $(ROS)

.DEFAULT_GOAL := help
.PHONY: help session test test-interpreted test-matrix test-matrix-one bench acceptance gallery colcon lint types format doctor pins \
	clean

# Told here, where no Python can: everything below starts with one.
ifeq ($(shell command -v $(PYTHON) 2>/dev/null),)
$(error $(PYTHON) is not here. On Debian or Ubuntu: `sudo apt install python3 python3-venv`)
endif

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

session:  ## a session with the simulated arm and participant
	@$(RUN) reward_learning session $(ARGS)

test:  ## the test suite
	@$(RUN) python -m pytest $(PARALLEL) $(ARGS)

test-interpreted:  ## the core's tests without the compiler, on small sizes
	@NUMBA_DISABLE_JIT=1 $(RUN) python -m pytest $(PARALLEL) test/unit/core/test_kernels.py \
		test/unit/core/test_samplers.py test/unit/core/test_ensemble.py \
		test/unit/core/test_inference.py test/unit/core/test_accuracy.py \
		test/unit/core/test_human_model.py test/unit/core/test_theory.py $(ARGS)

test-matrix:  ## the suite on Kilted, and on the oldest and newest supported Python
	@$(PYTHON) -m tools.matrix $(PARALLEL) $(ARGS)

test-matrix-one:  ## one of them; another with the next commit
	@$(PYTHON) -m tools.matrix --one $(PARALLEL) $(ARGS)

bench:  ## the numbers, printed and as JSON under benchmarks/results
	@$(RUN) python -m benchmarks $(ARGS)

acceptance:  ## what sessions must achieve, over ten seeds of three tasks; takes half an hour
	@$(RUN) python -m benchmarks.acceptance $(ARGS)

gallery:  ## draw the pictures of docs/gallery anew
	@$(RUN) python -m tools.gallery $(ARGS)

colcon:  ## colcon build and colcon test against the environment's ROS 2
	@$(RUN) python -m tools.colcon_check

lint:  ## ruff: rules and format
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .

types:  ## mypy
	@$(RUN) mypy

format:  ## rewrite the code as ruff formats it
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .

doctor:  ## what is here and what is missing
	@$(RUN) reward_learning doctor $(ARGS)

pins:  ## resolve tools/pins.txt anew
	@$(PYTHON) -m tools.update_pins

clean:  ## remove what the commands above made
	rm -rf .venv .venv-* .venv*.lock build install log *.egg-info
