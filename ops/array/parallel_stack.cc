#include "ops/array/parallel_stack.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/operands.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

struct ParallelConcatAttrs {
  Shape shape;
  static constexpr auto fields = std::tuple{attr::required("shape", &ParallelConcatAttrs::shape)};
};

void parallel_concat_shape(InferenceContext& context) {
  const Shape& shape = context.attrs<ParallelConcatAttrs>().shape;
  if (!shape.fully_known()) {
    context.fail(fmt::format("shape attr must be fully defined, but is {}", shape.text()));
  }
  if (shape.rank() == 0 || shape.size(0) != static_cast<std::int64_t>(context.num_inputs())) {
    context.fail(
        fmt::format("the shape of {} parts cannot be {}", context.num_inputs(), shape.text()));
  }
  std::vector<Dim> dims = shape.dims();
  dims[0] = Dim(1);
  const Shape part(std::move(dims));
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (!part.compatible(context.shape(i))) {
      context.fail(fmt::format("Shapes must be equal, but are {} and {}: value {} of {}",
                               part.text(), context.shape(i).text(), i, context.num_inputs()));
    }
  }
  context.add_output(context.dtype(0), shape);
}

/// Each input is one row of the output.
std::unique_ptr<PreparedKernel> parallel_concat_kernel(const KernelRequest& request) {
  const Shape& out = request.outputs[0].shape;
  std::int64_t row = 1;
  for (std::size_t d = 1; d < out.rank(); ++d) row *= out.size(d);
  return strided_copy_kernel(request, request.inputs.size(),
                             [row](std::size_t part, StridedCopy& copy) {
                               copy.input = static_cast<int>(part);
                               copy.to_offset = static_cast<std::int64_t>(part) * row;
                               copy.add(row, 1, 1);
                             });
}

}  // namespace

static void register_parallel_stack_ops(OpRegistry& registry) {
  registry.add({.name = "ParallelConcat",
                .inputs = {"values: N * T"},
                .outputs = {"output: T"},
                .attrs = attributes<ParallelConcatAttrs>(),
                .shape = parallel_concat_shape,
                .gradient = NoGradient{"TensorFlow defines no gradient for a parallel stack; "
                                       "tf::stack has one",
                                       false}});
}

static void register_parallel_stack_kernels(KernelTable& table) {
  table.add(
      {.op = "ParallelConcat", .label = "copy", .accepts = {}, .prepare = parallel_concat_kernel});
}

OpFamily parallel_stack_family() {
  return {.ops = register_parallel_stack_ops, .kernels = register_parallel_stack_kernels};
}

Tensor parallel_stack(const OperandList& values, NameOption options, Site site) {
  if (values.size() == 0) {
    throw ValueError("a parallel stack of no tensors has no shape",
                     {.site = site, .op = "ParallelConcat", .hint = values.why_empty()});
  }
  Graph& graph = graph_of(values);
  const NameScope scope(graph, options.name.empty() ? "parallel_stack" : options.name, site);
  const Tensor first = convert_operand(graph, values.items()[0], "Const", std::nullopt);
  Shape shape = Shape::unknown();
  if (first.shape().has_rank()) {
    std::vector<Dim> dims = first.shape().dims();
    dims.insert(dims.begin(), Dim(values.size()));
    shape = Shape(std::move(dims));
  }
  std::vector<Operand> rows;
  for (const Operand& value : values.items()) {
    rows.emplace_back(expand_dims(value, 0, {}, site), site);
  }
  const OperandList list(rows);
  const NameScope inner(graph, "ParallelConcat", site);
  check_same_dtype(list, "ParallelConcat", "values", site);
  std::vector<Tensor> inputs;
  for (const Operand& row : rows) inputs.push_back(*row.tensor());
  return graph
      .add({.op = "ParallelConcat",
            .name = inner.name(),
            .inputs = inputs,
            .attrs = ParallelConcatAttrs{shape},
            .site = site})
      .output(0);
}

}  // namespace towerflow
