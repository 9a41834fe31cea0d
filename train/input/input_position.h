#pragma once

#include <vector>

#include "ops/data_flow/queue.h"
#include "train/saveable.h"

namespace towerflow::train {

/// The position of the input behind a queue, as something that a Saver saves and restores under
/// `_input/QUEUE/`: a run that is stopped and continued dequeues what it would have dequeued. It
/// says what has been dequeued, not how far the readers are ahead: two runs that have dequeued the
/// same save the same.
///
/// For a queue whose elements are made of one record each, by one reader, the position is what a
/// shuffle had to choose from and where the reader goes on; those records are read again from their
/// files, which must be there unchanged. Any other queue starts over and drops what had been
/// dequeued, which is right when its producers begin alike in every session: with seeds, and
/// without state that is saved.
///
/// | key           | dtype, shape | what                                                        |
/// |---------------|--------------|-------------------------------------------------------------|
/// | `taken`       | int64 []     | elements dequeued                                           |
/// | `hole`        | int64 []     | the place among the records that comes next, -1 for none    |
/// | `records`     | string [n]   | "file:byte" of the records that a shuffle had to choose from |
/// | `names_taken` | int64 []     | file names the reader had taken; -1 without one             |
/// | `next`        | string []    | "file:byte" where it reads on, "" at the beginning          |
///
/// Save between steps; restore before the runners start.
///
/// errors   ValueError: no queue runner of the default graph fills the queue; in a run
///          FailedPreconditionError: restored after use; DataLossError: a checkpoint's position
///          that cannot be, a record that is no longer where it was
/// source   tf.data.experimental.make_saveable_from_iterator, for TF 1.x's queues
Saveable make_saveable_from_queue(const QueueBase& queue);

/// One for each queue that the default graph's runners fill and that feeds no other runner.
/// `add_to_collection(GraphKeys::SAVEABLE_OBJECTS, ...)` each, and every Saver without a list of
/// its own keeps them.
std::vector<Saveable> input_positions();

}  // namespace towerflow::train
