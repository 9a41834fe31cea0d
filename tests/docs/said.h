#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <type_traits>

#include "towerflow/tf.h"

namespace towerflow {

/// Runs a program of a page in a new graph and returns its result or the text of its error. If
/// $TOWERFLOW_DOCS_OUTPUT is set, also appends the text with `line` to that file.
std::string output_or_error(int line, const std::function<std::string()>& program);

/// Same for a program that returns nothing; the result is "" if it succeeds.
template <class F>
requires std::is_void_v<std::invoke_result_t<const F&>> std::string output_or_error(
    int line, const F& program) {
  return output_or_error(line, std::function<std::string()>([&program] {
                           program();
                           return std::string();
                         }));
}

}  // namespace towerflow
