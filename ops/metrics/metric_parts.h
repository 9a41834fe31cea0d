#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/metrics/metrics.h"
#include "ops/variables/variable.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::metrics {

/// Parts that metrics share; they add the nodes of TensorFlow's functions of these names.

/// Makes a local variable of zeros. (metric_variable)
Variable metric_variable(const Shape& shape, const std::string& name, Site site,
                         DType dtype = DType::float32);

/// Opens the variable scope of a metric: `name`, or `otherwise` made unique.
VariableScopeGuard open_metric_scope(const std::string& name, const char* otherwise, Site site);

/// Predictions, labels and weights of matching ranks.
struct AlignedInputs {
  Tensor predictions, labels;
  std::optional<Tensor> weights;
};

/// Removes or adds a last dimension of the weights that their values lack or have.
std::optional<Tensor> align_weights(const Tensor& values, const std::optional<Operand>& weights,
                                    Site site);
/// Does both. Throws ValueError if the shapes are not compatible. (_remove_squeezable_dimensions)
AlignedInputs align_inputs(const Operand& labels, const Operand& predictions,
                           const std::optional<Operand>& weights, Site site);

void check_compatible(const Tensor& a, const Tensor& b, Site site);

void add_to_metric_collections(const Tensor& tensor,
                               const std::optional<std::vector<std::string>>& collections);

}  // namespace towerflow::metrics
