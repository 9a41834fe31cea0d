#include "ops/array/rank_size.h"

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct RankAttrs {
  bool in_run = false;  ///< must not be computed before run time
  static constexpr auto fields = std::tuple{attr::field("_in_run", &RankAttrs::in_run)};
};

struct SizeAttrs {
  DType out_type = DType::int32;
  static constexpr auto fields = std::tuple{attr::field("out_type", &SizeAttrs::out_type)};
};

Array integer(std::int64_t value, DType dtype) {
  if (dtype == DType::int64) return Array::scalar(value);
  return Array::scalar(static_cast<std::int32_t>(value));
}

Array known_rank(const InferenceContext& context, std::span<const OutputSpec>) {
  const Shape& shape = context.shape(0);
  if (!shape.has_rank() || context.attrs<RankAttrs>().in_run) return {};
  return integer(static_cast<std::int64_t>(shape.rank()), DType::int32);
}

Array known_size(const InferenceContext& context, std::span<const OutputSpec>) {
  const Shape& shape = context.shape(0);
  if (!shape.fully_known()) return {};
  return integer(shape.elements(), context.attrs<SizeAttrs>().out_type);
}

/// Makes a kernel that writes a value known from the input's shape.
std::unique_ptr<PreparedKernel> constant_kernel(Array value) {
  return function_kernel(
      [value](const LaunchArgs& args) { std::memcpy(args.outputs[0], value.raw(), value.bytes()); },
      {.may_fail = false});
}

}  // namespace

static void register_rank_size_ops(OpRegistry& registry) {
  registry.add({.name = "Rank",
                .inputs = {"input: T"},
                .outputs = {"output: int32"},
                .attrs = attributes<RankAttrs>(),
                .shape = [](InferenceContext& c) { c.add_output(DType::int32, Shape{}); },
                .gradient = NoGradient{"a rank is an integer"},
                .constant = known_rank});
  registry.add(
      {.name = "Size",
       .inputs = {"input: T"},
       .outputs = {"output: out_type"},
       .attrs = attributes<SizeAttrs>(),
       .shape = [](InferenceContext& c) { c.add_output(c.attrs<SizeAttrs>().out_type, Shape{}); },
       .gradient = NoGradient{"a size is an integer"},
       .constant = known_size});
}

static void register_rank_size_kernels(KernelTable& table) {
  table.add(
      {.op = "Rank", .label = "shape", .accepts = {}, .prepare = [](const KernelRequest& request) {
         const auto rank = static_cast<std::int64_t>(request.inputs[0].shape.rank());
         return constant_kernel(integer(rank, DType::int32));
       }});
  table.add(
      {.op = "Size", .label = "shape", .accepts = {}, .prepare = [](const KernelRequest& request) {
         return constant_kernel(
             integer(request.inputs[0].shape.elements(), request.outputs[0].dtype));
       }});
}

OpFamily rank_size_family() {
  return {.ops = register_rank_size_ops, .kernels = register_rank_size_kernels};
}

namespace {

/// Opens the op's scope, converts a value in it, and makes a constant if `known` returns a value.
template <class Known>
Tensor add_shape_query(const char* op, const std::string& given, const Operand& input, Attrs attrs,
                       Site site, Known known) {
  Graph& graph = graph_of(input);
  const NameScope scope(graph, given.empty() ? op : given, site);
  const Tensor tensor = convert_operand(graph, input, "", std::nullopt);
  const Array value = known(tensor.shape());
  if (!value.empty()) return make_constant(graph, value, scope.name(), site);
  return graph
      .add({.op = op, .name = scope.name(), .inputs = {tensor}, .attrs = attrs, .site = site})
      .output(0);
}

}  // namespace

Tensor rank(const Operand& input, RankOptions options, Site site) {
  return add_shape_query("Rank", options.name, input, {}, site, [](const Shape& shape) {
    return shape.has_rank() ? integer(static_cast<std::int64_t>(shape.rank()), DType::int32)
                            : Array();
  });
}

Tensor runtime_rank(const Tensor& input, RankOptions options, Site site) {
  const Operand operand(input, site);
  return OpBuilder("Rank", options.name, site, {&operand})
      .input(operand, "input")
      .attrs(RankAttrs{true})
      .output();
}

Tensor size(const Operand& input, SizeOptions options, Site site) {
  return add_shape_query("Size", options.name, input, SizeAttrs{options.out_type}, site,
                         [&](const Shape& shape) {
                           if (shape.fully_known())
                             return integer(shape.elements(), options.out_type);
                           bool empty = false;
                           for (const Dim& dim : shape.dims()) empty = empty || dim == Dim(0);
                           return empty ? integer(0, options.out_type) : Array();
                         });
}

}  // namespace towerflow
