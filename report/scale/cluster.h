#pragma once

#include <array>
#include <vector>

namespace towerflow::report {

/// A way for messages in one direction.
struct LinkSpeed {
  double bytes_per_second;
  double latency;  ///< seconds from the last byte sent to the last byte received
};

/// The machines on which simulated towers run. Every link carries both directions at once.
struct Cluster {
  int towers_per_host = 8;
  LinkSpeed inside{12e9, 5e-6};      ///< of each tower to the other towers and memory of its host
  LinkSpeed between{3.125e9, 1e-5};  ///< of each host to the other hosts
  int towers_per_uplink = 1;         ///< towers that share one link to their host's memory
  double tower_memory = 500e9;       ///< bytes per second that a tower reads and writes
  double host_memory = 50e9;         ///< bytes per second that a host reads and writes
  /// As the copy engines of Towerflow's simulated accelerators: a message occupies the receiver
  /// alone, and its latency too is time of the link.
  bool receiver_copies = false;

  int hosts(int towers) const { return (towers + towers_per_host - 1) / towers_per_host; }
};

/// Throws ValueError for a number that is not positive and finite, or a negative latency.
void check(const Cluster& cluster);

/// What the time on the critical path of a step was spent on, in seconds.
struct PathTime {
  enum Part { compute, inside, between, latency, memory, parts };
  std::array<float, parts> seconds{};

  PathTime with(Part part, double more) const {
    PathTime sum = *this;
    sum.seconds[part] += static_cast<float>(more);
    return sum;
  }
  double total() const;
};

/// A moment of the simulation, and how the time until it was spent.
struct Moment {
  double time = 0;
  PathTime path{};

  /// Returns the moment `seconds` later.
  Moment after(double seconds, PathTime::Part part) const {
    return {time + seconds, path.with(part, seconds)};
  }
};

/// The links of a cluster, each of which carries one message after another. A message goes on to
/// its next link as soon as the one before begins to carry it; the network keeps what waits, so
/// that a busy receiver does not stop a sender.
class Network {
 public:
  Network(const Cluster& cluster, int towers);

  struct Link {
    const LinkSpeed* speed;
    PathTime::Part part;
    Moment free{};
    double busy = 0;
  };
  /// A message on its way.
  struct Transit {
    std::array<Link*, 4> way{};
    std::size_t links = 0, passed = 0;
    double bytes = 0, latency = 0;
    Moment end{};  ///< when the last byte leaves the links so far
  };

  /// Returns the endpoint that is the memory of a host. Those of towers are their numbers.
  int memory_of(int host) const { return towers_ + host; }
  int host_of(int endpoint) const {
    return endpoint < towers_ ? endpoint / cluster_.towers_per_host : endpoint - towers_;
  }

  Transit route(int from, int to, double bytes);
  /// Moves a message that has come to its next link at `moment`, which must not be earlier than
  /// that of the call before. Returns true and the moment of its arrival, or false and the moment
  /// at which to go on.
  bool advance(Transit& transit, Moment& moment);

  /// Returns when a tower can send the next message.
  const Moment& free(int tower) const {
    return of_towers_[static_cast<std::size_t>(2 * tower + out)].free;
  }
  /// Seconds for which the busiest link carried messages.
  double busiest() const;

 private:
  enum Direction { out, in };

  void add_way(Transit& transit, int endpoint, int other, Direction direction);
  Link& link(std::vector<Link>& links, int index, Direction direction) {
    return links[static_cast<std::size_t>(2 * index + direction)];
  }

  const Cluster cluster_;
  const int towers_;
  std::vector<Link> of_towers_, of_uplinks_, of_hosts_;  // out and in of each
};

}  // namespace towerflow::report
