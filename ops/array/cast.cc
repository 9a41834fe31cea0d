#include "ops/array/cast.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/cast_loop.h"
#include "ops/array/cast_value.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

struct CastAttrs {
  DType to = DType::invalid;
  static constexpr auto fields = std::tuple{attr::required("DstT", &CastAttrs::to)};
};

bool castable(DType dtype) {
  return is_short_float(dtype) || dispatch_dtype(dtype, []<class T>() {});
}

std::vector<OptionalGradient> cast_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  const DType from = op.input(0).dtype();
  if (!is_differentiable(from) || !is_differentiable(op.output(0).dtype())) return {std::nullopt};
  if (!dys[0]->is_dense()) {
    IndexedSlices slices = dys[0]->slices();
    slices.values = cast(slices.values, from, {}, op.site());
    return {slices};
  }
  return {cast(dense_gradient(dys[0], op.site()), from, {}, op.site())};
}

template <class From, class To>
void cast_row(const void* in, void* out, std::int64_t n) {
  const From* x = static_cast<const From*>(in);
  To* y = static_cast<To*>(out);
  for (std::int64_t i = 0; i < n; ++i) y[i] = cast_value<From, To>(x[i]);
}

CastLoop reference_row(DType from, DType to) {
  CastLoop row = nullptr;
  dispatch_dtype(from, [&]<class From>() {
    dispatch_dtype(to, [&]<class To>() { row = cast_row<From, To>; });
  });
  return row;
}

std::optional<simd::Element> simd_element(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return simd::Element::u8;
    case DType::int32:
      return simd::Element::i32;
    case DType::int64:
      return simd::Element::i64;
    case DType::float32:
      return simd::Element::f32;
    case DType::float64:
      return simd::Element::f64;
    default:
      return std::nullopt;
  }
}

