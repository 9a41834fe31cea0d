#include "train/summary/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/attr_value.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/family.h"
#include "train/summary/attr_proto.h"
#include "train/summary/graph_def.pb.h"
#include "train/summary/summary.pb.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

/// A SummaryMetadata whose plugin_data has the plugin_name "text".
const std::string kTextMetadata("\x0a\x06\x0a\x04text", 8);

/// Returns the TensorProto of an operand.
std::string serialized_tensor(const TensorDesc& desc, const LaunchArgs& args) {
  Array value(desc.dtype, desc.shape);
  const auto copy = [&]<class T>() {
    std::copy_n(args.input<T>(1), value.elements(), value.data<T>());
  };
  if (desc.dtype == DType::string) {
    copy.template operator()<std::string>();
  } else {
    dispatch_dtype(desc.dtype, copy);
  }
  proto::AttrValue proto;
  write_attr(AttrValue(std::move(value)), proto);
  return proto.tensor().SerializeAsString();
}

void require_scalar(const KernelRequest& request, std::size_t input, const char* what) {
  const Shape& shape = request.inputs[input].shape;
  if (shape.rank() == 0) return;
  throw errors::InvalidArgumentError(fmt::format("{} must be scalar, not {}", what, shape.text()));
}

std::unique_ptr<PreparedKernel> tensor_summary_kernel(const KernelRequest& request) {
  require_scalar(request, 0, "tag");
  require_scalar(request, 2, "serialized_summary_metadata");
  return function_kernel([desc = request.inputs[1]](const LaunchArgs& args) {
    proto::Summary summary;
    proto::Summary::Value& value = *summary.add_value();
    value.set_tag(*args.input<std::string>(0));
    value.set_tensor(serialized_tensor(desc, args));
    value.set_metadata(*args.input<std::string>(2));
    summary.SerializeToString(args.output<std::string>(0));
  });
}

}  // namespace

static void register_text_summary_ops(OpRegistry& registry) {
  registry.add(
      {.name = "TensorSummaryV2",
       .inputs = {"tag: string", "tensor: T", "serialized_summary_metadata: string"},
       .outputs = {"summary: string"},
       .shape = [](InferenceContext& context) { context.add_output(DType::string, Shape{}); },
       .gradient = NoGradient{"a summary is a string"}});
}

static void register_text_summary_kernels(KernelTable& table) {
  table.add({.op = "TensorSummaryV2",
             .label = "protobuf",
             .accepts = {},
             .prepare = tensor_summary_kernel});
}

OpFamily text_summary_family() {
  return {.ops = register_text_summary_ops, .kernels = register_text_summary_kernels};
}

namespace summary {

Tensor text(const std::string& name, const Tensor& tensor, TextOptions options, Site site) {
  if (tensor.dtype() != DType::string) {
    throw ValueError(fmt::format("Expected tensor {} to have dtype string, got {}", tensor.name(),
                                 dtype_name(tensor.dtype())),
                     {.site = site});
  }
  const SummaryName named(name, "", site);
  const Operand given(tensor, site);
  OpBuilder builder("TensorSummaryV2", named.base, site, {&given});
  builder.input(named.tag(builder.scope()), "tag")
      .input(given, "tensor")
      .input(kTextMetadata, "serialized_summary_metadata");
  return add_summary_to_collections(builder.output(), options.collections);
}

}  // namespace summary
}  // namespace towerflow
