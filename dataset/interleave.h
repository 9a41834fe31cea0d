#pragma once

#include <functional>
#include <memory>

#include "dataset/dataset_iterator.h"

namespace towerflow::data {

/// Begins a pass over the dataset that belongs to an element.
using OpenInner = std::function<std::unique_ptr<DatasetIterator>(ElementValue& element)>;

/// Returns an iterator over the datasets of all elements of `input`, one after another.
std::unique_ptr<DatasetIterator> flat_map_iterator(std::unique_ptr<DatasetIterator> input,
                                                   OpenInner open);

/// How datasets are read in turns.
struct InterleaveOrder {
  std::size_t cycle_length = 1;
  std::size_t block_length = 1;
};
std::unique_ptr<DatasetIterator> interleave_iterator(std::unique_ptr<DatasetIterator> input,
                                                     OpenInner open, InterleaveOrder order);

}  // namespace towerflow::data
