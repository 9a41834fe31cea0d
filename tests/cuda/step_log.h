// The recorded calls of a training step, as text that is the same in every run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace towerflow::testing {

/// A call that concerns one stream.
struct LoggedCall {
  std::string name;                    ///< "cudaMemcpyAsync"
  std::vector<std::string> arguments;  ///< as in the log
  std::string text;                    ///< "copy 1024 bytes from pinned 1 to memory 2"
};

/// Without the waits for work that follows a kernel which checks its data (labels): as long as the
/// check is open, the host waits in place of the stream, so that they differ from run to run.
class StepLog {
 public:
  /// `before` are the calls before the step, in which handles of cuDNN get their streams; `step`
  /// those of the step, as cuda::Recorder gives them.
  StepLog(const std::vector<std::string>& before, const std::vector<std::string>& step);

  /// The calls of each stream in their order, streams in the order of their creation.
  const std::map<int, std::vector<LoggedCall>>& streams() const { return streams_; }
  /// How often each call was made that concerns no stream.
  const std::map<std::string, int>& others() const { return others_; }
  /// How often a call was made by all streams.
  int count(const std::string& name) const;
  /// Counts, then a line for each call, by stream. Events and memory have numbers in the order in
  /// which their stream uses them first: other streams may be ahead or behind.
  std::string text() const;

 private:
  void add(const std::string& line);
  void describe(std::vector<LoggedCall>& calls);

  std::map<std::string, int> dnn_streams_;  // by the handle's name
  std::map<int, std::vector<LoggedCall>> streams_;
  std::map<std::string, int> others_;
  std::set<std::string> late_events_;          // recorded after a kernel that checks its data
  std::map<std::string, std::string> events_;  // "event 2 of stream 1", by the name in the log
};

}  // namespace towerflow::testing
