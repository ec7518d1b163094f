# Thin over course.py, which works the same without make:  python3 course.py help
PYTHON ?= $(or $(shell command -v python3 || command -v python),python3)
# The tools need PyTorch and pytest: take the environment that `make test` has made, if it is there.
TOOLS_PYTHON ?= $(or $(wildcard .venv/bin/python .venv/Scripts/python.exe),$(PYTHON))
PORT ?=
L ?=
NN ?=
ARGS ?=
LESSONS ?=
FOLDER ?=

.PHONY: help open reset my-engine test check test-browser fuzz mutants bench puzzles lesson notebooks film site \
  lite handout grade doctor setup

help:
	@"$(PYTHON)" course.py help

open:
	@"$(PYTHON)" course.py open $(if $(PORT),--port $(PORT)) $(ARGS)

# One lesson afresh, your copy kept beside it: make reset L=07
reset:
	@"$(PYTHON)" course.py reset $(or $(L),$(NN)) $(ARGS)

# The engine that you build, my_course/my_engine.py; with L=05 what the lessons up to 05 build: make my-engine L=05
my-engine:
	@"$(PYTHON)" course.py my-engine $(if $(or $(L),$(NN)),--catch-up $(or $(L),$(NN))) $(ARGS)

test:
	@"$(PYTHON)" course.py test $(ARGS)

check:
	@"$(PYTHON)" course.py check $(ARGS)

test-browser:
	@"$(PYTHON)" course.py test-browser $(ARGS)

# Random programs on both engines: make fuzz N=100000
fuzz:
	@COURSE_FUZZ=$(or $(N),10000) "$(PYTHON)" course.py test tests/engine/test_random_programs.py $(ARGS)

# Deliberate defects in a copy of the engine: do the tests notice each one?  make mutants ARGS="--only ID"
mutants:
	@"$(TOOLS_PYTHON)" tools/mutants.py $(ARGS)

# Our engine beside PyTorch and others: make bench ARGS="--quick --only mlp"
bench:
	@"$(TOOLS_PYTHON)" tools/bench.py $(ARGS)

# The tables puzzle, or question -> lesson cell -> exercise: docs/puzzles.md and docs/questions.md
puzzles:
	@"$(TOOLS_PYTHON)" tools/puzzles.py $(ARGS)
	@"$(TOOLS_PYTHON)" tools/questions.py $(ARGS)

# One lesson while it is written: build, rules, claims, notebook again, proof, minutes: make lesson L=07 WATCH=1
lesson:
	@"$(TOOLS_PYTHON)" tools/lesson.py $(or $(L),$(NN)) $(if $(WATCH),--watch) $(ARGS)

# All notebooks, or one: make notebooks ARGS=07. The first time it installs what draws their PNG pictures
notebooks:
	@"$(PYTHON)" course.py notebooks $(ARGS)

# A film of a program of up to 30 lines as APNG or GIF: make film ARGS="program.py --out film.gif"
film:
	@"$(TOOLS_PYTHON)" tools/film.py $(ARGS)

doctor:
	@"$(PYTHON)" course.py doctor

setup:
	@"$(PYTHON)" course.py setup $(ARGS)

# The course as a site to read: build/site/index.html
site:
	@"$(PYTHON)" course.py site $(ARGS)

# For a class: make handout LESSONS=1-9, later make grade FOLDER=returned; docs/classroom.md explains both
handout:
	@"$(PYTHON)" course.py handout $(if $(LESSONS),--lessons $(LESSONS)) $(ARGS)

grade:
	@"$(PYTHON)" course.py grade $(if $(FOLDER),"$(FOLDER)") $(ARGS)

# The course for the browser: build/lite. A school's own Pyodide: make lite ARGS="--pyodide FOLDER"
lite:
	@"$(PYTHON)" course.py lite $(ARGS)
