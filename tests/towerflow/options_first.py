"""Generates the definitions for options_first.h: calls of each public function that takes options,
with each member of its options after each number of preceding arguments.

usage: options_first.py OUTPUT DEPFILE"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import public_api  # noqa: E402

# Parameters after the options, for which calls use the defaults.
TRAILING_TYPES = ("Site", "Graph*")

# Functions that may be called without some of the parameters before their options: the arguments of
# the shorter call and of the full call (`..` stands for those of the shorter call). A new function
# must be added here, or below with the reason why it is not compared.
SHORTER = {
    "argmax": ("given.x", ".., 0"),
    "argmin": ("given.x", ".., 0"),
    "cumprod": ("given.x", ".., 0"),
    "cumsum": ("given.x", ".., 0"),
    "eye": ("3", ".., 3"),
    "get_local_variable": ('"v"', ".., std::nullopt"),
    "get_variable": ('"v"', ".., std::nullopt"),
    "image::encode_png": ("cast(given.image, uint8)", ".., -1"),
    "image::non_max_suppression": ("ones({2, 4}), ones({2}), 1", ".., 0.5"),
    "image::resize_images": ("given.image, {2, 3}", ".., image::ResizeMethod::BILINEAR"),
    "image::rot90": ("given.image", ".., 1"),
    "math::reduce_std": ("given.x", ".., std::nullopt"),
    "math::reduce_variance": ("given.x", ".., std::nullopt"),
    "layers::dropout": ("given.x", ".., 0.5"),
    "nn::conv2d_transpose": ("given.image, ones({1, 1, 2, 2}), {1, 2, 2, 2}, 1", '.., "SAME"'),
    "nn::l2_normalize": ("given.x", ".., std::nullopt"),
    "nn::leaky_relu": ("given.x", ".., 0.2F"),
    "nn::log_softmax": ("given.x", ".., -1"),
    "nn::lrn": ("given.image", ".., 5"),
    "nn::top_k": ("given.x", ".., 1"),
    "nn::softmax": ("given.x", ".., -1"),
    "norm": ("given.x", '.., "euclidean"'),
    "pad": ("given.x, {{1, 1}, {2, 2}}", '.., "CONSTANT"'),
    "placeholder": ("float32", ".., Shape::unknown()"),
    "range": ("5", "0, .., 1"),
    "reduce_all": ("given.condition", ".., std::nullopt"),
    "reduce_any": ("given.condition", ".., std::nullopt"),
    "reduce_logsumexp": ("given.x", ".., std::nullopt"),
    "reduce_max": ("given.x", ".., std::nullopt"),
    "reduce_mean": ("given.x", ".., std::nullopt"),
    "reduce_min": ("given.x", ".., std::nullopt"),
    "reduce_prod": ("given.x", ".., std::nullopt"),
    "reduce_sum": ("given.x", ".., std::nullopt"),
    "report_uninitialized_variables": ("", "std::nullopt"),
    "sparse_to_dense": ("{0}, {3}, {2.0F}", ".., 0"),
    "split": ("given.x, 2", ".., 0"),
    "summary::image": ('"s", given.image', ".., 3"),
    "stack": ("{given.x, given.x}", ".., 0"),
    "strided_slice": ("given.x, {0, 0}, {1, 2}", ".., ones_like({0, 0})"),
    "train::AdadeltaOptimizer": ("", "0.001"),
    "train::AdamOptimizer": ("", "0.001"),
    "train::ExponentialMovingAverage": ("0.5", ".., std::nullopt"),
    "train::Saver": ("", "global_variables()"),
    "train::update_checkpoint_state": ('given.folder, "a-1"', ".., std::span<const std::string>()"),
    "transpose": ("given.x", ".., {1, 0}"),
    "unstack": ("given.x", ".., std::nullopt"),
}
NOT_COMPARED = {
    "train::wait_for_new_checkpoint": "it makes no nodes",
    "InteractiveSession": "it makes no nodes",
    "layers::Dropout": "it makes no nodes",
    "Session": "it makes no nodes",
    "sequence_mask": "without maxlen it first finds the largest length",
    "data::Iterator::from_structure": "the longer call gives dtypes and shapes one by one",
    "summary::FileWriter": "it makes no nodes",
    "train::Coordinator::join": "it makes no nodes; coordinator_test.cc calls it so",
    "train::export_meta_graph": "it makes no nodes",
    "train::start_queue_runners": "the longer call says what a member says",
    "foldl": "without an initializer it begins with the first slice",
    "foldr": "without an initializer it begins with the last slice",
    "scan": "without an initializer it begins with the first slice",
    "where": "of one argument it is another function",
    "where_v2": "of one argument it is another function",
}
# Values of members in the compared calls; `Options::member` if a name has several meanings. A new
# member must be added.
VALUES = {
    "ArgMaxOptions::output_type": "int32",
    "DropoutLayerOptions::rate": "0.25",
    "ExponentialMovingAverageOptions::name": '"a"',
    "GetVariableOptions::dtype": "float32",
    "PadOptions::constant_values": "7",
    "PlaceholderOptions::shape": "Shape{2}",
    "SaverOptions::var_list": "global_variables()",
    "aggregation": "VariableAggregation::SUM",
    "all_model_checkpoint_timestamps": "{7.0}",
    "allow_empty": "true",
    "align_corners": "true",
    "alpha": "0.5",
    "axis": "1",
    "batch_shape": "{2}",
    "begin_mask": "1",
    "beta": "0.75",
    "beta1": "0.5",
    "beta2": "0.5",
    "bias": "2.0",
    "caching_device": '"/cpu:0"',
    "collections": '{{"kept"}}',
    "constraint": "[](const Tensor& x) { return abs(x); }",
    "custom_getter": "renaming",
    "data_format": '"NCHW"',
    "dilations": "{1, 1, 1, 1}",
    "dim": "0",
    "dtype": "float64",
    "ellipsis_mask": "1",
    "end_mask": "1",
    "epsilon": "0.5F",
    "exclusive": "true",
    "family": '"a"',
    "filename": '"a"',
    "home": "VariableHome::device",
    "index_type": "int64",
    "initializer": "Operand({2.0, 3.0})",
    "keep_checkpoint_every_n_hours": "1",
    "keep_dims": "true",
    "keepdims": "true",
    "last_preserved_timestamp": "7",
    "latest_filename": '"a"',
    "max_to_keep": "1",
    "name": '"a"',
    "new_axis_mask": "1",
    "noise_shape": "{{2, 1}}",
    "num": "2",
    "ord": "1",
    "pad_step_number": "true",
    "partitioner": "fixed_size_partitioner(2)",
    "preserve_aspect_ratio": "true",
    "reduction_indices": "1",
    "regularizer": "[](const Tensor& x) { return reduce_sum(x); }",
    "reuse": "AUTO_REUSE",
    "reverse": "true",
    "rho": "0.5",
    "score_threshold": "0.5",
    "save_relative_paths": "true",
    "scope": '"a"',
    "seed": "3",
    "shrink_axis_mask": "1",
    "sorted": "false",
    "synchronization": "VariableSynchronization::ON_READ",
    "trainable": "false",
    "training": "true",
    "use_locking": "true",
    "use_resource": "false",
    "validate_indices": "false",
    "validate_shape": "false",
    "zero_debias": "true",
}
# Members with the same meaning as a parameter that the shorter call omits.
SAME_AS_PARAMETER = ("DropoutLayerOptions::rate", "MomentOptions::axis", "NormOptions::ord",
                     "PlaceholderOptions::shape", "ReduceOptions::axis",
                     "ReduceOptions::reduction_indices", "SaverOptions::var_list",
                     "SoftmaxOptions::axis", "SoftmaxOptions::dim", "StackOptions::axis")
# Other members that must be given too: a variable without a shape needs an initial value.
REQUIRED_WITH = {"GetVariableOptions": "initializer"}
# Calls that make the arguments of an object visible in the graph.
EFFECT_CALLS = {"train::AdadeltaOptimizer": ".minimize(reduce_sum(given.weight))",
         "train::AdamOptimizer": ".minimize(reduce_sum(given.weight))",
         "train::ExponentialMovingAverage": ".apply({given.weight, given.x})"}


def bare(kind):
    return re.sub(r"^const ", "", kind).rstrip("& ").strip()


def plain(name):
    """Returns a name as users write it, without the namespaces `types`."""
    return name.replace("towerflow::", "").replace("types::", "")


class OptionsFunction:
    """A function whose last parameter is its options."""

    def __init__(self, function, before, struct):
        self.function, self.before, self.struct = function, before, struct
        self.name = plain(function.name) + (f"::{function.member}" if function.member else "")

    def concrete(self, kind):
        """Returns the type with template parameters replaced by concrete types."""
        for name, concept in self.function.template.items():
            stands_for = re.search(r"same_as<(\w+)>|(Gradient)Like", concept)
            one, two = "Tensor (*)(Tensor)", "Tensor (*)(Tensor, Tensor)"
            by = {"F": one, "Cond": one, "Body": one, "Step": two}.get(name, "Tensor")
            if "invocable" in concept:
                by = "Tensor (*)()"
            if stands_for:
                by = stands_for[1] or stands_for[2]
            kind = re.sub(rf"\b{name}\b", by, kind)
        return kind

    def types(self, count):
        return tuple(bare(self.concrete(p.type)) for p in self.before[:count])

    def call(self, arguments):
        function = self.function
        if function.member:
            return f"ref<X, {function.name}>().{function.member}({arguments})"
        return f"{function.name}({arguments})"

    def argument(self, parameter):
        kind = self.concrete(parameter.type)
        listed = re.fullmatch(r"std::initializer_list<(.*)>", kind)
        if listed:
            return f"{{of<X, {listed[1]}>()}}"
        if kind.endswith("&") and not kind.startswith("const "):
            return f"ref<X, {bare(kind)}>()"
        return f"of<X, {bare(kind)}>()"


def values(struct, member, kind):
    """Yields expressions of all types that are plausible values of the member."""
    inner = re.sub(r"^std::optional<(.*)>$", r"\1", kind)
    # Optional numbers are usually given as literals, not as variables.
    if inner not in ("Operand", "float", "double") or kind == inner and inner != "Operand":
        yield f"of<X, decltype({struct}::{member})>()"
    if inner == "std::string":
        yield 'of<X>("a")'
    elif re.fullmatch(r"std::int64_t|int", inner):
        yield "of<X>(1)"
    elif inner == "bool":
        yield "of<X>(true)"
    elif inner == "Operand":
        yield from ("of<X>(1)", "of<X>(0.5)", "of<X, Tensor>()", "of<X, Variable>()")
    elif kind in ("Shape", "Axis", "std::vector<int>"):
        yield "{of<X>(1), of<X>(2)}"


class Matrix:
    def __init__(self, api):
        self.structs = {name.split("::")[-1]: (name, {member: kind for member, kind in members.items()
                                                      if kind != "ByName"})
                        for name, members in api.structs.items()}
        self.takers, self.without, self.own, self.arrays = [], 0, 0, set()
        for function in api.functions:
            self.sort(function)
        self.families = {}
        for taker in self.takers:
            self.families.setdefault(taker.name, []).append(taker)

    def sort(self, function):
        """Adds the function to the matrix or counts it as excluded."""
        parameters = [p for p in function.parameters if bare(p.type) not in TRAILING_TYPES]
        stands_for = re.findall(r"same_as<(\w+Options)>", " ".join(function.template.values()))
        last = stands_for[0] if stands_for else bare(parameters[-1].type) if parameters else ""
        last = last.split("::")[-1]
        if not re.search(r"Options?$|ConfigProto$|ErrorDetail$", last):
            self.without += 1
        elif any(not p.default for p in function.parameters if bare(p.type) in TRAILING_TYPES):
            self.own += 1  # internal to the library: gets its caller's site
        elif any("(&)" in p.type or "..." in p.type for p in parameters):
            self.arrays.add(function.name)
        elif last not in self.structs:
            sys.exit(f"{function.header}: {function.name} takes {last}, which is no struct of the "
                     "public headers")
        else:
            self.takers.append(OptionsFunction(function, parameters[:-1], last))

    def cases(self):
        """Returns {(function, types before, member, value): (code, shall compile, count)}."""
        found = {}
        for taker in self.takers:
            full, members = self.structs[taker.struct]
            # g++ fails, even in a requires-expression, if a member's name meets an array.
            least = int(taker.function.name in self.arrays)
            for member, kind in members.items():
                for value in values(full, member, kind):
                    for k in range(least, len(taker.before) + 1):
                        key = (taker.name, taker.types(k), member,
                               value if "{" in value or "(1" in value or '"' in value
                               else kind + value[:9])
                        given = [taker.argument(p) for p in taker.before[:k]]
                        code = taker.call(", ".join(given + [f"{{.{member} = {value}}}"]))
                        means = all(p.default for p in taker.before[k:])
                        old = found.get(key, (code, False, k))
                        found[key] = (old[0], old[1] or means, k)
        return found

    def shorter(self):
        """Yields the families of overloads that may omit parameters before the options."""
        for name, takers in sorted(self.families.items()):
            if len({len(taker.before) for taker in takers}) > 1:
                yield name, sorted(takers, key=lambda taker: len(taker.before))

    def options_replacing_parameters(self):
        """Returns options in whose place a longer overload has a parameter that accepts braces."""
        return sorted({takers[0].struct for _, takers in self.shorter()
                       if not re.search(r"\b(Graph|Coordinator) ?&",
                                        takers[-1].before[len(takers[0].before)].type)})

    def runs(self):
        """Yields (text, the shorter call, the full call)."""
        for name, takers in self.shorter():
            if name in NOT_COMPARED:
                continue
            if name not in SHORTER:
                sys.exit(f"{takers[0].function.header}: {name} leaves out parameters before its "
                         "options: say in SHORTER what it is called with")
            short, whole = SHORTER[name]
            whole = whole.replace("..", short)
            struct, members = takers[0].struct, self.structs[takers[0].struct][1]
            for member in members:
                own = f"{struct}::{member}"
                if own not in VALUES and member not in VALUES:
                    sys.exit(f"{takers[0].function.header}: say a value of {own} in VALUES")
                value = {m: VALUES.get(f"{struct}::{m}", VALUES.get(m)) for m in members}
                said = [m for m in members if m in (member, REQUIRED_WITH.get(struct))]
                options = "{" + ", ".join(f".{m} = {value[m]}" for m in said) + "}"
                compared = whole, options
                if own in SAME_AS_PARAMETER:
                    compared = f"{short}, {value[member]}".removeprefix(", "), "{}"
                calls = [f"{name}({', '.join(filter(None, call))}){EFFECT_CALLS.get(name, '')}"
                         for call in ((short, options), compared)]
                yield calls[0].replace("given.", ""), *calls


def listed(cases):
    """Yields the rows of kCalls."""
    for (name, types, _, _), (code, means, k) in cases.items():
        text = re.sub(r"of<X, (\w+::)*(\w+)[^()]*>\(\)", r"\2", code)
        text = re.sub(r"of<X, decltype\(.*?\)>\(\)", "..", text)
        text = plain(re.sub(r"of<X>\((.*?)\)", r"\1", text)).replace('"', "'")
        row = f'  {{"{text}", requires {{ {code}; }}, {str(means).lower()}}},'
        # clang gives an answer only if something besides the options depends on X.
        if k == 0 and name.split("::")[-1][0].islower() and "ref<X" not in code:
            row = f"#ifndef __clang__\n{row}\n#endif"
        yield row


BEGINNING = """// Written by options_first.py.
#include "tests/towerflow/options_first.h"

