"""Random programs with seeds that were not examined before the recording."""

from oracle.random_programs import generate

COMPRESSED = True


def programs():
    return [generate(seed) for seed in range(4_000_000, 4_000_200)]
