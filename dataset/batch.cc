#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "dataset/definition.h"
#include "dataset/padding.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

/// Collects elements until there are `size`, or fewer at the end.
class Batcher {
 public:
  Batcher(std::unique_ptr<DatasetIterator> input, std::size_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  /// Returns the elements of the next batch, none at the end.
  std::vector<ElementValue> collect(const Pull& pull) {
    ElementValue element;
    while (elements_.size() < size_) {
      try {
        if (!input_->next(element, pull)) {
          if (drop_remainder_) elements_.clear();
          break;
        }
      } catch (const errors::CancelledError&) {
        throw;  // the next call goes on with these elements
      } catch (...) {
        elements_.clear();  // as TensorFlow does
        throw;
      }
      elements_.push_back(std::move(element));
      element.clear();
    }
    return std::exchange(elements_, {});
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t elements = count > kMost / size_ ? kMost : count * size_;
    const std::uint64_t skipped = input_->skip(elements, pull);
    return drop_remainder_ ? skipped / size_ : (skipped + size_ - 1) / size_;
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  std::size_t size_;
  bool drop_remainder_;
  std::vector<ElementValue> elements_;
};

Shape batch_shape(std::size_t rows, const Shape& row) { return Shape{Dim(rows)}.concatenated(row); }

class BatchIterator final : public DatasetIterator {
 public:
  explicit BatchIterator(Batcher batcher) : batcher_(std::move(batcher)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    const std::vector<ElementValue> rows = batcher_.collect(pull);
    if (rows.empty()) return false;
    element.clear();
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      const Shape& row = rows[0][i].shape();
      Array batch(rows[0][i].dtype(), batch_shape(rows.size(), row));
      const std::int64_t size = rows[0][i].elements();
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (rows[j][i].shape() != row) {
          throw errors::InvalidArgumentError(
              fmt::format("Cannot batch tensors with different shapes in component {}. First "
                          "element had shape {} and element {} had shape {}.",
                          i, row.text(), j, rows[j][i].shape().text()));
        }
        copy_elements(rows[j][i], 0, batch, static_cast<std::int64_t>(j) * size, size);
      }
      element.push_back(std::move(batch));
    }
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    return batcher_.skip(count, pull);
  }

 private:
  Batcher batcher_;
};

class PaddedBatchIterator final : public DatasetIterator {
 public:
  PaddedBatchIterator(Batcher batcher, std::vector<Shape> shapes, std::vector<Array> values)
      : batcher_(std::move(batcher)), shapes_(std::move(shapes)), values_(std::move(values)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    const std::vector<ElementValue> rows = batcher_.collect(pull);
    if (rows.empty()) return false;
    element.clear();
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      const Shape row = padded_shape(rows, i);
      Array batch(rows[0][i].dtype(), batch_shape(rows.size(), row));
      for (std::size_t j = 0; j < rows.size(); ++j) {
        copy_padded(rows[j][i], values_[i], row, batch, static_cast<std::int64_t>(j));
      }
      element.push_back(std::move(batch));
    }
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    return batcher_.skip(count, pull);
  }

 private:
  /// Returns the shape of the rows of component `index`. Throws if one does not fit.
  Shape padded_shape(const std::vector<ElementValue>& rows, std::size_t index) const {
    const Shape& wanted = shapes_[index];
    std::vector<Dim> dims = wanted.dims();
    for (const ElementValue& element : rows) {
      const Shape& shape = element[index].shape();
      if (shape.rank() != wanted.rank()) {
        throw errors::InvalidArgumentError(
            fmt::format("All elements in a batch must have the same rank as the padded shape for "
                        "component{}: expected rank {} but got element with rank {}",
                        index, wanted.rank(), shape.rank()));
      }
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        const std::int64_t size = shape.size(axis);
        if (!wanted[axis].known()) {
          dims[axis] = Dim(std::max(dims[axis].known() ? dims[axis].size() : 0, size));
        } else if (size > dims[axis].size()) {
          throw errors::DataLossError(
              fmt::format("Attempted to pad to a smaller size than the input element: component {} "
                          "of shape {} to {}",
                          index, shape.text(), wanted.text()));
        }
      }
    }
    return Shape(std::move(dims));
  }

  Batcher batcher_;
  std::vector<Shape> shapes_;
  std::vector<Array> values_;
};

std::size_t checked_batch_size(const Array& value) {
  const std::int64_t size = integer_argument(value, "batch_size");
  if (size <= 0) throw errors::InvalidArgumentError("Batch size must be greater than zero.");
  return static_cast<std::size_t>(size);
}

bool flag_argument(const Array& value) { return value.item<bool>(); }

/// Returns the number of rows of each batch if it is always the same.
Dim batch_rows(const Tensor& batch_size, bool drop_remainder, Site site) {
  if (!drop_remainder) return None;
  const Array value = constant_value(batch_size);
  if (value.empty() || value.elements() != 1) return None;
  if (value.item<std::int64_t>() < 0) {
    throw ValueError(
        fmt::format("batch_size must be greater than 0, not {}", value.item<std::int64_t>()),
        {.site = site});
  }
  return Dim(value.item<std::int64_t>());
}

bool can_be_padded(const Shape& padded, const Shape& component) {
  if (!padded.has_rank() || !component.has_rank()) return true;
  if (padded.rank() != component.rank()) return false;
  for (std::size_t i = 0; i < padded.rank(); ++i) {
    if (padded[i].known() && component[i].known() && padded[i].size() < component[i].size()) {
      return false;
    }
  }
  return true;
}

