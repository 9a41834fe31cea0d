"""Reads the declarations of the public headers: functions with their parameters, types, and members
of structs.

It only understands declarations in the style of this project's headers and is no C++ parser."""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Parameter:
    type: str
    name: str
    default: str | None


@dataclasses.dataclass
class Function:
    name: str  # "tf::nn::relu"; for members the class, "tf::Session"
    member: str | None  # member of class `name`; None for constructors and free functions
    constructor: bool
    template: dict  # {parameter: its concept}
    parameters: list
    header: str


@dataclasses.dataclass
class Type:
    template: bool
    bases: str  # "public Error"


@dataclasses.dataclass
class Api:
    headers: list
    functions: list = dataclasses.field(default_factory=list)
    types: dict = dataclasses.field(default_factory=dict)  # {qualified name: Type}, not nested
    structs: dict = dataclasses.field(default_factory=dict)  # {qualified name: {member: its type}}


def split(text, separator=","):
    """Splits a list at separators outside brackets of all kinds."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<({[":
            depth += 1
        elif c in ">)}]" and not (c == ">" and text[i - 1] == "-"):
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def closing(text, start):
    """Returns the index after the bracket that closes the one at `start`."""
    opening, depth = text[start], 0
    close = {"(": ")", "{": "}", "<": ">"}[opening]
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == close)
        if depth == 0:
            return i + 1
    raise ValueError(f"no {close} closes {text[start:start + 60]}")


def parameter(text):
    declared, _, default = text.partition("=")
    array = re.fullmatch(r"(.*)\(&(\w+)\)(\[\w+\])", declared.strip())
    if array:
        return Parameter(f"{array[1].strip()} (&){array[3]}", array[2], None)
    match = re.fullmatch(r"(.*[\s&*>])(\w+)", declared.strip())
    kind, name = (match[1], match[2]) if match and match[1].strip() != "const" else (declared, "")
    return Parameter(" ".join(kind.split()), name, default.strip() or None)


class Reader:
    """Reads the declarations of one header."""

    def __init__(self, api, header, text):
        self.api, self.header = api, header
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        macros = re.findall(r"^#define (\w+)\((\w+)\)((?:[^\n\\]|\\.)*)", text, flags=re.M | re.S)
        text = re.sub(r"^\s*#(?:[^\n\\]|\\.)*", "", text, flags=re.M | re.S)
        for macro, parameter_of_macro, body in macros:
            def expanded(use, parameter_of_macro=parameter_of_macro, body=body):
                return re.sub(rf"\b{parameter_of_macro}\b", use[1], body.replace("\\\n", " "))
            text = re.sub(rf"\b{macro}\((\w+)\)", expanded, text)
        self.text = " ".join(text.split())

    def read(self, start=0, end=None, scope=(), owner=None, public=True):
        end = len(self.text) if end is None else end
        at = begun = start
        while at < end:
            c = self.text[at]
            if c == "(":
                at = closing(self.text, at)
            elif c == ";":
                self.declaration(self.text[begun:at].strip(), scope, owner, public)
                at = begun = at + 1
            elif c == "{":
                head, after = self.text[begun:at].strip(), closing(self.text, at)
                inside = (at + 1, after - 1)
                named = re.match(r"(?:inline )?namespace ?([\w:]*)$", head)
                kind = re.match(r"(template ?<.*> ?)?(?:requires .*)?(class|struct|enum|enum class) "
                                r"(?:\[\[\w+\]\] )?(\w+)(?: final)?(?: ?: ?(.*))?$", head)
                if named:
                    outer = tuple(n for n in named[1].split("::") if n)
                    self.read(*inside, scope + outer)
                    at = begun = after
                elif kind:
                    if not owner:
                        self.api.types["::".join(scope + (kind[3],))] = Type(
                            kind[1] is not None, kind[4] or "")
                    if public and not kind[2].startswith("enum"):
                        self.record(kind[2], kind[3], scope, inside, head)
                    at = begun = after
                elif re.match(r"(enum|extern|union)\b", head):
                    at = begun = after
                elif re.search(r"\)[^()=]*$", head) or re.search(r"\) ?:[^:]", head):
                    self.declaration(head, scope, owner, public)  # a function with body
                    if re.search(r"\) ?:[^:]", head) and self.text[after:after + 2].strip()[:1] in \
                            (",", "{"):  # member{value} in a constructor's initializer list
                        at = after
                        continue
                    at = begun = after
                else:  # the default value of a member
                    at = after
            else:
                label = re.compile(r"(public|private|protected): ?").match(self.text, at)
                if label and owner and not self.text[begun:at].strip():
                    public = label[1] == "public"
                    at = begun = label.end()
                else:
                    at += 1

    def record(self, kind, name, scope, inside, head):
        full = scope + (name,)
        if kind == "struct":
            self.api.structs["::".join(full)] = {}
        if not head.startswith("template"):
            self.read(*inside, full, name, kind == "struct")

    def declaration(self, text, scope, owner, public):
        if not public or re.match(r"(using|friend|typedef|static_assert|extern|concept)\b", text):
            return
        template = {}
        while text.startswith("template"):
            start = text.index("<")
            end = closing(text, start)
            for part in split(text[start + 1:end - 1]):
                words = part.partition("=")[0].split()
                if len(words) > 1:
                    template[words[-1]] = " ".join(words[:-1])
            text = text[end:].strip()
        match = re.search(r"([\w~]+|operator ?\S+?) ?\(", text)
        plain = text.partition("=")[0].partition("{")[0]
        if "(" not in plain:
            struct = self.api.structs.get("::".join(scope))
            found = re.fullmatch(r"(.*[\s&*>])(\w+)", plain.strip())
            if struct is not None and found and not found[1].startswith("static"):
                struct[found[2]] = found[1].strip()
            return
        required = re.match(r"requires ?(\(|[\w:]+ ?<)", text)
        if required:
            end = closing(text, required.end() - 1)
            template["requires"] = text[:end]
            text = text[end:].strip()
            match = re.search(r"([\w~]+|operator ?\S+?) ?\(", text)
        if not match or match[1].startswith(("operator", "~")) or "= delete" in text:
            return
        arguments = text[match.end():closing(text, match.end() - 1) - 1]
        constructor = match[1] == owner
        self.api.functions.append(Function(
            "::".join(scope if owner else scope + (match[1],)),
            None if constructor or not owner else match[1], constructor, template,
            [parameter(part) for part in split(arguments)], self.header))


def read():
    """Returns the API of towerflow/tf.h."""
    api = Api(subprocess.run([ROOT / "packaging/public_headers", ROOT / "towerflow/tf.h"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.split())
    for header in api.headers:
        Reader(api, header, (ROOT / header).read_text()).read()
    return api
