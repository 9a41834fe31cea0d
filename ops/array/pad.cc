#include "ops/array/pad.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/pad_attrs.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

/// Returns the padding before and after each dimension.
std::vector<std::pair<std::int64_t, std::int64_t>> paddings_of(const Array& paddings) {
  const std::vector<std::int64_t> flat = integers_of(paddings);
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return pairs;
}

/// Returns the rank that tensor (input 0) and paddings (input 1) agree on.
std::optional<std::size_t> padded_rank(InferenceContext& context) {
  const Shape& tensor = context.shape(0);
  const Shape& paddings = context.shape(1);
  if (context.dtype(1) != DType::int32 && context.dtype(1) != DType::int64) {
    context.fail_type(
        fmt::format("Value passed to parameter 'paddings' has DataType {} not in "
                    "list of allowed values: int32, int64",
                    dtype_name(context.dtype(1))));
  }
  std::optional<std::size_t> rank;
  if (tensor.has_rank()) rank = tensor.rank();
  if (!paddings.has_rank()) return rank;
  if (paddings.rank() != 2 || (paddings[1].known() && paddings.size(1) != 2)) {
    context.fail(fmt::format("paddings must be a matrix of two columns, not {}", paddings.text()));
  }
  if (!paddings[0].known()) return rank;
  const auto rows = static_cast<std::size_t>(paddings.size(0));
  if (rank && *rank != rows) {
    context.fail(fmt::format("Shape must be rank {} but is rank {}: paddings {} of a tensor {}",
                             rows, *rank, paddings.text(), tensor.text()));
  }
  return rows;
}

/// `sign` is 1 to add the paddings, -1 to remove them.
void padded_shape(InferenceContext& context, std::int64_t sign) {
  const auto rank = padded_rank(context);
  if (!rank) return context.add_output(context.dtype(0), Shape::unknown());
  const Array* known = context.constant(1);
  std::vector<Dim> dims = Shape::of_rank(*rank).dims();
  const Shape tensor = context.shape(0).has_rank() ? context.shape(0) : Shape::of_rank(*rank);
  if (known != nullptr) {
    const auto pairs = paddings_of(*known);
    for (std::size_t d = 0; d < *rank; ++d) {
      const auto [before, behind] = pairs[d];
      if (before < 0 || behind < 0) context.fail("Paddings must be non-negative");
      std::int64_t around = 0;
      std::int64_t size = 0;
      if (__builtin_add_overflow(before, behind, &around) ||
          (tensor[d].known() && __builtin_add_overflow(tensor.size(d), sign * around, &size)) ||
          size < 0) {
        context.fail(fmt::format("dimension {} of {} cannot be padded by {} and {}", d,
                                 tensor.text(), before, behind));
      }
      if (tensor[d].known()) dims[d] = Dim(size);
    }
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void pad_shape(InferenceContext& context) { padded_shape(context, 1); }
void mirror_grad_shape(InferenceContext& context) { padded_shape(context, -1); }

void pad_v2_shape(InferenceContext& context) {
  if (context.dtype(2) != context.dtype(0)) {
    context.fail_type(fmt::format("constant_values are {}, the tensor is {}",
                                  dtype_name(context.dtype(2)), dtype_name(context.dtype(0))));
  }
  if (context.shape(2).has_rank() && context.shape(2).rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}: the constant_values of a pad",
                             context.shape(2).rank()));
  }
  padded_shape(context, 1);
}

/// Fills the output, then copies the tensor into it. Uses one slice, since filling must come first.
std::unique_ptr<PreparedKernel> pad_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape in = request.inputs[0].shape;
  const Shape out = request.outputs[0].shape;
  const DType dtype = request.outputs[0].dtype;
  const bool zero = request.inputs.size() == 2;
  StridedCopy copy;
  const std::vector<std::int64_t> from = dense_strides(in);
  const std::vector<std::int64_t> to = dense_strides(out);
  const auto pairs = paddings_of(request.values.at(1));
  for (std::size_t d = 0; d < in.rank(); ++d) {
    copy.to_offset += pairs[d].first * to[d];
    copy.add(in.size(d), from[d], to[d]);
  }
  return function_kernel(
      [=, elements = out.elements()](const LaunchArgs& args) {
        if (elements == 0) return;
        dispatch_copyable(dtype, [&]<class T>() {
          std::fill_n(args.output<T>(0), elements, zero ? T() : *args.input<T>(2));
        });
        if (copy.elements() > 0) copy.run(dtype, args.inputs[0], args.outputs[0], 0, 1);
      },
      {.may_fail = dtype == DType::string});
}

