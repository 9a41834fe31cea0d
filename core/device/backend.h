#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/kernel.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// A point in a queue's order that other queues can wait for; used again in every run.
class Event {
 public:
  virtual ~Event() = default;
  virtual void reset() = 0;
};

/// Runs kernels in order. Lives for one run of one plan.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void record(Event& event) = 0;
  /// Lets later work start only after `event`; returns early when the run is cancelled.
  virtual void wait(Event& event, Cancellation& cancellation) = 0;
  /// Returns when everything enqueued so far has ended.
  virtual void synchronize() = 0;
};

/// A kind of device: its memory, queues, events and kernels. It never sees a graph.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* type() const = 0;  ///< "CPU"
  virtual int device_count() const = 0;
  virtual MemorySpace space(int device) const = 0;
  virtual std::unique_ptr<Queue> make_queue(int device) = 0;
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
