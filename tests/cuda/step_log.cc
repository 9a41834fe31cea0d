#include "tests/cuda/step_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace towerflow::testing {
namespace {

/// Divides "name(a, b, c) = 0"; the status comes last.
std::vector<std::string> parts_of(const std::string& line) {
  const std::size_t open = line.find('('), close = line.rfind(") = ");
  std::vector<std::string> parts{line.substr(0, open)};
  for (std::size_t at = open + 1; at <= close;) {
    const std::size_t end = std::min(line.find(", ", at), close);
    parts.push_back(line.substr(at, end - at));
    at = end + 2;
  }
  parts.push_back(line.substr(close + 4));
  return parts;
}

std::optional<int> number_after(const std::string& text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  return std::atoi(text.c_str() + word.size());
}

/// Numbers in the order of first use, by kind: "memory 7 + 64" becomes "memory 1".
class Numbers {
 public:
  std::string of(const std::string& place) {
    const std::string name = place.substr(0, place.find(" + "));
    const std::string kind = name.substr(0, name.find(' '));
    if (kind == name) return name;  // "host", "null"
    const auto [known, is_new] = numbers_.try_emplace(name, 0);
    if (is_new) known->second = ++last_[kind];
    return fmt::format("{} {}", kind, known->second);
  }

 private:
  std::map<std::string, int> numbers_, last_;
};

bool copies_to_device(const LoggedCall& call) {
  return call.name == "cudaMemcpyAsync" && call.arguments[0].starts_with("memory") &&
         !call.arguments[1].starts_with("memory");
}

/// Names of calls that put own kernels and those of libraries into a stream.
constexpr const char* kLaunch = "cudaLaunchKernelExC";
constexpr const char* kProduct = "cublasLtMatmul";
constexpr const char* kConvolution = "cudnnBackendExecute";
constexpr const char* kReplay = "cudaGraphLaunch";

}  // namespace

StepLog::StepLog(const std::vector<std::string>& before, const std::vector<std::string>& step) {
  for (const std::vector<std::string>* lines : {&before, &step}) {
    for (const std::string& line : *lines) learn(line);
  }
  for (const std::string& line : step) add(line);
  // Records first: waits name the events of other streams.
  for (auto& [stream, calls] : streams_) {
    Numbers numbers;
    for (const LoggedCall& call : calls) {
      if (call.name != "cudaEventRecord") continue;
      if (call.in_graph) in_graphs_.insert(call.arguments[0]);
      events_[call.arguments[0]] =
          fmt::format("{} of stream {}", numbers.of(call.arguments[0]), stream);
    }
  }
  for (auto& [stream, calls] : streams_) {
    const bool uploads = std::any_of(calls.begin(), calls.end(), copies_to_device);
    std::erase_if(calls, [&](const LoggedCall& call) {
      return uploads && call.name == "cudaStreamWaitEvent" &&
             in_graphs_.contains(call.arguments[1]);
    });
    describe(calls);
  }
}

/// Learns the streams of handles of cuDNN, and what graphs do.
void StepLog::learn(const std::string& line) {
  const auto parts = parts_of(line);
  const std::string& name = parts[0];
  const auto of = [](const std::string& written) { return written.substr(written.find(' ') + 1); };
  if (name == "cudnnSetStream") {
    dnn_streams_[parts[1]] = number_after(parts[2], "stream ").value_or(0);
  } else if (name == "cudaStreamBeginCapture") {
    captures_[parts[1]] = {};
  } else if (name == "cudaStreamEndCapture") {
    graphs_[of(parts[2])] = captures_.at(parts[1]);
    captures_.erase(parts[1]);
  } else if (name == "cudaGraphInstantiate") {
    graphs_[of(parts[1])] = graphs_.at(parts[2]);
  } else if (name == "cudaGraphExecUpdate") {
    graphs_[parts[1]] = graphs_.at(parts[2]);
  } else if (!captures_.empty()) {
    if (const auto stream = stream_of(parts)) {
      const auto open = captures_.find(fmt::format("stream {}", *stream));
      if (open != captures_.end()) open->second.push_back(line);
    }
  }
}

