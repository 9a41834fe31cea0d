// tf::metrics.
#include "ops/metrics/metrics.h"

#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

using metrics::Metric;
using metrics::MetricOptions;

template <class Options = MetricOptions>
Options metric_options(const Args& args) {
  Options options;
  if (!args.value("weights").none()) options.weights = args.operand("weights");
  options.metrics_collections =
      args.texts("metrics_collections").value_or(std::vector<std::string>{});
  options.updates_collections =
      args.texts("updates_collections").value_or(std::vector<std::string>{});
  options.name = args.text("name");
  return options;
}

Value pair_of(const Metric& metric) { return List{metric.value, metric.update_op}; }

std::vector<double> numbers_of(const Args& args, const char* name) {
  std::vector<double> numbers;
  for (const Value& value : args.list(name)) {
    const auto* number = value.get_if<double>();
    if (number == nullptr) throw BadProgram("a threshold that is not a float");
    numbers.push_back(*number);
  }
  return numbers;
}

Handler of_values(Metric (*function)(const Operand&, MetricOptions, Site)) {
  return [=](Interpreter&, const Args& args) -> Value {
    return pair_of(function(args.operand("values"), metric_options(args), Site::current()));
  };
}

Handler of_labels(Metric (*function)(const Operand&, const Operand&, MetricOptions, Site)) {
  return [=](Interpreter&, const Args& args) -> Value {
    return pair_of(function(args.operand("labels"), args.operand("predictions"),
                            metric_options(args), Site::current()));
  };
}

Handler at_thresholds(Metric (*function)(const Operand&, const Operand&, const Operand&,
                                         MetricOptions, Site)) {
  return [=](Interpreter&, const Args& args) -> Value {
    return pair_of(function(args.operand("labels"), args.operand("predictions"),
                            args.operand("thresholds"), metric_options(args), Site::current()));
  };
}

Value auc_metric(Interpreter&, const Args& args) {
  auto options = metric_options<metrics::AucOptions>(args);
  options.num_thresholds = static_cast<int>(args.integer("num_thresholds", 200));
  options.curve = args.text("curve", "ROC");
  options.summation_method = args.text("summation_method", "trapezoidal");
  if (!args.value("thresholds").none()) options.thresholds = numbers_of(args, "thresholds");
  return pair_of(metrics::auc(args.operand("labels"), args.operand("predictions"), options));
}

using ClassMetric = metrics::Metric (*)(const Operand&, const Operand&, int, metrics::MetricOptions,
                                        Site);
Handler of_classes(ClassMetric metric) {
  return [metric](Interpreter&, const Args& args) -> Value {
    return pair_of(metric(args.operand("labels"), args.operand("predictions"),
                          static_cast<int>(args.integer("num_classes")), metric_options(args),
                          Site::current()));
  };
}

}  // namespace

void add_metric_handlers(HandlerTable& table) {
  table["metric_mean"] = of_values(metrics::mean);
  table["metric_mean_tensor"] = of_values(metrics::mean_tensor);
  table["metric_accuracy"] = of_labels(metrics::accuracy);
  table["metric_mean_absolute_error"] = of_labels(metrics::mean_absolute_error);
  table["metric_mean_squared_error"] = of_labels(metrics::mean_squared_error);
  table["metric_root_mean_squared_error"] = of_labels(metrics::root_mean_squared_error);
  table["metric_mean_relative_error"] = [](Interpreter&, const Args& args) -> Value {
    return pair_of(metrics::mean_relative_error(args.operand("labels"), args.operand("predictions"),
                                                args.operand("normalizer"), metric_options(args)));
  };
  table["metric_mean_cosine_distance"] = [](Interpreter&, const Args& args) -> Value {
    return pair_of(
        metrics::mean_cosine_distance(args.operand("labels"), args.operand("predictions"),
                                      static_cast<int>(args.integer("dim")), metric_options(args)));
  };
  table["metric_mean_iou"] = of_classes(metrics::mean_iou);
  table["metric_mean_per_class_accuracy"] = of_classes(metrics::mean_per_class_accuracy);
  table["metric_percentage_below"] = [](Interpreter&, const Args& args) -> Value {
    return pair_of(metrics::percentage_below(args.operand("values"), args.operand("threshold"),
                                             metric_options(args)));
  };
  table["metric_true_positives"] = of_labels(metrics::true_positives);
  table["metric_true_negatives"] = of_labels(metrics::true_negatives);
  table["metric_false_positives"] = of_labels(metrics::false_positives);
  table["metric_false_negatives"] = of_labels(metrics::false_negatives);
  table["metric_precision"] = of_labels(metrics::precision);
  table["metric_recall"] = of_labels(metrics::recall);
  table["metric_true_positives_at_thresholds"] =
      at_thresholds(metrics::true_positives_at_thresholds);
  table["metric_true_negatives_at_thresholds"] =
      at_thresholds(metrics::true_negatives_at_thresholds);
  table["metric_false_positives_at_thresholds"] =
      at_thresholds(metrics::false_positives_at_thresholds);
  table["metric_false_negatives_at_thresholds"] =
      at_thresholds(metrics::false_negatives_at_thresholds);
  table["metric_precision_at_thresholds"] = at_thresholds(metrics::precision_at_thresholds);
  table["metric_recall_at_thresholds"] = at_thresholds(metrics::recall_at_thresholds);
  table["metric_auc"] = auc_metric;
}

}  // namespace towerflow::golden
