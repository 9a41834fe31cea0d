#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/graph/operand.h"
#include "dataset/element.h"

namespace towerflow::data {

struct DatasetDefinition;

/// Choose the number of parallel calls or elements automatically. (tf.data.experimental.AUTOTUNE)
inline constexpr std::int64_t AUTOTUNE = -1;

/// The number of elements of a dataset without end. (tf.data.INFINITE_CARDINALITY)
inline constexpr std::int64_t INFINITE_CARDINALITY = -1;

/// Returns `function` as a function of one element: it may take the element, or one parameter for
/// each part of a tuple, each a Tensor or an Element.
template <class Result, class F>
std::function<Result(const Element&)> element_function(F function) {
  using E = const Element&;
  if constexpr (std::is_invocable_v<F&, E>) {
    return [function](E e) mutable -> Result { return Result(function(e)); };
  } else if constexpr (std::is_invocable_v<F&, E, E>) {
    return [function](E e) mutable -> Result {
      e.check_parts(2);
      return Result(function(e[0], e[1]));
    };
  } else if constexpr (std::is_invocable_v<F&, E, E, E>) {
    return [function](E e) mutable -> Result {
      e.check_parts(3);
      return Result(function(e[0], e[1], e[2]));
    };
  } else if constexpr (std::is_invocable_v<F&, E, E, E, E>) {
    return [function](E e) mutable -> Result {
      e.check_parts(4);
      return Result(function(e[0], e[1], e[2], e[3]));
    };
  } else {
    static_assert(std::is_invocable_v<F&, E, E, E, E, E>,
                  "a function of a dataset takes a data::Element, or up to five parts of a tuple, "
                  "each a Tensor or a data::Element");
    return [function](E e) mutable -> Result {
      e.check_parts(5);
      return Result(function(e[0], e[1], e[2], e[3], e[4]));
    };
  }
}

}  // namespace towerflow::data

namespace towerflow::data::types {

class Iterator;
struct IteratorOptions {
  ByName by_name = ByName();
  std::string shared_name{};  ///< iterators of a session with the same shared_name are one
};
struct MapOptions {
  /// Number of threads that compute elements; absent: they are computed when they are asked for.
  std::optional<std::int64_t> num_parallel_calls{};
};
struct InterleaveOptions {
  std::int64_t cycle_length = -1;  ///< number of elements read in turns; -1: as many as cores
  std::int64_t block_length = 1;   ///< number of elements taken from each in turn
  /// Accepted and ignored: elements are read by one thread, in the same order.
  std::optional<std::int64_t> num_parallel_calls{};
};
struct DatasetBatchOptions {
  bool drop_remainder = false;  ///< whether to drop a last batch that is smaller
};
struct PaddedBatchOptions {
  /// The shape to pad each component to, in order. Unknown dimensions are padded to the largest of
  /// the batch. Empty: the shapes of the dataset.
  std::vector<Shape> padded_shapes{};
  /// One value, or one for each component. Empty: 0, false or "".
  std::vector<ScalarOperand> padding_values{};
  bool drop_remainder = false;
};
struct ShuffleOptions {
  std::optional<std::int64_t> seed{};
  bool reshuffle_each_iteration = true;  ///< whether each pass has another order
};
struct ListFilesOptions {
  bool shuffle = true;
  std::optional<std::int64_t> seed{};
};

/// A function that begins a pass over generated elements: it returns a function that returns the
/// next element's components, or nothing at the end.
using Generator = std::function<std::optional<std::vector<Array>>()>;

/// A sequence of elements that a program describes and an iterator of a session computes. A cheap
/// handle. (tf.data.Dataset)
///
/// A dataset is a node of the graph, and so are its arguments, which can be tensors: those that
/// depend on placeholders or variables are computed when an iterator is initialized. Errors of
/// arguments, such as a batch size of 0, are InvalidArgumentErrors of that run. The order of the
/// elements depends only on seeds, never on threads.
class Dataset {
 public:
  Dataset() = default;
  explicit Dataset(std::shared_ptr<const DatasetDefinition> definition)
      : definition_(std::move(definition)) {}

  /// Returns a dataset of one element.
  static Dataset from_tensors(const Element& tensors, Site site = Site::current());
  /// Returns a dataset of the rows of the tensors, which must have equally many. Throws ValueError
  /// for a scalar and for different numbers of rows.
  static Dataset from_tensor_slices(const Element& tensors, Site site = Site::current());
  /// Returns a dataset of the elements that a function of the program returns, called by one thread
  /// at a time. `generator` is called at the beginning of each pass. At run time an element that
  /// does not fit the dtypes or shapes is an InvalidArgumentError.
  static Dataset from_generator(std::function<Generator()> generator, ElementSpec element,
                                Site site = Site::current());
  /// With a tuple of tensors, or one tensor; absent shapes are unknown.
  static Dataset from_generator(std::function<Generator()> generator,
                                std::vector<DType> output_types,
                                std::vector<Shape> output_shapes = {}, Site site = Site::current());
  /// Returns a dataset of integers, int64. At run time a step of 0 is an InvalidArgumentError.
  static Dataset range(const ScalarOperand& stop, Site site = Site::current());
  static Dataset range(const ScalarOperand& start, const ScalarOperand& stop,
                       Site site = Site::current());
  static Dataset range(const ScalarOperand& start, const ScalarOperand& stop,
                       const ScalarOperand& step, Site site = Site::current());
  /// Returns a dataset of tuples with an element of each dataset; it ends with the shortest.
  static Dataset zip(std::initializer_list<Dataset> datasets, Site site = Site::current()) {
    return zip(std::vector<Dataset>(datasets), site);
  }
  static Dataset zip(const std::vector<Dataset>& datasets, Site site = Site::current());
  /// Returns a dataset of dictionaries.
  static Dataset zip(const std::map<std::string, Dataset>& datasets, Site site = Site::current());
  /// Returns a dataset of the files that match a pattern such as "data/*.tfrecord", shuffled. At
  /// run time no match is an InvalidArgumentError.
  static Dataset list_files(const Operand& file_pattern, ListFilesOptions options = {},
                            Site site = Site::current());

