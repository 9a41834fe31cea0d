#pragma once

#include <vector>

#include "dataset/dataset.h"
#include "dataset/dataset_iterator.h"

namespace towerflow::data {

/// Returns a dataset of the rows of the tensors.
Dataset slices_dataset(const Structure& structure, const std::vector<Tensor>& components,
                       Site site);
/// Returns its instance for values. Throws InvalidArgumentError unless they have equally many rows.
DatasetInstance slices_instance(const std::vector<Array>& values);

}  // namespace towerflow::data
