"""The programs by area; each module has `programs()`."""
