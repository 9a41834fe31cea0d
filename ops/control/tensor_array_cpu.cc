#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>

#include "core/device/cpu/launch.h"
#include "core/device/run_objects.h"
#include "core/graph/op_def.h"
#include "ops/control/tensor_array_ops.h"
#include "ops/family.h"

namespace towerflow {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw errors::InvalidArgumentError(message);
}

void copy_array_elements(DType dtype, std::int64_t count, const void* from, void* to) {
  if (dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(from), count, static_cast<std::string*>(to));
  } else if (count > 0) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * dtype_size(dtype));
  }
}

void add_array_elements(Array& sum, const void* more) {
  const auto n = static_cast<std::size_t>(sum.elements());
  const bool numbers = dispatch_dtype(sum.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      T* const to = sum.data<T>();
      const T* const from = static_cast<const T*>(more);
      for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + from[i]);
    }
  });
  if (!numbers || sum.dtype() == DType::bool_) {
    refuse(fmt::format("elements of {} cannot be added", dtype_name(sum.dtype())));
  }
}

/// Returns the shape of the rows of a tensor.
Shape array_row_shape(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

Shape with_rows(std::int64_t rows, const Shape& row) { return Shape{rows}.concatenated(row); }

/// The elements of a TensorArray. Those of a gradient add up what is written at an index. (class
/// TensorArray of core/kernels/tensor_array.h)
class ElementArray final : public RunObject {
 public:
  ElementArray(TensorArrayAttrs attrs, std::size_t size, bool adds)
      : attrs_(std::move(attrs)), adds_(adds), items_(size) {}

  DType dtype() const { return attrs_.dtype; }
  std::mutex& mutex() { return mutex_; }

  // All that follow are called with the mutex locked.
  std::size_t size() const {
    check_open();
    return items_.size();
  }
  const Shape& element_shape() const { return attrs_.element_shape; }
  /// Adds what an op says of the shape of the elements, also of those that are not written.
  void add_element_shape(const Shape& said) {
    const std::optional<Shape> merged = attrs_.element_shape.merged(said);
    if (!merged) {
      refuse(fmt::format("The elements of a TensorArray have shape {}, not {}",
                         attrs_.element_shape.text(), said.text()));
    }
    attrs_.element_shape = *merged;
  }
  bool dynamic_size() const { return attrs_.dynamic_size; }
  void close() {
    items_.clear();
    closed_ = true;
  }

  void check_dtype(DType dtype) const {
    if (dtype == attrs_.dtype) return;
    refuse(fmt::format("TensorArray dtype is {} but the op's is {}", dtype_name(attrs_.dtype),
                       dtype_name(dtype)));
  }

  /// Writes `value`, whose memory it shares.
  void write(std::int64_t index, Array value) {
    check_open();
    check_dtype(value.dtype());
    const auto at = static_cast<std::size_t>(index);
    if (index < 0 || (!attrs_.dynamic_size && at >= items_.size())) {
      refuse(
          fmt::format("Tried to write to index {} but the TensorArray is not resizeable and its "
                      "size is {}",
                      index, items_.size()));
    }
    if (at >= items_.size()) items_.resize(at + 1);
    Item& item = items_[at];
    if (!attrs_.element_shape.compatible(value.shape())) {
      refuse(
          fmt::format("Could not write to index {} of a TensorArray because the value's shape "
                      "is {}, which is incompatible with the shape of its elements, {} "
                      "(consider infer_shape = false)",
                      index, value.shape().text(), attrs_.element_shape.text()));
    }
    if (attrs_.identical_element_shapes && !attrs_.element_shape.fully_known()) {
      attrs_.element_shape = value.shape();
    }
    if (item.read) {
      refuse(
          fmt::format("Could not write to index {} of a TensorArray because it has already been "
                      "read.",
                      index));
    }
    if (!item.written) {
      item.shape = value.shape();
      item.value = std::move(value);
      item.written = true;
      return;
    }
    if (!adds_) {
      refuse(
          fmt::format("Could not write to index {} of a TensorArray because it has already been "
                      "written to.",
                      index));
    }
    if (item.shape != value.shape()) {
      refuse(
          fmt::format("Could not aggregate to index {} of a TensorArray because the existing "
                      "shape is {} but the new shape is {}",
                      index, item.shape.text(), value.shape().text()));
    }
    if (item.value.empty()) {
      item.value = std::move(value);
    } else {
      if (item.value.owner().use_count() > 1) item.value = item.value.copy();
      add_array_elements(item.value, value.raw());
      added_ = true;
    }
  }

  /// Returns the element; a read that clears it gives up its memory.
  Array read(std::int64_t index) {
    check_open();
    if (index < 0 || static_cast<std::size_t>(index) >= items_.size()) {
      refuse(fmt::format("Tried to read from index {} but the TensorArray's size is {}", index,
                         items_.size()));
    }
    Item& item = items_[static_cast<std::size_t>(index)];
    if (item.cleared) {
      refuse(
          fmt::format("Could not read index {} twice because it was cleared after a previous "
                      "read (perhaps set clear_after_read = false)",
                      index));
    }
    Array value = item.value;
    if (value.empty()) {
      const Shape& shape = item.written ? item.shape : attrs_.element_shape;
      if (!shape.fully_known()) {
        refuse(
            fmt::format("Could not read index {} of a TensorArray: it has not been written to, "
                        "and the shape of the elements is not fully known: {}",
                        index, shape.text()));
      }
      value = Array::zeros(attrs_.dtype, shape);
    }
    if (attrs_.clear_after_read) {
      item.value = Array();
      item.cleared = true;
    }
    item.read = true;
    return value;
  }

  /// Returns the array of its gradients that `source` names.
  ElementArray& gradient(const std::string& source, RunObjects& objects) {
    check_open();
    attrs_.dynamic_size = false;
    ElementArray*& found = gradients_[source];
    if (found != nullptr) return *found;
    if (added_) {
      refuse("a TensorArray several of whose writes were added has no gradient");
    }
    TensorArrayAttrs attrs = attrs_;
    attrs.clear_after_read = true;
    auto& made = objects.add<ElementArray>(std::move(attrs), items_.size(), true);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      made.items_[i].written = items_[i].written;
      made.items_[i].shape = items_[i].shape;
    }
    return *(found = &made);
  }

 private:
  struct Item {
    Array value;
    Shape shape;  ///< once it is written
    bool written = false, read = false, cleared = false;
  };

  void check_open() const {
    if (closed_) refuse("the TensorArray has already been closed");
  }

  TensorArrayAttrs attrs_;
  bool adds_;
  bool added_ = false, closed_ = false;
  std::mutex mutex_;
  std::vector<Item> items_;
  std::map<std::string, ElementArray*> gradients_;
};

