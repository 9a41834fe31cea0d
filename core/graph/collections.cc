#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/graph/collections.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <memory>

namespace towerflow {
namespace {

using Pattern = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;

Pattern compile(const std::string& scope) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Pattern pattern(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(scope.data()), scope.size(),
                                PCRE2_ANCHORED | PCRE2_UTF, &error, &offset, nullptr),
                  pcre2_code_free);
  if (!pattern) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    throw ValueError(fmt::format("scope '{}' is no regular expression: {} at {}", scope,
                                 reinterpret_cast<const char*>(text), offset));
  }
  return pattern;
}

bool matches(const pcre2_code* pattern, const std::string& name) {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(pattern, nullptr), pcre2_match_data_free);
  return pcre2_match(pattern, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0,
                     data.get(), nullptr) >= 0;
}

}  // namespace

void Collections::add(const std::string& key, CollectionItem item) {
  items_[key].push_back(std::move(item));
}

std::vector<CollectionItem>& Collections::ref(const std::string& key) { return items_[key]; }

void Collections::clear(const std::string& key) { items_.erase(key); }

const std::vector<CollectionItem>& Collections::all(const std::string& key) const {
  static const std::vector<CollectionItem> none;
  const auto it = items_.find(key);
  return it == items_.end() ? none : it->second;
}

std::vector<const CollectionItem*> Collections::matching(
    const std::string& key, const std::optional<std::string>& scope) const {
  std::vector<const CollectionItem*> found;
  const bool literal = scope && scope->find_first_of(".^$*+?{}[]\\|()") == std::string::npos;
  const Pattern pattern = scope && !literal ? compile(*scope) : Pattern(nullptr, pcre2_code_free);
  for (const CollectionItem& item : all(key)) {
    // An empty scope is a filter too: what has no name does not pass it.
    if (scope) {
      if (!item.name) continue;
      if (literal ? !item.name->starts_with(*scope) : !matches(pattern.get(), *item.name)) continue;
    }
    found.push_back(&item);
  }
  return found;
}

std::string Collections::explain_nothing(const std::string& key,
                                         const std::optional<std::string>& scope) const {
  const std::vector<CollectionItem>& items = all(key);
  std::string text = fmt::format("collection '{}'", key);
  if (scope && !scope->empty()) text += fmt::format(" with scope '{}'", *scope);
  if (items.empty()) return text + " is empty";
  const std::size_t matched = matching(key, scope).size();
  if (matched > 0) {  // and the program has taken them out of its list
    return text + fmt::format(": {} of {} matched, none of which is left", matched, items.size());
  }
  text += fmt::format(": 0 of {} matched; a name scope never prefixes get_variable", items.size());
  // What would match: the filter without its outer parts, else the scope that most entries are in.
  std::map<std::string, std::size_t> counts;
  const auto count = [&](const std::string& filter) {
    return filter.empty() ? 0 : matching(key, filter).size();
  };
  std::string best;
  std::size_t most = 0;
  for (auto slash = scope->find('/'); slash != std::string::npos && most == 0;
       slash = scope->find('/', slash + 1)) {
    best = scope->substr(slash + 1);
    most = count(best);
  }
  if (most == 0) {
    for (const CollectionItem& item : items) {
      if (!item.name) continue;
      const std::string first = item.name->substr(0, item.name->find_first_of("/:"));
      const std::size_t now = counts.contains(first) ? 0 : (counts[first] = count(first));
      if (now > most) {
        most = now;
        best = first;
      }
    }
  }
  if (most > 0) text += fmt::format("; the filter '{}' would match {}", best, most);
  return text;
}

std::vector<std::string> Collections::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, items] : items_) keys.push_back(key);
  return keys;
}

void Collections::throw_wrong_type(const std::string& key, const CollectionItem& item) {
  throw TypeError(
      fmt::format("collection '{}' holds {}, which is not of the type asked for", key,
                  item.name ? fmt::format("'{}'", *item.name) : "an object without name"),
      {.hint = "name the type: get_collection<T>(key, scope)"});
}

}  // namespace towerflow
