"""The planner alone."""

import csv
import random
import time
import unittest
from typing import Any

import numpy as np

import texpool
from support import HERE

RECORDS = [(0, 1, 8), (1, 2, 4), (2, 3, 8)]


def overlaps(records: list[tuple[int, int, int]], plan: texpool.Plan) -> bool:
    """Whether two records that are alive together share bytes."""
    places = list(zip(records, plan.region.tolist(), plan.offset.tolist()))
    for index, ((first, last, size), region, offset) in enumerate(places):
        for (other_first, other_last, other_size), other_region, other_offset in places[:index]:
            alive = first <= other_last and other_first <= last
            shared = offset < other_offset + other_size and other_offset < offset + size
            if alive and region == other_region and shared:
                return True
    return False


def hard(count: int) -> list[tuple[int, int, int]]:
    """Records that a search takes long with, the same every time."""
    generator = random.Random(5)
    rows = []
    for _ in range(count):
        first = generator.randrange(100)
        rows.append((first, first + generator.randrange(1, 30), generator.randrange(1, 1000)))
    return rows


def instance(name: str) -> list[tuple[int, int, int]]:
    """One of the instances that minimalloc was published with, all of which fit into a MiB."""
    path = HERE.parents[2] / f"tests/data/minimalloc/{name}.1048576.csv"
    with path.open() as file:
        return [(int(row["lower"]), int(row["upper"]) - 1, int(row["size"])) for row in csv.DictReader(file)]


class Planner(unittest.TestCase):
    def test_lists_and_arrays_are_planned(self) -> None:
        for records in [RECORDS, np.array(RECORDS), np.array(RECORDS, np.uint8), np.array(RECORDS)[:, :]]:
            found = texpool.plan(records)
            self.assertEqual((found.total, found.bound, found.proven, found.regions), (12, 12, True, [12]))
            self.assertEqual(found.offset.tolist()[0], found.offset.tolist()[2])
        self.assertEqual(texpool.plan([]).total, 0)

    def test_each_strategy_plans(self) -> None:
        records = hard(60)
        for strategy in texpool.strategies():
            found = texpool.plan(records, strategy=strategy)
            with self.subTest(strategy):
                self.assertFalse(overlaps(records, found))
                self.assertEqual(found.total, sum(found.regions))
                self.assertLessEqual(found.bound, found.total)
                self.assertEqual(found.proven, found.bound == found.total)

    def test_alignments_and_capacities(self) -> None:
        found = texpool.plan([(0, 1, 5), (0, 1, 5)], alignment=4)
        self.assertEqual((sorted(found.offset.tolist()), found.total), ([0, 8], 13))
        self.assertEqual([texpool.plan(RECORDS, capacity=most).fits for most in (11, 12, 13)], [False, True, True])
        self.assertIsNone(texpool.plan(RECORDS).fits)

    def test_a_published_instance_fits_as_it_is_known_to(self) -> None:
        rows = instance("A")
        found = texpool.plan(rows, capacity=1048576, deadline=60)
        self.assertTrue(found.fits)
        self.assertFalse(overlaps(rows, found))

    def test_a_deadline_and_a_callback_end_a_search(self) -> None:
        records = instance("D")
        begun = time.monotonic()
        self.assertEqual(texpool.plan(records, deadline=0.5).stopped, "deadline")
        self.assertLess(time.monotonic() - begun, 10)
        calls = []

        def progress(now: texpool.Progress) -> bool:
            calls.append(now)
            return False

        found = texpool.plan(records, deadline=60, progress=progress)
        self.assertEqual((found.stopped, len(calls)), ("cancelled", 1))
        self.assertFalse(overlaps(records, found))

    def test_more_tensors_than_the_exact_search_takes_are_said(self) -> None:
        # Some five hundred tensors are alive at each step, and no greedy strategy reaches the widest.
        records = [(step := at * 7919 % 20_000, step + 1 + at * 104_729 % 1000, 1 + at % 997) for at in range(20_000)]
        found = texpool.plan(records)
        self.assertEqual((found.stopped, found.proven), ("too_many_tensors", False))

    def test_what_contradicts_itself_is_refused(self) -> None:
        refused: list[tuple[type[Exception], str, tuple[Any, dict[str, Any]]]] = [
            (texpool.PlanError, "record 1 is last used at step 1, before its first step 2", ([(0, 1, 8), (2, 1, 8)], {})),
            (texpool.PlanError, "before its first", ([(2, 1, 8)], {"strategy": "best"})),
            (ValueError, "record 1 has a negative number", ([(0, 1, 8), (-1, 1, 8)], {})),
            (ValueError, "three columns", ([(0, 1)], {})),
            (TypeError, "must be integers, not float64", ([(0, 1, 0.5)], {})),
            (ValueError, "no strategy is called `greedy`", (RECORDS, {"strategy": "greedy"})),
            (ValueError, "goes with the strategy 'arena' alone", (RECORDS, {"strategy": "best", "alignment": 4})),
            (ValueError, "alignment must be at least 1", (RECORDS, {"alignment": 0})),
            (TypeError, "deadline must be", (RECORDS, {"deadline": "soon"})),
        ]
        for kind, text, (records, options) in refused:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                texpool.plan(records, **options)


if __name__ == "__main__":
    unittest.main()