ElementArray& array_of(const LaunchArgs& args) {
  auto* array = dynamic_cast<ElementArray*>(*args.input<Resource*>(0));
  if (array == nullptr) refuse("the resource is not a TensorArray");
  return *array;
}

void write_handle(const LaunchArgs& args, ElementArray& array) {
  args.output<Resource*>(0)[0] = &array;
  args.output<Resource*>(0)[1] = nullptr;
}

/// Returns `count` elements of `whole` from `first` on as an array of `shape`; shares the memory.
Array part_of(const Array& whole, std::int64_t first, const Shape& shape) {
  auto* const start = static_cast<std::byte*>(whole.owner().get()) +
                      static_cast<std::size_t>(first) * dtype_size(whole.dtype());
  return Array(whole.dtype(), shape, std::shared_ptr<void>(whole.owner(), start));
}

template <class F>
std::unique_ptr<PreparedKernel> locked_kernel(F function) {
  return function_kernel([function = std::move(function)](const LaunchArgs& args) {
    ElementArray& array = array_of(args);
    const std::lock_guard lock(array.mutex());
    function(array, args);
  });
}

std::unique_ptr<PreparedKernel> new_array_kernel(const KernelRequest& request) {
  return function_kernel([attrs = request.attributes<TensorArrayAttrs>()](const LaunchArgs& args) {
    const std::int32_t size = args.input<std::int32_t>(0)[0];
    if (size < 0) refuse(fmt::format("the size of a TensorArray must be >= 0, not {}", size));
    write_handle(
        args, args.run->objects->add<ElementArray>(attrs, static_cast<std::size_t>(size), false));
    args.output<float>(1)[0] = 0;
  });
}

std::unique_ptr<PreparedKernel> gradient_array_kernel(const KernelRequest& request) {
  return locked_kernel([source = request.attributes<TensorArrayGradAttrs>().source](
                           ElementArray& array, const LaunchArgs& args) {
    const float flow = args.input<float>(1)[0];
    write_handle(args, array.gradient(source, *args.run->objects));
    args.output<float>(1)[0] = flow;
  });
}

