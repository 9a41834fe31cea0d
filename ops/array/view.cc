#include "ops/array/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/shape_of.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

struct SqueezeAttrs {
  std::vector<int> axis;
  static constexpr auto fields = std::tuple{attr::field("squeeze_dims", &SqueezeAttrs::axis)};
};

void same_shape(InferenceContext& context) {
  context.add_output(context.dtype(0), context.shape(0));
}

std::vector<OptionalGradient> view_gradient(const Operation&,
                                            const std::vector<OptionalGradient>& dys) {
  return {dys[0]};
}

/// The gradient of every op that only changes the shape: reshapes to the shape of the input.
std::vector<OptionalGradient> reshape_back(const Operation& op,
                                           const std::vector<OptionalGradient>& dys) {
  std::vector<OptionalGradient> dxs(op.num_inputs());
  const Tensor x = op.input(0);
  dxs[0] =
      reshape(dense_gradient(dys[0], op.site()), towerflow::shape(x, {}, op.site()), {}, op.site());
  return dxs;
}

/// With one unknown size, the gradient does not depend on `x`.
std::vector<OptionalGradient> reshape_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Shape& shape = op.input(0).shape();
  if (!shape.has_rank() || shape.fully_known()) return reshape_back(op, dys);
  std::vector<int> sizes;
  int unknown = 0;
  bool empty = false;
  for (const Dim& dim : shape.dims()) {
    sizes.push_back(dim.known() ? static_cast<int>(dim.size()) : -1);
    unknown += dim.known() ? 0 : 1;
    empty = empty || dim == Dim(0);
  }
  if (unknown != 1 || empty) return reshape_back(op, dys);
  return {reshape(dense_gradient(dys[0], op.site()), sizes, {}, op.site()), std::nullopt};
}

