"""The programs, by subject; each module has `programs()`."""
