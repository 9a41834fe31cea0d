#include "train/summary/tag.h"

#include <fmt/format.h>

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

}  // namespace towerflow
