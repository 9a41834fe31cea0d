#include "ops/array/placeholder.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct PlaceholderAttrs {
  DType dtype = DType::invalid;
  Shape shape = Shape::unknown();
  std::string node;  ///< its own name, for the error if it is not fed
  static constexpr auto fields = std::tuple{attr::required("dtype", &PlaceholderAttrs::dtype),
                                            attr::field("shape", &PlaceholderAttrs::shape),
                                            attr::own_name("_node", &PlaceholderAttrs::node)};
};

/// Returns the name that TensorFlow's kernels use: floating types have their C++ names.
std::string kernel_name(DType dtype) {
  if (dtype == DType::float32) return "float";
  if (dtype == DType::float64) return "double";
  return dtype_name(dtype);
}

std::string unfed(const PlaceholderAttrs& attrs) {
  std::string shape = "<unknown>";
  if (attrs.shape.has_rank()) {
    std::vector<std::string> sizes;
    for (const Dim& dim : attrs.shape.dims()) {
      sizes.push_back(dim.known() ? fmt::format("{}", dim.size()) : "?");
    }
    shape = fmt::format("[{}]", fmt::join(sizes, ","));
  }
  return fmt::format("You must feed a value for placeholder tensor '{}' with dtype {} and shape {}",
                     attrs.node, kernel_name(attrs.dtype), shape);
}

}  // namespace

static void register_placeholder_ops(OpRegistry& registry) {
  registry.add({.name = "Placeholder",
                .outputs = {"output: dtype"},
                .attrs = attributes<PlaceholderAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const auto& attrs = context.attrs<PlaceholderAttrs>();
                      attrs.shape.elements();  // throws if the shape is too large for memory
                      context.add_output(attrs.dtype, attrs.shape);
                    },
                .gradient = NoGradient{"a placeholder has no inputs"},
                // Running an unfed placeholder is an error even if nothing reads it.
                .effect = Effect::io});
}

static void register_placeholder_kernels(KernelTable& table) {
  table.add({.op = "Placeholder",
             .label = "unfed",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               const std::string message = unfed(request.attributes<PlaceholderAttrs>());
               return function_kernel([message](const LaunchArgs&) {
                 throw errors::InvalidArgumentError(
                     message, {.hint = "pass a value for it: sess.run(y, {{x, value}})"});
               });
             }});
}

OpFamily placeholder_family() {
  return {.ops = register_placeholder_ops, .kernels = register_placeholder_kernels};
}

template <class Unused>
Tensor placeholder(DType dtype, PlaceholderOptions options, Site site) {
  OpBuilder builder("Placeholder", options.name, site);
  std::string node = builder.scope();
  if (!node.empty()) node.pop_back();
  return builder.attrs(PlaceholderAttrs{dtype, options.shape, node}).output();
}
template Tensor placeholder<void>(DType, PlaceholderOptions, Site);

Tensor placeholder(DType dtype, std::initializer_list<Dim> shape, PlaceholderOptions options,
                   Site site) {
  options.shape = Shape(shape);
  return placeholder(dtype, std::move(options), site);
}

}  // namespace towerflow
