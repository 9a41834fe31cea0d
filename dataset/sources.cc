#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "dataset/definition.h"
#include "dataset/rows.h"
#include "dataset/slices.h"

namespace towerflow::data {
namespace {

/// Returns the components as tensors called "normalize_element/component_0" and so on.
std::vector<Tensor> normalize_element(const Element& element, Site site) {
  const NameScope scope(get_default_graph(), "normalize_element", site);
  std::vector<Tensor> tensors;
  for (const Operand& component : element.components()) {
    tensors.push_back(convert_operand(get_default_graph(), component,
                                      fmt::format("component_{}", tensors.size()), std::nullopt));
  }
  return tensors;
}

class TensorsIterator final : public DatasetIterator {
 public:
  explicit TensorsIterator(ElementValue element) : element_(std::move(element)) {}
  bool next(ElementValue& element, const Pull&) override {
    if (done_) return false;
    element = element_;
    return done_ = true;
  }

 private:
  ElementValue element_;
  bool done_ = false;
};

class SlicesIterator final : public DatasetIterator {
 public:
  explicit SlicesIterator(std::vector<Array> tensors)
      : tensors_(std::move(tensors)), rows_(tensors_[0].shape().size(0)) {
    for (const Array& tensor : tensors_) row_shapes_.push_back(row_shape(tensor.shape()));
  }
  bool next(ElementValue& element, const Pull&) override {
    if (row_ == rows_) return false;
    element.resize(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      element[i] = Array(tensors_[i].dtype(), row_shapes_[i]);
      const std::int64_t size = element[i].elements();
      copy_elements(tensors_[i], row_ * size, element[i], 0, size);
    }
    ++row_;
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull&) override {
    const auto left = static_cast<std::uint64_t>(rows_ - row_);
    const std::uint64_t skipped = std::min(count, left);
    row_ += static_cast<std::int64_t>(skipped);
    return skipped;
  }

 private:
  std::vector<Array> tensors_;
  std::vector<Shape> row_shapes_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
};

class RangeIterator final : public DatasetIterator {
 public:
  RangeIterator(std::int64_t start, std::int64_t step, std::uint64_t count)
      : at_(static_cast<std::uint64_t>(start)),
        step_(static_cast<std::uint64_t>(step)),
        left_(count) {}
  bool next(ElementValue& element, const Pull&) override {
    if (left_ == 0) return false;
    element.resize(1);
    element[0] = Array::scalar(static_cast<std::int64_t>(at_));
    at_ += step_;
    --left_;
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull&) override {
    const std::uint64_t skipped = std::min(count, left_);
    at_ += step_ * skipped;
    left_ -= skipped;
    return skipped;
  }

 private:
  std::uint64_t at_, step_, left_;  // unsigned, so that the sum after the last one may wrap around
};

/// Returns how many numbers a range has.
std::uint64_t range_count(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 0) throw errors::InvalidArgumentError("step must be a non-zero integer.");
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(stop);
  const auto by = static_cast<std::uint64_t>(step);
  const std::uint64_t distance = step > 0 ? to - from : from - to;
  const std::uint64_t size = step > 0 ? by : 0 - by;
  return (distance - 1) / size + 1;
}

class GeneratorIterator final : public DatasetIterator {
 public:
  GeneratorIterator(Generator generator, ElementSpec spec)
      : generator_(std::move(generator)), spec_(std::move(spec)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    pull.check();
    if (ended_) return false;
    std::optional<std::vector<Array>> made = generator_();
    if (!made) {
      ended_ = true;
      return false;
    }
    if (made->size() != spec_.dtypes.size()) {
      throw errors::InvalidArgumentError(
          fmt::format("`generator` yielded {} components where {} were expected", made->size(),
                      spec_.dtypes.size()));
    }
    for (std::size_t i = 0; i < made->size(); ++i) {
      const Array& component = (*made)[i];
      if (component.dtype() != spec_.dtypes[i]) {
        throw errors::InvalidArgumentError(
            fmt::format("`generator` yielded an element of type {} where an element of type {} was "
                        "expected.",
                        dtype_name(component.dtype()), dtype_name(spec_.dtypes[i])));
      }
      if (!component.shape().compatible(spec_.shapes[i])) {
        throw errors::InvalidArgumentError(
            fmt::format("`generator` yielded an element of shape {} where an element of shape {} "
                        "was expected.",
                        component.shape().text(), spec_.shapes[i].text()));
      }
    }
    element = std::move(*made);
    return true;
  }

