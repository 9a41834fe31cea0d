#include "ops/control/tensor_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/indexing.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/control/tensor_array_ops.h"
#include "ops/math/range.h"

namespace towerflow::types {
namespace {

std::string name_or(const std::string& name, const char* otherwise) {
  return name.empty() ? otherwise : name;
}

[[noreturn]] void refuse_options(const char* message, Site site) {
  throw ValueError(message, {.site = site, .op = "TensorArray"});
}

void check_tensor_array_options(const TensorArrayOptions& options, Site site) {
  if (!options.handle) {
    if (!options.size) {
      refuse_options("Argument `size` must be provided if handle is not provided.", site);
    }
    return;
  }
  const char* const both = !options.tensor_array_name.empty() ? "tensor_array_name"
                           : options.size                     ? "size"
                           : options.element_shape            ? "element_shape"
                           : options.dynamic_size             ? "dynamic_size"
                           : options.clear_after_read         ? "clear_after_read"
                                                              : nullptr;
  if (both != nullptr) {
    throw ValueError(
        fmt::format("Cannot provide both `handle` and `{}` arguments at the same time.", both),
        {.site = site, .op = "TensorArray"});
  }
  if (!options.flow) refuse_options("flow must not be None if handle is not None.", site);
}

Graph& graph_of_options(const TensorArrayOptions& options) {
  if (options.handle) return options.handle->graph();
  return graph_of(*options.size);
}

/// Returns the dimensions that follow the first.
Shape without_first(const Shape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return shape;
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

/// Returns the value of an integer vector if it is a constant or a cast of one.
Array constant_lengths(const Tensor& lengths) {
  return constant_value(lengths.op().type() == "Cast" ? lengths.op().input(0) : lengths);
}

/// Returns the value of a number or a constant tensor, an empty Array for another tensor.
Array known_array_size(const Operand& number) {
  if (number.tensor() != nullptr) return constant_value(*number.tensor());
  if (number.array() != nullptr) return *number.array();
  return number.nested() != nullptr ? to_array(*number.nested()) : Array();
}

}  // namespace

TensorArray::TensorArray(DType dtype, TensorArrayOptions options, Site site)
    : dtype_(dtype),
      size_(options.size),
      dynamic_size_(options.dynamic_size.value_or(false)),
      infer_shape_(options.infer_shape),
      colocates_(options.colocate_with_first_write_call) {
  check_tensor_array_options(options, site);
  Graph& graph = graph_of_options(options);
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, name_or(options.name, "TensorArray"), site);
  if (options.handle) {
    handle_ = *options.handle;
    flow_ = *options.flow;
    return;
  }
  shared_->element_shape = options.element_shape.value_or(Shape::unknown());
  // The first write decides on the device.
  std::optional<ColocationScope> anywhere;
  if (colocates_) anywhere.emplace(graph, nullptr, true, site);
  const Operation made = OpBuilder("TensorArrayV3", scope.name(), site, {&*size_})
                             .input(*size_, "size", DType::int32)
                             .attrs(TensorArrayAttrs{dtype, shared_->element_shape, dynamic_size_,
                                                     options.clear_after_read.value_or(true),
                                                     infer_shape_, options.tensor_array_name})
                             .build();
  handle_ = made.output(0);
  flow_ = made.output(1);
}

void TensorArray::check_element_shape(const Shape& shape, Site site) const {
  Shape& known = shared_->element_shape;
  const std::optional<Shape> merged = known.merged(shape);
  if (!merged) {
    throw ValueError(
        fmt::format("Inconsistent shapes: saw {} but expected {}", shape.text(), known.text()),
        {.site = site,
         .op = "TensorArray",
         .hint = "infer_shape = false allows elements of several shapes"});
  }
  if (infer_shape_) known = *merged;
}

std::unique_ptr<ColocationScope> TensorArray::beside(const Tensor& value, Site site) const {
  if (!colocates_) return nullptr;
  if (!shared_->colocated_with.valid()) shared_->colocated_with = value;
  return std::make_unique<ColocationScope>(handle_.graph(), &shared_->colocated_with.node(), false,
                                           site);
}

/// Converts a value to write: literals to the dtype of the array if they fit it.
Tensor TensorArray::converted(const Operand& value, Site site) const {
  Graph& graph = handle_.graph();
  if (value.nested() != nullptr) {
    try {
      return convert_operand(graph, value, "value", dtype_);
    } catch (const Error&) {
      return convert_operand(graph, value.at(site), "value", std::nullopt);
    }
  }
  return convert_operand(graph, value, "value", std::nullopt);
}

TensorArray TensorArray::with_flow(const Tensor& flow) const {
  TensorArray array = *this;
  array.flow_ = flow;
  return array;
}

TensorArray TensorArray::named_with_flow(const Tensor& flow, Site site) const {
  const NameScope scope(handle_.graph(), "TensorArray", site);
  return with_flow(flow);
}

TensorArray TensorArray::identity(Site site) const {
  return named_with_flow(towerflow::identity(flow_, {}, site), site);
}

TensorArray TensorArray::grad(std::string_view source, TensorArrayGradOptions options,
                              Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const Operand now(options.flow.value_or(flow_), site), array(handle_, site);
  const NameScope scope(graph, name_or(options.name, "TensorArrayGrad"), site);
  const ColocationScope with_handle(graph, &handle_.node(), false, site);
  const Tensor handle = OpBuilder("TensorArrayGradV3", options.name, site, {&array})
                            .input(array, "handle", DType::resource)
                            .input(now, "flow_in", DType::float32)
                            .attrs(TensorArrayGradAttrs{std::string(source)})
                            .build()
                            .output(0);
  Tensor gradient_flow;
  {
    const auto after = control_dependencies({handle}, site);
    gradient_flow = towerflow::identity(now, {.name = "gradient_flow"}, site);
  }
  TensorArray gradient(dtype_,
                       {.handle = handle,
                        .flow = gradient_flow,
                        .infer_shape = infer_shape_,
                        .colocate_with_first_write_call = false},
                       site);
  gradient.shared_ = shared_;
  return gradient;
}

Tensor TensorArray::read(const ScalarOperand& index, NameOption options, Site site) const {
  const Operand array(handle_, site), flow(flow_, site);
  Tensor value = OpBuilder("TensorArrayReadV3", options.name, site, {&array})
                     .input(array, "handle", DType::resource)
                     .input(index, "index", DType::int32)
                     .input(flow, "flow_in", DType::float32)
                     .attrs(TensorArrayReadAttrs{dtype_})
                     .output();
  value.set_shape(element_shape_of_handle(handle_).value_or(Shape::unknown()), site);
  value.set_shape(element_shape(), site);
  return value;
}

TensorArray TensorArray::write(const ScalarOperand& index, const Operand& value, NameOption options,
                               Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, name_or(options.name, "TensorArrayWrite"), site);
  const Tensor tensor = converted(value, site);
  check_element_shape(tensor.shape(), site);
  const Operand array(handle_, site), element(tensor, site), flow(flow_, site);
  const std::unique_ptr<ColocationScope> first = beside(tensor, site);
  const Tensor after = OpBuilder("TensorArrayWriteV3", options.name, site, {&array})
                           .input(array, "handle", DType::resource)
                           .input(index, "index", DType::int32)
                           .input(element, "value")
                           .input(flow, "flow_in", DType::float32)
                           .output();
  return named_with_flow(after, site);
}