/// Returns the shapes that `padded_batch` pads to.
std::vector<Shape> padded_shapes_of(const ElementSpec& spec, const std::vector<Shape>& given,
                                    Site site) {
  if (given.empty()) {
    for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
      if (spec.shapes[i].has_rank()) continue;
      throw ValueError(fmt::format("You must provide `padded_shapes` argument because component "
                                   "{} has unknown rank.",
                                   i),
                       {.site = site});
    }
    return spec.shapes;
  }
  if (given.size() != spec.shapes.size()) {
    throw ValueError(fmt::format("`padded_shapes` has {} shapes, but the elements are {}",
                                 given.size(), spec.text()),
                     {.site = site});
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].has_rank() && can_be_padded(given[i], spec.shapes[i])) continue;
    throw ValueError(fmt::format("The padded shape {} is not compatible with the shape {} of the "
                                 "corresponding input component.",
                                 given[i].text(), spec.shapes[i].text()),
                     {.site = site});
  }
  return given;
}

/// Returns the values that `padded_batch` pads with, as tensors called "padding_value".
std::vector<Tensor> padding_tensors(const ElementSpec& spec,
                                    const std::vector<ScalarOperand>& given, Site site) {
  if (given.size() > 1 && given.size() != spec.dtypes.size()) {
    throw ValueError(fmt::format("`padding_values` has {} values, but the elements are {}",
                                 given.size(), spec.text()),
                     {.site = site});
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < spec.dtypes.size(); ++i) {
    const DType dtype = spec.dtypes[i];
    const Operand value = given.empty() ? Operand(Array::zeros(dtype, Shape{}), site)
                                        : Operand(given[given.size() == 1 ? 0 : i]);
    const Tensor tensor =
        convert_operand(get_default_graph(), value, "padding_value",
                        value.tensor() == nullptr ? std::optional(dtype) : std::nullopt);
    if (!tensor.shape().compatible(Shape{})) {
      throw ValueError(fmt::format("Invalid `padding_values`. `padding_values` values should be "
                                   "scalars, but got {}.",
                                   tensor.shape().text()),
                       {.site = site});
    }
    if (tensor.dtype() != dtype) {
      throw TypeError(fmt::format("Invalid `padding_values`. `padding_values` values type {} does "
                                  "not match type {} of the corresponding input component.",
                                  dtype_name(tensor.dtype()), dtype_name(dtype)),
                      {.site = site});
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace

Dataset Dataset::batch(const ScalarOperand& batch_size, DatasetBatchOptions options,
                       Site site) const {
  const Tensor size = dataset_argument(batch_size, "batch_size", DType::int64);
  const Tensor drop =
      dataset_argument(Operand(options.drop_remainder, site), "drop_remainder", DType::bool_);
  const Dim rows = batch_rows(size, options.drop_remainder, site);
  ElementSpec spec = element_spec();
  for (Shape& shape : spec.shapes) {
    if (shape.has_rank()) shape = Shape{rows}.concatenated(shape);
  }
  return make_dataset({.op = "BatchDatasetV2",
                       .inputs = {*this},
                       .arguments = {size, drop},
                       .element = std::move(spec),
                       .instantiate = [](const auto& inputs,
                                         const std::vector<Array>& arguments) -> DatasetInstance {
                         const std::size_t count = checked_batch_size(arguments[0]);
                         const bool drops = flag_argument(arguments[1]);
                         return [input = inputs[0], count, drops](IteratorContext& context) {
                           return std::make_unique<BatchIterator>(
                               Batcher(input(context), count, drops));
                         };
                       },
                       .site = site,
                       .scalars = 2});
}

Dataset Dataset::padded_batch(const ScalarOperand& batch_size, PaddedBatchOptions options,
                              Site site) const {
  ElementSpec spec = element_spec();
  const std::vector<Shape> shapes = padded_shapes_of(spec, options.padded_shapes, site);
  std::vector<Tensor> arguments{dataset_argument(batch_size, "batch_size", DType::int64)};
  for (const Shape& shape : shapes) {
    std::vector<std::int64_t> sizes;
    for (const Dim dim : shape.dims()) sizes.push_back(dim.known() ? dim.size() : -1);
    arguments.push_back(dataset_argument(Operand(Array::of(Shape{sizes.size()}, sizes), site),
                                         "Const", DType::int64));
  }
  for (const Tensor& value : padding_tensors(spec, options.padding_values, site)) {
    arguments.push_back(value);
  }
  arguments.push_back(
      dataset_argument(Operand(options.drop_remainder, site), "drop_remainder", DType::bool_));
  const Dim rows = batch_rows(arguments[0], options.drop_remainder, site);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    spec.shapes[i] = Shape{rows}.concatenated(shapes[i]);
  }
  return make_dataset(
      {.op = "PaddedBatchDatasetV2",
       .inputs = {*this},
       .arguments = arguments,
       .element = std::move(spec),
       .instantiate = [shapes](const auto& inputs,
                               const std::vector<Array>& values) -> DatasetInstance {
         const std::size_t count = checked_batch_size(values[0]);
         const bool drops = flag_argument(values.back());
         const auto first = values.begin() + 1 + static_cast<std::ptrdiff_t>(shapes.size());
         const std::vector<Array> padding(first, values.end() - 1);
         return [input = inputs[0], count, drops, shapes, padding](IteratorContext& context) {
           return std::make_unique<PaddedBatchIterator>(Batcher(input(context), count, drops),
                                                        shapes, padding);
         };
       },
       .site = site,
       .scalars = 1});
}

}  // namespace towerflow::data