/// Returns the number of the stream that a call is about.
std::optional<int> StepLog::stream_of(const std::vector<std::string>& parts) const {
  if (parts[0] == kConvolution) return dnn_streams_.at(parts[1]);
  std::optional<int> stream;
  for (const std::string& part : parts) {
    if (const auto number = number_after(part, "stream ")) stream = number;
  }
  return stream;
}

void StepLog::add(const std::string& line, bool in_graph) {
  const auto parts = parts_of(line);
  std::string name = parts[0];
  if (name == "cudaEventRecordWithFlags") name = "cudaEventRecord";  // external, in a graph
  const std::vector<std::string> arguments(parts.begin() + 1, parts.end() - 1);
  const std::optional<int> stream = stream_of(parts);
  if (!stream || name == "cudnnSetStream") {
    ++others_[name];
    return;
  }
  streams_[*stream].push_back(
      {.name = name, .arguments = arguments, .text = {}, .in_graph = in_graph});
  if (name != kReplay) return;
  for (const std::string& inside : graphs_.at(arguments[0])) add(inside, true);
}

void StepLog::describe(std::vector<LoggedCall>& calls) {
  Numbers memory;
  for (LoggedCall& call : calls) {
    const auto& a = call.arguments;
    if (call.name == "cudaStreamWaitEvent") {
      const auto known = events_.find(a[1]);
      call.text = "wait for " + (known == events_.end() ? "an event of before" : known->second);
    } else if (call.name == "cudaEventRecord") {
      call.text = "record " + events_[a[0]].substr(0, events_[a[0]].find(" of"));
    } else if (call.name == "cudaMemcpyAsync") {
      call.text =
          fmt::format("copy {} bytes from {} to {}", a[2], memory.of(a[1]), memory.of(a[0]));
    } else if (call.name == "cudaMemsetAsync") {
      call.text = fmt::format("set {} bytes of {} to {}", a[2], memory.of(a[0]), a[1]);
    } else if (call.name == kLaunch) {
      call.text = fmt::format("launch {}, {}", a[3].substr(a[3].find(' ') + 1), a[0]);
    } else if (call.name == kReplay) {
      call.text = "launch a graph:";
    } else if (call.name == "cudaStreamSynchronize") {
      call.text = "synchronize";
    } else {
      call.text = call.name;
    }
  }
}

int StepLog::count(const std::string& name) const {
  int found = 0;
  for (const auto& [stream, calls] : streams_) {
    for (const LoggedCall& call : calls) found += call.name == name ? 1 : 0;
  }
  return found;
}

int StepLog::made_by_host() const {
  int made = 0;
  for (const auto& [stream, calls] : streams_) {
    made += static_cast<int>(std::count_if(calls.begin(), calls.end(),
                                           [](const LoggedCall& call) { return !call.in_graph; }));
  }
  return made;
}

std::string StepLog::text() const {
  std::string text = fmt::format(
      "{} calls of the host, {} of them graphs, do\n{} launches, {} products by cuBLASLt, {} "
      "graphs of cuDNN, {} copies, {} memsets, {} "
      "records, "
      "{} waits\n",
      made_by_host(), count(kReplay), count(kLaunch), count(kProduct), count(kConvolution),
      count("cudaMemcpyAsync"), count("cudaMemsetAsync"), count("cudaEventRecord"),
      count("cudaStreamWaitEvent"));
  for (const auto& [stream, calls] : streams_) {
    text += fmt::format("\nstream {}\n", stream);
    for (const LoggedCall& call : calls) {
      text += (call.in_graph ? "    " : "  ") + call.text + "\n";
    }
  }
  return text;
}

}  // namespace towerflow::testing