Tensor TensorArray::stack(NameOption options, Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const ColocationScope with_handle(graph, &handle_.node(), false, site);
  const NameScope scope(graph, name_or(options.name, "TensorArrayStack"), site);
  const Tensor count = size({}, site);
  const Tensor indices = range(Operand(0, site), Operand(count, site), Operand(1, site), {}, site);
  Tensor value = gather(indices, options, site);
  if (element_shape().has_rank() && !dynamic_size_ && size_) {
    const Array known = known_array_size(*size_);
    Dim rows = None;
    if (!known.empty()) rows = Dim(cast_elements(known, DType::int64).item<std::int64_t>());
    value.set_shape(Shape{rows}.concatenated(element_shape()), site);
  }
  return value;
}

Tensor TensorArray::gather(const Operand& indices, NameOption options, Site site) const {
  const Operand array(handle_, site), flow(flow_, site);
  // What TensorFlow knows of the handle precedes the attribute.
  const Shape row = element_shape_of_handle(handle_).value_or(element_shape());
  Tensor value = OpBuilder("TensorArrayGatherV3", options.name, site, {&array})
                     .input(array, "handle", DType::resource)
                     .input(indices, "indices", DType::int32)
                     .input(flow, "flow_in", DType::float32)
                     .attrs(TensorArrayGatherAttrs{dtype_, element_shape()})
                     .output();
  if (element_shape().has_rank()) {
    value.set_shape(Shape{None}.concatenated(element_shape()), site);
  }
  if (row.has_rank()) {
    const Shape& count = value.op().input(1).shape();
    value.set_shape((count.has_rank() ? count : Shape{None}).concatenated(row), site);
  }
  return value;
}

