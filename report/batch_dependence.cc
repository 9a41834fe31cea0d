#include "report/batch_dependence.h"

#include <algorithm>
#include <map>

#include "core/graph/op_def.h"

namespace towerflow::report {
namespace {

/// Returns the last part of a name, without the number that made it unique.
std::string last_name(const std::string& name) {
  std::string last = name.substr(name.rfind('/') + 1);
  const std::size_t digits = last.find_last_not_of("0123456789");
  if (digits != std::string::npos && digits + 1 < last.size() && last[digits] == '_') {
    last.resize(digits);
  }
  return last;
}

std::string kind_of(const Operation& op) {
  if (op.node().op->effect == Effect::random) return "random numbers";
  const std::string text = op.type() + " " + op.name();
  for (const char* part : {"BatchNorm", "batch_norm", "batchnorm", "moments"}) {
    if (text.find(part) != std::string::npos) return "batch normalization";
  }
  return op.type();
}

bool same_kind(const Operation& a, const Operation& b) {
  if (a.type() != b.type()) return false;
  return a.node().op->effect == Effect::random || a.type().find("BatchNorm") != std::string::npos ||
         last_name(a.name()) == last_name(b.name());
}

/// Returns the gradients of fused batch normalizations with respect to their inputs, by the scope
/// of the gradients and the name of the operation.
std::map<std::string, Tensor> batch_norm_gradients(const std::vector<Fetch>& fetches) {
  std::map<std::string, Tensor> found;
  for (const Operation& op : needed_operations(fetches)) {
    const std::size_t end = op.name().rfind("_grad/");
    if (op.type().starts_with("FusedBatchNormGrad") && end != std::string::npos) {
      found.emplace(op.name().substr(0, end), op.output(0));
    }
  }
  return found;
}

}  // namespace

BatchDependence::BatchDependence(const EquivalenceRun& one, const EquivalenceRun& many,
                                 const std::vector<Fetch>& fetches_one,
                                 const std::vector<Fetch>& fetches_many)
    : one_(one),
      many_(many),
      fetches_one_(fetches_one),
      fetches_many_(fetches_many),
      initial_(ComparedSession(one.run, {}).variables()) {
  for (Counterparts& found :
       counterparts(fetches_one, {1, one.run.tower}, fetches_many,
                    {static_cast<int>(many.tower_sizes.size()), many.run.tower})) {
    if (is_floating(found.a[0].dtype()) && found.a[0].node().feedable) {
      both_.push_back(std::move(found));
    }
  }
  std::vector<Fetch> all = fetches_one;
  for (const Counterparts& found : both_) all.emplace_back(found.a[0]);
  const std::vector<Array> values = run(one.run, all, {});
  const auto own = static_cast<std::ptrdiff_t>(fetches_one.size());
  fetched_one_.assign(values.begin(), values.begin() + own);
  values_one_.assign(values.begin() + own, values.end());
  fetched_many_ = run(many.run, fetches_many, {});
}

std::vector<Array> BatchDependence::run(const ComparedRun& side, const std::vector<Fetch>& fetches,
                                        const Feeds& feeds) const {
  return ComparedSession(side, initial_).values(fetches, feeds);
}

void BatchDependence::replace(const Counterparts& both, const Array& whole, Feeds& feeds) const {
  std::vector<std::int64_t> sizes;
  for (const Tensor& tensor : both.b) sizes.push_back(tensor.shape().size(*both.axis));
  const std::vector<Array> parts = cut(whole, *both.axis, sizes);
  for (std::size_t i = 0; i < parts.size(); ++i) feeds.emplace_back(both.b[i], parts[i]);
}

const Counterparts* BatchDependence::first_dependent(const Feeds& feeds) const {
  std::vector<Fetch> fetches;
  for (const Counterparts& both : both_)
    fetches.insert(fetches.end(), both.b.begin(), both.b.end());
  const std::vector<Array> values = run(many_.run, fetches, feeds);
  std::set<std::string> agree;
  std::set<std::string> compared;
  auto at = values.begin();
  for (std::size_t i = 0; i < both_.size(); ++i) {
    const Counterparts& both = both_[i];
    const auto end = at + static_cast<std::ptrdiff_t>(both.b.size());
    const Array whole = joined({at, end}, *both.axis);
    at = end;
    compared.insert(both.name);
    if (array_distance(values_one_[i], whole).root_square <= kEquivalenceRounding) {
      agree.insert(both.name);
      continue;
    }
    const std::vector<Tensor> inputs = both.op().inputs();
    const bool inputs_agree = std::all_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
      return !compared.contains(input.name()) || agree.contains(input.name());
    });
    if (inputs_agree) return &both;
  }
  return nullptr;
}

