"""What `plugins/onnxruntime/test` runs under valgrind: sessions that are made, run, refused and dropped, and the library
unregistered. `python checked.py LOG` judges what valgrind wrote: Python and the runtime have findings of their own, so those
count whose stack has a frame of the provider's library.
"""

import gc
import re
import sys
from pathlib import Path

LIBRARY = "libtexpool_onnxruntime"


def lives() -> None:
    """A little of everything."""
    import onnxruntime
    import test_parts
    from support import register, session, small, values

    register()
    for _ in range(2):
        made = session(small())
        feed = values(made)
        for _ in range(2):
            made.run(None, feed)
        del made
    made = session(test_parts.open_extents())
    for extent in (8, 12):
        made.run(None, values(made, {"x": [1, 3, extent, extent]}))
    del made
    for model, options in ((small(), {"budget": "1KiB"}), (small(), {"speed": "high"}), (test_parts.none(), {})):
        try:
            session(model, **options)
        except Exception as error:
            print(str(error)[:120])
    gc.collect()
    onnxruntime.unregister_execution_provider_library("texpool")
    print("done")


def judged(log: str) -> list[str]:
    """The findings that are the library's."""
    # Findings are separated by empty lines.
    findings = re.split(r"\n==\d+== *\n", log)
    return [finding for finding in findings if LIBRARY in finding and re.search(r"==\s+(at|by) 0x", finding)]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        lives()
    else:
        text = Path(sys.argv[1]).read_text()
        if "ERROR SUMMARY" not in text:
            sys.exit("valgrind has not come to its end")
        found = judged(text)
        print(f"{len(found)} findings of valgrind's are the library's")
        if found:
            sys.exit("\n\n".join(found[:10]))