void reshape_shape(InferenceContext& context) {
  const Shape& from = context.shape(0);
  if (context.shape(1).has_rank() && context.shape(1).rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: the shape to reshape to",
                             context.shape(1).rank()));
  }
  const Array* wanted = context.constant(1);
  if (wanted == nullptr) {
    const Shape& vector = context.shape(1);
    const bool rank_known = vector.has_rank() && vector[0].known();
    context.add_output(
        context.dtype(0),
        rank_known ? Shape::of_rank(static_cast<std::size_t>(vector.size(0))) : Shape::unknown());
    return;
  }
  const std::vector<std::int64_t> sizes = integers_of(*wanted);
  std::int64_t known = 1;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) {
      context.fail(fmt::format("Invalid value in tensor used for shape: {}", sizes[i]));
    }
    if (sizes[i] == -1) {
      open.push_back(i);
    } else if (__builtin_mul_overflow(known, sizes[i], &known)) {
      context.fail(
          fmt::format("the sizes [{}] make more than 2^63 elements", fmt::join(sizes, ",")));
    }
  }
  std::vector<Dim> dims(sizes.begin(), sizes.end());
  for (const std::size_t i : open) dims[i] = Dim(std::nullopt);
  const bool is_empty = from.has_rank() && std::find(from.dims().begin(), from.dims().end(),
                                                     Dim(0)) != from.dims().end();
  const std::int64_t elements = is_empty ? 0 : from.elements();
  std::vector<Dim> sure;
  for (const Dim& dim : from.dims()) {
    if (dim.known() && dim.size() > 0) sure.push_back(dim);
  }
  const std::int64_t at_least = *product(sure);  // a divisor of the number of elements of `from`
  if (elements < 0 && open.empty() && known % at_least != 0) {
    context.fail(fmt::format("Cannot reshape a tensor of shape {} to shape [{}] ({} elements)",
                             from.text(), fmt::join(sizes, ","), known));
  }
  const bool fits = elements < 0 || open.size() > 1 ||
                    (open.empty() ? known == elements
                     : known == 0 ? elements == 0
                                  : elements % known == 0);
  if (!fits) {
    context.fail(fmt::format("Cannot reshape a tensor with {} elements to shape [{}] ({} elements)",
                             elements, fmt::join(sizes, ","), known));
  }
  // If another size is 0, only the run can infer the open one; see `resolve_reshape`.
  if (open.size() == 1 && elements >= 0 && known > 0) dims[open[0]] = Dim(elements / known);
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void expand_dims_shape(InferenceContext& context) {
  const Shape& from = context.shape(0);
  const Array* axis = context.constant(1);
  if (!from.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  if (axis == nullptr) return context.add_output(context.dtype(0), Shape::unknown());
  if (axis->elements() != 1) context.fail("'dim' input must be a tensor with a single value");
  const std::int64_t at = integers_of(*axis)[0];
  const auto place = normalized_axis(at, from.rank() + 1);
  if (!place) {
    context.fail(fmt::format("Tried to expand dim index {} for tensor with {} dimensions.", at,
                             from.rank()));
  }
  std::vector<Dim> dims = from.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*place), Dim(1));
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void squeeze_shape(InferenceContext& context) {
  const Shape& from = context.shape(0);
  const auto& axes = context.attrs<SqueezeAttrs>().axis;
  if (!from.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  std::vector<bool> drop(from.rank(), false);
  for (int axis : axes) {
    const auto place = normalized_axis(axis, from.rank());
    if (!place) {
      context.fail(fmt::format("Tried to squeeze dim index {} for tensor with {} dimensions.", axis,
                               from.rank()));
    }
    if (from[*place].known() && from.size(*place) != 1) {
      context.fail(fmt::format("Can not squeeze dim[{}], expected a dimension of 1, got {}", *place,
                               from.size(*place)));
    }
    drop[*place] = true;
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (axes.empty() && !from[i].known()) {
      return context.add_output(context.dtype(0), Shape::unknown());
    }
    if (axes.empty() ? from.size(i) != 1 : !drop[i]) dims.push_back(from[i]);
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void copy_viewed(const TensorDesc& from, const void* in, void* out) {
  if (from.dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(in), from.shape.elements(),
                static_cast<std::string*>(out));
  } else if (from.bytes() > 0) {
    std::memcpy(out, in, from.bytes());
  }
}

[[noreturn]] void throw_bad_reshape(const Shape& from, const std::string& to) {
  throw errors::InvalidArgumentError(
      fmt::format("Input has the shape {}, which cannot become {}", from.text(), to),
      {.hint = "only one size of a reshape may be -1"});
}

/// Copies; used if the planner must not treat the op as a view.
std::unique_ptr<PreparedKernel> copy_viewed_kernel(const KernelRequest& request) {
  const TensorDesc from = request.inputs[0];
  const Shape& out = request.outputs[0].shape;
  if (!out.fully_known() || out.elements() != from.shape.elements())
    throw_bad_reshape(from.shape, out.text());
  return function_kernel(
      [from](const LaunchArgs& args) { copy_viewed(from, args.inputs[0], args.outputs[0]); },
      {.may_fail = from.dtype == DType::string});
}

/// The sizes that a tensor is reshaped to, read at run time.
struct ReshapeSizes {
  const void* data;
  DType dtype;
  std::int64_t rank;

  std::int64_t operator[](std::int64_t i) const { return integer_at(dtype, data, i); }
  std::string text() const {
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = 0; i < rank; ++i) sizes.push_back((*this)[i]);
    return fmt::format("[{}]", fmt::join(sizes, ","));
  }
};

/// Returns whether the sizes are those of `shape`; one of them may be -1.
bool sizes_match_shape(const ReshapeSizes& sizes, const Shape& shape) {
  if (sizes.rank != static_cast<std::int64_t>(shape.rank())) return false;
  int open = 0;
  for (std::int64_t i = 0; i < sizes.rank; ++i) {
    if (sizes[i] == -1) {
      ++open;
    } else if (sizes[i] != shape.size(static_cast<std::size_t>(i))) {
      return false;
    }
  }
  return open <= 1;
}

/// Returns the shape that the sizes give to a tensor of shape `from`. A -1 next to a size of 0 is
/// inferred from the nonzero sizes: [0, 4] reshaped to [0, 2, -1] is [0, 2, 2].
Shape resolve_reshape(const Shape& from, const ReshapeSizes& sizes) {
  std::vector<std::int64_t> found;
  std::int64_t open = -1, known = 1, given = 1;
  bool has_zero = false, overflows = false;
  for (std::int64_t i = 0; i < sizes.rank; ++i) {
    found.push_back(sizes[i]);
    if (sizes[i] < -1 || (sizes[i] == -1 && open >= 0)) throw_bad_reshape(from, sizes.text());
    if (sizes[i] == -1) open = i;
    has_zero = has_zero || sizes[i] == 0;
    if (sizes[i] > 0) overflows |= __builtin_mul_overflow(known, sizes[i], &known);
  }
  for (const std::int64_t size : from.sizes()) {
    if (size != 0 || !has_zero) overflows |= __builtin_mul_overflow(given, size, &given);
  }
  if (overflows) throw_bad_reshape(from, sizes.text());
  if (open >= 0) found[static_cast<std::size_t>(open)] = given / known;
  const Shape shape{std::span<const std::int64_t>(found)};
  if (shape.elements() != from.elements()) throw_bad_reshape(from, sizes.text());
  return shape;
}

/// Copies. Checks that the sizes of the run give the shape declared in the graph, or infers the
/// shape if it is not fully known.
std::unique_ptr<PreparedKernel> reshape_kernel(const KernelRequest& request) {
  const TensorDesc from = request.inputs[0], numbers = request.inputs[1];
  const Shape declared_shape = request.outputs[0].shape;
  const bool known = declared_shape.fully_known();
  if (known && declared_shape.elements() != from.shape.elements())
    throw_bad_reshape(from.shape, declared_shape.text());
  return function_kernel([=](const LaunchArgs& args) {
    const ReshapeSizes sizes{args.inputs[1], numbers.dtype, numbers.shape.elements()};
    if (known && !sizes_match_shape(sizes, declared_shape))
      throw_bad_reshape(from.shape, sizes.text());
    void* out = known ? args.outputs[0]
                      : args.output_memory(0, resolve_reshape(from.shape, sizes), declared_shape);
    copy_viewed(from, args.inputs[0], out);
  });
}

/// A condition that the feeds of a run make no scalar.
void pred_shape(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (shape.has_rank() && shape.rank() != 0) {
    context.fail(fmt::format("The condition must be a scalar, but has shape {}", shape.text()));
  }
  same_shape(context);
}

constexpr const char* kCopiedViewOps[] = {"Identity", "StopGradient", "ExpandDims", "Squeeze",
                                          "_Pred"};

/// Sets the only unknown size of a reshaped tensor, which follows from the number of elements.
Tensor with_inferred_size(Tensor made, Site site) {
  const std::int64_t elements = made.op().input(0).shape().elements();
  std::vector<Dim> dims = made.shape().dims();
  std::int64_t known = 1;
  for (const Dim& dim : dims) {
    if (dim.known() && __builtin_mul_overflow(known, dim.size(), &known)) return made;
  }
  const auto is_unknown = [](const Dim& dim) { return !dim.known(); };
  if (elements < 0 || known == 0 || std::count_if(dims.begin(), dims.end(), is_unknown) != 1)
    return made;
  if (elements % known != 0) {
    throw ValueError(fmt::format("Cannot reshape a tensor with {} elements to shape {}", elements,
                                 made.shape().text()),
                     {.site = site, .node = made.op().name(), .op = "Reshape"});
  }
  *std::find_if(dims.begin(), dims.end(), is_unknown) = Dim(elements / known);
  made.set_shape(Shape(std::move(dims)), site);
  return made;
}

}  // namespace

