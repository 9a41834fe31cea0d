#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

struct SaveOptions {
  std::string name{};
};

/// Writes tensors as a checkpoint in TensorFlow's V2 format, in the order given; nothing is visible
/// before all of them are written.
///
/// A variable given by its storage (`Variable::ref`) is written from where it lies, without a copy.
///
/// shapes   prefix [], tensor_names [n], n tensors of any shape
/// dtypes   all but resources
/// errors   InvalidArgumentError: a name twice; FailedPreconditionError: an uninitialised variable;
///          what TensorBundleWriter throws
/// source   tf.raw_ops.SaveV2
Operation save_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                  const std::vector<Tensor>& tensors, SaveOptions options = {},
                  Site site = Site::current());

/// What is wanted of one tensor of a checkpoint.
struct RestoreSpec {
  std::string name;
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();  ///< what the value must have; makes the plan static where known

  bool operator==(const RestoreSpec&) const = default;
};

struct RestoreOptions {
  std::string name{};
};

/// Reads tensors from a checkpoint; one output a spec.
///
/// shapes   prefix [] -> those in the checkpoint     dtypes  all but resources
/// grads    none: a file is not a function of the loss
/// errors   NotFoundError: no such checkpoint, a name it lacks; InvalidArgumentError: a dtype or
///          shape that it holds otherwise; what TensorBundleReader throws
/// source   tf.raw_ops.RestoreV2
std::vector<Tensor> restore_v2(const Operand& prefix, const std::vector<RestoreSpec>& specs,
                               RestoreOptions options = {}, Site site = Site::current());

}  // namespace towerflow
