#include "train/input/batch.h"

#include <fmt/format.h>

#include "train/input/batch_parts.h"

namespace towerflow::train {
namespace {

template <class Options>
Graph& checked_tensors(const Collected<Tensor>& tensors, const Options& options, const char* what,
                       Site site) {
  if (tensors.empty()) {
    throw ValueError(fmt::format("Expected at least one tensor in {}().", what),
                     {.site = site, .hint = tensors.explain()});
  }
  check_positive("batch_size", options.batch_size, site);
  check_positive("num_threads", options.num_threads, site);
  return tensors[0].graph();
}

}  // namespace

Components batch(const Collected<Tensor>& tensors, BatchOptions options, Site site) {
  Graph& graph = checked_tensors(tensors, options, "batch", site);
  const NameScope scope(graph, options.name.empty() ? "batch" : options.name, site);
  add_keep_input_constant(graph, site);
  const TensorLists lists(1, tensors);
  if (options.shapes.empty())
    options.shapes = common_shapes(lists, options.enqueue_many, options.dynamic_pad, site);
  const QueueBase queue =
      make_batch_queue(options.capacity, common_dtypes(lists, site), options.shapes,
                       options.dynamic_pad, options.shared_name, site);
  add_enqueue_runner(queue, lists, options.enqueue_many, options.num_threads, site);
  add_fullness_summary(queue, options.capacity, site);
  return take_batch(queue, options.batch_size, options.allow_smaller_final_batch, scope, site);
}

Components shuffle_batch(const Collected<Tensor>& tensors, ShuffleBatchOptions options, Site site) {
  Graph& graph = checked_tensors(tensors, options, "shuffle_batch", site);
  const NameScope scope(graph, options.name.empty() ? "shuffle_batch" : options.name, site);
  const std::int64_t kept = options.min_after_dequeue;
  if (options.capacity <= kept) {
    throw ValueError(fmt::format("capacity {} must be bigger than min_after_dequeue {}.",
                                 options.capacity, kept),
                     {.site = site});
  }
  add_keep_input_constant(graph, site);
  const TensorLists lists(1, tensors);
  if (options.shapes.empty())
    options.shapes = common_shapes(lists, options.enqueue_many, false, site);
  const RandomShuffleQueue queue(
      options.capacity, kept, common_dtypes(lists, site),
      {.shapes = options.shapes, .seed = options.seed, .shared_name = options.shared_name}, site);
  add_enqueue_runner(queue, lists, options.enqueue_many, options.num_threads, site);
  add_fullness_summary_above(queue, options.capacity, kept, site);
  return take_batch(queue, options.batch_size, options.allow_smaller_final_batch, scope, site);
}

}  // namespace towerflow::train
