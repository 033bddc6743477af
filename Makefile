# tranche: builds the loadable extension and everything that checks it. `make help` lists the targets.
#
# Sources are found by folder, so a new file needs no line here. Objects go to $(BUILD), which may be
# set to keep two builds apart: `make test BUILD=build/clang CC=clang`.

CC ?= cc
BUILD ?= build
OPTIMISE ?= -O2 -g
WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
CFLAGS_ALL = $(WARNINGS) $(OPTIMISE) -fPIC -fvisibility=hidden -pthread -D_GNU_SOURCE $(SANITIZE) $(CFLAGS)

SRC = $(wildcard src/*/*.c)
EXT = $(wildcard ext/*.c ext/host/*.c)
SRC_OBJECTS = $(SRC:%.c=$(BUILD)/%.o)
EXT_OBJECTS = $(EXT:%.c=$(BUILD)/%.o)
EXT_STATIC_OBJECTS = $(EXT:%.c=$(BUILD)/static/%.o)

.PHONY: all
all: tranche.so

tranche.so: $(EXT_OBJECTS) $(SRC_OBJECTS)
	$(CC) $(CFLAGS_ALL) -shared -Wl,-z,defs -o $@ $^ -lm

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Isrc -Iext -MMD -MP -c -o $@ $<

# The same surfaces for programs that link SQLite themselves.
$(BUILD)/static/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -DSQLITE_CORE -Isrc -Iext -MMD -MP -c -o $@ $<

$(BUILD)/libtranche_src.a: $(SRC_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libtranche_static.a: $(EXT_STATIC_OBJECTS) $(SRC_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

# Unit tests and vector replays of src/: one program per file, with the tests' own allocator.
# They link SQLite only to read JSON lines.
SUPPORT_OBJECTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
UNIT_TESTS = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c tests/replay/*.c))
# Tests of the surfaces, linked statically with SQLite.
HOST_TESTS = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/host/*.c tests/faults/*.c))

$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Isrc -Iext -Itests/support -MMD -MP -c -o $@ $<

$(UNIT_TESTS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libtranche_src.a
	$(CC) $(CFLAGS_ALL) -o $@ $^ -lcmocka -lsqlite3 -lm

$(HOST_TESTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtranche_static.a
	$(CC) $(CFLAGS_ALL) -o $@ $^ -lcmocka -lsqlite3 -lm

.PHONY: unit
unit: $(UNIT_TESTS) $(HOST_TESTS)
	@set -e; for t in $^; do $$t; done

.PHONY: clean
clean:
	rm -rf $(BUILD) tranche.so

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
