"""Threads, interpreters beside each other, and what is left of many of them."""

import gc
import os
import threading
import unittest
from collections.abc import Callable

import tiny
from support import CACHE, Report, delegate, interpreter, python, resident_bytes, run, same_bits

#: Interpreters and delegates that one test makes. `test` asks for fewer, in the second of two runtimes for fewest.
LIVES = int(os.environ.get("TEXPOOL_LIVES", "1000"))
#: Maximum memory growth over all of them: 4 KiB for each, less than the smallest texture of a part, and two
#: megabytes.
GROWTH = (4 << 10) * LIVES + (2 << 20)
BLAZEFACE = CACHE / "blaze_face_short_range.tflite"
MOBILENET = CACHE / "mobilenet_v1_1.0_224.tflite"


def together(*work: Callable[[], None]) -> None:
    """Runs each in a thread of its own, and raises what one of them raised."""
    raised: list[BaseException] = []

    def caught(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=caught, args=[one]) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


class Threads(unittest.TestCase):
    def test_two_threads_with_an_interpreter_each(self) -> None:
        made = [interpreter(path, delegate()) for path in (BLAZEFACE, MOBILENET)]
        expected = [run(one) for one in made]

        def runs(index: int) -> Callable[[], None]:
            def work() -> None:
                for _ in range(20):
                    self.assertTrue(same_bits(run(made[index]), expected[index]))

            return work

        together(runs(0), runs(1))

    def test_threads_that_make_and_destroy_theirs(self) -> None:
        expected = run(interpreter(tiny.split()))

        def work() -> None:
            for _ in range(20):
                self.assertTrue(same_bits(run(interpreter(tiny.split(), delegate())), expected))

        together(work, work)

    def test_two_interpreters_of_one_model_share_a_delegate(self) -> None:
        shared = delegate()
        made = [interpreter(BLAZEFACE, shared) for _ in range(2)]
        expected = run(made[0])
        for _ in range(5):
            for one in made:
                self.assertTrue(same_bits(run(one), expected))
        together(*[lambda one=one: self.assertTrue(same_bits(run(one), expected)) for one in made])


class Lives(unittest.TestCase):
    def test_destroyed_and_made_again(self) -> None:
        first, second = interpreter(BLAZEFACE, delegate()), interpreter(MOBILENET, delegate())
        expected = run(first)
        del first
        gc.collect()
        again = run(second)
        self.assertTrue(same_bits(run(interpreter(BLAZEFACE, delegate())), expected))
        self.assertTrue(same_bits(run(second), again))

    def test_an_interpreter_that_never_ran_or_was_never_prepared(self) -> None:
        from support import runtime

        interpreter(BLAZEFACE, delegate())
        runtime.Interpreter(str(BLAZEFACE), experimental_delegates=[delegate()])
        delegate()

    def lives(self, what: str, one: Callable[[], int], times: int) -> None:
        # The first ones fill the caches of the driver and the allocator.
        for _ in range(100 + times // 4):
            one()
        before, reserved = resident_bytes(), one()
        for _ in range(times):
            self.assertEqual(one(), reserved)
        gc.collect()
        grown = resident_bytes() - before
        print(f"{times} {what}: {grown} bytes more in the process, {reserved} bytes of the device as before")
        self.assertLessEqual(grown, GROWTH)

    def test_many_interpreters_leave_nothing(self) -> None:
        model, report = tiny.split(), Report()
        shared = delegate(report=report.path)

        def one() -> int:
            run(interpreter(model, shared))
            return report.graph["parts"][0]["planned"]["reserved"]

        self.lives("interpreters of one delegate", one, LIVES)

    def test_many_interpreters_with_variables_leave_nothing(self) -> None:
        model, report = tiny.streaming(), Report()
        shared = delegate(report=report.path)

        def one() -> int:
            run(interpreter(model, shared))
            # The last graph is that of first values, of which nothing is planned.
            return report.graphs[-2]["parts"][0]["planned"]["reserved"]

        self.lives("interpreters with variables", one, LIVES // 5)

    def test_many_delegates_leave_nothing(self) -> None:
        model, report = tiny.split(), Report()

        def one() -> int:
            run(interpreter(model, delegate(report=report.path)))
            return report.graph["parts"][0]["planned"]["reserved"]

        # Another delegate keeps the device open.
        kept = delegate()
        self.lives("delegates beside another", one, LIVES)
        del kept

    def test_devices_that_are_opened_and_closed_leave_nothing(self) -> None:
        model, report = tiny.split(), Report()

        def one() -> int:
            run(interpreter(model, delegate(report=report.path)))
            return report.graph["parts"][0]["planned"]["reserved"]

        self.lives("delegates, each alone", one, LIVES // 5)


#: Forks like `gunicorn --preload` and `multiprocessing` with "fork". The child exits like an ordinary program.
FORKS = """
import os, sys, time, support, tiny

def child(what, work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except Exception as error:
            print(what, "raised", error, flush=True)
            os._exit(0)
        sys.exit(0)
    begun = time.monotonic()
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() - begun > 60:
            os.kill(pid, 9)
            print(what, "hangs")
        time.sleep(0.01)

def new(*delegates):
    made = support.interpreter(tiny.split(), *(delegates or [support.delegate()]))
    assert support.same_bits(support.run(made), expected)
    print("new runs", flush=True)

expected = support.run(support.interpreter(tiny.split()))
child("before", new)
delegate = support.delegate()
made = support.interpreter(tiny.split(), delegate)
assert support.same_bits(support.run(made), expected)
child("parent's", lambda: support.run(made))
child("after", new)
child("after, by the parent's delegate", lambda: new(delegate))
assert support.same_bits(support.run(made), expected)
print("parent runs", flush=True)
"""


class Forks(unittest.TestCase):
    def test_a_child_makes_interpreters_of_its_own(self) -> None:
        said = python(FORKS)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(said.stdout.count("new runs"), 3, said.stdout)
        self.assertRegex(said.stdout + said.stderr, "the device was opened before this process was forked")
        self.assertIn("parent's raised", said.stdout)
        self.assertIn("parent runs", said.stdout)
        self.assertNotIn("hangs", said.stdout)


if __name__ == "__main__":
    unittest.main()
