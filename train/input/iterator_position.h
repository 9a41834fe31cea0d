#pragma once

#include <string>

#include "dataset/iterator.h"
#include "train/saveable.h"

namespace towerflow::train {

struct IteratorPositionOptions {
  /// Says of what the position is, such as the files and the size of a batch; saved beside it. A
  /// TrainingFolder restores the position only if it says the same.
  std::string input{};
};

/// Returns a saveable that stores how many elements an iterator has returned since it was
/// initialized. A run that restores it gets the elements that the stopped run would have got next,
/// if the dataset is the same and its shuffles have seeds.
///
/// The elements before are dropped when the first one is asked for; functions of `map` without
/// state are not computed for them. The iterator may be initialized before or after the restore,
/// but no element may be taken in between. Add the result to the collection SAVEABLE_OBJECTS, so
/// that every Saver without an explicit list saves it. Do not do so for an iterator that begins
/// anew in each evaluation. (tf.data.experimental.make_saveable_from_iterator)
Saveable make_saveable_from_iterator(const data::Iterator& iterator,
                                     IteratorPositionOptions options = {},
                                     Site site = Site::current());

}  // namespace towerflow::train
