#include "train/input/input_producer.h"

#include <fmt/format.h>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/gather.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/random/random_ops.h"
#include "ops/variables/count_up_to.h"
#include "train/queue_runner.h"
#include "train/summary/scalar.h"

namespace towerflow::train {
namespace {

constexpr const char* kNotNull = "string_input_producer requires a non-null input tensor";

bool is_empty_list(const Operand& operand) {
  if (operand.nested() == nullptr || operand.nested()->holds_tensor()) return false;
  return to_array(*operand.nested()).elements() == 0;
}

/// Opens the scope `name`, or the default one; enters a name that ends with '/' again.
NameScope scope_of(Graph& graph, const std::string& name, const char* otherwise, Site site) {
  return NameScope(graph, name.empty() ? otherwise : name, site);
}

/// Returns the options of `input_producer` for scalars, with a summary of how full the queue is.
template <class Options>
InputProducerOptions scalar_producer(const Options& options, const NameScope& scope) {
  return {.element_shape = Shape{},
          .num_epochs = options.num_epochs,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .capacity = options.capacity,
          .shared_name = options.shared_name,
          .summary_name = fmt::format("fraction_of_{}_full", options.capacity),
          .name = scope.name()};
}

}  // namespace

Tensor limit_epochs(const Operand& tensor, LimitEpochsOptions options, Site site) {
  Graph& graph = graph_of(tensor);
  if (!options.num_epochs) return convert_operand(graph, tensor, "tensor", std::nullopt);
  if (*options.num_epochs <= 0) {
    throw ValueError(fmt::format("num_epochs must be > 0 not {}.", *options.num_epochs),
                     {.site = site});
  }
  const NameScope scope = scope_of(graph, options.name, "limit_epochs", site);
  const Tensor zero = make_constant(graph, Array::scalar(std::int64_t{0}), "Const", site);
  const Variable epochs(zero,
                        {.trainable = false,
                         .collections = std::vector<std::string>{GraphKeys::LOCAL_VARIABLES},
                         .name = "epochs"},
                        site);
  const Tensor counter = count_up_to(epochs, *options.num_epochs, {}, site);
  const auto after = control_dependencies({Fetch(counter)});
  return identity(tensor, {.name = scope.name()}, site);
}

FIFOQueue input_producer(const Operand& input_tensor, InputProducerOptions options, Site site) {
  Graph& graph = graph_of(input_tensor);
  const NameScope scope = scope_of(graph, options.name, "input_producer", site);
  Tensor rows = convert_operand(graph, input_tensor, "input_tensor", std::nullopt);
  Shape element = Shape::unknown();
  if (rows.shape().has_rank() && rows.shape().rank() > 0) {
    element = Shape(std::vector<Dim>(rows.shape().dims().begin() + 1, rows.shape().dims().end()));
  }
  if (options.element_shape) {
    const auto merged = element.merged(*options.element_shape);
    if (!merged) {
      throw ValueError(fmt::format("Shapes {} and {} are not compatible", element.text(),
                                   options.element_shape->text()),
                       {.site = site});
    }
    element = *merged;
  }
  if (!element.fully_known()) {
    throw ValueError(
        fmt::format("Either `input_tensor` must have a fully defined shape or `element_shape` must "
                    "be specified: {} has the shape {}",
                    rows.name(), rows.shape().text()),
        {.site = site,
         .node = rows.op().name(),
         .op = rows.op().type(),
         .hint = "tensor.set_shape({..}) sets a shape that the graph cannot infer"});
  }
  if (options.shuffle) rows = random_shuffle(rows, {.seed = options.seed}, site);
  rows = limit_epochs(rows, {.num_epochs = options.num_epochs}, site);
  const FIFOQueue queue(options.capacity, {rows.dtype()},
                        {.shapes = {element},
                         .shared_name = options.shared_name,
                         .name = options.name.empty() ? "FIFOQueueV2" : options.name},
                        site);
  const Operation enqueue = queue.enqueue_many(rows, {}, site);
  add_queue_runner(QueueRunner(queue, {enqueue}, {.cancel_op = options.cancel_op}, site));
  if (!options.summary_name.empty()) {
    const Tensor full = cast(queue.size({}, site), float32, {}, site);
    summary::scalar(
        options.summary_name,
        Operand(full, site) * Operand(1.0 / static_cast<double>(options.capacity), site), {}, site);
  }
  return queue;
}

FIFOQueue string_input_producer(const Operand& string_tensor, StringInputProducerOptions options,
                                Site site) {
  if (is_empty_list(string_tensor)) throw ValueError(kNotNull, {.site = site});
  Graph& graph = graph_of(string_tensor);
  const NameScope scope = scope_of(graph, options.name, "input_producer", site);
  const Tensor strings = convert_operand(graph, string_tensor, "", DType::string);
  const Tensor count = size(strings, {}, site);
  const Operation not_empty =
      Assert(greater(count, Operand(0, site), {}, site), {Operand(kNotNull, site)}, {}, site);
  const Tensor checked = [&] {
    const auto after = control_dependencies({Fetch(not_empty)});
    return identity(strings, {}, site);
  }();
  InputProducerOptions producer = scalar_producer(options, scope);
  producer.cancel_op = options.cancel_op;
  return input_producer(checked, std::move(producer), site);
}

FIFOQueue range_input_producer(const Operand& limit, RangeInputProducerOptions options, Site site) {
  const NameScope scope = scope_of(graph_of(limit), options.name, "input_producer", site);
  const Tensor numbers = range(limit, {}, site);
  return input_producer(Operand(numbers, site), scalar_producer(options, scope), site);
}

Components slice_input_producer(const OperandList& tensor_list, SliceInputProducerOptions options,
                                Site site) {
  const Tensor* inside = tensor_list.any_tensor();
  Graph& graph = inside != nullptr ? inside->graph() : get_default_graph();
  const NameScope scope = scope_of(graph, options.name, "input_producer", site);
  if (tensor_list.size() == 0) {
    throw ValueError("Expected at least one tensor in slice_input_producer().", {.site = site});
  }
  std::vector<Tensor> tensors;
  for (const Operand& operand : tensor_list.items()) {
    tensors.push_back(convert_operand(graph, operand, "", std::nullopt));
  }
  const Tensor rows = take_index(shape(Operand(tensors[0], site), {}, site), 0, site);
  const FIFOQueue queue = range_input_producer(Operand(rows, site),
                                               {.num_epochs = options.num_epochs,
                                                .shuffle = options.shuffle,
                                                .seed = options.seed,
                                                .capacity = options.capacity,
                                                .shared_name = options.shared_name},
                                               site);
  const Components index = queue.dequeue({}, site);
  Components slices;
  for (const Tensor& tensor : tensors) {
    slices.push_back(gather(Operand(tensor, site), Operand(index[0], site), {}, site));
  }
  return slices;
}

}  // namespace towerflow::train
