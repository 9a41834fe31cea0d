#!/usr/bin/env python3
"""Derives the polynomials of sincos_float in ops/random/box_muller.h: `python3 fit_sincos.py`.

Minimax fits by the Remez exchange algorithm on [0, pi/4], in extended precision (needs NumPy, x86):

    sin r = r + r^3 (s0 + s1 r^2 + s2 r^4)             error relative to r
    cos r = 1 + r^2 (c0 + c1 r^2 + c2 r^4 + c3 r^6)    absolute error
"""
import numpy as np

REAL = np.longdouble
END = REAL("0.785398163397448309615660845819875721")


def solve(matrix, right):
    """Gauss-Jordan elimination with pivoting; numpy.linalg has no extended precision."""
    work = np.concatenate([matrix, right[:, None]], axis=1)
    for i in range(len(work)):
        pivot = i + np.argmax(np.abs(work[i:, i]))
        work[[i, pivot]] = work[[pivot, i]]
        work[i] /= work[i, i]
        for j in range(len(work)):
            if j != i:
                work[j] -= work[i] * work[j, i]
    return work[:, -1]


def minimax(basis, target, weight, terms):
    """Returns coefficients c that minimise max |weight (sum c_i basis_i - target)|, and that maximum."""
    index = np.arange(terms + 1)
    signs = REAL(-1.0) ** index
    points = END * (1 - np.cos(np.pi * (index + REAL(0.5)) / (terms + 1))) / 2
    grid = END * (1 - np.cos(np.pi * np.arange(1, 20001, dtype=REAL) / 20000)) / 2
    for _ in range(30):
        columns = [weight(points) * basis(points, i) for i in range(terms)] + [signs]
        solution = solve(np.stack(columns, axis=1), weight(points) * target(points))
        fitted = sum(solution[i] * basis(grid, i) for i in range(terms))
        error = weight(grid) * (fitted - target(grid))
        turns = np.flatnonzero(np.sign(error[1:]) != np.sign(error[:-1])) + 1
        runs = np.split(np.arange(len(grid)), turns)
        peaks = [run[np.argmax(np.abs(error[run]))] for run in runs][-(terms + 1):]
        points = grid[peaks]
    return solution[:terms], abs(solution[terms])


sine = minimax(lambda r, i: r ** (3 + 2 * i), lambda r: np.sin(r) - r, lambda r: 1 / r, 3)
cosine = minimax(lambda r, i: r ** (2 + 2 * i), lambda r: np.cos(r) - 1, np.ones_like, 4)
for name, (coefficients, error) in (("sine", sine), ("cosine", cosine)):
    print(name, [float(c).hex() for c in coefficients], f"error {float(error):.3g}")
