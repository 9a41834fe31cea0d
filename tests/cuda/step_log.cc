#include "tests/cuda/step_log.h"

#include <fmt/format.h>

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

/// Names of calls that put own kernels and those of libraries into a stream.
constexpr const char* kLaunch = "cudaLaunchKernelExC";
constexpr const char* kProduct = "cublasLtMatmul";
constexpr const char* kGraph = "cudnnBackendExecute";

}  // namespace

StepLog::StepLog(const std::vector<std::string>& before, const std::vector<std::string>& step) {
  for (const std::vector<std::string>* lines : {&before, &step}) {
    for (const std::string& line : *lines) {
      const auto parts = parts_of(line);
      if (parts[0] != "cudnnSetStream") continue;
      dnn_streams_[parts[1]] = number_after(parts[2], "stream ").value_or(0);
    }
  }
  for (const std::string& line : step) add(line);
  // Records first: waits name the events of other streams.
  for (auto& [stream, calls] : streams_) {
    Numbers numbers;
    bool checks_data = false;
    for (const LoggedCall& call : calls) {
      checks_data |= call.name == kLaunch && call.arguments[3].find("Sparse") != std::string::npos;
      if (call.name != "cudaEventRecord") continue;
      if (checks_data) late_events_.insert(call.arguments[0]);
      events_[call.arguments[0]] =
          fmt::format("{} of stream {}", numbers.of(call.arguments[0]), stream);
    }
  }
  for (auto& [stream, calls] : streams_) {
    std::erase_if(calls, [&](const LoggedCall& call) {
      return call.name == "cudaStreamWaitEvent" && late_events_.contains(call.arguments[1]);
    });
    describe(calls);
  }
}

void StepLog::add(const std::string& line) {
  const auto parts = parts_of(line);
  const std::string& name = parts[0];
  const std::vector<std::string> arguments(parts.begin() + 1, parts.end() - 1);
  std::optional<int> stream;
  for (const std::string& argument : arguments) {
    if (const auto number = number_after(argument, "stream ")) stream = number;
  }
  if (name == kGraph) stream = dnn_streams_.at(arguments[0]);
  if (stream && name != "cudnnSetStream") {
    streams_[*stream].push_back({.name = name, .arguments = arguments, .text = {}});
  } else {
    ++others_[name];
  }
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

std::string StepLog::text() const {
  std::string text = fmt::format(
      "{} launches, {} products by cuBLASLt, {} graphs of cuDNN, {} copies, {} memsets, {} "
      "records, "
      "{} waits\n",
      count(kLaunch), count(kProduct), count(kGraph), count("cudaMemcpyAsync"),
      count("cudaMemsetAsync"), count("cudaEventRecord"), count("cudaStreamWaitEvent"));
  for (const auto& [stream, calls] : streams_) {
    text += fmt::format("\nstream {}\n", stream);
    for (const LoggedCall& call : calls) text += "  " + call.text + "\n";
  }
  return text;
}

}  // namespace towerflow::testing
