# Two commands: `make session` and `make test`. The rest is for those who change the package.
#
#   PYTHON   any Python 3 that starts the scripts
#   ROS      auto (the sourced ROS 2, else the wheels of Jazzy), sourced, jazzy or kilted
#   ARGS     passed on to the command

PYTHON ?= python3
ROS ?= auto
RUN = $(PYTHON) tools/environment.py --ros $(ROS)
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help session test test-matrix bench acceptance colcon lint types format doctor pins clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

session:  ## a session with the simulated arm and participant
	@$(RUN) reward_learning session $(ARGS)

test:  ## the test suite
	@$(RUN) python -m pytest -n $(WORKERS) $(ARGS)

test-matrix:  ## the suite on Kilted, and on the oldest and newest supported Python
	@$(PYTHON) tools/environment.py --ros kilted python -m pytest -n $(WORKERS) $(ARGS)
	@$(PYTHON) tools/environment.py --ros jazzy --python 3.10 python -m pytest -n $(WORKERS) $(ARGS)
	@$(PYTHON) tools/environment.py --ros jazzy --python 3.13 python -m pytest -n $(WORKERS) $(ARGS)

bench:  ## the numbers, printed and as JSON under benchmarks/results
	@$(RUN) python -m benchmarks $(ARGS)

colcon:  ## colcon build and colcon test against the environment's ROS 2
	@$(RUN) python tools/colcon_check.py

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
	@$(PYTHON) tools/update_pins.py

clean:  ## remove what the commands above made
	rm -rf .venv .venv-* build install log *.egg-info
