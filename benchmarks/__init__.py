"""Measurements, one command each (`python -m benchmarks.<name>`): ratios against peers timed in the same run.

Nothing here is part of the package. Results go to `benchmarks/results/<name>.json`, with machine and date; the plots of
the documentation are drawn from those files by `python -m benchmarks.plots`.
"""
