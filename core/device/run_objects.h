#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/device/resource_store.h"

namespace towerflow {

/// An object that lives as long as a run: a stack, a TensorArray. Its handle is its address, a
/// value of dtype resource.
class RunObject : public Resource {};

/// The objects of one run. Thread-safe.
class RunObjects {
 public:
  /// Makes an object that is destroyed when the run has ended.
  template <class T, class... Args>
  T& add(Args&&... args) {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T& object = *made;
    const std::lock_guard lock(mutex_);
    objects_.push_back(std::move(made));
    return object;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunObject>> objects_;
};

}  // namespace towerflow
