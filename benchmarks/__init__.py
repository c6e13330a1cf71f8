"""Benchmarks of deltaarrow against ``deltalake`` and the bare engines; see README.md in this folder."""
