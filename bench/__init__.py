"""What docs/benchmarks.md tells: side by side, in one run, as ratios."""
