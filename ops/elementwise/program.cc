#include "ops/elementwise/program.h"

#include <fmt/format.h>

namespace towerflow {

std::string ElementwiseStep::text() const {
  std::string text = op + "(";
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const ElementwiseOperand operand = operands[k];
    text += fmt::format("{}{}{}", k > 0 ? ", " : "", operand.is_step ? "%" : "x", operand.index);
  }
  return text + ")";
}

std::string ElementwiseProgram::text() const {
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text += fmt::format("{}%{} = {}", i > 0 ? "; " : "", i, steps[i].text());
  }
  return text;
}

}  // namespace towerflow
