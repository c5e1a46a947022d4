"""What is run under valgrind: delegates of each kind of end."""

import gc

import tiny
from support import delegate, interpreter, run

for model in (tiny.split(), tiny.supported(), tiny.quantised(), tiny.branches(), tiny.streaming()):
    for _ in range(2):
        run(interpreter(model, delegate()))
for options in ({"budget": "much"}, {"whole_graph": 1}):
    try:
        interpreter(tiny.split(), delegate(**options))
    except (ValueError, RuntimeError) as error:
        print(error)
gc.collect()
