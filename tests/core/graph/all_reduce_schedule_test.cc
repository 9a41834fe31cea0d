#include "core/graph/all_reduce_schedule.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

namespace towerflow {
namespace {

using What = AllReduceMove::What;

/// Follows the moves of one range; every device must end with the gradients of all, each once.
void check_that_all_are_added(AllReduce algorithm, int devices, int group) {
  CAPTURE(all_reduce_name(algorithm));
  CAPTURE(devices);
  CAPTURE(group);
  const AllReduceSchedule schedule = all_reduce_schedule(algorithm, devices, group);
  CHECK((schedule.ranges == 1 || schedule.ranges == devices));
  std::vector<std::multiset<int>> held(static_cast<std::size_t>(devices));
  for (int i = 0; i < devices; ++i) held[static_cast<std::size_t>(i)] = {i};
  std::multiset<int> all;
  for (int i = 0; i < devices; ++i) all.insert(i);
  for (const AllReduceMove& move : schedule.moves) {
    REQUIRE(move.from != move.to);
    auto& from = held.at(static_cast<std::size_t>(move.from));
    auto& to = held.at(static_cast<std::size_t>(move.to));
    switch (move.what) {
      case What::gradient:
        to.insert(move.from);
        break;
      case What::sum:
        to.insert(from.begin(), from.end());
        break;
      case What::result:
        CHECK(from == all);
        to = from;
        break;
    }
  }
  for (const auto& sum : held) CHECK(sum == all);
}

TEST_CASE("every schedule of an all-reduce adds each gradient once and leaves all with the sum") {
  for (const auto& [algorithm, word] : kAllReduceNames) {
    if (!has_schedule(algorithm)) continue;
    for (const int devices : {2, 3, 4, 5, 8, 13, 16}) {
      for (const int group : {1, 2, 4, 20}) check_that_all_are_added(algorithm, devices, group);
    }
  }
}

TEST_CASE("the names of all-reduce algorithms are those of the enumeration, in its order") {
  for (std::size_t i = 0; i < kAllReduceNames.size(); ++i) {
    CHECK(static_cast<std::size_t>(kAllReduceNames[i].first) == i);
    CHECK(std::string(all_reduce_name(kAllReduceNames[i].first)) == kAllReduceNames[i].second);
  }
  CHECK(std::string(all_reduce_name(AllReduce::hierarchical)) == "hierarchical");
}

TEST_CASE("what a device sends at most is what AllReduce says") {
  const auto most = [](AllReduce algorithm, int devices, int group) {
    const AllReduceSchedule schedule = all_reduce_schedule(algorithm, devices, group);
    std::map<int, double> sent;  // in gradients, by device
    double highest = 0;
    for (int range = 0; range < schedule.ranges; ++range) {
      for (const AllReduceMove& move : schedule.moves) {
        double& own = sent[(move.from + schedule.turn * range) % devices];
        own += 1.0 / schedule.ranges;
        highest = std::max(highest, own);
      }
    }
    return highest;
  };
  CHECK(most(AllReduce::gather, 8, 2) == doctest::Approx(7));
  CHECK(most(AllReduce::shuffle, 8, 2) == doctest::Approx(2.0 * 7 / 8));
  CHECK(most(AllReduce::ring, 8, 2) == doctest::Approx(2));
  CHECK(most(AllReduce::tree, 8, 2) == doctest::Approx(3));
  CHECK(most(AllReduce::hierarchical, 8, 2) == doctest::Approx(2 + 8 / 2 - 2));
}

TEST_CASE("gradients are divided into ranges of whole cache lines") {
  CHECK(all_reduce_range(1000, 4) == 256);
  CHECK(all_reduce_range(1024, 4) == 256);
  CHECK(all_reduce_range(1025, 4) == 272);
  CHECK(all_reduce_range(3, 8) == 16);
}

}  // namespace
}  // namespace towerflow
