#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/scopes.h"
#include "ops/array/view.h"
#include "ops/control/nest.h"

namespace towerflow::types {

struct TensorArrayOptions {
  std::optional<ScalarOperand> size{};  ///< int32; required unless `handle` is given
  std::optional<bool> dynamic_size{};   ///< whether writes may make the array longer; default no
  std::optional<bool>
      clear_after_read{};  ///< whether an element may be read only once; default yes
  std::string tensor_array_name{};
  std::optional<Tensor> handle{};  ///< of an existing array, given with its `flow`
  std::optional<Tensor> flow{};
  bool infer_shape = true;               ///< whether all elements must have the same shape
  std::optional<Shape> element_shape{};  ///< what is known of the shape of the elements
  bool colocate_with_first_write_call = true;
  std::string name{};
};

struct TensorArrayGradOptions {
  std::optional<Tensor> flow{};  ///< by default that of the array
  std::string name{};
};

/// An array of tensors in the graph, which lives as long as a run. (tf.TensorArray) A cheap handle.
///
///     tf::TensorArray squares(tf::float32, {.size = 3});
///     for (int i = 0; i < 3; ++i) squares = squares.write(i, x * x);
///     const tf::Tensor y = squares.stack();
///
/// A call that writes returns the array as it is afterwards; use that one from then on, for it
/// makes sure that the write comes first. An array can be a variable of a loop, a result of
/// `tf::cond` and part of a structure (ops/control/nest.h).
///
/// shapes   size [], index [], indices [n] and lengths [n] int32; elements of one shape, unless
///          `infer_shape` is false
/// dtypes   all; gradients of numbers
/// grads    the values written, through everything that is read; an element that is not read gets
///          zeros. A gradient array adds up what is written to it
/// errors   ValueError: neither `size` nor `handle`, or options that exclude each other; the shape
///          of a value does not fit the elements'. At run time InvalidArgumentError: an index out
///          of range, an element written twice or read after it was cleared, another dtype or
///          shape, an array that is closed; UnimplementedError: an empty array of an unknown shape
///          is stacked
/// source   tf.TensorArray
class TensorArray {
 public:
  TensorArray() = default;
  explicit TensorArray(DType dtype, TensorArrayOptions options, Site site = Site::current());

  bool valid() const { return handle_.valid(); }
  const Tensor& handle() const { return handle_; }
  /// Returns the float that stands for the state of the array: who needs it waits for the writes.
  const Tensor& flow() const { return flow_; }
  DType dtype() const { return dtype_; }
  /// Returns what is known of the shape of the elements.
  const Shape& element_shape() const { return shared_->element_shape; }
  bool dynamic_size() const { return dynamic_size_; }

  /// Returns the array whose flow waits for the control dependencies that are open.
  TensorArray identity(Site site = Site::current()) const;
  /// Returns the array of gradients that `source` names.
  TensorArray grad(std::string_view source, TensorArrayGradOptions options = {},
                   Site site = Site::current()) const;
  /// Returns the element at `index`.
  Tensor read(const ScalarOperand& index, NameOption options = {},
              Site site = Site::current()) const;
  /// Writes `value` at `index`.
  TensorArray write(const ScalarOperand& index, const Operand& value, NameOption options = {},
                    Site site = Site::current()) const;
  /// Returns all elements, [..] each, as one tensor [size, ..].
  Tensor stack(NameOption options = {}, Site site = Site::current()) const;
  /// Returns the elements at `indices`, [..] each, as one tensor [n, ..].
  Tensor gather(const Operand& indices, NameOption options = {}, Site site = Site::current()) const;
  /// Returns all elements, [n_i, ..] each, joined along the first dimension.
  Tensor concat(NameOption options = {}, Site site = Site::current()) const;
  /// Writes the rows of `value`, [n, ..], at 0 .. n - 1.
  TensorArray unstack(const Operand& value, NameOption options = {},
                      Site site = Site::current()) const;
  /// Writes the rows of `value`, [n, ..], at `indices`.
  TensorArray scatter(const Operand& indices, const Operand& value, NameOption options = {},
                      Site site = Site::current()) const;
  /// Writes pieces of `lengths` rows of `value`, [sum of lengths, ..].
  TensorArray split(const Operand& value, const Operand& lengths, NameOption options = {},
                    Site site = Site::current()) const;
  /// Returns the number of elements.
  Tensor size(NameOption options = {}, Site site = Site::current()) const;
  /// Drops the elements; the array cannot be used any more in the run.
  Operation close(NameOption options = {}, Site site = Site::current()) const;

  /// Returns the array with another flow. (build_ta_with_new_flow)
  TensorArray with_flow(const Tensor& flow) const;
  /// Likewise; takes a name in the open scope, as TensorFlow's function does.
  TensorArray named_with_flow(const Tensor& flow, Site site) const;

 private:
  /// What the handles of one array learn from the calls.
  struct Shared {
    Shape element_shape = Shape::unknown();
    Tensor colocated_with{};  ///< the first value written
  };

  void check_element_shape(const Shape& shape, Site site) const;
  std::unique_ptr<ColocationScope> beside(const Tensor& value, Site site) const;
  Tensor converted(const Operand& value, Site site) const;

  DType dtype_ = DType::invalid;
  Tensor handle_{}, flow_{};
  std::optional<ScalarOperand> size_{};
  bool dynamic_size_ = false, infer_shape_ = true, colocates_ = true;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace towerflow::types

namespace towerflow {

/// In a structure, an array is its flow.
template <>
struct Nest<TensorArray> {
  using Result = TensorArray;
  static void flatten(const TensorArray& array, Site site, std::vector<Operand>& values) {
    values.push_back(Operand(array.flow(), site));
  }
  static TensorArray pack(const TensorArray& like, PackedTensors& tensors) {
    const Tensor& flow = tensors.next();
    return tensors.takes_names() ? like.named_with_flow(flow, flow.op().site())
                                 : like.with_flow(flow);
  }
};

}  // namespace towerflow
