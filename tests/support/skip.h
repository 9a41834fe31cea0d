#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "tests/support/data_dir.h"

namespace towerflow::test {

/// Prints the line that scripts/test counts as one skipped case, and makes an assertion, since
/// tests/main.cc fails cases without assertions. Call it once per test case, outside subcases.
inline void report_skip(const std::string& why) {
  std::printf("\nSKIPPED: %s\n", why.c_str());
  std::fflush(stdout);
  CHECK_MESSAGE(!why.empty(), "a skipped test says why");
}

}  // namespace towerflow::test

/// Skips the rest of the test case: `if (!machine_has_it) TOWERFLOW_SKIP("needs it");`
#define TOWERFLOW_SKIP(why)              \
  do {                                   \
    ::towerflow::test::report_skip(why); \
    return;                              \
  } while (false)

/// Declares `variable` (std::filesystem::path) as the folder or file `name` of the real data; skips
/// the test case if the data is missing: `TOWERFLOW_NEED_DATA(mnist, "mnist");`
#define TOWERFLOW_NEED_DATA(variable, name)                             \
  const auto variable##_if_there = ::towerflow::test::real_data(name);  \
  if (!variable##_if_there) {                                           \
    TOWERFLOW_SKIP(std::string("needs the real data ") + (name) +       \
                   ": set TOWERFLOW_DATA to the folder that holds it"); \
  }                                                                     \
  const std::filesystem::path variable = *variable##_if_there
