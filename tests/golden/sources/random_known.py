"""Random programs of the seeds that the generator was written with."""

from oracle.random_programs import generate

COMPRESSED = True


def programs():
    return [generate(seed) for seed in range(200)]