BatchDependence::Cause BatchDependence::cause_of(const Counterparts& first) const {
  Cause cause{.what = kind_of(first.op()), .of_one = {}, .outputs = {}};
  for (const Counterparts& both : both_) {
    if (!same_kind(both.op(), first.op())) continue;
    cause.of_one.push_back(both.a[0]);
    cause.outputs.push_back(both);
  }
  return cause;
}

const std::vector<BatchDependence::Cause>& BatchDependence::causes() {
  constexpr int kMostCauses = 16;
  if (looked_) return causes_;
  looked_ = true;
  Feeds feeds;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < both_.size(); ++i) place[both_[i].name] = i;
  for (int i = 0; i < kMostCauses; ++i) {
    const Counterparts* first = first_dependent(feeds);
    if (first == nullptr) break;
    Cause cause = cause_of(*first);
    for (const Counterparts& both : cause.outputs) {
      replace(both, values_one_[place.at(both.name)], feeds);
    }
    const auto known = std::find_if(causes_.begin(), causes_.end(),
                                    [&](const Cause& one) { return one.what == cause.what; });
    if (known == causes_.end()) {
      causes_.push_back(std::move(cause));
    } else {
      known->of_one.insert(known->of_one.end(), cause.of_one.begin(), cause.of_one.end());
      known->outputs.insert(known->outputs.end(), cause.outputs.begin(), cause.outputs.end());
    }
  }
  return causes_;
}

std::size_t BatchDependence::count(const Cause& cause, const Tensor& value) const {
  const std::vector<Fetch> fetches{Fetch(value)};
  std::set<std::string> needed, found;
  for (const Operation& operation : needed_operations(fetches)) needed.insert(operation.name());
  for (const Tensor& output : cause.of_one) {
    if (needed.contains(output.op().name())) found.insert(output.op().name());
  }
  return found.size();
}

/// Feeds what fused batch normalizations keep for their gradients, and the gradients: their results
/// mix examples too. A tower's loss is a mean over fewer examples than the whole batch, so that its
/// gradient is larger by as much.
void BatchDependence::add_gradient_feeds(const Cause& cause, const std::string& scope_one,
                                         const std::vector<std::string>& scopes_many,
                                         Feeds& feeds) const {
  const auto gradients_one = batch_norm_gradients(fetches_one_);
  const auto gradients_many = batch_norm_gradients(fetches_many_);
  double examples = 0;
  for (const std::int64_t size : many_.tower_sizes) examples += static_cast<double>(size);
  std::vector<Fetch> fetches;
  std::vector<const Counterparts*> found;
  for (const Counterparts& both : cause.outputs) {
    const auto whole = gradients_one.find(scope_one + both.op().name());
    if (whole == gradients_one.end() || both.a[0].index() != 0) continue;
    found.push_back(&both);
    fetches.emplace_back(whole->second);
    for (std::size_t k = 1; k < both.op().num_outputs(); ++k) {
      fetches.emplace_back(both.op().output(k));
    }
  }
  if (found.empty()) return;
  const std::vector<Array> values = run(one_.run, fetches, {});
  auto at = values.begin();
  for (const Counterparts* both : found) {
    const std::vector<Array> parts = cut(*at++, *both->axis, many_.tower_sizes);
    const auto kept = at;
    at += static_cast<std::ptrdiff_t>(both->op().num_outputs()) - 1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Operation op = both->b[i].op();
      for (std::size_t k = 1; k < op.num_outputs(); ++k) {
        const Tensor output = op.output(k);
        const bool is_fed = std::any_of(feeds.begin(), feeds.end(),
                                        [&](const Feed& feed) { return feed.tensor() == output; });
        if (!is_fed) feeds.emplace_back(output, kept[static_cast<std::ptrdiff_t>(k) - 1]);
      }
      const auto part = gradients_many.find(scopes_many[i] + op.name());
      if (part == gradients_many.end()) continue;
      const double factor = examples / static_cast<double>(many_.tower_sizes[i]);
      Array scaled = parts[i].copy();
      dispatch_dtype(scaled.dtype(), [&]<class T>() {
        for (std::int64_t n = 0; n < scaled.elements(); ++n) {
          scaled.data<T>()[n] = static_cast<T>(static_cast<double>(scaled.data<T>()[n]) * factor);
        }
      });
      feeds.emplace_back(part->second, scaled);
    }
  }
}

std::vector<Array> BatchDependence::many_without(
    const std::vector<Cause>& causes, const std::string& scope_one,
    const std::vector<std::string>& scopes_many) const {
  Feeds feeds;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < both_.size(); ++i) place[both_[i].name] = i;
  for (const Cause& cause : causes) {
    for (const Counterparts& both : cause.outputs) {
      replace(both, values_one_[place.at(both.name)], feeds);
    }
    add_gradient_feeds(cause, scope_one, scopes_many, feeds);
  }
  return run(many_.run, fetches_many_, feeds);
}

}  // namespace towerflow::report
