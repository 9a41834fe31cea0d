#include "core/graph/name_table.h"

namespace towerflow {
namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string NameTable::unique(const std::string& full, bool mark) {
  std::string key = lower(full);
  int count = 0;
  if (mark) {
    count = uses_[key].count++;
  } else if (const auto used = uses_.find(key); used != uses_.end()) {
    count = used->second.count;
  }
  if (count == 0) return full;
  key += '_';
  const std::size_t stem = key.size();
  for (;; ++count) {
    key.resize(stem);
    key += std::to_string(count);
    const auto used = uses_.find(key);
    if (used == uses_.end() || used->second.count == 0) break;
  }
  if (mark) uses_[key].count = 1;
  return full + key.substr(stem - 1);
}

bool NameTable::taken(const std::string& full) const {
  const auto used = uses_.find(lower(full));
  return used != uses_.end() && used->second.count > 0;
}

void NameTable::add(Node* node) {
  Use& use = uses_[lower(node->name)];
  if (use.node == nullptr)
    use.node = node;
  else
    others_.emplace(node->name, node);
}

Node* NameTable::find(const std::string& name) const {
  const auto used = uses_.find(lower(name));
  if (used == uses_.end() || used->second.node == nullptr) return nullptr;
  if (used->second.node->name == name) return used->second.node;
  const auto other = others_.find(name);
  return other == others_.end() ? nullptr : other->second;
}

}  // namespace towerflow
