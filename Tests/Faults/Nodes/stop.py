"""A node gets SIGTERM at any moment after it serves: it always stops, with exit code 0.

    run stop [TIMES [SEED]]
"""

import random
import secrets
import signal
import sys
import time

from people import Line
from stage import Device, percentile, stage


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    rng, ended = random.Random(seed), []
    print(f"stop {times} {seed}", flush=True)
    with stage("stop") as folder:
        node = Device(folder, "alice")
        node.run("init", "--name", "alice")
        for _ in range(times):
            node.start()
            if rng.random() < 0.5:
                Line(node).ask("status")
            time.sleep(rng.choice((0, 0, 0.001, 0.01)))
            begun = time.monotonic()
            node.end(signal.SIGTERM)
            ended.append(time.monotonic() - begun)
    print(f"ends {times}, ignored 0, ended after p50 {percentile(ended, 0.5) * 1_000:.0f} ms, "
          f"p99 {percentile(ended, 0.99) * 1_000:.0f} ms")


main()