std::unique_ptr<PreparedKernel> write_kernel(const KernelRequest&) {
  return locked_kernel([](ElementArray& array, const LaunchArgs& args) {
    array.write(args.input<std::int32_t>(1)[0], args.arrays->keep_input(2));
    args.output<float>(0)[0] = args.input<float>(3)[0];
  });
}

std::unique_ptr<PreparedKernel> read_kernel(const KernelRequest& request) {
  return locked_kernel([desc = request.outputs[0]](ElementArray& array, const LaunchArgs& args) {
    array.check_dtype(desc.dtype);
    args.give_output(0, array.read(args.input<std::int32_t>(1)[0]), desc.shape);
  });
}

/// Throws if `shape` is not what the op or the array says of the elements.
void check_element(const Shape& known, const Shape& shape) {
  if (known.compatible(shape)) return;
  refuse(
      fmt::format("TensorArray was passed element_shape {} which does not match the tensor at "
                  "index 0: {}",
                  known.text(), shape.text()));
}

/// Returns the shape of the rows of an empty result.
Shape empty_rows(const Shape& said, const Shape& known) {
  const std::optional<Shape> merged = said.merged(known);
  if (!merged || !merged->fully_known()) {
    throw errors::UnimplementedError(
        fmt::format("TensorArray has size zero, but element shape {} is not fully defined. "
                    "Currently only static shapes are supported when packing zero-size "
                    "TensorArrays.",
                    said.text()));
  }
  return *merged;
}

std::unique_ptr<PreparedKernel> gather_kernel(const KernelRequest& request) {
  return locked_kernel([attrs = request.attributes<TensorArrayGatherAttrs>(),
                        count = request.inputs[1].shape.elements(),
                        said = request.outputs[0].shape](ElementArray& array,
                                                         const LaunchArgs& args) {
    array.check_dtype(attrs.dtype);
    if (count == 0) {
      const Shape row = empty_rows(attrs.element_shape, array.element_shape());
      args.output_memory(0, with_rows(0, row), said);
      return;
    }
    array.add_element_shape(attrs.element_shape);
    std::vector<Array> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(array.read(args.input<std::int32_t>(1)[i]));
      if (values[0].shape() == values.back().shape()) continue;
      refuse(
          fmt::format("TensorArray has inconsistent shapes. Index 0 has shape {} but index {} "
                      "has shape {}",
                      values[0].shape().text(), i, values.back().shape().text()));
    }
    check_element(attrs.element_shape, values[0].shape());
    auto* to =
        static_cast<std::byte*>(args.output_memory(0, with_rows(count, values[0].shape()), said));
    for (const Array& value : values) {
      copy_array_elements(attrs.dtype, value.elements(), value.raw(), to);
      to += value.bytes();
    }
  });
}

std::unique_ptr<PreparedKernel> array_scatter_kernel(const KernelRequest& request) {
  return locked_kernel([indices = request.inputs[1].shape, desc = request.inputs[2]](
                           ElementArray& array, const LaunchArgs& args) {
    array.check_dtype(desc.dtype);
    if (desc.shape.rank() == 0) {
      refuse("the value of a scatter must be at least a vector but is a scalar");
    }
    if (desc.shape.size(0) != indices.elements()) {
      refuse(fmt::format("Expected len(indices) == values.shape[0], but saw: {} vs. {}",
                         indices.elements(), desc.shape.size(0)));
    }
    const Array whole = args.arrays->keep_input(2);
    const Shape row = array_row_shape(desc.shape);
    const std::int64_t elements = row.elements();
    for (std::int64_t i = 0; i < indices.elements(); ++i) {
      array.write(args.input<std::int32_t>(1)[i], part_of(whole, i * elements, row));
    }
    args.output<float>(0)[0] = args.input<float>(3)[0];
  });
}

