#include "train/checkpoint/save_restore.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct RestoreAttrs {
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;  ///< one per dtype, or none if only the file has them
  static constexpr auto fields = std::tuple{attr::required("dtypes", &RestoreAttrs::dtypes),
                                            attr::field("_shapes", &RestoreAttrs::shapes)};
};

constexpr std::size_t kFixedInputs = 3;  // prefix, tensor_names, shape_and_slices

/// Checks the inputs that both ops have; `tensors` is the number of tensors to save or restore.
void check_names(const InferenceContext& context, std::size_t tensors) {
  for (std::size_t i = 0; i < kFixedInputs; ++i) {
    if (context.dtype(i) != DType::string) {
      context.fail_type(
          fmt::format("prefix, tensor_names and shape_and_slices must be strings, "
                      "input {} is {}",
                      i, dtype_name(context.dtype(i))));
    }
    const Shape& shape = context.shape(i);
    const std::size_t rank = i == 0 ? 0 : 1;
    if (!shape.has_rank()) continue;
    if (shape.rank() != rank) {
      context.fail(
          fmt::format("Shape must be rank {} but is rank {}: input {}", rank, shape.rank(), i));
    }
    if (rank == 1 && shape[0].known() && shape.size(0) != static_cast<std::int64_t>(tensors)) {
      context.fail(fmt::format("{} tensors, but {} {}", tensors, shape.size(0),
                               i == 1 ? "names" : "slices"));
    }
  }
}

void save_shape(InferenceContext& context) {
  check_names(context, context.num_inputs() - kFixedInputs);
}

void restore_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<RestoreAttrs>();
  check_names(context, attrs.dtypes.size());
  for (std::size_t i = 0; i < attrs.dtypes.size(); ++i) {
    context.add_output(attrs.dtypes[i],
                       i < attrs.shapes.size() ? attrs.shapes[i] : Shape::unknown());
  }
}

}  // namespace

static void register_checkpoint_ops(OpRegistry& registry) {
  registry.add({.name = "SaveV2",
                .inputs = {"prefix: string", "tensor_names: string", "shape_and_slices: string",
                           "tensors: list(dtypes)"},
                .shape = save_shape,
                .gradient = NoGradient{"saving has no output"},
                .effect = Effect::io});
  registry.add({.name = "RestoreV2",
                .inputs = {"prefix: string", "tensor_names: string", "shape_and_slices: string"},
                .outputs = {"tensors: list(dtypes)"},
                .attrs = attributes<RestoreAttrs>(),
                .shape = restore_shape,
                .gradient = NoGradient{"a value from a file has no gradient"},
                .effect = Effect::io});
}

OpFamily save_restore_family() { return {.ops = register_checkpoint_ops}; }

Operation save_v2(const Operand& prefix, const std::vector<std::string>& tensor_names,
                  const std::vector<Tensor>& tensors, SaveOptions options, Site site) {
  const std::vector<std::string> slices(tensor_names.size());
  OpBuilder builder("SaveV2", options.name, site, {&prefix});
  return builder.input(prefix, "prefix", DType::string)
      .input(Operand(tensor_names, site), "tensor_names", DType::string)
      .input(Operand(slices, site), "shape_and_slices", DType::string)
      .inputs(tensors, "tensors")
      .build();
}

std::vector<Tensor> restore_v2(const Operand& prefix, const std::vector<RestoreSpec>& specs,
                               RestoreOptions options, Site site) {
  std::vector<std::string> names;
  RestoreAttrs attrs;
  for (const RestoreSpec& spec : specs) {
    names.push_back(spec.name);
    attrs.dtypes.push_back(spec.dtype);
    attrs.shapes.push_back(spec.shape);
  }
  const std::vector<std::string> slices(names.size());
  OpBuilder builder("RestoreV2", options.name, site, {&prefix});
  return builder.input(prefix, "prefix", DType::string)
      .input(Operand(names, site), "tensor_names", DType::string)
      .input(Operand(slices, site), "shape_and_slices", DType::string)
      .attrs(std::move(attrs))
      .build()
      .outputs();
}

}  // namespace towerflow
