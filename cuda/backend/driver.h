#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/cuda_devices.h"
#include "core/device/pinned_memory.h"
#include "cuda/backend/compiled_kernels.h"
#include "cuda/backend/group_order.h"
#include "cuda/backend/peers.h"
#include "cuda/table/layer.h"
#include "cuda/table/source.h"

namespace towerflow::cuda {

class Clique;

/// CUDA in this process: the table of a plug-in, and the kernels in it. Opened when the first
/// session asks for it and kept until the process ends, since to open it again would take long.
/// Thread-safe.
class Driver final : public PinnedObserver, public std::enable_shared_from_this<Driver> {
 public:
  /// Returns the driver for these options. Another emulation than the last one, or one after a
  /// fault, can be had once nobody uses that any more. `home` is a card that the caller uses.
  ///
  /// errors   UnavailableError: what is missing; ValueError: sessions use another emulation
  static std::shared_ptr<Driver> open(const CudaDevices& options, int home = 0);
  /// Returns what is missing for real devices as one sentence; empty if nothing is.
  static std::string missing();
  /// Puts a layer between the backend and the drivers that are opened from now on; null: none.
  ///
  /// errors   ValueError: sessions use a driver
  static void set_layer(std::shared_ptr<TableLayer> layer);

  ~Driver() override;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Table& table() const { return *table_; }
  bool emulated() const { return options_.emulated; }
  /// Returns the properties of the devices that there are.
  const std::vector<cudaDeviceProp>& devices() const { return devices_; }
  std::vector<OpenedLibrary> libraries() const { return source_->opened(); }

  /// Opens cuBLASLt, cuDNN, NCCL or NVRTC. Throws UnavailableError if it is missing.
  void need(Group group);
  /// Lets these cards copy to each other as well as they can: see PeerLinks::open.
  void link(const std::vector<int>& cards) { links_.open(*this, cards); }
  const PeerLinks& links() const { return links_; }
  /// Makes a device that of the calling thread.
  void select(int device) const;
  /// Selects a card that a session uses, if the calling thread has selected none. The thread's
  /// calls would go to card 0 otherwise, where CUDA would take half a gigabyte for this process.
  void select_any() const noexcept;

  /// Keeps groups of NCCL off the cards while the lock is held. A group is launched card by card,
  /// and its parts wait for each other. Another call in between may wait for a part, and hold what
  /// CUDA needs to launch the next part: neither would end. So groups are launched under this lock,
  /// and memory, graphs and handles are made and given back under it.
  std::unique_lock<std::mutex> hold_groups() const { return std::unique_lock(groups_mutex_); }
  /// Returns pinned host memory that all cards can use.
  std::shared_ptr<void> allocate_pinned(std::size_t bytes) const;
  /// Returns the kernel of a name. Throws InternalError if there is none.
  cudaKernel_t kernel(const std::string& name);
  CompiledKernels& compiled_kernels() { return compiled_; }
  /// Returns the communicators of NCCL for these cards, which are sorted; those who use them share
  /// them.
  std::shared_ptr<Clique> clique(const std::vector<int>& cards);
  /// What orders the groups of cliques with common cards; groups must be held.
  GroupOrder& group_order() { return group_order_; }
  /// Ends all calls of NCCL after an error of a device, for which other devices would wait.
  void abort_cliques() noexcept;
  /// Returns what the emulation found wrong in the program, empty if nothing or on real devices.
  std::string fault() const;

  /// Changes when host memory that copies of graphs may have been captured with is given back.
  std::uint64_t host_memory_version() const {
    return host_memory_version_.load(std::memory_order_acquire);
  }
  void note_host_memory_given_back() {
    host_memory_version_.fetch_add(1, std::memory_order_acq_rel);
  }

  void add_pages(void* pages, std::size_t bytes) noexcept override;
  void remove_pages(void* pages) noexcept override;

 private:
  Driver(const CudaDevices& options, int home, void* plugin, std::unique_ptr<Source> source,
         std::shared_ptr<TableLayer> layer);
  static std::shared_ptr<Driver> make(const CudaDevices& options, int home,
                                      std::shared_ptr<TableLayer> layer);
  bool fits(const CudaDevices& options) const;
  void load_kernels();

  CudaDevices options_;
  const int home_;
  void* plugin_ = nullptr;
  std::unique_ptr<Source> source_;
  std::shared_ptr<TableLayer> layer_;  // null: none
  const Table* table_ = nullptr;
  std::vector<cudaDeviceProp> devices_;
  std::vector<cudaLibrary_t> images_;
  CompiledKernels compiled_{*this};
  PeerLinks links_;
  std::atomic<std::uint64_t> host_memory_version_{0};
  std::mutex mutex_;
  std::unordered_map<std::string, cudaKernel_t> kernels_;
  mutable std::mutex groups_mutex_;
  GroupOrder group_order_{*this};
  std::mutex cliques_mutex_;
  std::map<std::vector<int>, std::weak_ptr<Clique>> cliques_;
};

}  // namespace towerflow::cuda
