#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <type_traits>

#include "towerflow/tf.h"

namespace towerflow {

/// What a program of a page ends in, run in a graph of its own: the text of its error, else what it
/// returns. Appends it under `line` to the file $TOWERFLOW_SAID, where that is set.
std::string output_or_error(int line, const std::function<std::string()>& program);

/// The same for a program that returns nothing: "" if it runs to its end.
template <class F>
requires std::is_void_v<std::invoke_result_t<const F&>> std::string output_or_error(
    int line, const F& program) {
  return output_or_error(line, std::function<std::string()>([&program] {
                           program();
                           return std::string();
                         }));
}

}  // namespace towerflow
