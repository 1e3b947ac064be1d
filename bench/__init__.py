"""The measurements behind the README's figures: side by side, in one run, as ratios."""
