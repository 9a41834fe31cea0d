#include "train/input/prefetch_queue.h"

#include "core/graph/scopes.h"
#include "train/input/batch_parts.h"

namespace towerflow::slim {

QueueBase prefetch_queue(const Collected<Tensor>& tensors, PrefetchQueueOptions options,
                         Site site) {
  if (tensors.empty()) {
    throw ValueError("prefetch_queue needs at least one tensor",
                     {.site = site, .hint = tensors.explain()});
  }
  train::check_positive("num_threads", options.num_threads, site);
  Graph& graph = tensors[0].graph();
  const NameScope scope(graph, options.name.empty() ? "prefetch_queue" : options.name, site);
  const train::TensorLists lists(1, tensors);
  const QueueBase queue =
      train::make_batch_queue(options.capacity, train::common_dtypes(lists, site),
                              train::common_shapes(lists, false, options.dynamic_pad, site),
                              options.dynamic_pad, options.shared_name, site);
  train::add_enqueue_runner(queue, lists, false, options.num_threads, site);
  train::add_fullness_summary(queue, options.capacity, site);
  return queue;
}

}  // namespace towerflow::slim
