#pragma once

#include "dataset/function.h"

namespace towerflow::data {

/// Returns the number of threads for an argument `num_parallel_calls`. Throws InvalidArgumentError
/// unless it is positive or AUTOTUNE.
std::int64_t checked_parallel_calls(const Array& value);

/// Returns an iterator that computes a function on `threads` threads, in the order of its input.
std::unique_ptr<DatasetIterator> parallel_map(std::unique_ptr<DatasetIterator> input,
                                              std::shared_ptr<DatasetFunction> function,
                                              std::vector<Array> captured, std::int64_t threads,
                                              IteratorContext& context);

}  // namespace towerflow::data
