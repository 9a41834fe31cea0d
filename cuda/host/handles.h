#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace towerflow::cuda::host {

/// Gives objects the handles that programs see. A handle is no address and never used twice, so
/// that one that was destroyed, or invented, is recognised.
template <class Handle, class Object>
class Handles {
 public:
  explicit Handles(std::uint64_t kind) : kind_(kind) {}

  Handle add(std::shared_ptr<Object> object) {
    // Addresses of this form do not exist, so that reading through a handle faults.
    const auto handle = reinterpret_cast<Handle>(
        std::uintptr_t{(std::uint64_t{0x0100} + kind_) << 48 | ++last_number() << 4});
    objects_[handle] = std::move(object);
    return handle;
  }
  /// Returns nullptr for what is no handle.
  std::shared_ptr<Object> find(const void* handle) const {
    const auto at = objects_.find(handle);
    return at != objects_.end() ? at->second : nullptr;
  }
  void remove(const void* handle) { objects_.erase(handle); }

  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  /// Goes on when the emulation starts anew, so that handles of the time before stay unknown.
  static std::uint64_t& last_number() {
    static std::uint64_t number = 0;
    return number;
  }

  std::uint64_t kind_;
  std::map<const void*, std::shared_ptr<Object>> objects_;
};

}  // namespace towerflow::cuda::host
