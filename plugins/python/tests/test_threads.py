"""Threads, sessions beside each other, signals, and what is left of a thousand sessions."""

import gc
import os
import signal
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import texpool
from support import BLAZEFACE, SLOW, blazeface, onnx_chain, resident_bytes, same_bits, values

#: Maximum memory growth over a thousand sessions: 4 KiB each. A session of BlazeFace on a software device takes 2.9
#: MB of the process's memory.
GROWTH = 4 << 20


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


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """Sends this process what Ctrl-C sends, after so many seconds."""
    timer = threading.Timer(after, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class Threads(unittest.TestCase):
    def test_two_threads_with_a_session_each(self) -> None:
        sessions = [texpool.InferenceSession(path) for path in (BLAZEFACE, SLOW)]
        feeds = [values(session) for session in sessions]
        expected = [session.run(None, feed) for session, feed in zip(sessions, feeds)]

        def runs(index: int) -> Callable[[], None]:
            def run() -> None:
                for _ in range(20):
                    self.assertTrue(same_bits(sessions[index].run(None, feeds[index]), expected[index]))

            return run

        together(runs(0), runs(1))

    def test_two_sessions_of_one_model(self) -> None:
        first, feed = blazeface()
        expected = first.run(None, feed)
        second = texpool.InferenceSession(BLAZEFACE)
        shares = first.clone()
        weights = first.memory()["planned"]["weights"]
        self.assertEqual(shares.memory()["shared"], weights)
        self.assertEqual(second.memory()["shared"], 0)

        def run(session: texpool.InferenceSession) -> Callable[[], None]:
            return lambda: self.assertTrue(same_bits(session.run(None, feed), expected))

        together(*[run(session) for session in (first, second, shares) * 3])

    def test_one_session_of_two_threads(self) -> None:
        session, feed = blazeface()
        black = {"input": feed["input"] * 0}
        expected, of_black = session.run(None, feed), session.run(None, black)

        def run() -> None:
            for _ in range(20):
                self.assertTrue(same_bits(session.run(None, feed), expected))
                self.assertTrue(same_bits(session.run(None, black), of_black))

        together(run, run)

    def test_made_and_dropped_by_threads(self) -> None:
        _, feed = blazeface()
        together(*[lambda: [texpool.InferenceSession(BLAZEFACE).run(None, feed) for _ in range(3)] and None] * 4)

    def test_python_runs_on_during_a_run(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        counted = 0
        done = threading.Event()

        def run() -> None:
            for _ in range(10):
                session.run(None, feed)
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        thread.join()
        # If the run held the lock, this thread would only run between two runs.
        self.assertGreater(counted, 40)

    def test_deleted_in_mid_run(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        expected = session.run(None, feed)
        answers = []
        # Only the bound method keeps the session alive, so it is dropped by the thread right after the run.
        thread = threading.Thread(target=lambda run: answers.append(run(None, feed)), args=[session.run])
        thread.start()
        del session
        gc.collect()
        thread.join()
        self.assertTrue(same_bits(answers[0], expected))

    def test_closed_in_mid_run(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        began, ended = threading.Event(), []

        def run() -> None:
            try:
                while True:
                    began.set()
                    session.run(None, feed)
            except texpool.ClosedError as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        began.wait()
        time.sleep(0.02)
        session.close()
        thread.join()
        self.assertEqual(len(ended), 1)

    def test_a_thousand_sessions_leave_nothing_behind(self) -> None:
        small = onnx_chain([1, 3, 5, 7], ["Sin", "Exp"])
        # Many runs of a minimal model, and a few of a network with weights.
        for model, cycles in [(small, 1000), (BLAZEFACE, 50)]:
            kept = texpool.InferenceSession(model)
            feed = values(kept)
            expected = kept.run(None, feed)

            def cycle() -> None:
                with texpool.InferenceSession(model) as session:
                    if not same_bits(session.run(None, feed), expected):
                        raise AssertionError("another answer")

            for _ in range(cycles // 10):
                cycle()
            before, of_device = resident_bytes(), kept.memory()["reserved"]
            for _ in range(cycles):
                cycle()
            gc.collect()
            grown = resident_bytes() - before
            print(f"resident memory after {cycles} sessions: {grown:+} bytes")
            self.assertLess(grown, GROWTH)
            self.assertEqual(kept.memory()["reserved"], of_device)


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        # Shells start background processes with Ctrl-C ignored, and Python then does not install its handler.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_ctrl_c_ends_a_run(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        expected = session.run(None, feed)
        for _ in range(3):
            with self.assertRaises(KeyboardInterrupt), ctrl_c(0.3):
                while True:
                    session.run(None, feed)
            self.assertTrue(same_bits(session.run(None, feed), expected))

    def test_ctrl_c_ends_a_long_run(self) -> None:
        # When streamed stripe by stripe, a run of this network takes seconds.
        session = texpool.InferenceSession(SLOW, objective="smallest", stream="weights", deadline=5)
        feed = values(session)
        begun = time.monotonic()
        expected = session.run(None, feed)
        took = time.monotonic() - begun
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt), ctrl_c(0.01):
            while True:
                session.run(None, feed)
        self.assertLess(time.monotonic() - begun, took + 1)
        self.assertTrue(same_bits(session.run(None, feed), expected))

    def test_ctrl_c_ends_a_search(self) -> None:
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt), ctrl_c(0.3):
            while True:
                texpool.InferenceSession(SLOW, objective="smallest")
        self.assertLess(time.monotonic() - begun, 10)

    def test_ctrl_c_ends_the_wait_for_another_thread(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        done = threading.Event()

        def run() -> None:
            while not done.is_set():
                session.run(None, feed)

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt), ctrl_c(0.3):
                while True:
                    session.run(None, feed)
        finally:
            done.set()
            for thread in threads:
                thread.join()

    def test_a_handler_that_raises_nothing_ends_nothing(self) -> None:
        session = texpool.InferenceSession(SLOW)
        feed = values(session)
        expected = session.run(None, feed)
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
        try:
            with ctrl_c(0.05):
                while not seen:
                    self.assertTrue(same_bits(session.run(None, feed), expected))
        finally:
            signal.signal(signal.SIGINT, before)


class ProgressOfSearches(unittest.TestCase):
    def test_progress_is_told_and_can_end_a_search(self) -> None:
        main = threading.get_ident()
        told = []

        def progress(now: texpool.Progress) -> bool:
            told.append((now, threading.get_ident()))
            return len(told) < 3

        session = texpool.InferenceSession(SLOW, objective="smallest", progress=progress)
        self.assertEqual((session.stopped, len(told)), ("cancelled", 3))
        self.assertTrue(all(isinstance(now.stage, str) and thread == main for now, thread in told))

    def test_what_progress_raises_is_raised(self) -> None:
        def progress(now: texpool.Progress) -> None:
            raise LookupError(now.stage)

        with self.assertRaises(LookupError):
            texpool.InferenceSession(SLOW, objective="smallest", progress=progress)

    def test_a_deadline_ends_a_search(self) -> None:
        begun = time.monotonic()
        session = texpool.InferenceSession(SLOW, objective="smallest", deadline=0.2)
        self.assertEqual(session.stopped, "deadline")
        self.assertLess(time.monotonic() - begun, 20)


if __name__ == "__main__":
    unittest.main()
