#include "core/graph/name_table.h"

#include <array>
#include <charconv>
#include <functional>

namespace towerflow {
namespace {

constexpr std::size_t kSuffixRoom = 8;  // for "_123456" without another allocation

std::string lower_key(const std::string& text, std::size_t room = 0) {
  std::string key;
  key.reserve(text.size() + room);
  key = text;
  for (char& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

std::uint64_t hash_of(const std::string& key) { return std::hash<std::string>()(key); }

}  // namespace

std::size_t NameTable::slot_of(const std::string& key, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = hash & mask;
  while (slots_[place].use != 0) {
    if (slots_[place].hash == hash && uses_[slots_[place].use - 1].key == key) break;
    place = (place + 1) & mask;
  }
  return place;
}

void NameTable::grow() {
  std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
  before.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.use == 0) continue;
    std::size_t place = slot.hash & mask;
    while (slots_[place].use != 0) place = (place + 1) & mask;
    slots_[place] = slot;
  }
}

template <class Key>
NameTable::Use& NameTable::find_or_insert(Key&& key) {
  if (3 * (uses_.size() + 1) > 2 * slots_.size()) grow();
  const std::uint64_t hash = hash_of(key);
  Slot& slot = slots_[slot_of(key, hash)];
  if (slot.use == 0) {
    uses_.push_back({.key = std::forward<Key>(key)});
    slot = {hash, uses_.size()};
  }
  return uses_[slot.use - 1];
}

const NameTable::Use* NameTable::known(const std::string& key) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(key, hash_of(key))];
  return slot.use == 0 ? nullptr : &uses_[slot.use - 1];
}

std::string NameTable::unique(std::string full, bool mark) {
  std::string key = lower_key(full, kSuffixRoom);
  int count = 0;
  Use* asked = nullptr;
  if (mark) {
    asked = &find_or_insert(key);
    count = asked->count++;
  } else if (const Use* use = known(key)) {
    count = use->count;
  }
  if (count == 0) return full;
  const std::size_t stem = key.size();
  for (;; ++count) {
    std::array<char, 16> suffix{'_'};
    const char* end = std::to_chars(suffix.data() + 1, suffix.data() + suffix.size(), count).ptr;
    key.resize(stem);
    key.append(suffix.data(), static_cast<std::size_t>(end - suffix.data()));
    const Use* use = known(key);
    if (use == nullptr || use->count == 0) break;
  }
  full.append(key, stem);
  if (mark) {
    asked->count = count + 1;  // the next call need not try these again
    find_or_insert(std::move(key)).count = 1;
  }
  return full;
}

bool NameTable::is_in_use(const std::string& full) const {
  const Use* use = known(lower_key(full));
  return use != nullptr && use->count > 0;
}

void NameTable::add(Node* node) {
  Use& use = find_or_insert(lower_key(node->name));
  if (use.node == nullptr)
    use.node = node;
  else
    others_.emplace(node->name, node);
}

Node* NameTable::find(const std::string& name) const {
  const Use* use = known(lower_key(name));
  if (use == nullptr || use->node == nullptr) return nullptr;
  if (use->node->name == name) return use->node;
  const auto other = others_.find(name);
  return other == others_.end() ? nullptr : other->second;
}

}  // namespace towerflow
