#!/usr/bin/env python3
"""Sketches to and from PyPI's `datasketches`: bytes made there read here, bytes made here read there.

Run by `make test-interop`, which installs the package under build/interop. $TRANCHE is the extension.
Its C++ core is what also stands behind the Postgres and BigQuery functions; Java (Spark, Druid) writes the
same bytes.
"""
import json
import os
import random
import sqlite3
import unittest

import datasketches as ds

SEED = int(os.environ.get("TRANCHE_SEED", random.randrange(1 << 32)))
HLL_TYPES = (ds.tgt_hll_type.HLL_4, ds.tgt_hll_type.HLL_6, ds.tgt_hll_type.HLL_8)
ZIPF = [int(500 ** (i / 4999)) for i in range(5000)]


class Interop(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(os.environ["TRANCHE"].removesuffix(".so"))
        self.db.execute("CREATE TABLE t(x)")

    def tearDown(self):
        self.db.close()

    def value(self, sql, *arguments):
        return self.db.execute("SELECT " + sql, arguments).fetchone()[0]

    def aggregate(self, values, sql):
        """An aggregate over a column x of these values."""
        self.db.execute("DELETE FROM t")
        self.db.executemany("INSERT INTO t VALUES (?)", ((x,) for x in values))
        return self.value(f"{sql} FROM t")

    def shuffled(self, values):
        values = list(values)
        self.random.shuffle(values)
        return values

    # --- distinct counts ---------------------------------------------------------------------

    def hll(self, values, lg_k=13, target=ds.tgt_hll_type.HLL_8, merged=False):
        parts = [ds.hll_sketch(lg_k, target), ds.hll_sketch(lg_k, target)]
        for i, x in enumerate(values):
            parts[i % 2 if merged else 0].update(x)
        if not merged:
            return parts[0]
        union = ds.hll_union(lg_k)
        for part in parts:
            union.update(part)
        return union.get_result(target)

    def test_hll_from_there(self):
        for lg_k in (4, 8, 11, 12, 14):
            for target in HLL_TYPES:
                for n in (0, 1, 7, 8, 100, 5000):
                    sketch = self.hll(range(n), lg_k, target)
                    for data in (sketch.serialize_compact(), sketch.serialize_updatable()):
                        ours = self.value("extract_output(accumulator_of(?, 'approx_count_distinct'))", data)
                        self.assertEqual(ours, round(sketch.get_estimate()), (lg_k, target, n))

    def test_hll_to_there(self):
        for n in (0, 1, 7, 8, 768, 769, 5000, 100000):
            data = self.aggregate(self.shuffled(range(n)), "sketch_of(approx_count_distinct_accumulator(x))")
            read = ds.hll_sketch.deserialize(data)
            self.assertEqual(read.lg_config_k, 13)
            if n <= 768:
                self.assertAlmostEqual(read.get_estimate(), n, delta=0.01)
            elif n >= 5000:
                # The same registers, merged there: their own estimate must be the very same.
                self.assertEqual(read.get_estimate(), self.hll(range(n), merged=True).get_estimate(), n)
            # And ours, by another estimator over these registers, is near.
            ours = self.value("extract_output(accumulator_of(?, 'approx_count_distinct'))", data)
            self.assertLessEqual(abs(ours - read.get_estimate()), 0.005 * n + 0.5, n)

    def test_hll_values_hash_alike(self):
        for values in (["a", "b", "ключ", "x" * 100], [1, -1, 2**62], [0.5, -2.25, 1e300]):
            data = self.aggregate(values * 3, "sketch_of(approx_count_distinct_accumulator(x))")
            union = ds.hll_union(13)
            union.update(ds.hll_sketch.deserialize(data))
            for x in values:
                union.update(x)
            self.assertAlmostEqual(union.get_estimate(), len(values), delta=0.001)

    def test_hll_merges_both_ways(self):
        theirs = self.hll(range(50000), 12).serialize_compact()
        ours = self.aggregate(range(25000, 75000), "approx_count_distinct_accumulator(x)")
        here = self.value(
            "extract_output(merge_accumulators(a)) FROM "
            "(SELECT accumulator_of(?, 'approx_count_distinct') AS a UNION ALL SELECT ?)", theirs, ours)
        union = ds.hll_union(12)
        union.update(ds.hll_sketch.deserialize(theirs))
        union.update(ds.hll_sketch.deserialize(self.value("sketch_of(?)", ours)))
        self.assertAlmostEqual(here / union.get_estimate(), 1, delta=0.005)
        self.assertAlmostEqual(here / 75000, 1, delta=0.065)

    # --- quantiles ---------------------------------------------------------------------------

    FRACTIONS = [0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1]

    def assert_same_quantiles(self, accumulator, sketch):
        if sketch.is_empty():
            self.assertIsNone(self.value("extract_output(?, 0.5)", accumulator))
            return
        for q in self.FRACTIONS:
            # At the ends we give the true minimum and maximum, which a sketch knows.
            expected = {0: sketch.get_min_value(), 1: sketch.get_max_value()}.get(q)
            if expected is None:
                expected = sketch.get_quantile(q, True)
            self.assertEqual(self.value("extract_output(?, ?)", accumulator, q), expected, q)

    def kll(self, kind, k, values):
        serde = {"text": ds.PyStringsSerDe, "integer": ds.PyLongsSerDe}.get(kind)
        sketch = ds.kll_items_sketch(k) if serde else \
            {"real": ds.kll_doubles_sketch, "float": ds.kll_floats_sketch}[kind](k)
        for x in values:
            sketch.update(x)
        return sketch, sketch.serialize(serde()) if serde else sketch.serialize()

    def test_kll_from_there(self):
        convert = {"real": lambda x: x / 8, "float": lambda x: x / 8, "integer": lambda x: x << 40,
                   "text": lambda x: f"{x:06d}"}
        for kind, to in convert.items():
            for n in (0, 1, 2, 200, 201, 3000, 20000):
                sketch, data = self.kll(kind, 200, map(to, self.shuffled(range(n))))
                accumulator = self.value("accumulator_of(?, ?)", data, f"approx_quantile {kind}")
                self.assert_same_quantiles(accumulator, sketch)

    def test_kll_to_there(self):
        for n in (0, 1, 2, 1024, 1025, 5000, 300000):
            accumulator = self.aggregate((x / 8 for x in self.shuffled(range(n))), "approx_quantile_accumulator(x)")
            sketch = ds.kll_doubles_sketch.deserialize(self.value("sketch_of(?)", accumulator))
            self.assertEqual(sketch.n, n)
            self.assert_same_quantiles(accumulator, sketch)
            for x in range(1000):
                sketch.update(x)
            self.assertEqual(sketch.n, n + 1000)

    def test_kll_texts_to_there(self):
        for n in (0, 1, 2, 1500, 30000):
            values = (f"ключ {x:06d}" for x in self.shuffled(range(n)))
            accumulator = self.aggregate(values, "approx_quantile_accumulator(x)")
            sketch = ds.kll_items_sketch.deserialize(self.value("sketch_of(?)", accumulator), ds.PyStringsSerDe())
            self.assertEqual(sketch.n, n)
            self.assert_same_quantiles(accumulator, sketch)

    def test_kll_merges_both_ways(self):
        values = self.shuffled(range(100000))
        theirs, data = self.kll("real", 400, values[:50000])
        ours = self.aggregate(values[50000:], "approx_quantile_accumulator(x)")
        theirs.merge(ds.kll_doubles_sketch.deserialize(self.value("sketch_of(?)", ours)))
        self.assertEqual(theirs.n, 100000)
        for q in self.FRACTIONS:
            here = self.value(
                "extract_output(merge_accumulators(a), ?) FROM "
                "(SELECT accumulator_of(?, 'approx_quantile') AS a UNION ALL SELECT ?)", q, data, ours)
            for answer in (here, theirs.get_quantile(q, True)):
                self.assertLessEqual(abs(answer - q * 100000), 1500, q)

    # --- top counts --------------------------------------------------------------------------

    def test_frequent_from_there(self):
        for kind, to in (("text", lambda x: f"v{x}"), ("integer", lambda x: x - 100)):
            for lg_max in (3, 6, 10):
                sketch = ds.frequent_strings_sketch(lg_max) if kind == "text" else ds.frequent_items_sketch(lg_max)
                for x in self.shuffled(ZIPF):
                    sketch.update(to(x))
                data = sketch.serialize() if kind == "text" else sketch.serialize(ds.PyLongsSerDe())
                found = json.loads(self.value(
                    "extract_output(accumulator_of(?, ?, 500))", data, f"approx_top_count {kind}"))
                self.assertEqual(len(found), sketch.num_active_items)
                for item in found:
                    self.assertEqual(item["count"], sketch.get_upper_bound(item["value"]))
                    self.assertEqual(item["count"] - item["error"], sketch.get_lower_bound(item["value"]))

    def test_frequent_to_there(self):
        for to in (lambda x: f"v{x}", lambda x: x - 100):
            for values in (ZIPF[:10], ZIPF, list(range(9000)) + [7] * 500):
                accumulator = self.aggregate(map(to, self.shuffled(values)), "approx_top_count_accumulator(x, 500)")
                data = self.value("sketch_of(?)", accumulator)
                sketch = ds.frequent_strings_sketch.deserialize(data) if isinstance(to(1), str) \
                    else ds.frequent_items_sketch.deserialize(data, ds.PyLongsSerDe())
                self.assertEqual(sketch.total_weight, len(values))
                for item in json.loads(self.value("extract_output(?)", accumulator)):
                    self.assertEqual(sketch.get_estimate(item["value"]), item["count"])
                    self.assertEqual(sketch.get_lower_bound(item["value"]), item["count"] - item["error"])


if __name__ == "__main__":
    print(f"TRANCHE_SEED={SEED}")
    unittest.main()