  /// Returns a dataset of the results of a function for each element. It is called once, to build
  /// the graph that is run for each element. It returns a tensor, a std::tuple or a
  /// std::map<std::string, ..> of results.
  template <class F>
  Dataset map(F function, MapOptions options = {}, Site site = Site::current()) const {
    return map_elements(element_function<Element>(std::move(function)), options, site);
  }
  /// Returns a dataset of the elements for which a function returns true. Throws ValueError unless
  /// it returns a bool scalar.
  template <class F>
  Dataset filter(F predicate, Site site = Site::current()) const {
    return filter_elements(element_function<Element>(std::move(predicate)), site);
  }
  /// Returns a dataset of the elements of the datasets that a function returns for each element.
  template <class F>
  Dataset flat_map(F function, Site site = Site::current()) const {
    return flat_map_elements(element_function<Dataset>(std::move(function)), site);
  }
  /// As `flat_map`, but reads `cycle_length` of the datasets in turns.
  template <class F>
  Dataset interleave(F function, InterleaveOptions options = {},
                     Site site = Site::current()) const {
    return interleave_elements(element_function<Dataset>(std::move(function)), options, site);
  }
  /// Returns what a function makes of this dataset.
  template <class F>
  auto apply(F transformation) const {
    return transformation(*this);
  }

  /// Stacks elements. At run time elements of different shapes are an InvalidArgumentError.
  Dataset batch(const ScalarOperand& batch_size, DatasetBatchOptions options = {},
                Site site = Site::current()) const;
  /// Stacks elements, padded to one shape. Throws ValueError for a shape that a component cannot be
  /// padded to; at run time a larger element is a DataLossError.
  Dataset padded_batch(const ScalarOperand& batch_size, PaddedBatchOptions options = {},
                       Site site = Site::current()) const;
  /// Draws each element from a buffer of the next `buffer_size`, in TensorFlow's order for a seed.
  Dataset shuffle(const ScalarOperand& buffer_size, ShuffleOptions options = {},
                  Site site = Site::current()) const;
  /// Repeats the dataset; -1 is without end.
  Dataset repeat(const ScalarOperand& count, Site site = Site::current()) const;
  Dataset repeat(Site site = Site::current()) const { return repeat(-1, site); }
  /// Returns the first `count` elements; -1 takes all.
  Dataset take(const ScalarOperand& count, Site site = Site::current()) const;
  /// Returns the elements after the first `count`; -1 skips all.
  Dataset skip(const ScalarOperand& count, Site site = Site::current()) const;
  /// Computes up to `buffer_size` elements ahead, on a thread of its own.
  Dataset prefetch(const ScalarOperand& buffer_size, Site site = Site::current()) const;
  /// Returns each `num_shards`-th element, beginning with element `index`.
  Dataset shard(const ScalarOperand& num_shards, const ScalarOperand& index,
                Site site = Site::current()) const;
  /// Keeps the elements of the first whole pass in memory for later ones.
  Dataset cache(Site site = Site::current()) const;
  /// Returns tuples of a number, int64, and an element.
  Dataset enumerate(const ScalarOperand& start, Site site = Site::current()) const;
  Dataset enumerate(Site site = Site::current()) const { return enumerate(0, site); }
  /// Returns the elements of this dataset, then those of another. Throws TypeError if they differ
  /// in structure or dtypes.
  Dataset concatenate(const Dataset& dataset, Site site = Site::current()) const;

  /// As data::make_one_shot_iterator and data::make_initializable_iterator.
  Iterator make_one_shot_iterator(Site site = Site::current()) const;
  Iterator make_initializable_iterator(Site site = Site::current()) const;
  Iterator make_initializable_iterator(IteratorOptions options, Site site = Site::current()) const;

  const ElementSpec& element_spec() const;
  /// Returns the dtypes and shapes of the components, in order.
  const std::vector<DType>& output_types() const { return element_spec().dtypes; }
  const std::vector<Shape>& output_shapes() const { return element_spec().shapes; }

  bool valid() const { return definition_ != nullptr; }
  /// Returns the definition. Throws ValueError for a default-constructed dataset.
  const std::shared_ptr<const DatasetDefinition>& definition() const;

 private:
  using ElementFunction = std::function<Element(const Element&)>;
  using DatasetFunctionBody = std::function<Dataset(const Element&)>;
  Dataset map_elements(const ElementFunction& function, MapOptions options, Site site) const;
  Dataset filter_elements(const ElementFunction& predicate, Site site) const;
  Dataset flat_map_elements(const DatasetFunctionBody& function, Site site) const;
  Dataset interleave_elements(const DatasetFunctionBody& function, InterleaveOptions options,
                              Site site) const;

  std::shared_ptr<const DatasetDefinition> definition_;
};

}  // namespace towerflow::data::types
