#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "towerflow/tf.h"

namespace towerflow {

/// What a program of a page ends in, run in a graph of its own: the text of its error, "" where it
/// runs to its end. Appends it under `line` to the file $TOWERFLOW_SAID, where that is set.
std::string said(int line, const std::function<void()>& program);

}  // namespace towerflow