namespace towerflow::options_first {
namespace {

// The types of parameters, as their headers name them.
using namespace data;
using namespace errors;
using namespace image;
using namespace layers;
using namespace losses;
using namespace math;
using namespace nn;
using namespace nn::rnn_cell;
using namespace parallel;
using namespace slim;
using namespace summary;
using namespace train;

// Values whose types depend on X, without which a requires-expression is an error, not false.
template <class X, class T>
T of();
template <class X, class T>
T of(T);
template <class X, class T>
T& ref();
template <class X, class T>
void taken(T);

template <class X>
constexpr Case kCalls[] = {"""
LISTS = ("{0}", "{1}", "{true}", "{0.5}", '{"a"}', "{0, 1}")


def main(output, depfile):
    api = public_api.read()
    matrix = Matrix(api)
    lines = [BEGINNING, *listed(matrix.cases()), "};", "", "template <class X>",
             "constexpr Case kLists[] = {"]
    for struct in matrix.options_replacing_parameters():
        for braces in LISTS:
            text = f"{struct} of {braces}".replace('"', "'")
            lines.append(f'  {{"{text}", requires {{ taken<X, {struct}>({braces}); }}, false}},')
    lines += ["};", "", "const Run kRuns[] = {"]
    for text, *calls in matrix.runs():
        bodies = [f"   []([[maybe_unused]] const CallArguments& given) {{ {call}; }}" for call in calls]
        lines.append(f'  {{R"({text})",\n' + ",\n".join(bodies) + "},")
    counts = f"{len(matrix.families)}, {matrix.without}, {matrix.own}, {len(matrix.arrays)}"
    lines += ["};", "", "}  // namespace", "", f"const Functions kFunctions{{{counts}}};",
              "std::span<const Case> all_calls() { return kCalls<int>; }",
              "std::span<const Case> all_lists() { return kLists<int>; }",
              "std::span<const Run> all_runs() { return kRuns; }", "",
              "}  // namespace towerflow::options_first", ""]
    pathlib.Path(output).write_text("\n".join(lines))
    needed = " ".join(str(public_api.ROOT / header) for header in api.headers)
    pathlib.Path(depfile).write_text(f"{output}: {needed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
