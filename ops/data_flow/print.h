#pragma once

#include <string>

#include "ops/operand_list.h"

namespace towerflow {

struct PrintOptions {
  ByName by_name = ByName();
  std::string message{};  ///< printed before the values
  int first_n = -1;       ///< how many times a session prints; -1 for always
  int summarize = 3;      ///< elements of each tensor, -1 for all
  std::string name{};
};

/// Returns `input` and, each time it is computed, prints `data` in one line like "x = [1 2 3...]".
/// The line goes to the log at level info (`set_log_sink`), by default to stderr.
///
/// shapes   input [...], data any -> [...]     dtypes  all
/// grads    input: dy; data: none
/// source   tf.Print
Tensor Print(const Operand& input, const OperandList& data, PrintOptions options = {},
             Site site = Site::current());

}  // namespace towerflow
