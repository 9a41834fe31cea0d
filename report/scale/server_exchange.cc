// Simulates a step whose variables are in the memory of hosts.
#include <algorithm>

#include "report/scale/exchange.h"

namespace towerflow::report {
namespace {

class ServerSimulation {
 public:
  explicit ServerSimulation(const SimulatedStep& step)
      : step_(step),
        network_(step.cluster, step.towers),
        hosts_(step.cluster.hosts(step.towers)),
        variables_(step.profile.gradients.size()),
        host_free_(static_cast<std::size_t>(hosts_)),
        read_(static_cast<std::size_t>(step.towers)) {
    const int servers = step.options.servers > 0 ? std::min(step.options.servers, hosts_) : hosts_;
    // Each variable goes to the server with the fewest bytes so far, in the order of creation.
    std::vector<double> load(static_cast<std::size_t>(servers), 0);
    for (std::size_t i = variables_.size(); i-- > 0;) {
      const auto least = std::min_element(load.begin(), load.end());
      variables_[i].server = static_cast<int>(least - load.begin()) * hosts_ / servers;
      variables_[i].missing_in_host.assign(host_free_.size(), 0);
      *least += step.profile.gradients[i].bytes;
    }
    for (int tower = 0; tower < step.towers; ++tower) {
      for (Variable& variable : variables_) {
        ++variable.missing_in_host[static_cast<std::size_t>(network_.host_of(tower))];
      }
    }
    contributions_ = step.options.add_in_host ? hosts_ : step.towers;
    for (Variable& variable : variables_) variable.missing = contributions_;
  }

  SimulatedEnd run() {
    if (step_.options.read_at_start) {
      // In the order in which the forward pass needs them.
      for (int i = count(); i-- > 0;) send_variable(i, {});
    } else {
      for (int tower = 0; tower < step_.towers; ++tower) compute(tower, {}, 0);
    }
    while (const auto next = events_.take()) handle(next->second, next->first);
    result_.messages = network_.busiest();
    return result_;
  }

 private:
  struct Variable {
    int server = 0;                    // the host that holds it
    int missing = 0;                   // gradients before it is updated
    std::vector<int> missing_in_host;  // per host: gradients before their sum leaves it
  };
  enum class Kind { ready, in_host, added, at_server, updated, back_in_host, back };
  struct Event {
    Kind kind;
    int variable, place;  // a tower or a host
  };
  /// The read that delays a tower most.
  struct Read {
    int missing = -1;
    Moment delaying{};
    double delay = 0, needed = 0;
  };

  int count() const { return static_cast<int>(variables_.size()); }
  const ProfiledGradient& gradient(int variable) const {
    return step_.profile.gradients[static_cast<std::size_t>(variable)];
  }
  Variable& at(int variable) { return variables_[static_cast<std::size_t>(variable)]; }

  void end(const Moment& moment) {
    if (moment.time > result_.end.time) result_.end = moment;
  }

  void send(int variable, int from, int to, const Moment& moment, Event event) {
    events_.send(from, to, gradient(variable).bytes, moment, 0, event);
  }

  /// Plans when the gradients of a tower are ready that has had to wait until `from` for what its
  /// computation needs at `needed`.
  void compute(int tower, const Moment& from, double needed) {
    const double pace = step_.pace[static_cast<std::size_t>(tower)];
    const auto moment = [&](double at) {
      return from.after((at - needed) * pace, PathTime::compute);
    };
    for (int i = 0; i < count(); ++i) {
      events_.add(moment(gradient(i).ready), {Kind::ready, i, tower});
    }
    end(moment(step_.profile.compute));
  }

  /// Lets the memory of a host work on a gradient.
  void work(int host, double passes, const Event& then, const Moment& moment) {
    Moment& free = host_free_[static_cast<std::size_t>(host)];
    if (moment.time > free.time) free = moment;
    free = free.after(passes * gradient(then.variable).bytes / step_.cluster.host_memory,
                      PathTime::memory);
    events_.add(free, then);
  }

  void handle(const Event& event, const Moment& moment) {
    const int variable = event.variable, server = at(variable).server;
    switch (event.kind) {
      case Kind::ready: {
        const int to = step_.options.add_in_host ? network_.host_of(event.place) : server;
        const Kind kind = step_.options.add_in_host ? Kind::in_host : Kind::at_server;
        return send(variable, event.place, network_.memory_of(to), moment, {kind, variable, to});
      }
      case Kind::in_host: {
        auto& missing = at(variable).missing_in_host;
        if (--missing[static_cast<std::size_t>(event.place)] > 0) return;
        const int towers = std::min(step_.cluster.towers_per_host, step_.towers);
        return work(event.place, towers > 1 ? towers + 1 : 0, {Kind::added, variable, event.place},
                    moment);
      }
      case Kind::added:
        return send(variable, network_.memory_of(event.place), network_.memory_of(server), moment,
                    {Kind::at_server, variable, server});
      case Kind::at_server:
        if (--at(variable).missing > 0) return;
        return work(server, contributions_ + kUpdatePasses - 1, {Kind::updated, variable, server},
                    moment);
      case Kind::updated:
        if (step_.options.read_at_start) return end(moment);
        return send_variable(variable, moment);
      case Kind::back_in_host:
        return send_to_towers(variable, event.place, network_.memory_of(event.place), moment);
      case Kind::back:
        if (step_.options.read_at_start) return read(event, moment);
        return end(moment);
    }
  }

  void send_variable(int variable, const Moment& moment) {
    const int from = network_.memory_of(at(variable).server);
    for (int host = 0; host < hosts_; ++host) {
      if (step_.options.add_in_host) {
        send(variable, from, network_.memory_of(host), moment,
             {Kind::back_in_host, variable, host});
      } else {
        send_to_towers(variable, host, from, moment);
      }
    }
  }

  void send_to_towers(int variable, int host, int from, const Moment& moment) {
    const int first = host * step_.cluster.towers_per_host;
    const int last = std::min(first + step_.cluster.towers_per_host, step_.towers);
    for (int tower = first; tower < last; ++tower) {
      send(variable, from, tower, moment, {Kind::back, variable, tower});
    }
  }

  /// A tower has read a variable; with the last, its computation is determined.
  void read(const Event& event, const Moment& moment) {
    Read& read = read_[static_cast<std::size_t>(event.place)];
    if (read.missing < 0) read.missing = count();
    const double needed = gradient(event.variable).needed;
    const double pace = step_.pace[static_cast<std::size_t>(event.place)];
    const double delay = moment.time - needed * pace;
    if (delay > read.delay) read = {read.missing, moment, delay, needed};
    if (--read.missing == 0) compute(event.place, read.delaying, read.needed);
  }

  const SimulatedStep& step_;
  Network network_;
  const int hosts_;
  int contributions_ = 0;  // to each update
  std::vector<Variable> variables_;
  std::vector<Moment> host_free_;
  std::vector<Read> read_;
  EventQueue<Event> events_{network_};
  SimulatedEnd result_;
};

}  // namespace

SimulatedEnd simulate_parameter_server(const SimulatedStep& step) {
  return ServerSimulation(step).run();
}

}  // namespace towerflow::report
