#pragma once

#include <string>
#include <vector>

#include "core/graph/attr_fields.h"
#include "core/graph/dtype.h"
#include "core/graph/shape.h"

namespace towerflow {

/// An operand of a step: an input of the op, or the result of an earlier step.
struct ElementwiseOperand {
  bool is_step = false;
  int index = 0;
  bool operator==(const ElementwiseOperand&) const = default;
};

/// One op of a chain.
struct ElementwiseStep {
  std::string op;
  DType dtype = DType::invalid;  ///< of its result
  std::vector<ElementwiseOperand> operands;
  bool operator==(const ElementwiseStep&) const = default;

  std::string text() const;  ///< "Mul(x0, %1)"
};

/// For display only: programs are created only by a rewrite.
template <>
struct AttrConversion<ElementwiseStep> {
  using Value = std::string;
  static Value to(const ElementwiseStep& step) { return step.text(); }
};

/// The attributes of `_Elementwise`: ops to run one after another over each piece of the result.
///
/// The result of every step has the shape of the output, to which inputs broadcast. The last step
/// gives the output.
struct ElementwiseProgram {
  Shape shape;
  std::vector<ElementwiseStep> steps;
  static constexpr auto fields = std::tuple{attr::field("shape", &ElementwiseProgram::shape),
                                            attr::field("steps", &ElementwiseProgram::steps)};

  /// Returns, for example, "%0 = Mul(x0, x1); %1 = Tanh(%0)".
  std::string text() const;
};

}  // namespace towerflow
