#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "core/graph/lane.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// Of one kind in a session: beyond it stands a mistyped number, not a machine.
inline constexpr int kMostDevices = 1024;

/// A point in a queue's order that other queues can wait for; used again in every run.
class Event {
 public:
  virtual ~Event() = default;
  virtual void reset() = 0;
};

/// Runs kernels and copies in order. Belongs to a frame; used by one run at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Copies between memory of the host and of the queue's device, or within either.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void record(Event& event) = 0;
  /// Lets later work start only after `event`; returns early when the run is cancelled.
  virtual void wait(Event& event, Cancellation& cancellation) = 0;
  /// Returns when everything enqueued so far has ended.
  virtual void synchronize() = 0;
};

/// How fast a device counts on the virtual clock: kernels at their measured cost on one core of
/// this machine times `slowdown`, copies at the rate given.
struct Pace {
  bool simulated = false;
  double slowdown = 1;
  double latency = 0;              ///< seconds, of each copy
  double bytes_per_second = 20e9;  ///< of each copy engine

  double copy_seconds(std::size_t bytes) const {
    return latency + static_cast<double>(bytes) / bytes_per_second;
  }
};

/// A kind of device: its memory, queues, events and kernels. It never sees a graph.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* type() const = 0;  ///< "CPU"
  virtual int device_count() const = 0;
  virtual MemorySpace space(int device) const = 0;
  virtual Pace pace(int device) const = 0;
  /// "simulated accelerator, 1.0 GiB": what the device is, for people.
  virtual std::string description(int device) const = 0;
  /// Memory of the device, aligned to 64 bytes. Throws ResourceExhaustedError.
  virtual std::shared_ptr<void> allocate(int device, std::size_t bytes) = 0;
  virtual std::unique_ptr<Queue> make_queue(int device, Lane lane) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
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
