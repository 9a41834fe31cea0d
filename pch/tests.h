#ifndef TOWERFLOW_PCH_TESTS_H
#define TOWERFLOW_PCH_TESTS_H
// Precompiled header of the tests: doctest, the whole public API and other frequent includes.

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
