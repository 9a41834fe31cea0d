#include "parallel/staged_towers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/variables/variable_scope.h"
#include "parallel/deferred_gradients.h"
#include "parallel/staged_variables.h"

namespace towerflow::parallel {
namespace {

void check_towers_options(const TowersOptions& options, Site site) {
  if (options.num_towers < 1) {
    throw ValueError(fmt::format("num_towers must be at least 1, got {}", options.num_towers),
                     {.site = site});
  }
  const bool weighted = options.policy == AveragePolicy::weighted_mean;
  if (weighted != static_cast<bool>(options.weight)) {
    throw ValueError(weighted ? "weighted_mean needs the weight of each tower: options.weight"
                              : "options.weight applies only to AveragePolicy::weighted_mean",
                     {.site = site});
  }
  if (options.clip) check_clip(*options.clip, site);
}

void check_objectives(const std::vector<Objective>& objectives, Site site) {
  if (objectives.empty()) throw ValueError("towers need at least one objective", {.site = site});
  std::set<std::string> names;
  for (const Objective& objective : objectives) {
    if (!names.insert(objective.name).second) {
      throw ValueError(fmt::format("two objectives are called '{}'", objective.name),
                       {.site = site});
    }
    if (objective.clip) check_clip(*objective.clip, site);
  }
}

const std::optional<GradientClip>& clip_of(const Objective& objective,
                                           const TowersOptions& options) {
  return objective.clip ? objective.clip : options.clip;
}

const train::ApplyGradientsOptions& applied(const Objective& objective,
                                            const TowersOptions& options) {
  return objective.apply_gradients ? *objective.apply_gradients : options.apply_gradients;
}

/// What towers read instead of their variables, if these are staged.
class TowerReads {
 public:
  explicit TowerReads(bool staged) {
    if (staged) variables_.emplace();
  }
  /// Scopes and templates that the program keeps read the variables themselves from now on.
  ~TowerReads() {
    *now_ = [](const VariableGetter& get, const std::string& name,
               const std::optional<Shape>& shape,
               const GetVariableOptions& options) { return get(name, shape, options); };
  }
  TowerReads(const TowerReads&) = delete;
  TowerReads& operator=(const TowerReads&) = delete;

  /// Returns the getter for the variable scope of all towers, which may outlive this object.
  CustomGetter getter() const {
    if (!variables_) return {};
    return [now = now_](const VariableGetter& get, const std::string& name,
                        const std::optional<Shape>& shape, const GetVariableOptions& options) {
      return (*now)(get, name, shape, options);
    };
  }
  /// Sets the tower that reads from now on.
  void next(int tower, const std::string& device) {
    if (variables_) *now_ = variables_->getter(tower, device);
  }
  std::optional<Operation> refresh(Site site) const {
    return variables_ ? std::optional(variables_->refresh(site)) : std::nullopt;
  }

