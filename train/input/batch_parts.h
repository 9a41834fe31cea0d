#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/scopes.h"
#include "train/input/batch.h"

// What batch, shuffle_batch and their joins have in common.
namespace towerflow::train {

/// Several sources of examples, a list of components each.
using TensorLists = std::vector<std::vector<Tensor>>;

/// ValueError naming `what` when it is below 1.
void need_positive(const char* what, std::int64_t value, Site site);

/// Dtypes of an example's components; TypeError where the lists differ, ValueError where one has
/// another number of components.
std::vector<DType> common_dtypes(const TensorLists& lists, Site site);
/// Shapes of an example's components: those of the first list, with which all others must agree.
/// Of `many` examples at once without the first dimension. ValueError naming a tensor of which too
/// little is known: its rank, and unless the queue is `padded` all its sizes.
std::vector<Shape> common_shapes(const TensorLists& lists, bool many, bool padded, Site site);

/// TensorFlow converts its argument keep_input first.
void make_keep_input(Graph& graph, Site site);

/// Adds an enqueue operation for each list and a runner with `threads` threads for each of them.
void fill(const QueueBase& queue, const TensorLists& lists, bool many, int threads, Site site);

/// The queue of `batch` and `batch_join`.
QueueBase make_batch_queue(std::int64_t capacity, std::vector<DType> dtypes,
                           std::vector<Shape> shapes, bool dynamic_pad,
                           const std::string& shared_name, Site site);

/// Summaries of how full a queue is: in all, and above what stays behind.
void add_fullness(const QueueBase& queue, std::int64_t capacity, Site site);
void add_fullness_above(const QueueBase& queue, std::int64_t capacity, std::int64_t kept,
                        Site site);

/// The next batch, by a node with the name of `scope`.
Components take_batch(const QueueBase& queue, std::int64_t batch_size, bool allow_smaller,
                      const NameScope& scope, Site site);

}  // namespace towerflow::train
