#pragma once

#include <string>

namespace towerflow::train {

/// Whether there is a checkpoint with this prefix: its index, or the single file of TensorFlow's
/// old V1 format. (tf.train.checkpoint_exists)
bool checkpoint_exists(const std::string& checkpoint_prefix);

/// Deletes the files of a checkpoint: the index first, so that no half of one is taken for a whole,
/// then the data files and a graph that TensorFlow may have put beside them (PREFIX.meta). Files
/// that are not there are passed over; one that cannot be deleted is a warning.
/// (tf.train.remove_checkpoint)
void remove_checkpoint(const std::string& checkpoint_prefix);

}  // namespace towerflow::train