Tensor TensorArray::concat(NameOption options, Site site) const {
  const DefaultGraphGuard here(handle_.graph());
  const Operand array(handle_, site), flow(flow_, site);
  const Shape& element = element_shape();
  Tensor value = OpBuilder("TensorArrayConcatV3", options.name, site, {&array})
                     .input(array, "handle", DType::resource)
                     .input(flow, "flow_in", DType::float32)
                     .attrs(TensorArrayConcatAttrs{dtype_, without_first(element)})
                     .build()
                     .output(0);
  if (!element.has_rank()) return value;
  Dim rows = None;
  if (infer_shape_) {
    const Array count = constant_value(size({}, site));
    if (!count.empty()) {
      if (element.rank() == 0) {
        throw ValueError("concat requires elements that are at least vectors, not scalars",
                         {.site = site, .op = "TensorArray", .hint = "stack joins scalars"});
      }
      if (element[0].known()) rows = Dim(count.item<std::int32_t>() * element[0].size());
    }
  }
  value.set_shape(Shape{rows}.concatenated(without_first(element)), site);
  return value;
}

TensorArray TensorArray::unstack(const Operand& value, NameOption options, Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, name_or(options.name, "TensorArrayUnstack"), site);
  const Tensor sizes = shape(value, {}, site);
  const Tensor count = take_index(sizes, 0, site);
  const Tensor indices = range(Operand(0, site), Operand(count, site), Operand(1, site), {}, site);
  return scatter(indices, value, options, site);
}

TensorArray TensorArray::scatter(const Operand& indices, const Operand& value, NameOption options,
                                 Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, name_or(options.name, "TensorArrayScatter"), site);
  const Tensor tensor = converted(value, site);
  check_element_shape(without_first(tensor.shape()), site);
  const Operand array(handle_, site), rows(tensor, site), flow(flow_, site);
  const std::unique_ptr<ColocationScope> first = beside(tensor, site);
  const Tensor after = OpBuilder("TensorArrayScatterV3", options.name, site, {&array})
                           .input(array, "handle", DType::resource)
                           .input(indices, "indices", DType::int32)
                           .input(rows, "value")
                           .input(flow, "flow_in", DType::float32)
                           .output();
  return named_with_flow(after, site);
}

TensorArray TensorArray::split(const Operand& value, const Operand& lengths, NameOption options,
                               Site site) const {
  Graph& graph = handle_.graph();
  const DefaultGraphGuard here(graph);
  const NameScope scope(graph, name_or(options.name, "TensorArraySplit"), site);
  const Tensor tensor = convert_operand(graph, value, "value", dtype_);
  const std::unique_ptr<ColocationScope> first = beside(tensor, site);
  const Tensor wide = cast(lengths, DType::int64, {}, site);
  const Array known = constant_lengths(wide);
  if (tensor.shape().has_rank() && !known.empty() && known.shape().rank() == 1 &&
      known.elements() > 0) {
    const Array values = cast_elements(known, DType::int64);
    const auto all = values.flat<std::int64_t>();
    if (std::all_of(all.begin(), all.end(), [&](std::int64_t one) { return one == all[0]; })) {
      check_element_shape(Shape{all[0]}.concatenated(without_first(tensor.shape())), site);
    }
  }
  const Operand array(handle_, site), rows(tensor, site), pieces(wide, site), flow(flow_, site);
  const Tensor after = OpBuilder("TensorArraySplitV3", options.name, site, {&array})
                           .input(array, "handle", DType::resource)
                           .input(rows, "value")
                           .input(pieces, "lengths", DType::int64)
                           .input(flow, "flow_in", DType::float32)
                           .output();
  return named_with_flow(after, site);
}

Tensor TensorArray::size(NameOption options, Site site) const {
  if (!dynamic_size_ && size_) {
    return convert_operand(handle_.graph(), *size_, "", DType::int32);
  }
  const Operand array(handle_, site), flow(flow_, site);
  return OpBuilder("TensorArraySizeV3", options.name, site, {&array})
      .input(array, "handle", DType::resource)
      .input(flow, "flow_in", DType::float32)
      .output();
}

Operation TensorArray::close(NameOption options, Site site) const {
  const Operand array(handle_, site);
  return OpBuilder("TensorArrayCloseV3", options.name, site, {&array})
      .input(array, "handle", DType::resource)
      .build();
}

}  // namespace towerflow::types
