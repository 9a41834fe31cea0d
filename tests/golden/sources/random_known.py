"""Random programs with the seeds that were used to develop the generator."""

from oracle.random_programs import generate

COMPRESSED = True


def programs():
    return [generate(seed) for seed in range(200)]
