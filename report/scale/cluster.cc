#include "report/scale/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/graph/error.h"

namespace towerflow::report {

void check(const Cluster& cluster) {
  const auto check_that = [](bool holds, const char* what, double got) {
    if (!holds) {
      throw ValueError(fmt::format("{} of a cluster, got {}", what, got),
                       {.hint = "give bandwidths in bytes per second and latencies in seconds"});
    }
  };
  const auto positive = [&](double value, const char* what) {
    check_that(std::isfinite(value) && value > 0, what, value);
  };
  check_that(cluster.towers_per_host >= 1, "at least one tower on each host",
             cluster.towers_per_host);
  check_that(cluster.towers_per_uplink >= 1, "at least one tower on each uplink",
             cluster.towers_per_uplink);
  positive(cluster.inside.bytes_per_second, "a positive bandwidth inside the hosts");
  positive(cluster.between.bytes_per_second, "a positive bandwidth between the hosts");
  positive(cluster.tower_memory, "a positive memory rate of the towers");
  positive(cluster.host_memory, "a positive memory rate of the hosts");
  for (const LinkSpeed& speed : {cluster.inside, cluster.between}) {
    check_that(speed.latency >= 0 && speed.latency <= 10, "a latency from 0 to 10 s",
               speed.latency);
  }
}

double PathTime::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

Network::Network(const Cluster& cluster, int towers) : cluster_(cluster), towers_(towers) {
  const auto hosts = static_cast<std::size_t>(cluster_.hosts(towers));
  const auto count = static_cast<std::size_t>(towers);
  const auto share = static_cast<std::size_t>(cluster_.towers_per_uplink);
  of_towers_.assign(2 * count, {&cluster_.inside, PathTime::inside});
  of_uplinks_.assign(2 * ((count + share - 1) / share), {&cluster_.inside, PathTime::inside});
  of_hosts_.assign(2 * hosts, {&cluster_.between, PathTime::between});
}

/// Adds the links of one end of a message to its way: from the sender's memory outwards, into the
/// receiver's inwards.
void Network::add_way(Transit& transit, int endpoint, int other, Direction direction) {
  const auto add = [&](Link& next) { transit.way[transit.links++] = &next; };
  const bool leaves = host_of(endpoint) != host_of(other);
  if (leaves && direction == in) add(link(of_hosts_, host_of(endpoint), direction));
  if (endpoint < towers_) {
    add(link(of_towers_, endpoint, direction));
    // To and from memory, the uplink that it shares; the memory itself is no link.
    if (!leaves && other >= towers_ && cluster_.towers_per_uplink > 1) {
      add(link(of_uplinks_, endpoint / cluster_.towers_per_uplink, direction));
    }
  }
  if (leaves && direction == out) add(link(of_hosts_, host_of(endpoint), direction));
}

Network::Transit Network::route(int from, int to, double bytes) {
  Transit transit{.bytes = bytes};
  if (from == to) return transit;
  if (!cluster_.receiver_copies || to >= towers_) add_way(transit, from, to, out);
  if (!cluster_.receiver_copies || to < towers_) add_way(transit, to, from, in);
  const bool leaves = host_of(from) != host_of(to);
  transit.latency = leaves ? cluster_.between.latency : cluster_.inside.latency;
  return transit;
}

bool Network::advance(Transit& transit, Moment& moment) {
  while (transit.passed < transit.links) {
    Link& next = *transit.way[transit.passed++];
    const bool waits = next.free.time > moment.time;
    if (waits) moment = next.free;
    double seconds = transit.bytes / next.speed->bytes_per_second;
    Moment end = moment.after(seconds, next.part);
    if (end.time > transit.end.time) transit.end = end;
    if (cluster_.receiver_copies) {
      end = end.after(transit.latency, PathTime::latency);
      seconds += transit.latency;
    }
    next.free = end;
    next.busy += seconds;
    if (waits && transit.passed < transit.links) return false;
  }
  if (transit.end.time > moment.time) moment = transit.end;
  moment = moment.after(transit.latency, PathTime::latency);
  return true;
}

double Network::busiest() const {
  double most = 0;
  for (const auto* links : {&of_towers_, &of_uplinks_, &of_hosts_}) {
    for (const Link& one : *links) most = std::max(most, one.busy);
  }
  return most;
}

}  // namespace towerflow::report
