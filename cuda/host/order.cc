#include "cuda/host/order.h"

#include <algorithm>
#include <sstream>

namespace towerflow::cuda::host {
namespace {

using AccessorPtr = std::shared_ptr<const Accessor>;

bool comes_before(const Accessor& who, const Clock& clock) {
  return clock.covers(who.component, who.count);
}

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

std::string OrderError::text() const {
  std::ostringstream text;
  text << "unordered accesses to " << bytes << " bytes at " << at << ": \"" << first->what
       << "\" in " << first->where << (first_writes ? " writes" : " reads") << " them and \""
       << second->what << "\" in " << second->where << (second_writes ? " writes" : " reads")
       << " them";
  return text.str();
}

void Order::split(std::uintptr_t at) {
  auto next = segments_.upper_bound(at);
  if (next == segments_.begin()) return;
  auto& [begin, segment] = *std::prev(next);
  if (begin == at || segment.end <= at) return;
  segments_.emplace_hint(next, at, segment);
  segment.end = at;
}

Order::Segments::iterator Order::cover(std::uintptr_t begin, std::uintptr_t end) {
  split(begin);
  split(end);
  auto at = segments_.lower_bound(begin);
  for (std::uintptr_t covered = begin; covered < end; ++at) {
    if (at == segments_.end() || at->first > covered) {
      const std::uintptr_t gap_end = at == segments_.end() ? end : std::min(end, at->first);
      at = segments_.emplace_hint(at, covered, Segment{.end = gap_end, .write = nullptr});
    }
    covered = at->second.end;
  }
  return segments_.lower_bound(begin);
}

std::optional<OrderError> Order::add(const AccessorPtr& who, const Clock& clock,
                                     const std::vector<Operand>& operands) {
  std::optional<OrderError> error;
  for (const Operand& operand : operands) {
    if (operand.bytes == 0) continue;
    const std::uintptr_t begin = number_of(operand.at), end = begin + operand.bytes;
    const auto first = cover(begin, end);
    auto at = first;
    for (; at != segments_.end() && at->first < end; ++at) {
      Segment& segment = at->second;
      const auto check = [&](const AccessorPtr& earlier, bool earlier_writes) {
        if (earlier == nullptr || error || comes_before(*earlier, clock)) return;
        error = OrderError{.first = earlier,
                           .second = who,
                           .first_writes = earlier_writes,
                           .second_writes = operand.written,
                           .at = reinterpret_cast<const void*>(at->first),
                           .bytes = segment.end - at->first};
      };
      check(segment.write, true);
      if (operand.written) {
        for (const AccessorPtr& read : segment.reads) check(read, false);
      } else {
        std::erase_if(segment.reads,
                      [&](const AccessorPtr& read) { return comes_before(*read, clock); });
        segment.reads.push_back(who);
      }
    }
    if (operand.written) {
      first->second = {.end = end, .write = who};
      segments_.erase(std::next(first), at);
    }
  }
  return error;
}

std::optional<OrderError> Order::release(const void* address, std::size_t bytes, const Clock& clock,
                                         const char* call) {
  std::optional<OrderError> error;
  if (bytes == 0) return error;
  const std::uintptr_t begin = number_of(address), end = begin + bytes;
  const auto first = cover(begin, end);
  auto at = first;
  for (; at != segments_.end() && at->first < end; ++at) {
    const auto check = [&](const AccessorPtr& earlier, bool writes) {
      if (earlier == nullptr || error || comes_before(*earlier, clock)) return;
      auto host = std::make_shared<Accessor>(Accessor{.what = call, .where = "the host"});
      error = OrderError{.first = earlier,
                         .second = std::move(host),
                         .first_writes = writes,
                         .second_writes = true,
                         .at = reinterpret_cast<const void*>(at->first),
                         .bytes = at->second.end - at->first};
    };
    check(at->second.write, true);
    for (const AccessorPtr& read : at->second.reads) check(read, false);
  }
  segments_.erase(first, at);
  return error;
}

}  // namespace towerflow::cuda::host
