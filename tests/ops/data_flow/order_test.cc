// The order in which queues return elements, without threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "ops/data_flow/queue_order.h"

using namespace towerflow;

namespace {

/// Returns an element whose value is the offset at which its record begins.
QueueElement element(std::int32_t value) {
  auto item = std::make_unique<QueueItem>(QueueItem{{Array::scalar(value)}});
  item->record = {std::make_shared<const std::string>("file"), static_cast<std::uint64_t>(value),
                  static_cast<std::uint64_t>(value) + 1, 1};
  return item;
}

std::int32_t value_of(const QueueElement& item) { return (*item)[0].item<std::int32_t>(); }

/// Admits elements 0 .. count - 1 in order and draws them all. Before each draw, `ahead()` elements
/// are admitted beyond those needed.
template <class Ahead>
std::vector<std::int32_t> shuffled(std::size_t min_after_dequeue, std::int32_t count, Ahead ahead) {
  ShuffleOrder order(min_after_dequeue, random::Philox(7, 11));
  std::vector<std::int32_t> out;
  std::int32_t admitted = 0;
  while (out.size() < static_cast<std::size_t>(count)) {
    int more = ahead();
    while (admitted < count && (order.size() <= min_after_dequeue || more-- > 0)) {
      order.admit(element(admitted++));
    }
    out.push_back(value_of(order.draw(admitted == count).element));
  }
  CHECK(order.size() == 0);
  return out;
}

}  // namespace

TEST_CASE("what a shuffle gives does not depend on how far admission is ahead") {
  for (const std::size_t min_after_dequeue : {0U, 1U, 3U, 20U, 99U, 100U, 500U}) {
    CAPTURE(min_after_dequeue);
    const auto lazy = shuffled(min_after_dequeue, 100, [] { return 0; });
    const auto eager = shuffled(min_after_dequeue, 100, [] { return 1000; });
    CHECK(lazy == eager);
    std::mt19937 generator(static_cast<unsigned>(min_after_dequeue));
    for (int run = 0; run < 20; ++run) {
      CHECK(lazy ==
            shuffled(min_after_dequeue, 100, [&] { return static_cast<int>(generator() % 7); }));
    }
    CHECK(std::set<std::int32_t>(lazy.begin(), lazy.end()).size() == 100);
    // The k-th draw takes one of the first min_after_dequeue + 1 remaining elements, so its number
    // is at most k + min_after_dequeue.
    for (std::size_t k = 0; k < lazy.size(); ++k) {
      CHECK(static_cast<std::size_t>(lazy[k]) <= k + min_after_dequeue);
    }
    const bool in_order = std::is_sorted(lazy.begin(), lazy.end());
    CHECK(in_order == (min_after_dequeue == 0));
  }
}

TEST_CASE("a shuffle draws evenly from its window") {
  // The first draw from a window of 8, over many streams.
  std::vector<int> counts(8, 0);
  for (std::uint64_t seed = 0; seed < 8000; ++seed) {
    ShuffleOrder order(7, random::Philox(seed, 1));
    for (std::int32_t i = 0; i < 12; ++i) order.admit(element(i));
    ++counts[static_cast<std::size_t>(value_of(order.draw(false).element))];
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 150);  // five standard deviations
}

TEST_CASE("an undone draw leaves no trace") {
  std::mt19937 generator(3);
  for (int run = 0; run < 50; ++run) {
    const std::size_t min_after_dequeue = generator() % 5;
    ShuffleOrder plain(min_after_dequeue, random::Philox(5, 5)),
        undone(min_after_dequeue, random::Philox(5, 5));
    std::int32_t admitted = 0;
    const auto admit = [&](int count) {
      for (int i = 0; i < count; ++i, ++admitted) {
        plain.admit(element(admitted));
        undone.admit(element(admitted));
      }
    };
    admit(6);
    for (int step = 0; step < 20; ++step) {
      std::vector<QueueOrder::Drawn> taken;
      while (undone.size() > min_after_dequeue && generator() % 3 != 0)
        taken.push_back(undone.draw(false));
      admit(static_cast<int>(generator() % 3));
      while (!taken.empty()) {
        undone.undo(std::move(taken.back()));
        taken.pop_back();
      }
      REQUIRE(undone.size() == plain.size());
      if (plain.size() <= min_after_dequeue) continue;
      CHECK(value_of(plain.draw(false).element) == value_of(undone.draw(false).element));
    }
    while (plain.size() > 0) {
      CHECK(value_of(plain.draw(true).element) == value_of(undone.draw(true).element));
    }
  }
}

