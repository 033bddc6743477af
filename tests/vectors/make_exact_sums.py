#!/usr/bin/env python3
"""Writes exact_sums.jsonl: numbers, and their sum, mean, variances and deviations rounded once; and
combine_exact.jsonl: the sums and means that combine.jsonl records, rounded once.

The arithmetic is Python's own, on fractions, which is exact; the rounding is its division of integers,
which is correct, and for roots the integer root with a sticky bit. Nothing here knows how the extension
does it. Run in this folder; the output is committed.
"""
import json
import math
import random
from fractions import Fraction

SEED = 20240607


def nearest(x):
    """The double nearest to a fraction, infinite where it is beyond all."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def nearest_root(x):
    """The double nearest to the square root of a fraction."""
    if x == 0:
        return 0.0
    shift = 2 * (400 + max(0, x.denominator.bit_length() - x.numerator.bit_length()))
    scaled = (x.numerator << shift) // x.denominator
    exact = scaled * x.denominator == x.numerator << shift
    root = math.isqrt(scaled)
    exact = exact and root * root == scaled
    # One more bit, which is set where there is a rest: it decides ties.
    return nearest(Fraction(2 * root + (not exact), 2 << (shift // 2)))


def results(numbers):
    exact = [Fraction(x) for x in numbers]
    n, total, squares = len(exact), sum(exact), sum(x * x for x in exact)
    is_integer = all(isinstance(x, int) for x in numbers)
    variance = (n * squares - total * total) / (n * n)
    sample = (n * squares - total * total) / (n * (n - 1)) if n > 1 else None
    return {
        "sum": integer_sum(int(total)) if is_integer else nearest(total),
        "mean": nearest(total / n),
        "var_pop": nearest(variance),
        "var_samp": None if sample is None else nearest(sample),
        "stddev_pop": nearest_root(variance),
        "stddev_samp": None if sample is None else nearest_root(sample),
    }


def integer_sum(total):
    """What does not fit 64 bits stands as text: it is an error there."""
    return total if -(2**63) <= total < 2**63 else str(total)


def random_double(lowest, highest):
    return math.ldexp(random.choice((-1, 1)) * random.random(), random.randint(lowest, highest))


def cases():
    largest, smallest, least_normal = 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308
    ends = [2**63 - 1, -(2**63)]
    yield "one integer", [7]
    yield "one REAL", [0.1]
    yield "negative zero", [-0.0]
    yield "equal inputs", [5.4, 5.4, 5.4]
    yield "tenths", [0.1] * 10
    yield "tenths, next to each other", [0.1, 0.2, 0.3]
    yield "cancellation", [1e16, 1.0, -1e16]
    yield "large, then small", [1e100, 1.0, -1e100]
    yield "both ends of integers", ends
    yield "the most negative, alone", [ends[1]]
    yield "beyond 64 bits and back", [ends[0], ends[0], ends[1], ends[1], 5]
    yield "one above 64 bits", [ends[0], 1]
    yield "one below 64 bits", [ends[1], -1]
    yield "far above 64 bits", [ends[0]] * 40
    yield "far below 64 bits", [ends[1]] * 40
    yield "beyond 64 bits with a REAL", [ends[0], ends[0], 0.0]
    yield "integers that no double holds", [2**53 + 1, 2**53 + 1, 2.0**53]
    yield "an integer and half", [2**62 + 1, 0.5]
    yield "halfway, to even", [2**53, 1.0]
    yield "halfway and a little", [2**53, 1.0, smallest]
    yield "halfway less a little", [2**53, 1.0, -smallest]
    yield "halfway up, to even", [2**53 + 2, 1.0]
    yield "beyond all doubles and back", [largest, largest, -largest]
    yield "beyond all doubles", [largest, largest]
    yield "just below rounding to infinity", [largest, 9.9792015476735e291]
    yield "rounding to infinity", [largest, 9.979201547673600e291]
    yield "the smallest doubles", [smallest, smallest, smallest]
    yield "a subnormal mean", [smallest, 0.0, 0.0]
    yield "half of the smallest, to even", [smallest, 0.0]
    yield "one and a half of the smallest", [smallest, smallest * 2]
    yield "around the least normal", [least_normal, -smallest, smallest * 3]
    yield "the whole line", [largest, smallest, -1.0, 1.0, least_normal]
    yield "variance beyond all doubles, not its root", [1e200, -1e200, 3e200]
    yield "variance below all doubles, not its root", [1e-200, -1e-200, 3e-200]
    yield "large offset, small spread", [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]
    yield "small integers", list(range(1, 101))
    for length in (2, 3, 10, 50):
        for low, high in ((-3, 3), (0, 20), (-40, 40), (-200, 200), (-1074, 1023)):
            for _ in range(4):
                yield "random REALs", [random_double(low, high) for _ in range(length)]
        for bits in (8, 31, 62):
            yield "random integers", [random.randint(-(2**bits), 2**bits) for _ in range(length)]
            yield "both types", [random.choice((random.randint(-(2**bits), 2**bits),
                                                random_double(-bits, bits)))
                                 for _ in range(length)]
        yield "prices", [round(random.lognormvariate(3, 2), 2) for _ in range(length)]


def inputs_of(line):
    """The numbers that SQLite would keep: NaN is NULL, and NULLs are ignored."""
    is_real = line["fn"].endswith("_double")
    for shard in line["shards"]:
        for x in shard:
            if x is not None and x != "NaN":
                yield float(x) if is_real else x


def recorded_result(line):
    numbers = list(inputs_of(line))
    infinities = {x for x in numbers if isinstance(x, float) and math.isinf(x)}
    if not numbers or len(infinities) == 2:
        return None
    if infinities:
        return infinities.pop()
    return results(numbers)[line["fn"].split("_")[0]]


def write(file, line):
    """JSON has no infinities: they stand as text."""
    text = json.dumps(line).replace("-Infinity", '"-Infinity"')
    file.write(text.replace(" Infinity", ' "Infinity"') + "\n")


def write_recorded():
    with open("combine_exact.jsonl", "w", encoding="utf-8") as file:
        for text in open("combine.jsonl", encoding="utf-8"):
            line = json.loads(text)
            if line["fn"].split("_")[0] in ("sum", "mean"):
                write(file, {"id": line["id"], "out": recorded_result(line)})


def main():
    random.seed(SEED)
    with open("exact_sums.jsonl", "w", encoding="utf-8") as file:
        for what, numbers in cases():
            line = {"what": what, "numbers": numbers, **results(numbers)}
            write(file, line)
    write_recorded()


main()
