#pragma once

#include <vector>

#include "dataset/dataset.h"
#include "dataset/iterator.h"
#include "parallel/batch_size.h"

namespace towerflow::parallel::types {

/// Which examples of a dataset a tower reads. With each way every example goes to one tower.
enum class Dealing {
  in_turn,     ///< example k of a step to tower k % N
  contiguous,  ///< a step's first examples to tower 0, the next ones to tower 1, and so on
  /// Each tower reads a share of its own through an iterator of its own: the dataset's examples
  /// i, i + N, .. for tower i. The towers' threads do not wait for each other; the ends of the
  /// shares do not fill up a batch together.
  own_shard,
};

struct DealOptions {
  Dealing dealing = Dealing::in_turn;
  /// Whether to leave out a last batch that is smaller. If not, the last step's batches are
  /// smaller, and empty for some towers if there are fewer examples than towers: average by
  /// AveragePolicy::weighted_mean with `DealtExamples::counts`.
  bool drop_remainder = true;
  int prefetch = 1;  ///< batches that are read ahead; 0: none
};

/// What each tower reads in a step.
struct DealtExamples {
  std::vector<data::Element> towers;      ///< batches, of each tower
  std::vector<Tensor> counts;             ///< [], int64: the number of examples of each tower
  std::vector<data::Iterator> iterators;  ///< one, or with Dealing::own_shard one a tower
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Batches a dataset of examples and deals each step's batch to the towers, which read each example
/// once a pass whatever the timing. All nodes are on the CPU. The position of the iterators is
/// saved with them (tf::data::make_saveable_from_iterator).
///
/// shapes   a component [..] -> [n, ..] in each tower, n = batch / num_towers; n is unknown without
///          `drop_remainder`
/// errors   ValueError: less than one tower; with `drop_remainder`, a batch that the towers cannot
///          divide evenly; a negative `prefetch`; what Dataset throws
/// source   Dealing::in_turn: cifar10_main.input_fn; Dealing::contiguous: inception_train.train
DealtExamples deal(const data::Dataset& examples, GlobalBatch batch, int num_towers,
                   const DealOptions& options = {}, Site site = Site::current());

}  // namespace towerflow::parallel