 private:
  Generator generator_;
  ElementSpec spec_;
  bool ended_ = false;
};

Dataset make_range(const Operand& start, const Operand& stop, const Operand& step, Site site) {
  const Tensor first = dataset_argument(start, "start", DType::int64);
  const Tensor end = dataset_argument(stop, "stop", DType::int64);
  const Tensor by = dataset_argument(step, "step", DType::int64);
  return make_dataset(
      {.op = "RangeDataset",
       .arguments = {first, end, by},
       .element = ElementSpec::of({DType::int64}, {Shape{}}),
       .instantiate = [](const auto&, const std::vector<Array>& values) -> DatasetInstance {
         const std::int64_t from = integer_argument(values[0], "start");
         const std::int64_t step_size = integer_argument(values[2], "step");
         const std::uint64_t count =
             range_count(from, integer_argument(values[1], "stop"), step_size);
         return [=](IteratorContext&) {
           return std::make_unique<RangeIterator>(from, step_size, count);
         };
       },
       .site = site,
       .scalars = 3});
}

}  // namespace

Dataset Dataset::from_tensors(const Element& tensors, Site site) {
  const std::vector<Tensor> components = normalize_element(tensors, site);
  ElementSpec spec{tensors.structure(), {}, {}};
  for (const Tensor& component : components) {
    spec.dtypes.push_back(component.dtype());
    spec.shapes.push_back(component.shape());
  }
  return make_dataset(
      {.op = "TensorDataset",
       .arguments = components,
       .element = std::move(spec),
       .instantiate = [](const auto&, const std::vector<Array>& values) -> DatasetInstance {
         return [values](IteratorContext&) { return std::make_unique<TensorsIterator>(values); };
       },
       .site = site});
}

Dataset slices_dataset(const Structure& structure, const std::vector<Tensor>& components,
                       Site site) {
  ElementSpec spec{structure, {}, {}};
  Dim rows = None;
  for (const Tensor& component : components) {
    const Shape& shape = component.shape();
    spec.dtypes.push_back(component.dtype());
    if (!shape.has_rank()) {
      spec.shapes.push_back(Shape::unknown());
      continue;
    }
    if (shape.rank() == 0) {
      throw ValueError("Unbatching a tensor is only supported for rank >= 1", {.site = site});
    }
    if (rows.known() && shape[0].known() && rows != shape[0]) {
      throw ValueError(
          fmt::format("Dimensions {} and {} are not compatible", rows.size(), shape[0].size()),
          {.site = site, .hint = "all components must have equally many rows"});
    }
    if (!rows.known()) rows = shape[0];
    spec.shapes.push_back(row_shape(shape));
  }
  if (components.empty()) {
    throw ValueError("Invalid `element`. `element` should not be empty.", {.site = site});
  }
  return make_dataset(
      {.op = "TensorSliceDataset",
       .arguments = components,
       .element = std::move(spec),
       .instantiate = [](const auto&,
                         const std::vector<Array>& values) { return slices_instance(values); },
       .site = site});
}

DatasetInstance slices_instance(const std::vector<Array>& values) {
  for (const Array& value : values) {
    if (value.shape().rank() == 0 || value.shape()[0] != values[0].shape()[0]) {
      throw errors::InvalidArgumentError(fmt::format(
          "All components must have the same number of rows, but their shapes are {} and {}",
          values[0].shape().text(), value.shape().text()));
    }
  }
  return [values](IteratorContext&) { return std::make_unique<SlicesIterator>(values); };
}

Dataset Dataset::from_tensor_slices(const Element& tensors, Site site) {
  return slices_dataset(tensors.structure(), normalize_element(tensors, site), site);
}

Dataset Dataset::from_generator(std::function<Generator()> generator, ElementSpec element,
                                Site site) {
  // TensorFlow's generator is a flat_map over one element.
  const Dataset one = from_tensors(Element(0, site), site);
  return make_dataset({.op = "FlatMapDataset",
                       .inputs = {one},
                       .element = element,
                       .instantiate = [generator = std::move(generator), element](
                                          const auto&, const auto&) -> DatasetInstance {
                         return [generator, element](IteratorContext&) {
                           return std::make_unique<GeneratorIterator>(generator(), element);
                         };
                       },
                       .site = site});
}

Dataset Dataset::from_generator(std::function<Generator()> generator,
                                std::vector<DType> output_types, std::vector<Shape> output_shapes,
                                Site site) {
  return from_generator(std::move(generator),
                        ElementSpec::of(std::move(output_types), std::move(output_shapes)), site);
}

Dataset Dataset::range(const ScalarOperand& stop, Site site) {
  return make_range(Operand(0, site), stop, Operand(1, site), site);
}
Dataset Dataset::range(const ScalarOperand& start, const ScalarOperand& stop, Site site) {
  return make_range(start, stop, Operand(1, site), site);
}
Dataset Dataset::range(const ScalarOperand& start, const ScalarOperand& stop,
                       const ScalarOperand& step, Site site) {
  return make_range(start, stop, step, site);
}

}  // namespace towerflow::data
