#pragma once

#include "cuda/table/table.h"

namespace towerflow::cuda {

/// A table between the backend and that of the driver: for tests, which record calls or leave some
/// out.
class TableLayer {
 public:
  virtual ~TableLayer() = default;

  /// Returns a table that forwards to `base`. Both tables live as long as the layer.
  virtual const Table& on(const Table& base) = 0;
  /// Fills entries that the base has got meanwhile.
  virtual void update() = 0;
};

}  // namespace towerflow::cuda