static void register_view_ops(OpRegistry& registry) {
  registry.add({.name = "Identity",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .shape = same_shape,
                .gradient = view_gradient,
                .view = true});
  registry.add({.name = "StopGradient",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .shape = same_shape,
                .gradient = NoGradient{"stop_gradient stops gradients"},
                .view = true});
  registry.add({.name = "Reshape",
                .inputs = {"tensor: T", "shape: Index(Tshape)"},
                .outputs = {"output: T"},
                .shape = reshape_shape,
                .gradient = reshape_gradient,
                .view = true});
  registry.add({.name = "ExpandDims",
                .inputs = {"input: T", "dim: Index(Tdim)"},
                .outputs = {"output: T"},
                .shape = expand_dims_shape,
                .gradient = reshape_back,
                .view = true});
  registry.add({.name = "Squeeze",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<SqueezeAttrs>(),
                .shape = squeeze_shape,
                .gradient = reshape_back,
                .view = true});
  // The condition of a branch, which the host reads before it runs the nodes of the branch.
  registry.add({.name = "_Pred",
                .inputs = {"pred: bool"},
                .outputs = {"output: bool"},
                .shape = pred_shape,
                .gradient = NoGradient{"it exists in plans only"},
                .view = true,
                .plan_only = true,
                .on_host = true});
}

static void register_view_kernels(KernelTable& table) {
  for (const char* op : kCopiedViewOps) {
    table.add({.op = op, .label = "copy", .accepts = {}, .prepare = copy_viewed_kernel});
  }
  table.add({.op = "Reshape", .label = "copy", .accepts = {}, .prepare = reshape_kernel});
}

OpFamily view_family() { return {.ops = register_view_ops, .kernels = register_view_kernels}; }

Tensor identity(const Operand& input, NameOption options, Site site) {
  return OpBuilder("Identity", options.name, site, {&input}).input(input, "input").output();
}

Tensor stop_gradient(const Operand& input, NameOption options, Site site) {
  return OpBuilder("StopGradient", options.name, site, {&input}).input(input, "input").output();
}

Tensor reshape(const Operand& tensor, const Operand& shape, NameOption options, Site site) {
  const Tensor made = OpBuilder("Reshape", options.name, site, {&tensor, &shape})
                          .input(tensor, "tensor")
                          .index_input(shape, "shape")
                          .output();
  return with_inferred_size(with_shape_from_sizes(made, made.op().input(1), site), site);
}

Tensor expand_dims(const Operand& input, const Operand& axis, NameOption options, Site site) {
  return OpBuilder("ExpandDims", options.name, site, {&input, &axis})
      .input(input, "input")
      .index_input(axis, "dim")
      .output();
}

Tensor squeeze(const Operand& input, SqueezeOptions options, Site site) {
  return OpBuilder("Squeeze", options.name, site, {&input})
      .input(input, "input")
      .attrs(SqueezeAttrs{options.axis})
      .output();
}

}  // namespace towerflow
