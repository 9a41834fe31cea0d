#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/data_flow/queue.h"

namespace towerflow::train {

struct BatchJoinOptions {
  std::int64_t batch_size = 0;  ///< required
  std::int64_t capacity = 32;   ///< of the queue, in examples; -1 sets no limit
  bool enqueue_many = false;    ///< tensors contain several examples, one per row
  std::vector<Shape> shapes{};  ///< of an example's components; if empty, those of the first list
  bool dynamic_pad = false;     ///< as in BatchOptions
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// Returns batches of the examples of several sources, each a list of components with its own
/// thread. The usual sources are readers on a shared queue of file names, so that several files are
/// read at once.
///
/// The order is the same in every run: the lists take turns, one example each (one run each with
/// `enqueue_many`), and also take their file names in turn; a list whose input has ended is
/// skipped. A list takes its turn when it reads from its reader or queue, or when it enqueues if it
/// has several sources or shares its source. TensorFlow takes whichever example comes first.
///
/// shapes   tensors [...] -> [batch_size, ...], as for `batch`
/// errors   ValueError: no lists, lists of different lengths, incompatible shapes, and those of
///          `batch`; TypeError: dtypes that differ between the lists
/// source   tf.train.batch_join
Components batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                      BatchJoinOptions options, Site site = Site::current());

struct ShuffleBatchJoinOptions {
  std::int64_t batch_size = 0;         ///< required
  std::int64_t capacity = 0;           ///< required; more than min_after_dequeue
  std::int64_t min_after_dequeue = 0;  ///< each draw chooses from this many examples plus one
  std::optional<std::int64_t> seed{};
  bool enqueue_many = false;
  std::vector<Shape> shapes{};
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// Like `batch_join`, but in random order, through a RandomShuffleQueue.
///
/// errors   those of `batch_join`; ValueError: a capacity that is not above min_after_dequeue
/// source   tf.train.shuffle_batch_join
Components shuffle_batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                              ShuffleBatchJoinOptions options, Site site = Site::current());

}  // namespace towerflow::train
