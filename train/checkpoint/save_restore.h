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
/// A variable passed as its storage (`Variable::ref`) is written directly from there, without a
/// copy.
///
/// shapes   prefix [], tensor_names [n], n tensors of any shape
/// dtypes   all but resources
/// errors   InvalidArgumentError: a repeated name; FailedPreconditionError: an uninitialized
///          variable; those of TensorBundleWriter
/// source   tf.raw_ops.SaveV2
Operation save_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                  const std::vector<Tensor>& tensors, SaveOptions options = {},
                  Site site = Site::current());

/// The name, dtype and shape expected of one tensor in a checkpoint.
struct RestoreSpec {
  std::string name;
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();  ///< of the value; if known, makes the plan static

  bool operator==(const RestoreSpec&) const = default;
};

struct RestoreOptions {
  std::string name{};
};

/// Reads tensors from a checkpoint; one output per spec.
///
/// shapes   prefix [] -> those in the checkpoint     dtypes  all but resources
/// grads    none: a file is not a function of the loss
/// errors   NotFoundError: a missing checkpoint or name; InvalidArgumentError: another dtype or
///          shape in the checkpoint; those of TensorBundleReader
/// source   tf.raw_ops.RestoreV2
std::vector<Tensor> restore_v2(const Operand& prefix, const std::vector<RestoreSpec>& specs,
                               RestoreOptions options = {}, Site site = Site::current());

}  // namespace towerflow
