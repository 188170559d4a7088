"""Woodshed beside other libraries: see benchmarks/README.md."""
