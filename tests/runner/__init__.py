"""The parts of tests/run: one module for each kind of test."""
