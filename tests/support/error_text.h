#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/graph/error.h"

namespace towerflow::testing {

/// Returns the full text of the error that `call` throws, or a text that says that there was none.
template <class Call>
std::string error_text(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("no tf::Error: ") + error.what();
  }
  return "nothing was thrown";
}

}  // namespace towerflow::testing

/// Checks that `text`, usually of an error, contains each of the other arguments.
#define CHECK_SAYS(text, ...)                                               \
  do {                                                                      \
    const std::string said_text = (text);                                   \
    CAPTURE(said_text);                                                     \
    for (const std::string& part : std::vector<std::string>{__VA_ARGS__}) { \
      CAPTURE(part);                                                        \
      CHECK(said_text.find(part) != std::string::npos);                     \
    }                                                                       \
  } while (false)
