# tranche: builds the loadable extension and everything that checks it. `make help` lists the targets.
#
# Sources, tests, fuzz targets and benchmarks are found by folder: a new file needs no line here.
# Objects go to $(BUILD) and follow the compiler and its flags, so `make test CC=clang` is all it takes.
#
# The targets a person types first see to the packages they need (tests/setup, Debian) and then call
# make again for the work; the files themselves are ordinary rules below.

CC ?= cc
compiler = $(notdir $(lastword $(CC)))
BUILD ?= build$(if $(filter-out cc gcc,$(compiler)),/$(compiler))
OPTIMISE ?= $(if $(SANITIZE),-O1,-O2) -g
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
# Seconds for each fuzz target, and how many programs run at once.
FUZZ_SECONDS ?= 5
SOAK_SECONDS ?= 600
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Debian's own Python: others are often built without extension loading.
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)

INSTALL ?= install

WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
# The same sources give the same bytes in every folder: no path of it is in them, and files are sorted.
CFLAGS_ALL = $(WARNINGS) $(OPTIMISE) -fPIC -fvisibility=hidden -ffile-prefix-map=$(CURDIR)=. \
  -pthread -D_GNU_SOURCE $(SANITIZE) $(CFLAGS)
LDFLAGS_ALL = $(LDFLAGS)
VERSION = $(shell sed -n 's/^.define TRANCHE_VERSION "\(.*\)"/\1/p' ext/tranche.h)
COMMIT := $(shell git describe --always --dirty 2>/dev/null || echo release)

# A build under a sanitizer, which no ordinary program can load, stays in its folder.
LOADABLE = $(if $(SANITIZE),$(BUILD)/tranche.so,tranche.so)

