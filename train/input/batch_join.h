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
  bool enqueue_many = false;    ///< tensors hold several examples, one a row
  std::vector<Shape> shapes{};  ///< of an example's components; those of the first list when empty
  bool dynamic_pad = false;     ///< as in BatchOptions
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// Batches of the examples that several sources give, a list of components and a thread each. The
/// usual sources are a reader each on one queue of file names, so that several files are read at
/// once.
///
/// The order is the same in every run: the lists take turns, an example of the first, of the
/// second, .. (a run of `enqueue_many` counts as one), and each takes its file names in its turn; a
/// list whose input has ended is passed over. A list takes its turn where its one reader or queue
/// gives it something, and where it enqueues when it has several sources or shares its own.
/// TensorFlow takes whichever comes first.
///
/// shapes   tensors [...] -> [batch_size, ...], as those of `batch`
/// errors   ValueError: no lists, lists of different lengths, shapes that do not agree, and those
/// of
///          `batch`; TypeError: dtypes that differ between the lists
/// source   tf.train.batch_join
Components batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                      BatchJoinOptions options, Site site = Site::current());

struct ShuffleBatchJoinOptions {
  std::int64_t batch_size = 0;         ///< required
  std::int64_t capacity = 0;           ///< required; more than min_after_dequeue
  std::int64_t min_after_dequeue = 0;  ///< examples that each draw chooses from, less one
  std::optional<std::int64_t> seed{};
  bool enqueue_many = false;
  std::vector<Shape> shapes{};
  bool allow_smaller_final_batch = false;
  std::string shared_name{};
  std::string name{};
};

/// As `batch_join`, in random order: through a RandomShuffleQueue.
///
/// errors   besides those of `batch_join` ValueError: a capacity that is not above
///          min_after_dequeue
/// source   tf.train.shuffle_batch_join
Components shuffle_batch_join(const std::vector<std::vector<Tensor>>& tensors_list,
                              ShuffleBatchJoinOptions options, Site site = Site::current());

}  // namespace towerflow::train
