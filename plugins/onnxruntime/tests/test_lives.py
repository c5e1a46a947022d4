"""Sessions in several threads, several of one model, made and gone again and again."""

import gc
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path

from support import CACHE, off, on_cpu, python, register, session, small, values

MODEL = CACHE / "mtcnn_rnet.onnx"
CYCLES = 1000
#: 4 KiB per session, less than its smallest texture.
MOST = 4096 * CYCLES


def together(*jobs: Callable[[], None]) -> None:
    """Runs each in a thread of its own; what one raises is raised here."""
    raised: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in raised:
        raise error


def reserved(path: Path) -> int:
    """What a session's report says that all sessions of the device have reserved."""
    return int(path.read_text().split(" bytes reserved by all")[0].split()[-1])


def cycles() -> None:
    """Makes, runs and drops sessions, and prints by how much the process and the device have grown."""
    import support

    cpu = on_cpu(small())
    feed = values(cpu)
    wanted = cpu.run(None, feed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.txt"

        def one() -> int:
            made = session(small(), report=str(path))
            if off(made.run(None, feed), wanted) > 1:
                raise AssertionError("another answer")
            return reserved(path)

        # The first sessions fill the caches of the driver and the allocators.
        for _ in range(CYCLES // 4):
            one()
        gc.collect()
        before, device = support.resident_bytes(), one()
        for _ in range(CYCLES):
            if one() != device:
                raise AssertionError("the device's bytes differ")
        gc.collect()
        print(support.resident_bytes() - before, device)


class Lives(unittest.TestCase):
    def setUp(self) -> None:
        self.cpu = on_cpu(small())
        self.feeds = [values(self.cpu, seed=seed) for seed in range(4)]
        self.wanted = [self.cpu.run(None, feed) for feed in self.feeds]
        register()

    def runs(self, made: object, count: int = 50) -> None:
        for turn in range(count):
            which = turn % len(self.feeds)
            self.assertLessEqual(off(made.run(None, self.feeds[which]), self.wanted[which]), 1)

    def test_two_threads_with_a_session_each(self) -> None:
        def job() -> None:
            self.runs(session(small()))

        together(job, job)

    def test_two_sessions_of_one_model(self) -> None:
        first, second = session(small()), session(small())
        for _ in range(10):
            self.runs(first, 2)
            self.runs(second, 3)

    def test_one_session_from_several_threads(self) -> None:
        made = session(small())
        together(*[lambda: self.runs(made)] * 3)

    def test_gone_in_mid_life_and_made_again(self) -> None:
        stays = session(small())

        def comes_and_goes() -> None:
            for _ in range(20):
                made = session(small())
                self.runs(made, 2)
                del made

        together(lambda: self.runs(stays, 200), comes_and_goes)
        self.runs(stays)

    def test_a_real_model_beside_a_small_one(self) -> None:
        made, cpu = session(CACHE / "mobilenet_v2.onnx"), on_cpu(CACHE / "mobilenet_v2.onnx")
        feed = values(cpu)
        wanted = cpu.run(None, feed)

        def job() -> None:
            for _ in range(5):
                self.assertLessEqual(off(made.run(None, feed), wanted), 1)

        together(job, lambda: self.runs(session(small()), 100))

    def test_a_thousand_lives_leave_nothing(self) -> None:
        said = python("import test_lives; test_lives.cycles()", timeout=900)
        self.assertEqual(said.returncode, 0, said.stderr)
        grown, device = map(int, said.stdout.split())
        print(f"{CYCLES} sessions: {grown} bytes more in the process, {device} bytes of the device as before")
        self.assertLessEqual(grown, MOST)


#: Forks like `gunicorn --preload` and `multiprocessing` with "fork". The child exits as in `multiprocessing`: at a
#: normal exit, the runtime would wait for threads that do not exist in the child, even without a provider.
FORKS = """
import os, time, support

def child(what, work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except Exception as error:
            print(what, "raised", error, flush=True)
        os._exit(0)
    begun = time.monotonic()
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() - begun > 60:
            os.kill(pid, 9)
            print(what, "hangs")
        time.sleep(0.01)

def new():
    made = support.session(support.small())
    assert support.off(made.run(None, feed), wanted) <= 1
    print("new runs", flush=True)

cpu = support.on_cpu(support.small())
feed = support.values(cpu)
wanted = cpu.run(None, feed)
support.register()
child("before", new)
made = support.session(support.small())
child("not run", lambda: made.run(None, feed))
made.run(None, feed)
child("run", lambda: made.run(None, feed))
child("after", new)
assert support.off(made.run(None, feed), wanted) <= 1
print("parent runs", flush=True)
"""

class Forks(unittest.TestCase):
    def test_a_child_makes_sessions_of_its_own(self) -> None:
        said = python(FORKS)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(said.stdout.count("new runs"), 2, said.stdout)
        for what in ("not run", "run"):
            self.assertRegex(said.stdout, f"(?m)^{what} raised .*texpool: the device was opened before this process was forked")
        self.assertIn("parent runs", said.stdout)
        self.assertNotIn("hangs", said.stdout)


#: Starts a search that would take minutes, and presses Ctrl-C after two seconds.
CTRL_C = """
import os, signal, threading, time, support
# Processes in the background of a shell inherit an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
support.register()
pressed = 0.0

def press():
    global pressed
    pressed = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(2, press).start()
try:
    try:
        support.session(support.CACHE / "mobilenet_v2.onnx", budget="1400KiB", deadline="none")
    except Exception as error:
        # Where nothing keeps the budget yet, the runtime raises that, and Python `KeyboardInterrupt` next.
        print(error)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - pressed)
"""


class Interrupts(unittest.TestCase):
    def test_ctrl_c_ends_a_search(self) -> None:
        said = python(CTRL_C)
        self.assertEqual(said.returncode, 0, said.stderr)
        [after] = [float(line.split()[1]) for line in said.stdout.splitlines() if line.startswith("interrupted")]
        print(f"a search ended {after:.2f} s after Ctrl-C")
        self.assertLess(after, 20)


if __name__ == "__main__":
    unittest.main()
