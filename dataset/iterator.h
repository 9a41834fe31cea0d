#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataset/dataset.h"

namespace towerflow::data::types {

struct IteratorOpOptions {
  std::string name{};
};

/// Returns the elements of a dataset one after another. A cheap handle of a node; each session has
/// a position of its own. (tf.data.Iterator)
///
/// A run that fetches `get_next` throws OutOfRangeError at the end, and FailedPreconditionError if
/// the iterator was not initialized. Runs of several threads each get another element. All
/// waits end with CancelledError when the run is cancelled or the session closes.
class Iterator {
 public:
  Iterator() = default;

  /// Returns an iterator that `make_initializer` can initialize for datasets of this structure.
  static Iterator from_structure(ElementSpec element, IteratorOptions options = {},
                                 Site site = Site::current());
  static Iterator from_structure(std::vector<DType> output_types, std::vector<Shape> output_shapes,
                                 IteratorOptions options = {}, Site site = Site::current());
  /// Returns the iterator whose `string_handle` is fed or computed as `handle`. At run time
  /// NotFoundError: no such iterator; InvalidArgumentError: its elements have another structure.
  static Iterator from_string_handle(const Operand& handle, ElementSpec element,
                                     Site site = Site::current());
  static Iterator from_string_handle(const Operand& handle, std::vector<DType> output_types,
                                     std::vector<Shape> output_shapes = {},
                                     Site site = Site::current());

  /// Returns the operation that begins at the first element. Throws ValueError for an iterator that
  /// initializes itself or has none yet.
  Operation initializer(Site site = Site::current()) const;
  /// Returns an operation that begins at the first element of `dataset`. Throws TypeError if its
  /// elements have another structure, dtypes or incompatible shapes.
  Operation make_initializer(const Dataset& dataset, IteratorOpOptions options = {},
                             Site site = Site::current()) const;
  /// Returns the tensors of the next element, in the dataset's structure.
  Element get_next(IteratorOpOptions options = {}, Site site = Site::current()) const;
  /// Returns a string that `from_string_handle` takes.
  Tensor string_handle() const { return string_handle_; }

  const ElementSpec& element_spec() const { return spec_; }
  const std::vector<DType>& output_types() const { return spec_.dtypes; }
  const std::vector<Shape>& output_shapes() const { return spec_.shapes; }
  const Tensor& resource() const { return resource_; }
  bool valid() const { return resource_.valid(); }

 private:
  Iterator(Tensor resource, ElementSpec element, const Dataset* dataset, Site site);
  static Iterator of_structure(ElementSpec element, const IteratorOptions& options,
                               const Dataset* dataset, Site site);
  friend class Dataset;

  Tensor resource_;
  Tensor string_handle_;
  std::optional<Operation> initializer_;
  ElementSpec spec_;
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// Returns an iterator over a dataset that initializes itself when it is first used in a session.
/// Throws ValueError if the dataset depends on a placeholder or on state, such as a variable.
Iterator make_one_shot_iterator(const Dataset& dataset, Site site = Site::current());
/// Returns an iterator over a dataset whose `initializer` must be run first, with values for the
/// placeholders that the dataset depends on.
Iterator make_initializable_iterator(const Dataset& dataset, IteratorOptions options = {},
                                     Site site = Site::current());

}  // namespace towerflow::data
