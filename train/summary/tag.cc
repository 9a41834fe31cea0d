#include "train/summary/tag.h"

#include <fmt/format.h>

#include "core/graph/collections.h"
#include "core/graph/graph.h"
#include "core/graph/log.h"

namespace towerflow {

std::string clean_tag(const std::string& name, Site site) {
  std::string cleaned = name;
  for (char& c : cleaned) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '/' && c != '_' && c != '.') c = '_';
  }
  cleaned.erase(0, cleaned.find_first_not_of('/'));
  if (cleaned != name) {
    log_message(LogLevel::info, fmt::format("Summary name {} is illegal; using {} instead. ({})",
                                            name, cleaned, site.text()));
  }
  return cleaned;
}

SummaryName::SummaryName(const std::string& name, const std::string& family_name, Site site)
    : family(clean_tag(family_name, site)), base(clean_tag(name, site)) {
  if (!family.empty()) base = family + "/" + base;
}

std::string SummaryName::tag(const std::string& scope) const {
  const std::string node = scope.substr(0, scope.size() - 1);
  return family.empty() ? node : family + "/" + node;
}

Tensor add_summary_to_collections(const Tensor& summary,
                                  const std::optional<std::vector<std::string>>& collections) {
  const std::vector<std::string> keys =
      collections.value_or(std::vector<std::string>{GraphKeys::SUMMARIES});
  for (const std::string& key : keys) {
    summary.graph().collections().add(key, CollectionItem::of(summary));
  }
  return summary;
}

}  // namespace towerflow
