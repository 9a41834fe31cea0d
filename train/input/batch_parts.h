#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/scopes.h"
#include "train/input/batch.h"

// Helpers shared by batch, shuffle_batch and their join versions.
namespace towerflow::train {

/// Several sources of examples, each a list of components.
using TensorLists = std::vector<std::vector<Tensor>>;

/// Throws ValueError naming `what` if `value` is below 1.
void check_positive(const char* what, std::int64_t value, Site site);

/// Returns the dtypes of an example's components. Throws TypeError if the lists differ, ValueError
/// if they have different lengths.
std::vector<DType> common_dtypes(const TensorLists& lists, Site site);
/// Returns the shapes of an example's components: those of the first list, with which all others
/// must be compatible. With `many` examples per tensor, drops the first dimension. Throws
/// ValueError naming a tensor of unknown rank or, unless the queue is `padded`, of unknown size.
std::vector<Shape> common_shapes(const TensorLists& lists, bool many, bool padded, Site site);

/// Adds the constant that TensorFlow makes of its argument keep_input, before the other nodes.
void add_keep_input_constant(Graph& graph, Site site);

/// Adds an enqueue operation for each list and a runner with `threads` threads for each of them.
void add_enqueue_runner(const QueueBase& queue, const TensorLists& lists, bool many, int threads,
                        Site site);

/// Creates the queue of `batch` and `batch_join`.
QueueBase make_batch_queue(std::int64_t capacity, std::vector<DType> dtypes,
                           std::vector<Shape> shapes, bool dynamic_pad,
                           const std::string& shared_name, Site site);

/// Add a summary of how full a queue is: in all, and beyond the `kept` examples that stay behind.
void add_fullness_summary(const QueueBase& queue, std::int64_t capacity, Site site);
void add_fullness_summary_above(const QueueBase& queue, std::int64_t capacity, std::int64_t kept,
                                Site site);

/// Returns the next batch, dequeued by a node with the name of `scope`.
Components take_batch(const QueueBase& queue, std::int64_t batch_size, bool allow_smaller,
                      const NameScope& scope, Site site);

}  // namespace towerflow::train
