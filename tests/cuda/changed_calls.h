#pragma once

#include "cuda/table/layer.h"

namespace towerflow::testing {

/// A layer that forwards all calls except those that a test changes. Entries of a table are
/// functions without state, so only one such layer can exist at a time.
class ChangedCalls : public cuda::TableLayer {
 public:
  const cuda::Table& on(const cuda::Table& base) final {
    base_ = &base;
    update();
    return table_;
  }
  void update() final {
    table_ = *base_;
    change(table_);
  }

 protected:
  /// Called whenever the base has got more entries; those of a library that is not open are null.
  virtual void change(cuda::Table& table) = 0;

  static inline const cuda::Table* base_ = nullptr;

 private:
  cuda::Table table_;
};

}  // namespace towerflow::testing
