"""Runs `lives.py` under valgrind, and fails where anything that it finds goes through the delegate.

What the interpreter of Python, NumPy and the dynamic linker do is not looked at: of that valgrind finds some dozen.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Findings that are errors in any program. Memory that is still reachable is not an error.
WRONG = re.compile(r"Invalid|[Uu]ninitialised|definitely lost in|indirectly lost in|Mismatched|overlap")

#: Matches a stack frame of the library, or of code compiled into it, but not a folder with that name.
OURS = re.compile(r"libtexpool_tflite|\btexpool(_tflite)?::")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = ["valgrind", "--error-limit=no", "--leak-check=full", "--show-leak-kinds=definite,indirect"]
        command += ["--num-callers=60", f"--suppressions={HERE.parents[1] / 'driver.supp'}", f"--log-file={log}"]
        command += [sys.executable, str(HERE / "lives.py")]
        environment = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONPATH": str(HERE)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        text = re.sub(r"^==\d+== ?", "", log.read_text(), flags=re.MULTILINE)
    records = [record for record in text.split("\n\n") if WRONG.search(record.split("\n")[0])]
    ours = [record for record in records if OURS.search(record)]
    print(f"valgrind: {len(ours)} of {len(records)} records go through the delegate")
    if ours or "LEAK SUMMARY" not in text:
        sys.exit("\n\n".join(ours) or text)


if __name__ == "__main__":
    main()
