#pragma once

#include "ops/control/case.h"
#include "ops/control/cond.h"
#include "ops/control/tensor_array.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// Returns the TensorArray that a value holds, or nullptr.
const TensorArray* tensor_array_of(const Value& value);
/// Returns the elements of a list or tuple, or a list of the value itself.
List items_of(const Value& value);

}  // namespace towerflow::golden

namespace towerflow {

/// A list of a program is a structure, as in Python.
template <>
struct Nest<golden::Value> {
  using Result = golden::Value;
  static void flatten(const golden::Value& value, Site site, std::vector<Operand>& values);
  static golden::Value pack(const golden::Value& like, PackedTensors& tensors);
};

/// In a branch, operations become bool tensors wherever they are in the structure.
template <>
struct types::BranchResult<golden::Value> {
  using Result = golden::Value;
  static std::vector<Operand> values(const golden::Value& result, const Tensor& pivot, Site site);
  static golden::Value pack(const golden::Value& like, const std::vector<Tensor>& merged) {
    return nest::pack_sequence_as(like, merged);
  }
};

}  // namespace towerflow
