#include "data/batch.h"

#include <fmt/format.h>

#include "core/graph/constant.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "train/queue_runner.h"
#include "train/summary/scalar.h"

namespace towerflow::train {
namespace {

void need_positive(const char* what, std::int64_t value, Site site) {
  if (value < 1) {
    throw ValueError(fmt::format("{} must be at least 1, got {}", what, value), {.site = site});
  }
}

std::vector<DType> dtypes_of(const std::vector<Tensor>& tensors) {
  std::vector<DType> dtypes;
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  return dtypes;
}

/// Shapes of one example's components.
std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors, bool many, Site site) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) {
    const Shape& shape = tensor.shape();
    if (!shape.has_rank()) {
      throw ValueError(fmt::format("Cannot infer Tensor's rank: {}", tensor.name()),
                       {.site = site, .hint = "set_shape tells the graph what it cannot know"});
    }
    if (many && shape.rank() == 0) {
      throw ValueError(fmt::format("Shape {} must have rank at least 1", shape.text()),
                       {.site = site});
    }
    shapes.push_back(many ? Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()))
                          : shape);
  }
  return shapes;
}

std::vector<Operand> operands_of(const std::vector<Tensor>& tensors, Site site) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor, site);
  return operands;
}

void fill(const QueueBase& queue, const std::vector<Tensor>& tensors, bool many, int threads,
          Site site) {
  const OperandList values(operands_of(tensors, site));
  const Operation enqueue =
      many ? queue.enqueue_many(values, {}, site) : queue.enqueue(values, {}, site);
  add_queue_runner(QueueRunner(
      queue, std::vector<Operation>(static_cast<std::size_t>(threads), enqueue), {}, site));
}

/// `fraction`, the part of the queue that is in use, in `share`s.
void add_summary(const std::string& name, const Tensor& elements, std::int64_t share, Site site) {
  const Tensor count = cast(elements, float32, {}, site);
  summary::scalar(name, Operand(count, site) * Operand(1.0 / static_cast<double>(share), site), {},
                  site);
}

template <class Options>
Components take(const QueueBase& queue, const Options& options, const std::string& scope,
                Site site) {
  const Operand n(options.batch_size, site);
  return options.allow_smaller_final_batch ? queue.dequeue_up_to(n, {.name = scope}, site)
                                           : queue.dequeue_many(n, {.name = scope}, site);
}

/// What both functions check and make first: TensorFlow converts its argument keep_input.
template <class Options>
void begin(Graph& graph, const std::vector<Tensor>& tensors, Options& options, Site site) {
  make_constant(graph, Array::scalar(true), "Const", site);
  if (options.shapes.empty()) options.shapes = shapes_of(tensors, options.enqueue_many, site);
}

template <class Options>
Graph& checked(const std::vector<Tensor>& tensors, const Options& options, const char* what,
               Site site) {
  if (tensors.empty()) {
    throw ValueError(fmt::format("Expected at least one tensor in {}().", what), {.site = site});
  }
  need_positive("batch_size", options.batch_size, site);
  need_positive("num_threads", options.num_threads, site);
  need_positive("capacity", options.capacity, site);
  return tensors[0].graph();
}

}  // namespace

Components batch(const std::vector<Tensor>& tensors, BatchOptions options, Site site) {
  Graph& graph = checked(tensors, options, "batch", site);
  const NameScope scope(graph, options.name.empty() ? "batch" : options.name, site);
  begin(graph, tensors, options, site);
  const FIFOQueue queue(options.capacity, dtypes_of(tensors),
                        {.shapes = options.shapes, .shared_name = options.shared_name}, site);
  fill(queue, tensors, options.enqueue_many, options.num_threads, site);
  add_summary(fmt::format("fraction_of_{}_full", options.capacity), queue.size({}, site),
              options.capacity, site);
  return take(queue, options, scope.name(), site);
}

Components shuffle_batch(const std::vector<Tensor>& tensors, ShuffleBatchOptions options,
                         Site site) {
  Graph& graph = checked(tensors, options, "shuffle_batch", site);
  const NameScope scope(graph, options.name.empty() ? "shuffle_batch" : options.name, site);
  const std::int64_t kept = options.min_after_dequeue;
  if (options.capacity <= kept) {
    throw ValueError(fmt::format("capacity {} must be bigger than min_after_dequeue {}.",
                                 options.capacity, kept),
                     {.site = site});
  }
  begin(graph, tensors, options, site);
  const RandomShuffleQueue queue(
      options.capacity, kept, dtypes_of(tensors),
      {.shapes = options.shapes, .seed = options.seed, .shared_name = options.shared_name}, site);
  fill(queue, tensors, options.enqueue_many, options.num_threads, site);
  const std::int64_t share = options.capacity - kept;
  const Tensor above = Operand(queue.size({}, site), site) - Operand(kept, site);
  add_summary(fmt::format("fraction_over_{}_of_{}_full", kept, share),
              maximum(Operand(0, site), above, {}, site), share, site);
  return take(queue, options, scope.name(), site);
}

}  // namespace towerflow::train
