#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cuda/host/control.h"
#include "cuda/host/handles.h"
#include "cuda/host/memory.h"
#include "cuda/host/order.h"
#include "cuda/host/stream.h"

namespace towerflow::cuda::host {

struct Capture;
struct Event;
struct Executable;
struct Graph;
struct LoadedKernel;
struct LoadedLibrary;

using Lock = std::unique_lock<std::mutex>;

/// The emulation: devices and all that programs make on them. Members are used with the mutex
/// locked, but for `memory`, which has a lock of its own.
class State {
 public:
  explicit State(const Options& options);
  /// Waits until all streams have done their work.
  ~State();

  const Options options;
  std::mutex mutex;
  /// Notified when a point is reached that a thread waits for, and when a stream ends.
  std::condition_variable point_reached;
  Memory memory;
  Order order;
  Clock host;  ///< what the host waited for
  std::optional<Fault> fault;
  bool fault_is_known = false;  ///< whether a call has returned its status

  Handles<cudaStream_t, Stream> streams{1};
  Handles<cudaEvent_t, Event> events{2};
  Handles<cudaGraph_t, Graph> graphs{3};
  Handles<cudaGraphExec_t, Executable> executables{4};
  Handles<cudaGraphNode_t, std::pair<std::shared_ptr<Graph>, std::size_t>> nodes{5};
  Handles<cudaLibrary_t, LoadedLibrary> libraries{6};
  Handles<cudaKernel_t, LoadedKernel> kernels{7};
  std::set<std::shared_ptr<Capture>> captures;  ///< that have begun and not ended
  std::set<std::pair<int, int>> peers;          ///< devices that may access another
  int streams_made = 0, graphs_made = 0;        ///< numbers for names
  std::vector<Stream*> running;                 ///< streams with a thread, also of graphs

  /// Returns stream 0 of a device.
  Stream& default_stream(int device);
  /// Returns nullptr if a handle is no stream. Null is the default stream of the current device.
  Stream* find_stream(cudaStream_t handle);
  /// Lets a stream end when its work is done.
  void close(std::shared_ptr<Stream> stream);
  /// Takes the closed streams that have ended, to be destroyed without the lock or with it.
  std::vector<std::shared_ptr<Stream>> take_ended();
  /// Waits until all of these points are reached.
  void await(const std::vector<PointPtr>& points, Lock& lock);
  /// Waits until a point is reached; from then on the host is behind it. Returns the status of the
  /// fault if there is one.
  cudaError_t wait_for(const PointPtr& point, Lock& lock);
  /// Waits until all work is done that streams have. The host is behind it from then on only if it
  /// is told to be with `host.join`.
  void drain(Lock& lock);
  /// Notes the first fault.
  void set_fault(Fault found);
  /// Returns the status of the fault, which all calls return from then on; cudaSuccess if none.
  cudaError_t learn_fault();

  /// Gives a stream a component of the clocks: a new one, or that of a stream that has ended, if
  /// the host is behind all of its work.
  std::size_t take_component();
  void give_back_component(std::size_t component, std::uint64_t count);

 private:
  std::size_t components_ = 0;
  std::vector<std::pair<std::size_t, std::uint64_t>> unused_components_;  // with their last counts
  std::map<int, std::shared_ptr<Stream>> default_streams_;
  std::vector<std::shared_ptr<Stream>> closed_;
};

/// The state of the process, with the default options if nothing else was asked for.
State& state();

}  // namespace towerflow::cuda::host
