#include "train/summary/scalar.h"

#include <fmt/format.h>

#include "core/device/backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "train/summary/summary.pb.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

bool is_number(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || is_integer(dtype);
}

std::unique_ptr<PreparedKernel> scalar_kernel(const KernelRequest& request) {
  const TensorDesc& tags = request.inputs[0];
  const TensorDesc& values = request.inputs[1];
  if (tags.shape != values.shape) {
    throw errors::InvalidArgumentError(
        fmt::format("tags and values are not the same shape: {} != {}", tags.shape.text(),
                    values.shape.text()));
  }
  const std::int64_t count = values.shape.elements();
  return function_kernel([count, dtype = values.dtype](const LaunchArgs& args) {
    proto::Summary summary;
    dispatch_dtype(dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < count; ++i) {
        proto::Summary::Value& value = *summary.add_value();
        value.set_tag(args.input<std::string>(0)[i]);
        value.set_simple_value(static_cast<float>(args.input<T>(1)[i]));
      }
    });
    summary.SerializeToString(args.output<std::string>(0));
  });
}

}  // namespace

static void register_scalar_summary_ops(OpRegistry& registry) {
  registry.add({.name = "ScalarSummary",
                .inputs = {"tags: string", "values: T"},
                .outputs = {"summary: string"},
                .shape =
                    [](InferenceContext& context) {
                      if (!is_number(context.dtype(1))) {
                        context.fail_type(fmt::format("a scalar summary cannot be of dtype {}",
                                                      dtype_name(context.dtype(1))));
                      }
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{"a summary is a string"}});
}

static void register_scalar_summary_kernels(KernelTable& table) {
  table.add(
      {.op = "ScalarSummary",
       .label = "protobuf",
       .accepts = [](const KernelRequest& request) { return is_number(request.inputs[1].dtype); },
       .prepare = scalar_kernel});
}

OpFamily scalar_summary_family() {
  return {.ops = register_scalar_summary_ops, .kernels = register_scalar_summary_kernels};
}

namespace summary {

Tensor scalar(const std::string& name, const Operand& tensor, ScalarOptions options, Site site) {
  const SummaryName named(name, options.family, site);
  OpBuilder builder("ScalarSummary", named.base, site, {&tensor});
  builder.input(named.tag(builder.scope()), "tags").input(tensor, "values");
  return add_summary_to_collections(builder.output(), options.collections);
}

}  // namespace summary
}  // namespace towerflow