TEST_CASE("first in, first out, and back to the front") {
  FifoOrder order;
  for (std::int32_t i = 0; i < 4; ++i) order.admit(element(i));
  std::vector<QueueOrder::Drawn> taken;
  for (int i = 0; i < 2; ++i) taken.push_back(order.draw(false));
  CHECK(value_of(taken[1].element) == 1);
  while (!taken.empty()) {
    order.undo(std::move(taken.back()));
    taken.pop_back();
  }
  for (std::int32_t i = 0; i < 4; ++i) CHECK(value_of(order.draw(false).element) == i);
}

namespace {

/// Draws all that is left of elements 0 .. count - 1, of which `admitted` is the next to admit.
/// Random numbers of elements are admitted ahead of need.
std::vector<std::int32_t> draw_rest(QueueOrder& order, std::int32_t admitted, std::int32_t count,
                                    std::mt19937& generator) {
  std::vector<std::int32_t> out;
  while (true) {
    auto more = static_cast<int>(generator() % 5);
    while (admitted < count && (order.size() <= order.min_after_dequeue() || more-- > 0)) {
      order.admit(element(admitted++));
    }
    if (order.size() == 0) return out;
    out.push_back(value_of(order.draw(admitted == count).element));
  }
}

std::unique_ptr<QueueOrder> make_order(int min_after_dequeue) {
  if (min_after_dequeue < 0) return std::make_unique<FifoOrder>();
  return std::make_unique<ShuffleOrder>(min_after_dequeue, random::Philox(7, 11));
}

}  // namespace

TEST_CASE("an order goes on where another one was, and where does not depend on admission") {
  std::mt19937 generator(8);
  constexpr std::int32_t kCount = 40;
  for (const int min_after_dequeue : {-1, 0, 1, 2, 7, 39, 40, 60}) {
    CAPTURE(min_after_dequeue);
    for (std::int32_t drawn = 0; drawn <= kCount; ++drawn) {
      CAPTURE(drawn);
      std::optional<QueueOrder::Position> first;
      for (int run = 0; run < 6; ++run) {
        const auto order = make_order(min_after_dequeue);
        std::int32_t admitted = 0;
        for (std::int32_t i = 0; i < drawn; ++i) {
          auto more = static_cast<int>(run == 0 ? 0 : generator() % (run == 1 ? 1000 : 6));
          while (admitted < kCount && (order->size() <= order->min_after_dequeue() || more-- > 0)) {
            order->admit(element(admitted++));
          }
          const bool ended = admitted == kCount;
          if (!ended && generator() % 3 == 0) order->undo(order->draw(false));
          order->draw(ended);
        }
        const QueueOrder::Position position = order->position();
        if (!first) first = position;
        CHECK(position.drawn == static_cast<std::uint64_t>(drawn));
        CHECK(position.hole == first->hole);
        CHECK(position.last.end == first->last.end);
        REQUIRE(position.held.size() == first->held.size());
        for (std::size_t i = 0; i < position.held.size(); ++i) {
          CHECK(position.held[i].begin == first->held[i].begin);
        }
        const auto resumed = make_order(min_after_dequeue);
        resumed->resume(position);
        for (const RecordPlace& place : position.held) {
          resumed->admit(element(static_cast<std::int32_t>(place.begin)));
        }
        const auto next = static_cast<std::int32_t>(position.last.end);
        CHECK(draw_rest(*resumed, next, kCount, generator) ==
              draw_rest(*order, admitted, kCount, generator));
      }
    }
  }
}
