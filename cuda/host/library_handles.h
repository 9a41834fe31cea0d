#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace towerflow::cuda::host {

inline std::uintptr_t next_handle_kind() {
  static std::atomic<std::uintptr_t> kinds{0};
  return ++kinds;
}

/// The objects of one kind that a library has handed out. A handle is a number that looks like a
/// pointer and is never given out again, so a handle that was destroyed, invented or belongs to
/// another kind is recognised, where the library itself would read freed memory. The process never
/// destroys its registries, since objects may need the rest of the emulation when they go.
template <typename Handle, typename Object>
class LibraryHandles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t number = next_;
    next_ += kStep;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle>(number);
  }

  /// Returns nullptr if there is no such object (any more).
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Returns whether there was such an object.
  bool remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    return objects_.erase(reinterpret_cast<std::uintptr_t>(handle)) != 0;
  }

 private:
  static constexpr std::uintptr_t kStep = 64;

  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
  // Each kind counts in a range of its own. No process maps memory there, so using a handle as a
  // pointer faults.
  std::uintptr_t next_ = (std::uintptr_t{0xA0} << 56) + (next_handle_kind() << 40);
};

}  // namespace towerflow::cuda::host
