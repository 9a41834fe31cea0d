#include "train/input/batch_join.h"

#include <fmt/format.h>

#include "train/input/batch_parts.h"

namespace towerflow::train {
namespace {

template <class Options>
Graph& checked_lists(const TensorLists& lists, const Options& options, const char* what,
                     Site site) {
  if (lists.empty()) throw ValueError("Expected at least one set of tensors", {.site = site});
  if (lists[0].empty()) {
    throw ValueError(fmt::format("Expected at least one tensor in {}().", what), {.site = site});
  }
  check_positive("batch_size", options.batch_size, site);
  return lists[0][0].graph();
}

}  // namespace

Components batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                      BatchJoinOptions options, Site site) {
  Graph& graph = checked_lists(tensors_list, options, "batch_join", site);
  const NameScope scope(graph, options.name.empty() ? "batch_join" : options.name, site);
  add_keep_input_constant(graph, site);
  std::vector<DType> dtypes = common_dtypes(tensors_list, site);
  if (options.shapes.empty()) {
    options.shapes = common_shapes(tensors_list, options.enqueue_many, options.dynamic_pad, site);
  }
  const QueueBase queue = make_batch_queue(options.capacity, std::move(dtypes), options.shapes,
                                           options.dynamic_pad, options.shared_name, site);
  add_enqueue_runner(queue, tensors_list, options.enqueue_many, 1, site);
  add_fullness_summary(queue, options.capacity, site);
  return take_batch(queue, options.batch_size, options.allow_smaller_final_batch, scope, site);
}

Components shuffle_batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                              ShuffleBatchJoinOptions options, Site site) {
  Graph& graph = checked_lists(tensors_list, options, "shuffle_batch_join", site);
  const NameScope scope(graph, options.name.empty() ? "shuffle_batch_join" : options.name, site);
  add_keep_input_constant(graph, site);
  const std::int64_t kept = options.min_after_dequeue;
  if (options.capacity <= kept) {
    throw ValueError(fmt::format("capacity {} must be bigger than min_after_dequeue {}.",
                                 options.capacity, kept),
                     {.site = site});
  }
  std::vector<DType> dtypes = common_dtypes(tensors_list, site);
  if (options.shapes.empty()) {
    options.shapes = common_shapes(tensors_list, options.enqueue_many, false, site);
  }
  const RandomShuffleQueue queue(
      options.capacity, kept, std::move(dtypes),
      {.shapes = options.shapes, .seed = options.seed, .shared_name = options.shared_name}, site);
  add_enqueue_runner(queue, tensors_list, options.enqueue_many, 1, site);
  add_fullness_summary_above(queue, options.capacity, kept, site);
  return take_batch(queue, options.batch_size, options.allow_smaller_final_batch, scope, site);
}

}  // namespace towerflow::train
