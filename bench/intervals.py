"""Length of the union of a million sorted spans in plain Python, beside bench/intervals.c."""
import random
import time

N = 1_000_000
rng = random.Random(1)
start = 0
spans = []
for _ in range(N):
    start += rng.randrange(2000)
    spans.append((start, start + 1 + rng.randrange(2000)))
best = None
for _ in range(3):
    began = time.perf_counter()
    total = reach = 0
    for begin, end in spans:
        if end > reach:
            total += end - (begin if begin > reach else reach)
            reach = end
    took = time.perf_counter() - began
    best = took if best is None or took < best else best
print(f"{'python3':<14} {N:>12} {best:>10.4f} {N / best / 1e6:>12.0f}")
