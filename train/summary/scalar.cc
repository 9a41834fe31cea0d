#include "train/summary/scalar.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/collections.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "train/summary/summary.pb.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

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

void register_scalar_summary_ops(OpRegistry& registry) {
  registry.add(
      {.name = "ScalarSummary",
       .shape = [](InferenceContext& context) { context.add_output(DType::string, Shape{}); },
       .gradient = NoGradient{"a summary is a message"}});
}

void register_scalar_summary_kernels(KernelTable& table) {
  table.add({.op = "ScalarSummary",
             .label = "protobuf",
             .accepts =
                 [](const KernelRequest& request) {
                   const DType dtype = request.inputs[1].dtype;
                   return dtype == DType::float32 || dtype == DType::float64 || is_integer(dtype);
                 },
             .prepare = scalar_kernel});
}

namespace summary {

Tensor scalar(const std::string& name, const Operand& tensor, ScalarOptions options, Site site) {
  const std::string node = clean_tag(name, site);
  const std::string family = clean_tag(options.family, site);
  const std::string base = family.empty() ? node : family + "/" + node;
  OpBuilder builder("ScalarSummary", base, site, {&tensor});
  std::string tag = builder.scope().substr(0, builder.scope().size() - 1);
  if (!family.empty()) tag = family + "/" + tag;
  builder.input(tag, "tags").input(tensor, "values");
  const Tensor made = builder.output();
  const std::vector<std::string> collections =
      options.collections.value_or(std::vector<std::string>{GraphKeys::SUMMARIES});
  for (const std::string& key : collections) {
    made.graph().collections().add(key, CollectionItem::of(made));
  }
  return made;
}

}  // namespace summary
}  // namespace towerflow
