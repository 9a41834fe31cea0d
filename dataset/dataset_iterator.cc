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
    try {
      if (!next(dropped, pull)) break;
    } catch (const errors::CancelledError&) {
      throw;
    } catch (const errors::OpError&) {
      // An element that fails counts as one.
    }
  }
  return done;
}

}  // namespace towerflow::data
