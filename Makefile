# SPDX-License-Identifier: Apache-2.0
#
# A short front door to meson. `make help` lists what it opens.

PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
BUILD ?= build
T ?= all
MESON_FLAGS ?=

all: $(BUILD)/build.ninja ## build build/tidemark and build/libtidemark.so
	@ninja -C $(BUILD)

# The library goes to PREFIX/lib/tidemark whatever the distribution calls its libdir (LIBDIR says
# another one), so that the command finds it relative to itself when the tree is moved.
$(BUILD)/build.ninja:
	@tools/setup.sh build
	meson setup $(BUILD) --prefix $(PREFIX) --libdir $(LIBDIR) $(MESON_FLAGS)

# The suites need the page, so that for them it is an error when it cannot be built.
test: export TIDEMARK_PAGE = required

demo: ## install what is missing, build, record an example and show who held its memory
	@tools/setup.sh build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD) tidemark libtidemark.so
	@tools/demo.sh $(BUILD)

test: ## everything; T=quick before a commit, T=unit for a part (docs/testing.md)
	@tools/setup.sh build test deb
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@python3 tools/test.py $(T)

coverage: ## which lines the tests reach, room by room (ARGS=--quick without e2e)
	@tools/setup.sh build test
	@TIDEMARK_PAGE=required $(MAKE) --no-print-directory all
	@python3 tools/coverage.py $(ARGS)

lint: ## layers, imports of the recorder, format, static analysis
	@tools/setup.sh build lint
	@$(MAKE) --no-print-directory all
	@python3 tools/lint.py

fmt: ## format every C file
	@tools/setup.sh lint
	@find src tests bench examples -name '*.[ch]' 2>/dev/null | xargs clang-format -i

bench: ## measure tidemark and its peers; writes docs/overhead.md (T=forks one table, ARGS=--quick)
	@tools/setup.sh build bench
	@$(MAKE) --no-print-directory all
	@python3 bench/run.py $(if $(filter-out all,$(T)),--only $(T)) $(ARGS)

case-studies: ## record the hunts of docs/case-studies, render them, check every figure (T=queue one, ARGS=--write)
	@tools/setup.sh build test
	@$(MAKE) --no-print-directory all
	@python3 examples/run.py $(if $(filter-out all,$(T)),--only $(T)) $(ARGS)

install: all ## install below $(DESTDIR)$(PREFIX)
	@meson configure $(BUILD) --prefix $(PREFIX) --libdir $(LIBDIR)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

# The page is an error where it cannot be built: it is what makes a release more than the repository.
dist: export TIDEMARK_PAGE = required
dist: $(BUILD)/build.ninja ## build/dist/tidemark-VERSION.tar.gz, with the built page: building that needs no node
	@ninja -C $(BUILD) ui/page.html
	@python3 tools/dist.py $(BUILD)/ui/page.html $(BUILD)/dist

deb: dist ## build/deb/tidemark_VERSION_ARCH.deb, built of that tarball by dpkg-buildpackage
	@tools/setup.sh deb
	@tools/deb.sh $(BUILD)

clean: ## remove every build directory
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: all demo test coverage lint fmt bench case-studies install dist deb clean help
