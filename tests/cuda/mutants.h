// A layer that leaves out one call of the backend or exchanges two, to see whether that is found.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/table/layer.h"

namespace towerflow::testing {

/// A call that puts work into a stream. Streams are numbered in the order of their creation, and
/// calls from when the layer was armed. Waits are not the same in each run: what has ended by then
/// is not awaited. All other calls are.
struct StreamCall {
  std::size_t stream = 0;
  std::size_t number = 0;  ///< among the calls of its kind; of a wait, 0
  /// "wait", "record", "memset", "copy", "launch", "product", "convolution", "all_reduce"; of no
  /// stream, "group_start", "group_end".
  std::string kind;
  std::string what;  ///< the name of the kernel, the bytes; of a wait, for which record
  std::vector<std::string> after{};  ///< the records that the host had seen to be done
  bool can_be_late = true;           ///< whether its arguments can be kept
};

struct Mutant {
  enum class Change { none, drop, swap };  ///< swap: with the next call of the stream
  Change change = Change::none;
  StreamCall call;
};

class Mutations final : public cuda::TableLayer {
 public:
  Mutations();
  ~Mutations() override;

  const cuda::Table& on(const cuda::Table& base) override;
  void update() override;

  /// Counts calls from now on, and changes the one that `mutant` names.
  void arm(const Mutant& mutant);
  /// Makes a call that is still held back, and counts no more.
  void disarm();
  /// The calls since the layer was armed, by stream.
  std::vector<StreamCall> calls() const;
  /// Whether the call to change was made.
  bool changed() const;

  struct Calls;  // the entries of the table

 private:
  using Call = std::function<int()>;

  /// Makes a call with the status that it returns, or not. `late` has arguments of its own; empty:
  /// they cannot be kept.
  int pass(cudaStream_t stream, StreamCall call, const Call& now, Call late);
  void note_record(cudaEvent_t event, cudaStream_t stream);
  std::string record_of(cudaEvent_t event) const;
  std::string kernel_name(const void* kernel) const;
  /// Copies the arguments of a launch, whose sizes the emulation knows.
  Call late_launch(const cudaLaunchConfig_t& config, const void* kernel, void** arguments) const;

  const cuda::Table* base_ = nullptr;
  cuda::Table table_;
  mutable std::mutex mutex_;  // guards the members below
  std::map<cudaStream_t, std::size_t> streams_;
  std::size_t made_streams_ = 0;
  std::map<const void*, std::string> kernels_;
  std::map<cudnnHandle_t, cudaStream_t> dnn_streams_;
  bool armed_ = false;
  Mutant mutant_;
  std::map<std::size_t, std::vector<StreamCall>> calls_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> made_;  // calls, by stream and kind
  std::vector<std::string> seen_;               // records that the host knows to be done
  std::map<cudaEvent_t, std::string> records_;  // the last one of each event
  bool changed_ = false;
  Call held_back_;
};

bool is_of_nccl(const StreamCall& call);
/// Returns the mutants of the calls of a step: each wait, record, memset, copy and call of NCCL
/// left out, each wait behind the work that it is for, each record before the work that it is
/// about.
std::vector<Mutant> mutants_of(const std::vector<StreamCall>& calls);
/// Returns whether a mutant makes the work of two streams less ordered. Many waits and records do
/// not matter, since a later record of the same stream, or a third stream or the host, gives the
/// same order.
bool changes_order(const std::vector<StreamCall>& calls, const Mutant& mutant);
std::string to_string(const Mutant& mutant);

}  // namespace towerflow::testing