/// Returns, for each dimension and position in the large tensor, the mirrored position in the small
/// one. A dimension without elements has a mirror only if `allows_empty` and its border is
/// repeated.
std::vector<std::vector<std::int64_t>> mirrored_indices(const KernelRequest& request,
                                                        const Shape& small, bool allows_empty) {
  check_kernel_rank(request);
  const bool at_border = request.attributes<MirrorAttrs>().mode == MirrorMode::symmetric;
  const auto pairs = paddings_of(request.values.at(1));
  std::vector<std::vector<std::int64_t>> places(small.rank());
  for (std::size_t d = 0; d < small.rank(); ++d) {
    const std::int64_t size = small.size(d);
    const std::int64_t most = at_border ? size : size - 1;
    const auto [before, behind] = pairs[d];
    const bool is_barred = size == 0 && !(allows_empty && at_border);
    if (is_barred || before < 0 || behind < 0 || before > most || behind > most) {
      throw errors::InvalidArgumentError(fmt::format(
          "paddings must be no greater than the dimension size{}: {}, {} greater than {}",
          at_border ? "" : " less one", before, behind, most));
    }
    for (std::int64_t i = -before; i < size + behind; ++i) {
      const std::int64_t twice = at_border ? 1 : 0;
      places[d].push_back(i < 0 ? -i - twice : (i < size ? i : 2 * size - 2 - i + twice));
    }
  }
  return places;
}

/// Calls `visit(large, small)` for each element of the padded tensor and the element it mirrors.
template <class Visit>
void visit_mirrored(const std::vector<std::vector<std::int64_t>>& places, const Shape& small,
                    Visit visit) {
  const std::vector<std::int64_t> strides = dense_strides(small);
  std::int64_t elements = 1;
  for (const auto& dimension : places) elements *= static_cast<std::int64_t>(dimension.size());
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t d = places.size(); d-- > 0;) {
      const auto size = static_cast<std::int64_t>(places[d].size());
      at += places[d][static_cast<std::size_t>(rest % size)] * strides[d];
      rest /= size;
    }
    visit(i, at);
  }
}

std::unique_ptr<PreparedKernel> mirror_kernel(const KernelRequest& request) {
  const Shape small = request.inputs[0].shape;
  const DType dtype = request.outputs[0].dtype;
  return function_kernel(
      [=, places = mirrored_indices(request, small, true)](const LaunchArgs& args) {
        dispatch_copyable(dtype, [&]<class T>() {
          visit_mirrored(places, small,
                         [from = args.input<T>(0), to = args.output<T>(0)](
                             std::int64_t large, std::int64_t at) { to[large] = from[at]; });
        });
      },
      {.may_fail = dtype == DType::string});
}

std::unique_ptr<PreparedKernel> mirror_grad_kernel(const KernelRequest& request) {
  const Shape small = request.outputs[0].shape;
  const DType dtype = request.outputs[0].dtype;
  return function_kernel(
      [=, places = mirrored_indices(request, small, false)](const LaunchArgs& args) {
        dispatch_dtype(dtype, [&]<class T>() {
          if constexpr (std::is_floating_point_v<T>) {
            std::fill_n(args.output<T>(0), small.elements(), T(0));
            visit_mirrored(places, small,
                           [from = args.input<T>(0), to = args.output<T>(0)](
                               std::int64_t large, std::int64_t at) { to[at] += from[large]; });
          }
        });
      },
      {.may_fail = false});
}

/// Returns the part of dy at the position of the unpadded tensor.
std::vector<OptionalGradient> pad_gradient(const Operation& op,
                                           const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor column = slice(op.input(1), {0, 0}, {-1, 1}, {}, site);
  const Tensor begin = reshape(column, {-1}, {}, site);
  const Tensor size = shape(op.input(0), {.out_type = op.input(1).dtype()}, site);
  std::vector<OptionalGradient> dxs(op.num_inputs());
  dxs[0] = slice(dy, begin, size, {}, site);
  return dxs;
}