/// Casts from or to float16 and bfloat16 by way of float32, as TensorFlow does.
class ShortCastKernel final : public CpuKernel {
 public:
  ShortCastKernel(const TensorDesc& from, const TensorDesc& to)
      : from_(from.dtype),
        to_(to.dtype),
        elements_(to.shape.elements()),
        widen_(cast_loop(from_, DType::float32)),
        narrow_(cast_loop(DType::float32, to_)) {}
  int slices(int) const override { return loop_slices(elements_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    constexpr std::int64_t kAtOnce = 512;
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    const auto from_bytes = static_cast<std::int64_t>(dtype_size(from_));
    const auto to_bytes = static_cast<std::int64_t>(dtype_size(to_));
    float numbers[kAtOnce];
    for (std::int64_t at = part.begin; at < part.end; at += kAtOnce) {
      const std::int64_t n = std::min(kAtOnce, part.end - at);
      const void* from = static_cast<const std::byte*>(inputs[0]) + at * from_bytes;
      void* to = static_cast<std::byte*>(outputs[0]) + at * to_bytes;
      if (is_short_float(from_)) {
        widen(from_, static_cast<const std::uint16_t*>(from), numbers, n);
      } else {
        widen_(from, numbers, n);
      }
      if (is_short_float(to_)) {
        narrow(to_, numbers, static_cast<std::uint16_t*>(to), n);
      } else {
        narrow_(numbers, to, n);
      }
    }
  }

 private:
  DType from_, to_;
  std::int64_t elements_;
  CastLoop widen_, narrow_;  // null where the numbers are short
};

class CastKernel final : public CpuKernel {
 public:
  CastKernel(CastLoop row, const TensorDesc& from, const TensorDesc& to)
      : row_(row),
        elements_(to.shape.elements()),
        from_bytes_(static_cast<std::int64_t>(dtype_size(from.dtype))),
        to_bytes_(static_cast<std::int64_t>(dtype_size(to.dtype))) {}
  int slices(int) const override { return loop_slices(elements_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    row_(static_cast<const std::byte*>(inputs[0]) + part.begin * from_bytes_,
         static_cast<std::byte*>(outputs[0]) + part.begin * to_bytes_, part.size());
  }

 private:
  CastLoop row_;
  std::int64_t elements_;
  std::int64_t from_bytes_;
  std::int64_t to_bytes_;
};

std::unique_ptr<PreparedKernel> prepare_with(CastLoop row, const KernelRequest& request) {
  return sliced_kernel(std::make_unique<CastKernel>(row, request.inputs[0], request.outputs[0]));
}

}  // namespace

CastLoop cast_loop(DType from, DType to) {
  const auto fast_from = simd_element(from), fast_to = simd_element(to);
  if (!fast_from || !fast_to) return reference_row(from, to);
  return simd::loops().cast[static_cast<int>(*fast_from)][static_cast<int>(*fast_to)];
}

static void register_cast_ops(OpRegistry& registry) {
  registry.add({.name = "Cast",
                .inputs = {"x: SrcT"},
                .outputs = {"y: DstT"},
                .attrs = attributes<CastAttrs>().fixed("Truncate", false),
                .shape =
                    [](InferenceContext& context) {
                      const DType to = context.attrs<CastAttrs>().to;
                      if (!castable(context.dtype(0)) || !castable(to)) {
                        context.fail_type(fmt::format("a tensor of {} cannot be cast to {}",
                                                      dtype_name(context.dtype(0)),
                                                      dtype_name(to)));
                      }
                      context.add_output(to, context.shape(0));
                    },
                .gradient = cast_gradient,
                .elementwise = elementwise_always});
}

static void register_cast_kernels(KernelTable& table) {
  table.add({.op = "Cast",
             .label = "short",
             .accepts =
                 [](const KernelRequest& request) {
                   return is_short_float(request.inputs[0].dtype) ||
                          is_short_float(request.outputs[0].dtype);
                 },
             .prepare =
                 [](const KernelRequest& request) {
                   return sliced_kernel(
                       std::make_unique<ShortCastKernel>(request.inputs[0], request.outputs[0]));
                 }});
  table.add({.op = "Cast",
             .label = "simd",
             .accepts =
                 [](const KernelRequest& request) {
                   return simd_element(request.inputs[0].dtype) &&
                          simd_element(request.outputs[0].dtype);
                 },
             .prepare =
                 [](const KernelRequest& request) {
                   return prepare_with(cast_loop(request.inputs[0].dtype, request.outputs[0].dtype),
                                       request);
                 }});
  table.add({.op = "Cast",
             .label = "reference",
             .accepts =
                 [](const KernelRequest& request) {
                   return reference_row(request.inputs[0].dtype, request.outputs[0].dtype) !=
                          nullptr;
                 },
             .prepare =
                 [](const KernelRequest& request) {
                   return prepare_with(
                       reference_row(request.inputs[0].dtype, request.outputs[0].dtype), request);
                 }});
}

OpFamily cast_family() { return {.ops = register_cast_ops, .kernels = register_cast_kernels}; }

Tensor cast(const Operand& x, DType dtype, CastOptions options, Site site) {
  // In TensorFlow a reference (the output of an assign) has another dtype than its value.
  const auto is_plain_value = [dtype](const Tensor& tensor) {
    return tensor.dtype() == dtype &&
           !tensor.node().outputs[static_cast<std::size_t>(tensor.index())].is_ref;
  };
  const Tensor* given = x.tensor();
  if (given != nullptr && !x.is_variable() && is_plain_value(*given)) return *given;
  OpBuilder builder("Cast", options.name, site, {&x});  // uses up a name for a variable or a value
  builder.input(x, "x");
  if (is_plain_value(builder.tensors()[0])) return builder.tensors()[0];
  return builder.attrs(CastAttrs{dtype}).output();
}

Tensor cast_always(const Operand& x, DType dtype, Site site) {
  return OpBuilder("Cast", "", site, {&x}).input(x, "x").attrs(CastAttrs{dtype}).output();
}

}  // namespace towerflow
