"""The measurements behind the figures of docs/benchmarks.md: side by side, in one run, as ratios."""