std::unique_ptr<PreparedKernel> concat_arrays_kernel(const KernelRequest& request) {
  return locked_kernel(
      [attrs = request.attributes<TensorArrayConcatAttrs>(), said = request.outputs[0].shape,
       lengths = request.outputs[1].shape](ElementArray& array, const LaunchArgs& args) {
        array.check_dtype(attrs.dtype);
        const auto count = static_cast<std::int64_t>(array.size());
        auto* length = static_cast<std::int64_t*>(args.output_memory(1, Shape{count}, lengths));
        if (count == 0) {
          const Shape row = empty_rows(attrs.element_shape_except0, Shape::unknown());
          args.output_memory(0, with_rows(0, row), said);
          return;
        }
        std::vector<Array> values;
        std::int64_t rows = 0;
        Shape row;
        for (std::int64_t i = 0; i < count; ++i) {
          values.push_back(array.read(i));
          const Shape& shape = values.back().shape();
          if (shape.rank() == 0) {
            refuse(
                fmt::format("Concat saw a scalar at index {} but requires at least vectors. Did "
                            "you mean to call stack?",
                            i));
          }
          if (i == 0) row = array_row_shape(shape);
          if (array_row_shape(shape) != row) {
            refuse(
                fmt::format("TensorArray has inconsistent shapes. Index 0 has (excepting dimension "
                            "0) shape {} but index {} has shape {}",
                            row.text(), i, array_row_shape(shape).text()));
          }
          length[i] = shape.size(0);
          rows += shape.size(0);
        }
        check_element(attrs.element_shape_except0, row);
        auto* to = static_cast<std::byte*>(args.output_memory(0, with_rows(rows, row), said));
        for (const Array& value : values) {
          copy_array_elements(attrs.dtype, value.elements(), value.raw(), to);
          to += value.bytes();
        }
      });
}

std::unique_ptr<PreparedKernel> array_split_kernel(const KernelRequest& request) {
  return locked_kernel([desc = request.inputs[1], lengths = request.inputs[2].shape](
                           ElementArray& array, const LaunchArgs& args) {
    array.check_dtype(desc.dtype);
    if (lengths.rank() != 1) {
      refuse(fmt::format("Expected lengths to be a vector, received shape: {}", lengths.text()));
    }
    if (desc.shape.rank() == 0) {
      refuse("the value of a split must be at least a vector but is a scalar");
    }
    const std::int64_t count = lengths.elements();
    const auto* length = args.input<std::int64_t>(2);
    std::int64_t left = desc.shape.size(0);
    for (std::int64_t i = 0; i < count; ++i) {
      if (length[i] < 0 || length[i] > left) left = -1;
      if (left < 0) break;
      left -= length[i];
    }
    if (left != 0) {
      refuse(
          fmt::format("Expected lengths that are not negative and whose sum is values.shape[0], "
                      "{}",
                      desc.shape.size(0)));
    }
    if (static_cast<std::int64_t>(array.size()) != count && !array.dynamic_size()) {
      refuse(
          fmt::format("TensorArray's size is not equal to the size of lengths ({} vs. {}), and "
                      "the TensorArray is not marked as dynamically resizeable.",
                      array.size(), count));
    }
    const Array whole = args.arrays->keep_input(1);
    const Shape row = array_row_shape(desc.shape);
    for (std::int64_t i = 0, first = 0; i < count; ++i) {
      array.write(i, part_of(whole, first * row.elements(), with_rows(length[i], row)));
      first += length[i];
    }
    args.output<float>(0)[0] = args.input<float>(3)[0];
  });
}

std::unique_ptr<PreparedKernel> array_size_kernel(const KernelRequest&) {
  return locked_kernel([](ElementArray& array, const LaunchArgs& args) {
    args.output<std::int32_t>(0)[0] = static_cast<std::int32_t>(array.size());
  });
}

std::unique_ptr<PreparedKernel> array_close_kernel(const KernelRequest&) {
  return locked_kernel([](ElementArray& array, const LaunchArgs&) { array.close(); });
}

}  // namespace

static void register_tensor_array_kernels(KernelTable& table) {
  const auto add = [&](const char* op,
                       std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&)) {
    table.add({.op = op, .label = "array", .accepts = {}, .prepare = prepare});
  };
  add("TensorArrayV3", new_array_kernel);
  add("TensorArrayGradV3", gradient_array_kernel);
  add("TensorArrayWriteV3", write_kernel);
  add("TensorArrayReadV3", read_kernel);
  add("TensorArrayGatherV3", gather_kernel);
  add("TensorArrayScatterV3", array_scatter_kernel);
  add("TensorArrayConcatV3", concat_arrays_kernel);
  add("TensorArraySplitV3", array_split_kernel);
  add("TensorArraySizeV3", array_size_kernel);
  add("TensorArrayCloseV3", array_close_kernel);
}

OpFamily tensor_array_cpu_family() { return {.kernels = register_tensor_array_kernels}; }

}  // namespace towerflow
