#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "core/device/queue.h"
#include "core/graph/lane.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Of one kind in a session: beyond it stands a mistyped number, not a machine.
inline constexpr int kMostDevices = 1024;

/// A kind of device: its memory, queues, events and kernels. It never sees a graph.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* type() const = 0;  ///< "CPU"
  /// One of its devices in words: "a simulated accelerator".
  virtual const char* kind() const = 0;
  /// Whether its devices are taken for those of type `wanted` where there are none.
  virtual bool stands_in_for(const std::string& wanted) const {
    static_cast<void>(wanted);
    return false;
  }
  virtual int device_count() const = 0;
  virtual MemorySpace space(int device) const = 0;
  virtual Pace pace(int device) const = 0;
  /// "simulated accelerator, 1.0 GiB": what the device is, for people.
  virtual std::string description(int device) const = 0;
  /// Memory of the device, aligned to 64 bytes. Throws ResourceExhaustedError.
  virtual std::shared_ptr<void> allocate(int device, std::size_t bytes) = 0;
  /// Memory of the host that the device's copy engines reach: what is fed and fetched passes
  /// through it. Aligned to 64 bytes. Throws ResourceExhaustedError.
  virtual std::shared_ptr<void> allocate_staging(std::size_t bytes);
  virtual std::unique_ptr<Queue> make_queue(int device, Lane lane) = 0;
  /// An event that queues of this backend record.
  virtual std::shared_ptr<Event> make_event() = 0;
  /// The entry that takes the request, nullptr when there is none. Asked before placement.
  virtual const KernelEntry* find_kernel(const KernelRequest& request) const = 0;
};

/// The kernels of a backend by op, in order of preference: the first that accepts is taken.
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
