#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "ops/data_flow/queue.h"

namespace towerflow::train {

struct BatchOptions {
  std::int64_t batch_size = 0;  ///< required
  int num_threads = 1;          ///< for enqueuing; the order does not depend on it
  std::int64_t capacity = 32;   ///< of the queue, in examples; -1 sets no limit
  bool enqueue_many = false;    ///< tensors contain several examples, one per row
  std::vector<Shape> shapes{};  ///< of an example's components; inferred when empty
  /// Allows examples to differ in unknown dimensions; each is padded at the end to the largest size
  /// in its batch, with zeros or empty strings.
  bool dynamic_pad = false;
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// Returns batches of the examples in `tensors`, in their order, through a FIFO queue whose runner
/// is added to QUEUE_RUNNERS. Adds a summary of how full the queue is.
///
/// shapes   tensors [...] -> [batch_size, ...]; with enqueue_many, tensors [n, ...]; the first
///          dimension is unknown with allow_smaller_final_batch
/// errors   ValueError: no tensors, shapes that are not fully known (with dynamic_pad, of unknown
///          rank), a batch_size or num_threads below 1, a capacity that is neither positive nor -1;
///          at run time OutOfRangeError: the input has ended and no full batch is left
/// source   tf.train.batch
Components batch(const Collected<Tensor>& tensors, BatchOptions options,
                 Site site = Site::current());
template <std::size_t N>
std::array<Tensor, N> batch(const Tensor (&tensors)[N], BatchOptions options,
                            Site site = Site::current()) {
  return batch(std::vector<Tensor>(tensors, tensors + N), std::move(options), site)
      .template unpack<N>();
}

struct ShuffleBatchOptions {
  std::int64_t batch_size = 0;         ///< required
  std::int64_t capacity = 0;           ///< required; more than min_after_dequeue
  std::int64_t min_after_dequeue = 0;  ///< each draw chooses from this many examples plus one
  int num_threads = 1;
  std::optional<std::int64_t> seed{};
  bool enqueue_many = false;
  std::vector<Shape> shapes{};
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// Like `batch`, but in random order, through a RandomShuffleQueue.
///
/// errors   those of `batch`; ValueError: a capacity that is not above min_after_dequeue
/// source   tf.train.shuffle_batch
Components shuffle_batch(const Collected<Tensor>& tensors, ShuffleBatchOptions options,
                         Site site = Site::current());
template <std::size_t N>
std::array<Tensor, N> shuffle_batch(const Tensor (&tensors)[N], ShuffleBatchOptions options,
                                    Site site = Site::current()) {
  return shuffle_batch(std::vector<Tensor>(tensors, tensors + N), std::move(options), site)
      .template unpack<N>();
}

}  // namespace towerflow::train