SRC = $(sort $(wildcard src/*/*.c))
EXT = $(sort $(wildcard ext/*.c ext/host/*.c))
SRC_OBJECTS = $(SRC:%.c=$(BUILD)/%.o)
EXT_OBJECTS = $(EXT:%.c=$(BUILD)/%.o)
EXT_STATIC_OBJECTS = $(EXT:%.c=$(BUILD)/static/%.o)

# --- what a person types ---------------------------------------------------------------------------

.PHONY: all
all: $(LOADABLE) ## build ./tranche.so (the default)

.PHONY: help
help: ## list the targets
	@echo "make TARGET [CC=clang] [BUILD=folder] [SANITIZE=-fsanitize=...]"; echo
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: ## load real flights into a database and show what tranche does with them
	@tests/setup demo
	@$(MAKE) -s --no-print-directory tranche.so
	@sql/demo/run

.PHONY: test
test: ## run every test; ends with "N passed, N failed" (KINDS="sql docs" for some)
	@tests/setup test
	@$(MAKE) -s --no-print-directory -j$(JOBS) $(LOADABLE) test-programs
	@$(RUN_TESTS) $(KINDS)

.PHONY: unit
unit: test-programs ## run the C test programs alone
	@$(RUN_TESTS) programs

.PHONY: test-sql
test-sql: $(BUILD)/tranche.so ## run tests/sql alone (NAME=... for some)
	@$(RUN_TESTS) sql $(NAME)

.PHONY: accept-sql
accept-sql: $(BUILD)/tranche.so ## write tests/sql/NAME.out anew from what the script prints (NAME=...)
	@$(RUN_TESTS) --accept sql $(or $(NAME),$(error NAME=... says which script))

.PHONY: test-docs
test-docs: $(BUILD)/tranche.so $(BUILD)/libtranche.a ## run the examples of README.md and docs/ alone
	@$(RUN_TESTS) docs $(NAME)

.PHONY: accept-docs
accept-docs: $(BUILD)/tranche.so $(BUILD)/libtranche.a ## write the outputs in docs/NAME.md anew (NAME=keys, or README)
	@$(RUN_TESTS) --accept docs $(or $(NAME),$(error NAME=... says which page))

.PHONY: lint
lint: ## formatting, static analysis, who may include whom; warnings are errors
	@tests/setup lint
	@tests/lint

.PHONY: sanitize
sanitize: ## every test under ASan and UBSan, of gcc and of clang, the threaded ones under TSan
	@tests/setup sanitize
	@$(MAKE) -s --no-print-directory asan ubsan tsan

ASAN = BUILD=build/asan OPTIMISE="-O1 -g -fno-omit-frame-pointer" \
       SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=all"
# clang's UBSan sees what gcc's does not: arithmetic on NULL, for one.
UBSAN = BUILD=build/ubsan CC=clang OPTIMISE="-O2 -g" \
        SANITIZE="-fsanitize=undefined -fno-sanitize-recover=all"
TSAN = BUILD=build/tsan OPTIMISE="-O1 -g" SANITIZE="-fsanitize=thread -Wno-tsan"

.PHONY: asan
asan:
	@$(MAKE) -s --no-print-directory $(ASAN) -j$(JOBS) build/asan/tranche.so test-programs
	@$(MAKE) -s --no-print-directory $(ASAN) run-asan

.PHONY: run-asan
run-asan:
	@TEST_EFFORT=$(or $(TEST_EFFORT),10) $(RUN_TESTS) --preload "$$($(CC) -print-file-name=libasan.so)" programs sql

.PHONY: ubsan
ubsan: ## every test built by clang to stop at undefined behaviour and say where; quicker than sanitize
	@tests/setup ubsan
	@$(MAKE) -s --no-print-directory $(UBSAN) -j$(JOBS) build/ubsan/tranche.so build/ubsan/libtranche.a test-programs
	@$(MAKE) -s --no-print-directory $(UBSAN) run-ubsan

UBSAN_RUNTIME = libclang_rt.ubsan_standalone-$(shell uname -m).so
.PHONY: run-ubsan
run-ubsan:
	@UBSAN_OPTIONS=print_stacktrace=1 $(RUN_TESTS) --cc "$(CC) $(SANITIZE)" \
	  --preload "$$($(CC) -print-file-name=$(UBSAN_RUNTIME))" programs sql docs python

# Threaded is what can start threads, itself or because it holds the extension (tests/runner/programs.py).
.PHONY: tsan
tsan:
	@$(MAKE) -s --no-print-directory $(TSAN) -j$(JOBS) test-programs
	@$(MAKE) -s --no-print-directory $(TSAN) run-tsan

.PHONY: run-tsan
run-tsan:
	@TEST_EFFORT=$(or $(TEST_EFFORT),5) $(RUN_TESTS) --threaded programs

.PHONY: valgrind
valgrind: ## every C test program under valgrind
	@tests/setup valgrind
	@$(MAKE) -s --no-print-directory -j$(JOBS) test-programs
	@TEST_EFFORT=$(or $(TEST_EFFORT),2) $(RUN_TESTS) --valgrind programs

.PHONY: helgrind
helgrind: ## the threaded test programs under valgrind's helgrind
	@tests/setup valgrind
	@$(MAKE) -s --no-print-directory -j$(JOBS) test-programs
	@TEST_EFFORT=$(or $(TEST_EFFORT),1) $(RUN_TESTS) --threaded --helgrind programs

.PHONY: soak
soak: ## random questions, writers, interrupts and closes for SOAK_SECONDS (600)
	@tests/setup test
	@$(MAKE) -s --no-print-directory -j$(JOBS) $(BUILD)/tests/host/test_parallel_soak
	@SOAK_SECONDS=$(SOAK_SECONDS) $(BUILD)/tests/host/test_parallel_soak

.PHONY: fuzz
fuzz: ## every target of tests/fuzz for FUZZ_SECONDS (5) each, with clang's libFuzzer
	@tests/setup fuzz
	@$(MAKE) -s --no-print-directory BUILD=build/fuzz CC=clang -j$(JOBS) OPTIMISE="-O1 -g" \
	  SANITIZE="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all" fuzz-programs
	@tests/run-fuzz build/fuzz $(FUZZ_SECONDS)

# SQLite from npm and DuckDB from PyPI are left out, and that is said, where there is no network.
DUCKDB = build/duckdb/bin/python
.PHONY: bench
bench: ## every program of tests/bench; prints one table in Markdown
	@tests/setup test
	@$(MAKE) -s --no-print-directory -j$(JOBS) bench-programs
	@tests/run-hosts for-bench
	@$(DUCKDB) -c 'import duckdb' 2>/dev/null || { $(PYTHON) -m venv build/duckdb && \
	  build/duckdb/bin/pip install -q duckdb==1.4.2; } || echo "skip   DuckDB: PyPI's duckdb cannot be installed"
	@$(PYTHON) tests/run-bench --build $(BUILD) --tranche $(BUILD)/tranche.so \
	  --newest build/hosts/for-bench --duckdb $(DUCKDB) $(NAME)

.PHONY: test-newest
test-newest: ## SQL scripts and host tests with the newest SQLite from npm; skipped without network
	@tests/setup test
	@tests/run-hosts newest

.PHONY: test-hosts
test-hosts: ## newest SQLite, the oldest one we load into, and one without threads
	@tests/setup test
	@tests/run-hosts newest oldest single-thread recommended

# The package and its Python stay below build/, where a second run finds them.
INTEROP = build/interop/bin/python
.PHONY: test-interop
test-interop: $(BUILD)/tranche.so ## sketches to and from PyPI's datasketches, which it installs under build/
	@$(INTEROP) -c 'import datasketches' 2>/dev/null || \
	  { $(PYTHON) -m venv build/interop && build/interop/bin/pip install -q datasketches==5.2.0; }
	@TRANCHE=$(abspath $(BUILD)/tranche.so) $(INTEROP) tests/interop/test_interop.py

.PHONY: install
install: tranche.so $(BUILD)/libtranche.a ## install under $(DESTDIR)$(PREFIX): extension, header, static library, tranche.pc
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 755 tranche.so $(DESTDIR)$(LIBDIR)/tranche.so
	$(INSTALL) -m 644 $(BUILD)/libtranche.a $(DESTDIR)$(LIBDIR)/libtranche.a
	$(INSTALL) -m 644 ext/tranche.h $(DESTDIR)$(INCLUDEDIR)/tranche.h
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' \
	  'extension=$${libdir}/tranche.so' '' 'Name: tranche' \
	  'Description: Splittable scans and mergeable aggregates for SQLite' 'Version: $(VERSION)' \
	  'Requires: sqlite3 >= 3.31' 'Cflags: -I$${includedir}' \
	  'Libs: -L$${libdir} -ltranche -pthread -lm' >$(DESTDIR)$(LIBDIR)/pkgconfig/tranche.pc

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(LIBDIR)/tranche.so $(DESTDIR)$(LIBDIR)/libtranche.a \
	  $(DESTDIR)$(INCLUDEDIR)/tranche.h $(DESTDIR)$(LIBDIR)/pkgconfig/tranche.pc

.PHONY: static
static: $(BUILD)/libtranche.a ## build $(BUILD)/libtranche.a for programs that link SQLite themselves

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build $(BUILD) tranche.so

# --- the extension ---------------------------------------------------------------------------------

# What ./tranche.so is a copy of; renamed into place, so that a process that has it loaded keeps its own.
tranche.so: $(BUILD)/tranche.so FORCE
	@cmp -s $< $@ || { cp $< $@.new && mv $@.new $@ && echo "built ./tranche.so"; }

# nodelete: SQLite unloads an extension whose start failed (out of memory), but what it had registered by then is
# still called when the connection closes. relro, now: addresses of functions are read-only once it is loaded.
# defs: nothing undefined, which sanitizers cannot promise.
comma = ,
LINK_SHARED = -shared -Wl,-z,nodelete,-z,relro,-z,now $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs)
$(BUILD)/tranche.so: $(EXT_OBJECTS) $(SRC_OBJECTS) $(BUILD)/flags
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LINK_SHARED) -o $@ $(filter %.o,$^) -lm

# The same surfaces for programs that link SQLite themselves.
$(BUILD)/libtranche.a: $(EXT_STATIC_OBJECTS) $(SRC_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libtranche_src.a: $(SRC_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

# Changes only when the compiler or its flags do; every object depends on it.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LINK_SHARED)' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' >$@

.PHONY: FORCE

# tranche_debug() says what this is. A packager's flags may name the folder of the build.
PATH_FLAGS = -ffile-prefix-map=% -fdebug-prefix-map=% -fmacro-prefix-map=%
ABOUT = $(BUILD)/ext/about.o $(BUILD)/static/ext/about.o
$(ABOUT): $(BUILD)/commit
$(ABOUT): ABOUT_FLAGS = -DTRANCHE_COMMIT='"$(COMMIT)"' \
  -DTRANCHE_BUILD_FLAGS='"$(compiler) $(strip $(OPTIMISE) $(SANITIZE) $(filter-out $(PATH_FLAGS),$(CFLAGS)))"'

COMPILE = $(CC) $(CFLAGS_ALL) $(CPPFLAGS) -Isrc -Iext -MMD -MP

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(ABOUT_FLAGS) -c -o $@ $<

$(BUILD)/static/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(ABOUT_FLAGS) -DSQLITE_CORE -c -o $@ $<

# --- test programs: one per file -------------------------------------------------------------------

# src/ alone, with the tests' own allocator; SQLite only reads JSON lines there.
SUPPORT_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
UNIT_TESTS = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c tests/replay/*.c))
# The surfaces, linked statically with SQLite, and what of the tests' support brings no allocator.
HOST_SUPPORT_OBJECTS = $(BUILD)/tests/support/test_random.o $(BUILD)/tests/support/jsonl.o
HOST_TESTS = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/host/*.c))
# Programs that load the built extension as anybody's program would, and one that links it.
EMBED_SUPPORT_OBJECTS = $(BUILD)/tests/support/power_vfs.o $(BUILD)/tests/support/sql_blocks.o
EMBED_TESTS = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/embed/*.c tests/faults/*.c))
FUZZ = $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_HOST = $(if $(FUZZ),$(shell grep -l sqlite3 $(FUZZ)))
# Fuzz targets as ordinary programs that run the files they are given.
FUZZ_REPLAYS = $(patsubst %.c,$(BUILD)/%_replay,$(FUZZ))
FUZZ_PROGRAMS = $(patsubst %.c,$(BUILD)/%,$(FUZZ))
BENCHES = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
RUN_TESTS = $(PYTHON) tests/run --build $(BUILD) --jobs $(JOBS) $(if $(CC),--cc "$(CC)")

.PHONY: test-programs
test-programs: $(UNIT_TESTS) $(HOST_TESTS) $(EMBED_TESTS) $(FUZZ_REPLAYS)

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)

.PHONY: bench-programs
bench-programs: $(BENCHES) $(BUILD)/tranche.so

$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) -Itests/support -c -o $@ $<

LINK = $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^)
SQLITE_LIBS ?= -lsqlite3

$(UNIT_TESTS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libtranche_src.a
	$(LINK) -lcmocka $(SQLITE_LIBS) -lm

$(HOST_TESTS): $(BUILD)/%: $(BUILD)/%.o $(HOST_SUPPORT_OBJECTS) $(BUILD)/libtranche.a
	$(LINK) -lcmocka $(SQLITE_LIBS) -lm

$(EMBED_TESTS): $(BUILD)/%: $(BUILD)/%.o $(EMBED_SUPPORT_OBJECTS) $(BUILD)/libtranche.a $(BUILD)/tranche.so
	$(LINK) -lcmocka $(SQLITE_LIBS) -lm

$(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtranche.a
	$(LINK) $(SQLITE_LIBS) -lm

FUZZ_PARTS = $(if $(filter %/$(@F:_replay=).c,$(FUZZ_HOST)),$(BUILD)/libtranche.a,$(SUPPORT_OBJECTS) $(BUILD)/libtranche_src.a)

$(FUZZ_REPLAYS): $(BUILD)/%_replay: $(BUILD)/%.o $(BUILD)/tests/fuzz/replay_main.o $(BUILD)/libtranche.a $(BUILD)/libtranche_src.a $(SUPPORT_OBJECTS)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $< $(BUILD)/tests/fuzz/replay_main.o $(FUZZ_PARTS) $(SQLITE_LIBS) -lm

$(FUZZ_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtranche.a $(BUILD)/libtranche_src.a $(SUPPORT_OBJECTS)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $< $(FUZZ_PARTS) $(SQLITE_LIBS) -lm

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
