#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/site.h"

namespace towerflow::types {

class Attrs;
class Graph;
class Tensor;
struct Node;

/// Handle of a node: TensorFlow's Operation. Valid as long as its Graph.
class Operation {
 public:
  Operation() = default;
  explicit Operation(Node* node) : node_(node) {}

  bool valid() const { return node_ != nullptr; }
  explicit operator bool() const { return valid(); }

  const std::string& name() const;    ///< "tower_0/conv1/Conv2D"
  const std::string& type() const;    ///< "Conv2D"
  const std::string& device() const;  ///< what was requested: "/device:GPU:0", "" for nothing
  Graph& graph() const;
  const Attrs& attrs() const;
  Site site() const;

  std::size_t num_inputs() const;
  std::size_t num_outputs() const;
  Tensor input(std::size_t index) const;
  Tensor output(std::size_t index) const;
  std::vector<Tensor> inputs() const;
  std::vector<Tensor> outputs() const;
  std::vector<Operation> control_inputs() const;

  /// The node; throws ValueError for a default-constructed handle.
  Node& node() const;
  bool operator==(const Operation&) const = default;

 private:
  Node* node_ = nullptr;
};

/// Handle of one output of a node: TensorFlow's symbolic Tensor. Valid as long as its Graph.
///
/// A default-constructed Tensor may be assigned later; every other use of it is a ValueError.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Node* node, int index) : node_(node), index_(index) {}

  bool valid() const { return node_ != nullptr; }
  Operation op() const { return Operation(node_); }
  int index() const { return index_; }
  std::string name() const;  ///< "conv1/weights/read:0"
  DType dtype() const;
  bool is_ref() const;  ///< refers to a variable's storage: TensorFlow's float32_ref
  const Shape& shape() const;
  const Shape& get_shape() const { return shape(); }
  const std::string& device() const;
  Graph& graph() const;

  /// Adds what the caller knows about the shape; throws ValueError when it contradicts what is
  /// known already. (tf.Tensor.set_shape)
  void set_shape(const Shape& shape, Site site = Site::current());

  Node& node() const;
  bool operator==(const Tensor&) const = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

/// A tensor that is zero but for some slices of its first dimension: the gradient of `gather`.
///
/// values [n, d1, ...] stand at rows `indices` [n] of a tensor of shape dense_shape; rows may
/// repeat, then they add up.
struct IndexedSlices {
  Tensor values;
  Tensor indices;
  std::optional<Tensor> dense_shape;  ///< int vector, as TensorFlow keeps it

  const std::string& device() const { return values.device(); }
  std::string name() const { return values.name(); }
  DType dtype() const { return values.dtype(); }
  bool operator==(const IndexedSlices&) const = default;
};

/// Which gradient it is, and who asked for it: what an error about it tells.
struct GradientOrigin {
  Tensor y;           ///< the loss; of several the first
  Tensor x;           ///< a variable's storage, or any tensor
  std::string scope;  ///< the name scope that was open, a tower's
  Site site;          ///< of the call of `gradients` or `compute_gradients`
};

/// A gradient that exists. An absent one is an empty OptionalGradient.
class Gradient {
 public:
  Gradient(Tensor dense) : value_(dense) {}           // NOLINT: a tensor is a gradient
  Gradient(IndexedSlices slices) : value_(slices) {}  // NOLINT: and so are slices

  bool is_dense() const { return std::holds_alternative<Tensor>(value_); }
  /// Throws TypeError for slices, naming the variable; `convert_to_tensor` densifies.
  Tensor dense(Site site = Site::current()) const;
  const IndexedSlices& slices(Site site = Site::current()) const;
  std::string name() const { return representative().name(); }
  DType dtype() const { return representative().dtype(); }
  /// The dense tensor or the slices' values.
  Tensor representative() const;
  bool operator==(const Gradient& other) const { return value_ == other.value_; }

 private:
  friend class OptionalGradient;

  std::variant<Tensor, IndexedSlices> value_;
  std::shared_ptr<const GradientOrigin> origin_;
};

/// A gradient or, where no path leads to what was asked for, nothing: a std::optional, but to look
/// into one that is absent throws ValueError, naming the variable and the tower.
class OptionalGradient : public std::optional<Gradient> {
 public:
  using std::optional<Gradient>::optional;
  OptionalGradient(std::optional<Gradient> gradient)  // NOLINT: it is one
      : std::optional<Gradient>(std::move(gradient)) {}

  const Gradient& operator*() const { return value({}); }
  const Gradient* operator->() const { return &value({}); }
  /// The same for a caller who has a line to name.
  const Gradient& value(Site site = Site::current()) const;

  /// What it is of; nullptr where nobody has said.
  const std::shared_ptr<const GradientOrigin>& origin() const;
  /// The same gradient, or absence, of what `origin` says: for what changes gradients and hands
  /// them on, as clipping does.
  OptionalGradient with_origin(std::shared_ptr<const GradientOrigin> origin) const;
  bool operator==(const OptionalGradient& other) const { return base() == other.base(); }
  bool operator==(std::nullopt_t) const { return !has_value(); }

 private:
  const std::optional<Gradient>& base() const { return *this; }

  std::shared_ptr<const GradientOrigin> origin_;  // of one that is absent
};

/// What `Session::run` computes: a tensor's value, or an operation's effect.
class Fetch {
 public:
  Fetch(Tensor tensor) : tensor_(tensor), operation_(tensor.op()) {}  // NOLINT: sess.run(loss)
  Fetch(Operation operation) : operation_(operation) {}               // NOLINT: sess.run(train_op)

  const std::optional<Tensor>& tensor() const { return tensor_; }
  Operation operation() const { return operation_; }

 private:
  std::optional<Tensor> tensor_;
  Operation operation_;
};

/// What a list may hold whose members are fetched, grouped or waited for; a Fetch itself is none.
template <class T>
concept FetchLike = !std::same_as<T, Fetch> &&
                    (std::convertible_to<const T&, Fetch> || std::convertible_to<const T&, Tensor>);

}  // namespace towerflow::types

namespace towerflow {

template <FetchLike T>
std::vector<Fetch> to_fetches(const std::vector<T>& items) {
  std::vector<Fetch> fetches;
  for (const T& item : items) {
    if constexpr (std::convertible_to<const T&, Fetch>)
      fetches.emplace_back(item);
    else
      fetches.emplace_back(static_cast<Tensor>(item));
  }
  return fetches;
}

}  // namespace towerflow
