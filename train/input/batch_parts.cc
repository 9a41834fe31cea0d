#include "train/input/batch_parts.h"

#include <fmt/format.h>

#include "core/graph/constant.h"
#include "ops/array/cast.h"
#include "ops/data_flow/padding_queue.h"
#include "ops/math/binary.h"
#include "train/queue_runner.h"
#include "train/summary/scalar.h"

namespace towerflow::train {
namespace {

/// Returns the shape of one example's component.
Shape shape_of(const Tensor& tensor, bool many, Site site) {
  const Shape& shape = tensor.shape();
  if (!many) return shape;
  if (shape.rank() == 0) {
    throw ValueError(fmt::format("Shape {} must have rank at least 1", shape.text()),
                     {.site = site});
  }
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

void check_known(const Shape& shape, const Tensor& tensor, bool many, Site site) {
  if (shape.fully_known()) return;
  throw ValueError(
      fmt::format("All shapes must be fully defined: {} has the shape {}{}", tensor.name(),
                  tensor.shape().text(),
                  many ? ", of which all but the first dimension count" : ""),
      {.site = site,
       .node = tensor.op().name(),
       .op = tensor.op().type(),
       .hint = "tensor.set_shape({..}) sets a shape that the graph cannot infer; examples that "
               "differ in size need tf::train::batch with {.dynamic_pad = true}"});
}

std::vector<Operand> operands_of(const std::vector<Tensor>& tensors, Site site) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor, site);
  return operands;
}

/// Adds a summary of `elements` as a fraction of `share`.
void add_summary(const std::string& name, const Tensor& elements, std::int64_t share, Site site) {
  const Tensor count = cast(elements, float32, {}, site);
  summary::scalar(name, Operand(count, site) * Operand(1.0 / static_cast<double>(share), site), {},
                  site);
}

}  // namespace

void check_positive(const char* what, std::int64_t value, Site site) {
  if (value < 1) {
    throw ValueError(fmt::format("{} must be at least 1, got {}", what, value), {.site = site});
  }
}

std::vector<DType> common_dtypes(const TensorLists& lists, Site site) {
  std::vector<DType> dtypes;
  for (const Tensor& tensor : lists[0]) dtypes.push_back(tensor.dtype());
  for (const auto& list : lists) {
    if (list.size() != dtypes.size()) {
      throw ValueError(fmt::format("every list gives the components of one example: the first has "
                                   "{} tensors, another one {}",
                                   dtypes.size(), list.size()),
                       {.site = site});
    }
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      if (list[i].dtype() == dtypes[i]) continue;
      throw TypeError(fmt::format("Expected types to be consistent: {} vs. {}.",
                                  dtype_name(dtypes[i]), dtype_name(list[i].dtype())),
                      {.site = site});
    }
  }
  return dtypes;
}

std::vector<Shape> common_shapes(const TensorLists& lists, bool many, bool padded, Site site) {
  for (const auto& list : lists) {
    for (const Tensor& tensor : list) {
      if (tensor.shape().has_rank()) continue;
      throw ValueError(
          fmt::format("Cannot infer Tensor's rank: {}", tensor.name()),
          {.site = site, .hint = "set_shape sets a shape that the graph cannot infer"});
    }
  }
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    shapes.push_back(shape_of(lists[0][i], many, site));
    for (const auto& list : lists) {
      const Shape other = shape_of(list[i], many, site);
      if (shapes.back().compatible(other)) continue;
      throw ValueError(
          fmt::format("Shapes {} and {} are not compatible", shapes.back().text(), other.text()),
          {.site = site});
    }
    if (!padded) check_known(shapes.back(), lists[0][i], many, site);
  }
  return shapes;
}

void add_keep_input_constant(Graph& graph, Site site) {
  make_constant(graph, Array::scalar(true), "Const", site);
}

void add_enqueue_runner(const QueueBase& queue, const TensorLists& lists, bool many, int threads,
                        Site site) {
  std::vector<Operation> enqueues;
  for (const auto& list : lists) {
    const OperandList values(operands_of(list, site));
    const Operation enqueue =
        many ? queue.enqueue_many(values, {}, site) : queue.enqueue(values, {}, site);
    enqueues.insert(enqueues.end(), static_cast<std::size_t>(threads), enqueue);
  }
  add_queue_runner(QueueRunner(queue, std::move(enqueues), {}, site));
}

QueueBase make_batch_queue(std::int64_t capacity, std::vector<DType> dtypes,
                           std::vector<Shape> shapes, bool dynamic_pad,
                           const std::string& shared_name, Site site) {
  if (dynamic_pad) {
    return PaddingFIFOQueue(capacity, std::move(dtypes), std::move(shapes),
                            {.shared_name = shared_name}, site);
  }
  return FIFOQueue(capacity, std::move(dtypes),
                   {.shapes = std::move(shapes), .shared_name = shared_name}, site);
}

void add_fullness_summary(const QueueBase& queue, std::int64_t capacity, Site site) {
  add_summary(fmt::format("fraction_of_{}_full", capacity), queue.size({}, site), capacity, site);
}

void add_fullness_summary_above(const QueueBase& queue, std::int64_t capacity, std::int64_t kept,
                                Site site) {
  const std::int64_t share = capacity - kept;
  const Tensor above = Operand(queue.size({}, site), site) - Operand(kept, site);
  add_summary(fmt::format("fraction_over_{}_of_{}_full", kept, share),
              maximum(Operand(0, site), above, {}, site), share, site);
}

Components take_batch(const QueueBase& queue, std::int64_t batch_size, bool allow_smaller,
                      const NameScope& scope, Site site) {
  const Operand n(batch_size, site);
  return allow_smaller ? queue.dequeue_up_to(n, {.name = scope.name()}, site)
                       : queue.dequeue_many(n, {.name = scope.name()}, site);
}

}  // namespace towerflow::train