Tensor mirrored(const char* op, const Tensor& tensor, const Operation& like) {
  return tensor.graph()
      .add({.op = op,
            .name = op,
            .inputs = {tensor, like.input(1)},
            .attrs = like.attrs(),
            .site = like.site()})
      .output(0);
}

std::vector<OptionalGradient> mirror_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  return {mirrored("MirrorPadGrad", dense_gradient(dys[0], op.site()), op), std::nullopt};
}
std::vector<OptionalGradient> mirror_grad_gradient(const Operation& op,
                                                   const std::vector<OptionalGradient>& dys) {
  return {mirrored("MirrorPad", dense_gradient(dys[0], op.site()), op), std::nullopt};
}

bool is_zero(const Operand& operand) {
  if (operand.nested() == nullptr) return false;
  const Nested::Value& value = operand.nested()->value();
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  return (integer != nullptr && *integer == 0) || (real != nullptr && *real == 0.0);
}

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

}  // namespace

static void register_pad_ops(OpRegistry& registry) {
  registry.add({.name = "Pad",
                .inputs = {"input: T", "paddings: Index(Tpaddings)"},
                .outputs = {"output: T"},
                .shape = pad_shape,
                .gradient = pad_gradient,
                .static_inputs = {1}});
  registry.add({.name = "PadV2",
                .inputs = {"input: T", "paddings: Index(Tpaddings)", "constant_values: T"},
                .outputs = {"output: T"},
                .shape = pad_v2_shape,
                .gradient = pad_gradient,
                .static_inputs = {1}});
  registry.add({.name = "MirrorPad",
                .inputs = {"input: T", "paddings: Index(Tpaddings)"},
                .outputs = {"output: T"},
                .attrs = attributes<MirrorAttrs>(),
                .shape = pad_shape,
                .gradient = mirror_gradient,
                .static_inputs = {1}});
  registry.add({.name = "MirrorPadGrad",
                .inputs = {"input: T", "paddings: Index(Tpaddings)"},
                .outputs = {"output: T"},
                .attrs = attributes<MirrorAttrs>(),
                .shape = mirror_grad_shape,
                .gradient = mirror_grad_gradient,
                .static_inputs = {1}});
}

static void register_pad_kernels(KernelTable& table) {
  table.add({.op = "Pad", .label = "copy", .accepts = {}, .prepare = pad_kernel});
  table.add({.op = "PadV2", .label = "copy", .accepts = {}, .prepare = pad_kernel});
  table.add({.op = "MirrorPad", .label = "loop", .accepts = {}, .prepare = mirror_kernel});
  table.add({.op = "MirrorPadGrad",
             .label = "loop",
             .accepts = [](const KernelRequest& r) { return is_floating(r.inputs[0].dtype); },
             .prepare = mirror_grad_kernel});
}

OpFamily pad_family() { return {.ops = register_pad_ops, .kernels = register_pad_kernels}; }

Tensor pad(const Operand& tensor, const Operand& paddings, std::string_view mode,
           PadOptions options, Site site) {
  const std::string wanted = upper_case(std::string(mode));
  if (wanted != "CONSTANT" && wanted != "REFLECT" && wanted != "SYMMETRIC") {
    throw ValueError(fmt::format("Value of argument `mode` expected to be one of \"CONSTANT\", "
                                 "\"REFLECT\", or \"SYMMETRIC\". Received `mode` = {}",
                                 wanted),
                     {.site = site, .op = "Pad"});
  }
  const bool constant = wanted == "CONSTANT";
  const bool with_value = constant && !is_zero(options.constant_values);
  OpBuilder builder(constant ? (with_value ? "PadV2" : "Pad") : "MirrorPad", options.name, site,
                    {&tensor, &paddings});
  builder.input(tensor, "input", "T").index_input(paddings, "paddings");
  if (with_value) builder.input(options.constant_values, "constant_values", "T");
  if (!constant)
    builder.attrs(MirrorAttrs{wanted == "SYMMETRIC" ? MirrorMode::symmetric : MirrorMode::reflect});
  return builder.output();
}

}  // namespace towerflow
