#!/usr/bin/env python3
"""Makes the sketches tests/vectors/sketches/*_pypi.sk and the list tests/vectors/sketches.jsonl.

Needs PyPI's `datasketches` (make test-interop installs it under build/interop). What is committed was made
by version 5.2.0; KLL tosses coins, so another run makes other, equally good sketches.

One line for each sketch, also for those that the C++ library made (they are only read here):
  hll        lg_k, n, values ("integers" 0..n-1, "texts" t0.., "halves" 0.5..), estimate
  kll_*      k, n, minimum, maximum, ranks: [x, fraction of values <= x] as the library says
  frequent_* lg_max, n (total weight), offset, items: [value, estimate, lower bound, upper bound]
"""
import json
import pathlib
import random

import datasketches as ds

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "vectors" / "sketches"
TYPES = {4: ds.tgt_hll_type.HLL_4, 6: ds.tgt_hll_type.HLL_6, 8: ds.tgt_hll_type.HLL_8}
lines = []


def note(name, **what):
    lines.append(json.dumps({"file": name, **what}, ensure_ascii=False))


def save(name, data, **what):
    (FOLDER / name).write_bytes(data)
    note(name, **what)


def value(values, i):
    return {"integers": i, "texts": f"t{i}", "halves": i + 0.5}[values]


def hll(lg_k, bits, n, values="integers"):
    sketch = ds.hll_sketch(lg_k, TYPES[bits])
    for i in range(n):
        sketch.update(value(values, i))
    return sketch


def make_hll(lg_k, bits, n, values="integers", form="compact"):
    sketch = hll(lg_k, bits, n, values)
    if form == "merged":
        union = ds.hll_union(lg_k)
        union.update(hll(lg_k, bits, n // 2, values))
        union.update(sketch)
        sketch = union.get_result(TYPES[bits])
    data = sketch.serialize_updatable() if form == "updatable" else sketch.serialize_compact()
    save(f"hll{bits}_lgk{lg_k}_{values}_n{n}_{form}_pypi.sk", data,
         kind="hll", lg_k=lg_k, n=n, values=values, merged=int(form == "merged"), estimate=sketch.get_estimate())


def kll_note(name, kind, sketch, data=None, points=()):
    n = sketch.n
    what = {"kind": kind, "k": sketch.k, "n": n}
    if n:
        what |= {"minimum": sketch.get_min_value(), "maximum": sketch.get_max_value(),
                 "ranks": [[x, sketch.get_rank(x, True)] for x in points]}
    save(name, data, **what) if data is not None else note(name, **what)


def make_kll(kind, k, n, order, points=20):
    values = list(range(1, n + 1))
    random.Random(n).shuffle(values) if order == "shuffled" else None
    serde = {"integer": ds.PyLongsSerDe, "text": ds.PyStringsSerDe}.get(kind)
    if serde:
        sketch = ds.kll_items_sketch(k)
    else:
        sketch = {"double": ds.kll_doubles_sketch, "float": ds.kll_floats_sketch}[kind](k)
    convert = {"text": lambda x: f"{x:07d}", "integer": lambda x: x * 2**40, "double": lambda x: x / 4,
               "float": lambda x: x / 4}[kind]
    for x in values:
        sketch.update(convert(x))
    data = sketch.serialize(serde()) if serde else sketch.serialize()
    step = max(1, n // points)
    kll_note(f"kll_{kind}_k{k}_n{n}_{order}_pypi.sk", f"kll_{kind}", sketch, data,
             [convert(x) for x in range(1, n + 1, step)])


def frequent_note(name, kind, sketch, items, lg_max, data=None):
    estimates = [[x, sketch.get_estimate(x), sketch.get_lower_bound(x), sketch.get_upper_bound(x)]
                 for x in items]
    known = [x for x in estimates if x[2] > 0]
    offset = known[0][3] - known[0][2] if known else 0
    what = {"kind": kind, "lg_max": lg_max, "n": int(sketch.total_weight), "offset": offset, "items": known}
    save(name, data, **what) if data is not None else note(name, **what)


def make_frequent(kind, lg_max, n, distinct):
    draw = random.Random(lg_max * n)
    values = [int(distinct ** draw.random()) for _ in range(n)]
    if kind == "text":
        sketch, convert = ds.frequent_strings_sketch(lg_max), lambda x: f"значение {x}"
    else:
        sketch, convert = ds.frequent_items_sketch(lg_max), lambda x: x - 3
    for x in values:
        sketch.update(convert(x))
    data = sketch.serialize() if kind == "text" else sketch.serialize(ds.PyLongsSerDe())
    frequent_note(f"frequent_{kind}_lg{lg_max}_n{n}_pypi.sk", f"frequent_{kind}", sketch,
                  [convert(x) for x in sorted(set(values))], lg_max, data)


def read_cpp(path):
    name, data = path.name, path.read_bytes()
    n = int(name.split("_n")[1].split("_")[0]) if "_n" in name else 0
    if name.startswith("hll"):
        sketch = ds.hll_sketch.deserialize(data)
        note(name, kind="hll", lg_k=sketch.lg_config_k, n=n, values="integers", merged=0,
             estimate=sketch.get_estimate())
    elif name.startswith("kll_double"):
        points = range(1, n + 1, max(1, n // 20))
        kll_note(name, "kll_double", ds.kll_doubles_sketch.deserialize(data), None, [float(x) for x in points])
    elif name.startswith("kll_string"):
        kll_note(name, "kll_text", ds.kll_items_sketch.deserialize(data, ds.PyStringsSerDe()))
    elif name.startswith("frequent_long"):
        sketch = ds.frequent_items_sketch.deserialize(data, ds.PyLongsSerDe())
        frequent_note(name, "frequent_integer", sketch, range(1, n + 1), data[3])
    else:
        sketch = ds.frequent_strings_sketch.deserialize(data)
        texts = [str(x) for x in range(1, n + 1)]
        texts += [x for x, *_ in sketch.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)]
        frequent_note(name, "frequent_text", sketch, dict.fromkeys(texts), data[3])


def main():
    for path in sorted(FOLDER.glob("*_cpp.sk")):
        read_cpp(path)
    for lg_k, bits, n in [(4, 4, 5), (4, 4, 200), (4, 6, 200), (4, 8, 200), (7, 4, 7), (7, 4, 8), (7, 8, 100),
                          (8, 4, 24), (8, 6, 25), (10, 6, 96), (10, 4, 5000), (10, 8, 200000), (11, 8, 5000),
                          (12, 4, 384), (12, 4, 385), (13, 4, 768), (13, 4, 769), (13, 4, 100000), (21, 4, 100)]:
        make_hll(lg_k, bits, n)
    for bits in TYPES:
        for n in (5, 100, 20000):
            make_hll(11, bits, n, form="updatable")
        make_hll(10, bits, 3000, form="merged")
    for values in ("texts", "halves"):
        for n in (6, 60, 3000):
            make_hll(10, 4, n, values)
    for kind in ("double", "float", "integer", "text"):
        for k, n in ((200, 0), (200, 1), (200, 2), (200, 200), (200, 201), (8, 3000), (200, 5000), (1000, 20000)):
            make_kll(kind, k, n, "shuffled")
    make_kll("double", 20, 100000, "sorted")
    for kind in ("integer", "text"):
        for lg_max, n, distinct in ((3, 6, 4), (3, 500, 50), (5, 24, 20), (6, 20000, 5000), (10, 20000, 600)):
            make_frequent(kind, lg_max, n, distinct)
    (FOLDER.parent / "sketches.jsonl").write_text("\n".join(lines) + "\n")


main()
