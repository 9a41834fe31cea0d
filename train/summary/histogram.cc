#include "train/summary/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/collections.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "train/summary/histogram_buckets.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

/// The node's name, for the error message: a kernel does not know it.
struct HistogramSummaryAttrs {
  std::string node;
  static constexpr auto fields = std::tuple{attr::own_name("_node", &HistogramSummaryAttrs::node)};
};

bool is_histogram_dtype(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || is_integer(dtype);
}

/// Converts the values to a tensor. Like TensorFlow, makes a second constant of a literal with an
/// unsupported dtype: float32 for a bool.
Tensor values_of(Graph& graph, const Operand& values) {
  const Tensor made = convert_operand(graph, values, "values", std::nullopt);
  if (values.any_tensor() != nullptr || is_histogram_dtype(made.dtype())) return made;
  if (made.dtype() != DType::bool_) {
    return convert_operand(graph, values, "values", std::nullopt);
  }
  const Array truths = constant_value(made);
  Array numbers = Array::zeros(DType::float32, truths.shape());
  std::copy_n(truths.data<bool>(), truths.elements(), numbers.data<float>());
  return convert_operand(graph, Operand(numbers, values.site()), "values", std::nullopt);
}

template <class T>
summary::HistogramData histogram_of(const T* values, std::int64_t count, const std::string& node) {
  summary::HistogramBuckets buckets;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      throw errors::InvalidArgumentError(
          fmt::format("{} in summary histogram for: {}", std::isnan(value) ? "Nan" : "Infinity",
                      node),
          {.hint = fmt::format("element {} of {}, in row-major order", i, count)});
    }
    buckets.add(value);
  }
  return buckets.data();
}

std::unique_ptr<PreparedKernel> histogram_kernel(const KernelRequest& request) {
  const TensorDesc& values = request.inputs[1];
  const std::int64_t count = values.shape.elements();
  return function_kernel(
      [count, dtype = values.dtype,
       node = request.attributes<HistogramSummaryAttrs>().node](const LaunchArgs& args) {
        summary::SummaryValue value{*args.input<std::string>(0)};
        dispatch_dtype(
            dtype, [&]<class T>() { value.histo = histogram_of(args.input<T>(1), count, node); });
        *args.output<std::string>(0) = summary::serialize_summary({std::move(value)});
      });
}

}  // namespace

static void register_histogram_summary_ops(OpRegistry& registry) {
  registry.add({.name = "HistogramSummary",
                .inputs = {"tag: string", "values: T"},
                .outputs = {"summary: string"},
                .attrs = attributes<HistogramSummaryAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      if (!is_histogram_dtype(context.dtype(1))) {
                        context.fail_type(fmt::format("no histogram of values of dtype {}",
                                                      dtype_name(context.dtype(1))));
                      }
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{"a summary is a string"}});
}

static void register_histogram_summary_kernels(KernelTable& table) {
  table.add(
      {.op = "HistogramSummary",
       .label = "buckets",
       .accepts =
           [](const KernelRequest& request) { return is_histogram_dtype(request.inputs[1].dtype); },
       .prepare = histogram_kernel});
}

OpFamily histogram_summary_family() {
  return {.ops = register_histogram_summary_ops, .kernels = register_histogram_summary_kernels};
}

namespace summary {

Tensor histogram(const std::string& name, const Operand& values, HistogramOptions options,
                 Site site) {
  const SummaryName named(name, options.family, site);
  OpBuilder builder("HistogramSummary", named.base, site, {&values});
  builder.input(named.tag(builder.scope()), "tag");
  builder.input(values_of(builder.graph(), values), "values");
  builder.attrs(HistogramSummaryAttrs{builder.scope().substr(0, builder.scope().size() - 1)});
  return add_summary_to_collections(builder.output(), options.collections);
}

}  // namespace summary
}  // namespace towerflow
