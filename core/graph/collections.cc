#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/graph/collections.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <set>

#include "core/graph/nearest.h"
#include "core/graph/node.h"

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
    throw ValueError(fmt::format("scope '{}' is not a regular expression: {} at {}", scope,
                                 reinterpret_cast<const char*>(text), offset));
  }
  return pattern;
}

bool name_matches(const pcre2_code* pattern, const std::string& name) {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
      pcre2_match_data_create_from_pattern(pattern, nullptr), pcre2_match_data_free);
  return pcre2_match(pattern, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0,
                     data.get(), nullptr) >= 0;
}

/// Returns whether an entry is a variable. Variables are listed by the name of their storage, not
/// of the read.
bool is_variable(const CollectionItem& item) {
  if (!item.tensor) return false;
  const std::vector<Tensor>& inputs = item.tensor->node().inputs;
  return inputs.size() == 1 && inputs[0].is_ref() && inputs[0].name() == item.name;
}

std::string without_trailing_slashes(std::string scope) {
  while (scope.ends_with('/')) scope.pop_back();
  return scope;
}

/// Returns the distinct name scopes, or names without a scope, of the entries; outer scopes first.
std::vector<std::string> name_scopes_of(const std::vector<CollectionItem>& items) {
  std::vector<std::string> scopes;
  std::set<std::string> seen;
  for (const CollectionItem& item : items) {
    if (!item.name) continue;
    const std::string name = item.name->substr(0, item.name->find(':'));
    for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
      // A name without a scope can itself be a filter.
      if (end == std::string::npos && name.find('/') != std::string::npos) break;
      if (seen.insert(name.substr(0, end)).second) scopes.push_back(name.substr(0, end));
      if (end == std::string::npos) break;
    }
  }
  return scopes;
}

}  // namespace

Collections& Collections::operator=(Collections&& other) {
  const std::lock_guard lock(*mutex_);
  items_ = std::move(other.items_);
  return *this;
}

void Collections::add(const std::string& key, CollectionItem item) {
  const std::lock_guard lock(*mutex_);
  items_[key].push_back(std::move(item));
}

std::optional<Fetch> CollectionItem::fetch() const {
  if (tensor) return *tensor;
  if (const auto* operation = std::any_cast<Operation>(&value)) return *operation;
  if (const auto* fetch = std::any_cast<Fetch>(&value)) return *fetch;
  if (const auto* gradient = std::any_cast<Gradient>(&value)) return *gradient;
  const auto* optional = std::any_cast<OptionalGradient>(&value);
  if (optional != nullptr && optional->has_value()) return **optional;
  return std::nullopt;
}

std::vector<CollectionItem>& Collections::ref(const std::string& key) {
  const std::lock_guard lock(*mutex_);
  return items_[key];
}

void Collections::clear(const std::string& key) {
  const std::lock_guard lock(*mutex_);
  items_.erase(key);
}

std::vector<const Node*> Collections::nodes(const std::string& key) const {
  const std::lock_guard lock(*mutex_);
  std::vector<const Node*> found;
  for (const CollectionItem& item : all(key)) {
    if (const auto fetch = item.fetch()) found.push_back(&fetch->operation().node());
  }
  return found;
}

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
    // An empty scope is a filter too: it excludes entries without a name.
    if (scope) {
      if (!item.name) continue;
      if (literal ? !item.name->starts_with(*scope) : !name_matches(pattern.get(), *item.name))
        continue;
    }
    found.push_back(&item);
  }
  return found;
}

std::string CollectionQuery::explain() const {
  return collections == nullptr ? "" : collections->explain_empty_result(key, scope);
}

void CollectionQuery::throw_no_element(std::size_t index, std::size_t size, Site site) const {
  std::string hint = explain();
  if (size > 0 && collections != nullptr) {
    hint = fmt::format("it holds {} of {} entries of collection '{}'", size, total, key);
  }
  throw ValueError(fmt::format("list index out of range: element {} of a list of {}", index, size),
                   {.site = site, .hint = std::move(hint)});
}

std::string Collections::explain_empty_result(const std::string& key,
                                              const std::optional<std::string>& scope) const {
  const std::vector<CollectionItem>& items = all(key);
  std::string text = fmt::format("collection '{}'", key);
  if (scope && !scope->empty()) text += fmt::format(" with scope '{}'", *scope);
  if (items.empty()) return text + " is empty" + nearest_keys_hint(key);
  const std::size_t matched = matching(key, scope).size();
  if (matched > 0) {  // the program has removed them from the list
    return text + fmt::format(": {} of {} matched, but they are no longer in the list", matched,
                              items.size());
  }
  text += fmt::format(": 0 of {} matched", items.size());
  if (std::any_of(items.begin(), items.end(), is_variable)) {
    text += "; name scopes do not apply to get_variable";
  }
  const std::vector<std::string> scopes = name_scopes_of(items);
  if (const std::string near = nearest_hint(without_trailing_slashes(*scope), scopes);
      !near.empty()) {
    text += "; " + near;
  }
  // Suggest a filter that matches: this one without its outer parts, else the scope with most
  // entries.
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
    for (const std::string& outer : scopes) {
      if (outer.find('/') != std::string::npos) continue;
      const std::size_t now = count(outer);
      if (now > most) {
        most = now;
        best = outer;
      }
    }
  }
  if (most > 0) text += fmt::format("; the filter '{}' would match {}", best, most);
  return text;
}

/// Returns "; nearest existing: 'losses' (2 entries)", or "".
std::string Collections::nearest_keys_hint(const std::string& key) const {
  std::vector<std::string> filled;
  for (const auto& [known, items] : items_) {
    if (!items.empty()) filled.push_back(known);
  }
  std::vector<std::string> near;
  for (const std::string& known : nearest_names(key, filled)) {
    const std::size_t count = all(known).size();
    near.push_back(fmt::format("'{}' ({} {})", known, count, count == 1 ? "entry" : "entries"));
  }
  return near.empty() ? "" : fmt::format("; nearest existing: {}", fmt::join(near, ", "));
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
