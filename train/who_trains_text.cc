#include "train/who_trains_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace towerflow {
namespace {

std::string scope_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

/// Collects the reasons for absent gradients and numbers them.
class Reasons {
 public:
  /// Returns "[1]".
  std::string mark(const WhyNone& why) {
    const auto found = std::find(texts_.begin(), texts_.end(), why.text);
    const auto index = found - texts_.begin();
    if (found == texts_.end()) texts_.push_back(why.text);
    return fmt::format("[{}]", index + 1);
  }

  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      all += fmt::format("  [{}] {}\n", i + 1, texts_[i]);
    }
    return all;
  }

 private:
  std::vector<std::string> texts_;
};

bool is_alike(const VariableTraining& a, const VariableTraining& b) {
  return a.optimizer == b.optimizer &&
         std::equal(a.towers.begin(), a.towers.end(), b.towers.begin(), b.towers.end(),
                    [](const TowerTraining& x, const TowerTraining& y) {
                      return x.kind == y.kind && x.why.cause == y.why.cause;
                    });
}

std::string word_for(const TowerTraining& tower, Reasons& reasons) {
  switch (tower.kind) {
    case Training::dense:
      return "dense";
    case Training::slices:
      return "slices";
    case Training::frozen:
      return "frozen";
    case Training::absent:
      return "absent " + reasons.mark(tower.why);
  }
  return "";
}

/// Returns "dense, Adam"; "dense | absent [1], Adam" if the towers differ.
std::string cell_of(const VariableTraining& row, Reasons& reasons) {
  const bool same = std::all_of(row.towers.begin(), row.towers.end(), [&](const auto& tower) {
    return tower.kind == row.towers[0].kind && tower.why.cause == row.towers[0].why.cause;
  });
  std::vector<std::string> words;
  for (const TowerTraining& tower : row.towers) {
    if (same && !words.empty()) break;
    words.push_back(word_for(tower, reasons));
  }
  const std::string kinds = fmt::format("{}", fmt::join(words, " | "));
  return row.optimizer.empty() ? kinds : kinds + ", " + row.optimizer;
}

/// Returns the lines as columns with two spaces between them.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += fmt::format("  {:<{}}", line[i], i + 1 < line.size() ? widths[i] : 0);
    }
    text += row + "\n";
  }
  return text;
}

/// Returns "a, b and 3 more".
template <class T>
std::string some_names(const std::vector<T>& named) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < named.size() && i < kMost; ++i) {
    if constexpr (std::is_same_v<T, Variable>) {
      names.push_back(named[i].op().name());
    } else {
      names.push_back(named[i].name());
    }
  }
  const std::string shown = fmt::format("{}", fmt::join(names, ", "));
  return named.size() <= kMost ? shown : fmt::format("{} and {} more", shown, named.size() - kMost);
}

}  // namespace

std::string who_trains_text(const WhoTrains& who, const std::vector<TrainedLoss>& trained) {
  Reasons reasons;
  std::vector<std::vector<std::string>> lines{{"variable"}};
  for (const TrainedLoss& one : trained) lines[0].push_back(one.name);
  for (std::size_t i = 0; i < who.variables.size();) {
    std::string names = who.variables[i].op().name();
    const std::string scope = scope_of(names);
    std::size_t end = i + 1;
    const auto joins = [&](std::size_t next) {
      return scope_of(who.variables[next].op().name()) == scope &&
             std::all_of(who.losses.begin(), who.losses.end(),
                         [&](const auto& rows) { return is_alike(rows[i], rows[next]); });
    };
    for (; end < who.variables.size() && joins(end); ++end) {
      names += ", " + who.variables[end].op().name().substr(scope.size());
    }
    auto& line = lines.emplace_back(std::vector<std::string>{names});
    for (const auto& rows : who.losses) line.push_back(cell_of(rows[i], reasons));
    i = end;
  }
  std::string text = fmt::format("Who trains what: {} variables, towers: {}\n",
                                 who.variables.size(), trained[0].losses.size());
  text += aligned(lines) + reasons.text();
  const std::size_t updates = who.updates_run.size() + who.updates_not_run.size();
  if (updates > 0) {
    text += fmt::format("  update ops: {} of {} run in a step\n", who.updates_run.size(), updates);
  }
  if (!who.updates_instead.empty()) {
    text += fmt::format("  in their place: {}\n", some_names(who.updates_instead));
  } else if (!who.updates_not_run.empty()) {
    text += fmt::format("  nobody runs: {}\n", some_names(who.updates_not_run));
  }
  if (!who.updates_twice.empty()) {
    text += fmt::format("  collected more than once: {}\n", some_names(who.updates_twice));
  }
  if (!who.untrained.empty()) {
    text += fmt::format("  nobody trains: {}\n", some_names(who.untrained));
  }
  return text;
}

}  // namespace towerflow
