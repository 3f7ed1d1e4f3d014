//! Benchmarks: ratios against a limit that is measured in the same run.
