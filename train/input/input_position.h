#pragma once

#include <vector>

#include "ops/data_flow/queue.h"
#include "train/saveable.h"

namespace towerflow::train {

/// Returns a saveable for the input position of a queue, under `_input/QUEUE/`: a run that is
/// stopped and resumed dequeues what it would have dequeued otherwise. The position records what
/// has been dequeued, not how far ahead the readers are: two runs that dequeued the same elements
/// save the same position.
///
/// If each element is made of one record from one reader, without random numbers, the position
/// consists of the records that a shuffle had to choose from and the place where the reader
/// continues; those records are read again from their files, which must exist unchanged. Any other
/// queue, such as one of distorted images, starts over and drops what had been dequeued, which is
/// correct if its producers start alike in every session: with seeds, and without saved state.
///
/// | key           | dtype, shape | meaning                                                      |
/// |---------------|--------------|--------------------------------------------------------------|
/// | `taken`       | int64 []     | number of elements dequeued                                  |
/// | `hole`        | int64 []     | index in `records` where the next record goes, -1 for none   |
/// | `records`     | string [n]   | "file:byte" of the records that a shuffle had to choose from |
/// | `names_taken` | int64 []     | file names that the reader had taken; -1 without a reader    |
/// | `next`        | string []    | "file:byte" where the reader continues, "" at the beginning  |
///
/// Save between steps; restore before the runners start.
///
/// errors   ValueError: no queue runner of the default graph fills the queue; in a run
///          FailedPreconditionError: restored after use; DataLossError: an impossible position in
///          the checkpoint, a record that is no longer where it was
/// source   tf.data.experimental.make_saveable_from_iterator, for TF 1.x's queues
Saveable make_saveable_from_queue(const QueueBase& queue);

/// Returns a saveable for each queue that a runner of the default graph fills and that feeds no
/// other runner. Every Saver without an explicit list saves those that are added to the collection
/// GraphKeys::SAVEABLE_OBJECTS.
std::vector<Saveable> input_positions();

}  // namespace towerflow::train
