#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda/libraries.h"
#include "tests/cuda/real_libraries.h"

namespace towerflow::cuda::testing {

/// What one table says of one case: the first status that is no success.
using Verdict = std::function<int(const Table&)>;

struct Case {
  std::string what;
  Verdict verdict;
  /// What the emulation says where it is stricter than the library; 0 if they agree.
  int stricter = 0;
};

/// Compares all cases, and returns how many both refuse.
inline int compare(const std::vector<Case>& cases, const Table* real, const char* library) {
  if (real == nullptr) {
    std::printf("%s is not installed: its verdicts are not compared\n", library);
    CHECK(real == nullptr);
    return -1;
  }
  int refused = 0;
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const int expected = one.verdict(*real), found = one.verdict(emulation());
    if (one.stricter == 0) {
      CHECK(found == expected);
    } else {
      CHECK(expected == 0);
      CHECK(found == one.stricter);
    }
    if (expected != 0) ++refused;
  }
  return refused;
}

}  // namespace towerflow::cuda::testing
