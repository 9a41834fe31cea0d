#ifndef TOWERFLOW_PCH_TESTS_H
#define TOWERFLOW_PCH_TESTS_H
// Precompiled for the tests: doctest and the whole public API.

#include <doctest/doctest.h>

#include "towerflow/tf.h"

#endif  // TOWERFLOW_PCH_TESTS_H
