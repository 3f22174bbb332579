"""Rows "command ranks cpu_s memory_mb lines" as a table of a row a command, with the exponents of growth: the slope of a line through the
logarithms, and how well it fits (R^2). Called by growth.sh."""

import collections
import math
import sys


def slope(ranks, values):
    """Of a line through log(ranks), log(values): its slope, and the share of the spread that it explains."""
    x = [math.log(r) for r in ranks]
    y = [math.log(max(v, 1e-3)) for v in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    if spread == 0:
        return None
    by = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread
    left = sum((b - mean_y - by * (a - mean_x)) ** 2 for a, b in zip(x, y))
    whole = sum((b - mean_y) ** 2 for b in y)
    return by, 1 - left / whole if whole > 0 else 1.0


def main():
    commands = collections.defaultdict(dict)
    for line in open(sys.argv[1]):
        name, ranks, cpu_s, memory_mb, lines = line.split()
        commands[name][int(ranks)] = float(cpu_s), float(memory_mb), int(lines)
    sizes = sorted({ranks for figures in commands.values() for ranks in figures})
    head = "".join(f"{ranks:>9}" for ranks in sizes)
    print(f"{'':12}{'CPU s of ranks':>{9 * len(sizes)}}   exponent {'peak MB of ranks':>{9 * len(sizes)}}   exponent   lines")
    print(f"{'':12}{head}  (R^2)     {head}  (R^2)    ")
    for name, figures in commands.items():
        ranks = [r for r in sizes if r in figures]
        row = f"{name:12}"
        for column in (0, 1):
            values = [figures[r][column] for r in ranks]
            row += "".join(f"{v:9.2f}" if column == 0 else f"{v:9.0f}" for v in values)
            fit = slope(ranks, values)
            row += f"  {fit[0]:4.2f} ({fit[1]:.3f})" if fit else f"{'':14}"
        print(row + f"{figures[ranks[-1]][2]:8}")


main()
