#ifndef TOWERFLOW_PCH_TESTS_H
#define TOWERFLOW_PCH_TESTS_H
// Precompiled for the tests: doctest, the whole public API, and what many of them include besides.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "towerflow/tf.h"

#endif  // TOWERFLOW_PCH_TESTS_H