 private:
  std::optional<StagedVariables> variables_;
  std::shared_ptr<CustomGetter> now_ = std::make_shared<CustomGetter>();
};

/// Returns the weights that belong to deferred gradients: those of the step before.
std::vector<Tensor> previous_weights(const std::vector<Tensor>& weights,
                                     DeferredGradients& deferred, Site site) {
  std::vector<Tensor> previous;
  for (const Tensor& weight : weights) {
    const bool is_known = !constant_value(weight).empty();
    previous.push_back(is_known ? weight : deferred.previous_value(weight, "weight", site));
  }
  return previous;
}

/// Clips the gradients of an objective if they are to be clipped at this stage.
void clip_at(ClipStage stage, const std::optional<GradientClip>& clip,
             std::vector<GradAndVar>& pairs, TrainedObjective& trained, Site site) {
  if (!clip || clip->stage != stage) return;
  ClippedGradients clipped = clip_gradients(pairs, *clip, site);
  pairs = std::move(clipped.grads);
  trained.global_norms.push_back(clipped.global_norm);
}

}  // namespace

StagedTowers::StagedTowers(const std::vector<Objective>& asked, const TowerLosses& losses,
                           const TowersOptions& options, Site site)
    : options_(options) {
  check_towers_options(options, site);
  check_objectives(asked, site);
  if (!losses)
    throw ValueError("Towers needs a function that makes a tower's loss", {.site = site});
  objectives.resize(asked.size());
  std::vector<std::vector<Fetch>> tower_updates;
  std::vector<DeferredGradients> deferred(options.deferred_gradients ? asked.size() : 0);
  TowerReads reads(options.staged_variables);
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = variable_scope(get_variable_scope(),
                                     {.custom_getter = reads.getter(), .home = options.home}, site);
    for (int tower = 0; tower < options.num_towers; ++tower) {
      devices_.push_back(options.device ? options.device(tower) : fmt::format("/gpu:{}", tower));
      const auto on = device(devices_.back(), site);
      const auto scope = name_scope(fmt::format("{}_{}", options.name, tower), {}, site);
      reads.next(tower, devices_.back());
      const std::vector<Tensor> made = losses(tower, scope);
      if (made.size() != asked.size()) {
        throw ValueError(fmt::format("tower {} has {} losses for {} objectives", tower, made.size(),
                                     asked.size()),
                         {.site = site});
      }
      if (options.weight) weights.push_back(options.weight(tower));
      get_variable_scope().reuse_variables(site);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        train::ComputeGradientsOptions how = options.compute_gradients;
        if (asked[i].variables) how.var_list = asked[i].variables();
        TrainedObjective& trained = objectives[i];
        trained.losses.push_back(made[i]);
        auto grads = asked[i].optimizer.compute_gradients(made[i], how, site);
        if (!deferred.empty()) grads = deferred[i].previous(grads, site);
        trained.tower_grads.push_back(std::move(grads));
      }
      tower_updates.push_back(get_collection<Fetch>(GraphKeys::UPDATE_OPS, scope));
      for (std::size_t i = 0; i < asked.size(); ++i) {
        TrainedObjective& trained = objectives[i];
        clip_at(ClipStage::per_tower, clip_of(asked[i], options), trained.tower_grads.back(),
                trained, site);
      }
    }
  }
  refresh_ = reads.refresh(site);  // before the updates, so that it copies what they change
  for (std::size_t i = 0; i < asked.size(); ++i) {
    TrainedObjective& trained = objectives[i];
    AverageOptions average{.policy = options.policy, .weights = weights};
    if (!deferred.empty()) average.weights = previous_weights(weights, deferred[i], site);
    trained.grads = average_gradients(trained.tower_grads, average, site);
    clip_at(ClipStage::after_mean, clip_of(asked[i], options), trained.grads, trained, site);
    const train::ApplyGradientsOptions& how = applied(asked[i], options);
    trained.train_op = asked[i].optimizer.apply_gradients(trained.grads, how, site);
    named_.push_back({asked[i].name, asked[i].optimizer.get_name(), how.global_step, std::nullopt});
    if (!deferred.empty()) named_.back().keep = deferred[i].keep(site);
  }
  if (options.update_ops) {
    update_ops = combine_update_ops(tower_updates, *options.update_ops, site);
  }
}

const TrainedObjective& StagedTowers::objective(const std::string& name, Site site) const {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < named_.size(); ++i) {
    if (named_[i].name == name) return objectives[i];
    known.push_back(named_[i].name);
  }
  throw ValueError(fmt::format("no objective is called '{}'", name),
                   {.site = site, .hint = fmt::format("known: {}", fmt::join(known, ", "))});
}

Operation StagedTowers::stage(const std::vector<std::string>& names, Site site) const {
  if (names.empty()) throw ValueError("a stage needs an objective", {.site = site});
  std::vector<Fetch> step;
  std::map<std::string, std::vector<std::string>> counted;  // global step -> objectives
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) {
      throw ValueError(fmt::format("the stage has objective '{}' twice", *name), {.site = site});
    }
    const TrainedObjective& trained = objective(*name, site);
    const auto index = static_cast<std::size_t>(&trained - objectives.data());
    step.emplace_back(trained.train_op);
    const auto& [its_name, optimizer, global_step, keep] = named_[index];
    if (keep) step.emplace_back(*keep);
    if (global_step) counted[global_step->name()].push_back(*name);
  }
  for (const auto& [variable, by] : counted) {
    if (by.size() == 1) continue;
    throw ValueError(
        fmt::format("a step of this stage would increment '{}' {} times: objectives {}", variable,
                    by.size(), fmt::join(by, ", ")),
        {.site = site,
         .hint = "give the global step to the apply_gradients of one objective only"});
  }
  if (refresh_) step.emplace_back(*refresh_);
  if (step.size() == 1 && !options_.update_ops) return objective(names.front(), site).train_op;
  step.insert(step.end(), update_ops.begin(), update_ops.end());
  return group(step, {}, site);
}

}  // namespace towerflow::parallel
