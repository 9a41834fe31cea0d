#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/graph/operand.h"
#include "dataset/dataset.h"
#include "dataset/dataset_iterator.h"
#include "dataset/function.h"

namespace towerflow::data {

/// A dataset in a graph: its node, and how it is instantiated once the values of its arguments are
/// known. Immutable.
struct DatasetDefinition {
  Tensor handle;
  ElementSpec spec;
  std::vector<std::shared_ptr<const DatasetDefinition>> inputs;
  std::vector<Tensor> arguments;  ///< inputs of the node that are not datasets
  using Instantiate = std::function<DatasetInstance(const std::vector<DatasetInstance>& inputs,
                                                    const std::vector<Array>& arguments)>;
  Instantiate instantiate;
};

/// A dataset to make. The node is called `op`, as TensorFlow's op is.
struct DatasetSpec {
  const char* op;
  std::vector<Dataset> inputs{};
  std::vector<Tensor> arguments{};
  ElementSpec element{};
  DatasetDefinition::Instantiate instantiate{};
  Site site{};
  std::string name{};       ///< of the node, if it is another one
  std::size_t scalars = 0;  ///< number of arguments, from the first on, that must be scalars
};

/// Adds the node of a dataset to the default graph.
Dataset make_dataset(DatasetSpec spec);

/// Converts an argument of a dataset to a tensor of the default graph called `name`.
Tensor dataset_argument(const Operand& operand, const char* name, DType dtype);

/// A definition whose arguments are divided into constants and tensors that have to be computed.
class DatasetProgram {
 public:
  explicit DatasetProgram(std::shared_ptr<const DatasetDefinition> root);

  /// Returns the tensors whose values `instantiate` takes.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Throws what the arguments of the datasets make invalid.
  DatasetInstance instantiate(const std::vector<Array>& values) const;

 private:
  struct Step {
    std::shared_ptr<const DatasetDefinition> definition;
    std::vector<std::size_t> inputs;  // earlier steps
    std::vector<Array> constants;     // by argument; empty if it is computed
    std::vector<std::size_t> computed;
  };
  std::size_t add(const std::shared_ptr<const DatasetDefinition>& definition);

  std::vector<Step> steps_;
  std::vector<Tensor> tensors_;
};

/// Returns a definition whose arguments are tensors of the default graph, which the function that
/// is being built captures if they belong to another one.
std::shared_ptr<const DatasetDefinition> captured_definition(
    const std::shared_ptr<const DatasetDefinition>& definition);

}  // namespace towerflow::data
