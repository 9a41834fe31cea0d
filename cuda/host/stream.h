#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cuda/host/order.h"
#include "cuda/host/task.h"

namespace towerflow::cuda::host {

class State;
struct Capture;

/// A thread that does tasks one after the other. All members but the destructor are called with the
/// state's mutex locked.
class Stream {
 public:
  Stream(State& state, int device, unsigned flags, std::string name);
  /// Call it after `close`, and without the lock unless the thread has ended.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Adds a task that begins after all before it in the stream, after the points, and after what
  /// the host waited for. Returns its end.
  PointPtr push(Task task, std::vector<PointPtr> points = {});

  int device() const { return device_; }
  /// Whether work of stream 0 comes before and after its own.
  bool is_blocking() const { return (flags_ & cudaStreamNonBlocking) == 0; }
  const std::string& name() const { return name_; }
  /// The end of the last task; nullptr if there was none.
  const PointPtr& last() const { return last_; }

  /// Lets the thread end after the tasks that it has.
  void close();
  /// Returns whether the thread has ended, so that the destructor does not wait.
  bool has_ended() const { return ended_; }

  /// What the stream is captured for, nullptr if it is not, and on which nodes the next one
  /// depends.
  std::shared_ptr<Capture> capture{};
  std::vector<std::size_t> capture_tail{};
  std::size_t capture_branch = 0;

 private:
  struct Entry {
    Task task;
    std::vector<PointPtr> points;
    std::shared_ptr<const Accessor> accessor;
    PointPtr end;
  };

  void work();
  void run(Entry& entry, std::unique_lock<std::mutex>& lock);

  State& state_;
  const int device_;
  const unsigned flags_;
  const std::string name_;
  const std::size_t component_;
  Clock clock_;
  PointPtr last_;
  std::deque<Entry> entries_;
  std::condition_variable wake_;
  bool closing_ = false, ended_ = false;
  std::minstd_rand random_;
  std::thread thread_;
};

}  // namespace towerflow::cuda::host
