#pragma once

#include <string>
#include <type_traits>

#include "core/graph/types.h"

namespace towerflow::types {

/// The place in the user's program that made a node or raised an error.
///
/// Passed as a defaulted last parameter, `Site site = Site::current()`, so that the compiler fills
/// in the caller. The strings are literals of the program: a Site is three words and never
/// allocates. The place is unknown if the caller is the standard library (`emplace`,
/// `make_unique`).
struct Site {
  const char* file = nullptr;
  const char* function = nullptr;
  unsigned line = 0;

  static constexpr Site current(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                unsigned line = __builtin_LINE()) {
    return in_standard_library(file) ? Site{} : Site{file, function, line};
  }

  constexpr bool known() const { return file != nullptr; }

  /// Returns "path/model.cc:41", or "unknown place".
  std::string text() const;

  bool operator==(const Site&) const = default;

 private:
  /// Matches ".../include/c++/12/optional"; uses a built-in, which the optimizer can evaluate.
  static constexpr bool in_standard_library(const char* file) {
    return !std::is_constant_evaluated() && __builtin_strstr(file, "/include/c++/") != nullptr;
  }
};

}  // namespace towerflow::types
