#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/scale/simulate.h"
#include "report/scale/time_queue.h"

namespace towerflow::report {

/// One step to simulate, with the computing times of its towers.
struct SimulatedStep {
  const StepProfile& profile;
  const Cluster& cluster;
  const ScaleOptions& options;
  int towers;
  std::vector<double> pace;  ///< of each tower: by how much its computation is longer
};

/// When a simulated step ends, and for how long its busiest link carried messages.
struct SimulatedEnd {
  Moment end{};
  double messages = 0;
};

/// The passes over memory that an update takes, as shares of the gradient's size: momentum reads a
/// gradient, reads and writes a variable and its slot.
inline constexpr double kUpdatePasses = 5;

/// Returns the moment at which a gradient of a tower is ready.
inline Moment gradient_ready(const SimulatedStep& step, int tower, double ready) {
  return Moment{}.after(ready * step.pace[static_cast<std::size_t>(tower)], PathTime::compute);
}

/// Replicated towers average their gradients among themselves.
SimulatedEnd simulate_all_reduce(const SimulatedStep& step);
/// Hosts hold the variables.
SimulatedEnd simulate_parameter_server(const SimulatedStep& step);

/// Events in the order of their times, and of their addition where these are equal.
template <class Event>
class EventQueue {
 public:
  explicit EventQueue(Network& network) : network_(network) {}

  void add(const Moment& moment, Event event) {
    Record& record = new_record(event);
    record.path = moment.path;
    times_.add(moment.time, last_);
  }
  /// Adds an event for the arrival of a message that is sent at `moment`, `delay` seconds of work
  /// in memory after it.
  void send(int from, int to, double bytes, const Moment& moment, double delay, Event event) {
    Record& record = new_record(event);
    record.transit = network_.route(from, to, bytes);
    record.delay = delay;
    record.travels = true;
    move(last_, moment);
  }
  /// Returns the next event and its moment; nothing if there are no more.
  std::optional<std::pair<Moment, Event>> take() {
    while (!times_.empty()) {
      const auto [time, number] = times_.take();
      Record& record = records_[number];
      const Moment moment{time, record.path};
      if (record.travels) {
        move(number, moment);
        continue;
      }
      free_.push_back(number);
      return std::pair(moment, record.event);
    }
    return std::nullopt;
  }

 private:
  struct Record {
    Event event;
    bool travels = false;  // a message that goes on, not the event itself
    PathTime path{};
    double delay = 0;
    Network::Transit transit{};
  };

  Record& new_record(const Event& event) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(records_.size()));
      records_.push_back({event});
    }
    last_ = free_.back();
    free_.pop_back();
    records_[last_].event = event;
    records_[last_].travels = false;
    return records_[last_];
  }
  void move(std::uint32_t number, Moment moment) {
    Record& record = records_[number];
    if (network_.advance(record.transit, moment)) {
      record.travels = false;
      moment = moment.after(record.delay, PathTime::memory);
    }
    record.path = moment.path;
    times_.add(moment.time, number);
  }

  Network& network_;
  TimeQueue times_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_;  // numbers of records whose event was taken
  std::uint32_t last_ = 0;
};

}  // namespace towerflow::report
