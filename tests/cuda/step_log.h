// The recorded calls of a training step, as text that is the same in every run.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace towerflow::testing {

/// A call that concerns one stream.
struct LoggedCall {
  std::string name;                    ///< "cudaMemcpyAsync"
  std::vector<std::string> arguments;  ///< as in the log
  std::string text;                    ///< "copy 1024 bytes from pinned 1 to memory 2"
  bool in_graph = false;               ///< done by the graph that the stream launches before it
};

/// The calls of a step, each stream's in order, and inside of graphs what they do. A new value of a
/// variable goes to a device after the work there that reads the old one. If the host knows that
/// this has ended, the copy's stream does not wait for it: such waits are left out, since they
/// differ from run to run.
class StepLog {
 public:
  /// `before` are the calls before the step, in which handles of cuDNN get their streams and graphs
  /// are captured; `step` those of the step, as cuda::Recorder gives them.
  StepLog(const std::vector<std::string>& before, const std::vector<std::string>& step);

  /// The calls of each stream in their order, streams in the order of their creation.
  const std::map<int, std::vector<LoggedCall>>& streams() const { return streams_; }
  /// How often each call was made that concerns no stream.
  const std::map<std::string, int>& others() const { return others_; }
  /// How often a call is made in all streams, by the host or in a graph.
  int count(const std::string& name) const;
  /// How many calls the host makes that put something into a stream.
  int made_by_host() const;
  /// Counts, then a line for each call, by stream. Events and memory have numbers in the order in
  /// which their stream uses them first: other streams may be ahead or behind.
  std::string text() const;

 private:
  void learn(const std::string& line);
  std::optional<int> stream_of(const std::vector<std::string>& parts) const;
  void add(const std::string& line, bool in_graph = false);
  void describe(std::vector<LoggedCall>& calls);

  std::map<std::string, int> dnn_streams_;                    // by the handle's name
  std::map<std::string, std::vector<std::string>> captures_;  // by stream: lines under capture
  std::map<std::string, std::vector<std::string>> graphs_;    // by the name of a graph
  std::map<int, std::vector<LoggedCall>> streams_;
  std::map<std::string, int> others_;
  std::set<std::string> in_graphs_;            // events that graphs record
  std::map<std::string, std::string> events_;  // "event 2 of stream 1", by the name in the log
};

}  // namespace towerflow::testing
