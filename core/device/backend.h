#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "core/device/queue.h"
#include "core/graph/collective.h"
#include "core/graph/lane.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Maximum number of devices of one kind in a session; a larger number is taken for a typo.
inline constexpr int kMaxDevices = 1024;

/// A kind of device: its memory, queues, events and kernels. It knows nothing of graphs.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* type() const = 0;  ///< "CPU"
  /// Describes one of its devices with an article: "a simulated accelerator".
  virtual const char* kind() const = 0;
  /// Returns whether its devices replace devices of type `wanted` if there are none.
  virtual bool replaces_type(const std::string& wanted) const {
    static_cast<void>(wanted);
    return false;
  }
  virtual int device_count() const = 0;
  virtual MemorySpace space(int device) const = 0;
  virtual Pace pace(int device) const = 0;
  /// Describes a device for reports: "simulated accelerator, 1.0 GiB".
  virtual std::string description(int device) const = 0;
  /// Allocates memory of the device, aligned to 64 bytes. Throws ResourceExhaustedError.
  virtual std::shared_ptr<void> allocate(int device, std::size_t bytes) = 0;
  /// Allocates host memory that the device's copy engines can access, for fed and fetched values.
  /// Aligned to 64 bytes. Throws ResourceExhaustedError.
  virtual std::shared_ptr<void> allocate_staging(std::size_t bytes);
  virtual std::unique_ptr<Queue> make_queue(int device, Lane lane) = 0;
  /// Makes an event that queues of this backend record.
  virtual std::shared_ptr<Event> make_event() = 0;
  /// Returns the kernel entry for a request, nullptr if there is none. Called before placement.
  virtual const KernelEntry* find_kernel(const KernelRequest& request) const = 0;
  /// Returns whether its kernel of _AllReduce can sum values of these devices, which differ.
  virtual Collective collective(const std::vector<int>& devices) const;
};

/// The kernels of a backend by op, in order of preference: the first that accepts a request is
/// used.
class KernelTable {
 public:
  void add(KernelEntry entry) { entries_[entry.op].push_back(std::move(entry)); }
  const KernelEntry* find(const KernelRequest& request) const {
    const auto it = entries_.find(request.op->name);
    if (it == entries_.end()) return nullptr;
    for (const KernelEntry& entry : it->second) {
      if (!entry.accepts || entry.accepts(request)) return &entry;
    }
    return nullptr;
  }
  const std::map<std::string, std::vector<KernelEntry>>& entries() const { return entries_; }

 private:
  std::map<std::string, std::vector<KernelEntry>> entries_;
};

}  // namespace towerflow
