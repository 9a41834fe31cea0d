#include "dataset/dataset_iterator.h"

#include "core/graph/error.h"

namespace towerflow::data {

void Pull::check() const {
  if (cancellation.cancelled()) throw errors::CancelledError("the iterator was cancelled");
}

std::uint64_t DatasetIterator::skip(std::uint64_t count, const Pull& pull) {
  ElementValue dropped;
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    pull.check();
    if (!next(dropped, pull)) break;
  }
  return done;
}

}  // namespace towerflow::data
