"""Draw the seconds that `bench_peers.py --json FILE` measured as bars: the medians, relative to those of dbt-ducklake.

python benchmarks/chart.py peers.json docs/peers.svg
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend is chosen first

COLORS = ("#f2b705", "#4a7fb5", "#9dbbd8", "#8a8f98")
LONGEST = 6.0
"""Bars are cut off at this ratio; their labels still have the seconds."""


def main() -> None:
    """Draw the chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    measured = json.loads(options.seconds.read_text())
    medians = {work: {name: statistics.median(seconds) for name, seconds in ways.items()} for work, ways in measured["seconds"].items()}
    names = list(next(iter(medians.values())))
    plt.rcParams.update({"svg.hashsalt": "peers", "font.family": "sans-serif", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(figsize=(9, 0.72 * len(medians) + 1.2))
    height = 0.8 / len(names)
    for row, ways in enumerate(medians.values()):
        for index, name in enumerate(names):
            ratio = ways[name] / ways[names[0]]
            top = row - 0.4 + (index + 0.5) * height
            axes.barh(top, min(ratio, LONGEST), height * 0.9, color=COLORS[index], label=name if row == 0 else None)
            axes.text(min(ratio, LONGEST) + 0.05, top, f"{ways[name]:.2f} s", va="center", fontsize=7)
    axes.set_yticks(range(len(medians)), list(medians))
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.6)
    axes.set_xlim(0, LONGEST + 0.6)
    axes.set_xlabel(f"time relative to {names[0]} (shorter is faster), table of {measured['rows']:,} rows")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.tight_layout()
    figure.savefig(options.picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
