#pragma once

#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/site.h"

namespace towerflow::types {

class Array;
class Attrs;
class Feed;
class Graph;
class Indices;
class Session;
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
  const std::string& device() const;  ///< as requested: "/device:GPU:0", "" if none was
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

  /// Runs the operation in the default session, or in `session`. Throws ValueError if there is none
  /// or if it is a session of another graph; else what Session::run throws. (tf.Operation.run)
  void run(Site site = Site::current()) const;
  void run(Session& session, Site site = Site::current()) const;
  void run(const std::vector<Feed>& feeds, Session* session = nullptr,
           Site site = Site::current()) const;

  /// Returns the node. Throws ValueError for a default-constructed handle.
  Node& node() const;
  bool operator==(const Operation&) const = default;

 private:
  Node* node_ = nullptr;
};

/// Handle of one output of a node: TensorFlow's symbolic Tensor. Valid as long as its Graph.
///
/// A default-constructed Tensor may be assigned later; any other use of it throws ValueError.
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

  /// Merges `shape` into the static shape. Throws ValueError if they contradict each other.
  /// (tf.Tensor.set_shape)
  void set_shape(const Shape& shape, Site site = Site::current());

  /// Returns a part of the tensor, such as x[{1, tf::all, {0, -1}}]: see ops/array/indexing.h.
  Tensor operator[](const Indices& at) const;

  /// Returns the value in the default session, or in `session`. Throws like Operation::run.
  /// (tf.Tensor.eval)
  Array eval(Site site = Site::current()) const;
  Array eval(Session& session, Site site = Site::current()) const;
  Array eval(const std::vector<Feed>& feeds, Session* session = nullptr,
             Site site = Site::current()) const;

  Node& node() const;
  bool operator==(const Tensor&) const = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

}  // namespace towerflow::types
