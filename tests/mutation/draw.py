# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mutants of C files: reads C as far as it takes to know what is a statement or an expression, and draws small
changes of these.  Outside of functions nothing is changed, and of declarations only what locals begin with."""

import bisect
import collections
import fnmatch
import hashlib
import pathlib
import re

TOKEN = re.compile(r"""
        (?P<directive> (?<![^\n])[ \t]*\#(?: \\\n | /\*.*?\*/ | "(?: \\. | [^"\\\n] )*" | [^\n] )* )
      | (?P<space>     (?: \s | \\\n )+ )
      | (?P<comment>   /\*.*?\*/ | //(?: \\\n | [^\n] )* )
      | (?P<string>    (?: u8 | [uUL] )? (?: "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )+' ) )
      | (?P<number>    \.?\d(?: [eEpP][+-] | [\w.] )* )
      | (?P<name>      [A-Za-z_]\w* )
      | (?P<sign>      \.\.\. | <<= | >>= | -> | \+\+ | -- | << | >> | [<>=!+\-*/%&|^]= | && | \|\| | [^"'] )
""", re.VERBOSE | re.DOTALL)
# a directive may be indented, and what is before it on its line is white space then
LINE_START = re.compile(r"(?<=\n)(?=[ \t]*#)")

COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
LOGICAL = {"&&": "||", "||": "&&"}
OPPOSITE = {"true": "false", "false": "true"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)([uUlL]*)")

BLOCKS = {"if", "while", "switch", "for"}
JUMPS = {"break", "continue", "goto", "fallthrough"}
TYPES = set("""const volatile static register extern auto typedef struct union enum signed unsigned bool void char short
    int long float double typeof __typeof__ __auto_type""".split())
# Calls in which nothing is changed: text for people, assertions, declarations by macros, what is there for sparse,
# and what the compiler computes.
LEFT_ALONE = re.compile(r"""pr_\w+|printk\w*|bpf_log|log_\w+|lockdep_\w+|might_\w+|WARN\w*|VM_\w+|BUILD_BUG\w*|assert\w*
    |(_S|s)tatic_assert|__(acquire|release)s?|(DECLARE|DEFINE|EXPORT|MODULE|BTF)_\w+|LIST_HEAD|va_\w+|prefetch\w*
    |sizeof\w*|offsetof\w*|container_of|typeof|__typeof__|__attribute__|_Alignof|rcu_dereference_\w+""", re.VERBOSE)
# Calls that are not removed: half of a pair of locks mostly hangs the machine, which takes long and tells nothing.
PAIRED = re.compile(r"""(\w+_)?(un|try)?lock(_\w+)?|rcu_read_\w+|preempt_\w+|local_irq\w*|smp_\w+|barrier|(down|up)_\w+
    |synchronize_\w+""", re.VERBOSE)

Token = collections.namedtuple("Token", "kind text start end")
# what is at [start, end) becomes "new"
Mutant = collections.namedtuple("Mutant", "file line kind start end new")


class MutationError(Exception):
    pass


def tokens_of(name, text):
    """Those of code, without directives and comments."""
    found, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        if not token:
            raise MutationError(f"{name}:{text.count(chr(10), 0, at) + 1}: a string or comment does not end")
        if token.lastgroup == "space" and (start := LINE_START.search(text, at, token.end() + 1)):
            at = start.start() # the next one is a directive
            continue
        if token.lastgroup not in {"space", "comment", "directive"}:
            found.append(Token(token.lastgroup, token.group(), token.start(), token.end()))
        at = token.end()
    return found


class Reader:
    """Collects in "found" all mutants of one file."""

    def __init__(self, name, text):
        self.name, self.text, self.found = name, text, []
        self.lines = [0] + [found.end() for found in re.finditer("\n", text)]
        self.tokens = tokens_of(name, text)
        self.partner = {}
        waiting = []
        for i, token in enumerate(self.tokens):
            if token.kind == "sign" and token.text in OPEN:
                waiting.append(i)
            elif token.kind == "sign" and token.text in CLOSE:
                if not waiting or self.tokens[waiting[-1]].text != CLOSE[token.text]:
                    raise self.error(i, f"this '{token.text}' closes nothing")
                self.partner[i] = waiting.pop()
                self.partner[self.partner[i]] = i
        if waiting:
            raise self.error(waiting[-1], "this bracket is not closed")
        self.functions()

    def line(self, offset):
        return bisect.bisect_right(self.lines, offset)

    def error(self, i, what):
        return MutationError(f"{self.name}:{self.line(self.tokens[i].start)}: {what}")

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def is_name(self, i):
        return 0 <= i < len(self.tokens) and self.tokens[i].kind == "name"

    def add(self, kind, first, last, new):
        """Of the tokens from first to last, both included."""
        start = self.tokens[first].start
        self.found.append(Mutant(self.name, self.line(start), kind, start, self.tokens[last].end, new))

    def functions(self):
        i = 0
        while i < len(self.tokens):
            if self.word(i) == "{" and self.word(i - 1) == ")":
                name = self.partner[i - 1] - 1
                if self.is_name(name) and not LEFT_ALONE.fullmatch(self.word(name)):
                    self.function(name, i)
            i = self.skip(i)

    def function(self, name, body):
        specifiers = []
        i = name - 1
        while self.is_name(i) or self.word(i) == "*":
            specifiers.append(self.word(i))
            i -= 1
        self.returns = "value" if "*" in specifiers else \
            next((word for word in ("bool", "void") if word in specifiers), "value")
        self.last = self.partner[body]
        self.statement(body)

    def statement(self, i):
        """Reads the statement that begins with token i; returns the index of what comes after it."""
        word, after = self.word(i), self.word(i + 1)
        if word == "{":
            end = self.partner[i]
            i += 1
            while i < end:
                i = self.statement(i)
            return end + 1
        if word in BLOCKS and after == "(":
            i = self.statement(self.condition(i + 1))
            return self.statement(i + 1) if word == "if" and self.word(i) == "else" else i
        if word == "do":
            return self.condition(self.statement(i + 1) + 1) + 1
        if self.is_name(i) and after in BLOCKS: # "__unrolled"
            return self.statement(i + 1)
        if word in {"case", "default"} or self.is_name(i) and after == ":":
            return self.find(":", i) + 1
        if self.is_name(i) and after == "(":
            follows = self.partner[i + 1] + 1
            if self.word(follows) == "{" or self.is_name(follows): # a loop that is a macro
                return self.statement(follows if LEFT_ALONE.fullmatch(word) else self.condition(i + 1))
        end = self.find(";", i)
        self.simple(i, end)
        return end + 1

    def find(self, sign, i):
        """Where the sign is, from i on and not inside of brackets."""
        start = i
        while self.word(i) != sign:
            i = self.skip(i)
            if i >= self.last:
                raise self.error(start, f"no '{sign}' ends this statement")
        return i

    def skip(self, i):
        """What comes after token i, which may open a bracket."""
        return self.partner.get(i, i) + 1 if self.word(i) in OPEN else i + 1

    def condition(self, i):
        """In the brackets that token i opens."""
        if self.word(i) != "(":
            raise self.error(i, "this statement is not understood")
        self.expression(i + 1, self.partner[i], i)
        return self.partner[i] + 1

    def is_declaration(self, i):
        if not self.is_name(i):
            return False
        if self.word(i) in TYPES or self.is_name(i + 1):
            return True
        while self.word(i + 1) == "*":
            i += 1
        return self.word(i) == "*" and self.is_name(i + 1) and self.word(i + 2) in {"=", ";", ",", "[", ")"}

    def simple(self, i, end):
        word = self.word(i)
        if i == end or word in JUMPS or self.word(i + 1) == "(" and LEFT_ALONE.fullmatch(word):
            return
        if word == "return":
            self.expression(i + 1, end)
            self.returned(i, end)
        elif self.is_declaration(i):
            if "static" not in (self.word(i), self.word(i + 1)):
                self.initialisers(i, end)
        else:
            self.expression(i, end)
            calls = [k for k in range(i, end) if self.is_name(k) and self.word(k + 1) == "("]
            if not any(PAIRED.fullmatch(self.word(k)) for k in calls):
                self.add("statement", i, end, ";")

    def initialisers(self, i, end):
        while i < end:
            start = i + 1
            is_value = self.word(i) == "="
            i = self.skip(i) # over the size of an array, say
            if is_value:
                while i < end and self.word(i) != ",":
                    i = self.skip(i)
                self.expression(start, i)

    def returned(self, i, end):
        """Other values, and no return at all unless it is the last statement, after which a value is missing."""
        value = [token.text for token in self.tokens[i + 1:end]]
        if value and self.returns == "bool":
            for new in ("true", "false"):
                if value not in (["true"], ["false"]):
                    self.add("return", i, end, f"return {new};")
        elif len(value) > 1 or value and not INTEGER.fullmatch(value[0]) and value[0] != "NULL":
            self.add("return", i, end, "return 0;")
        if end + 1 != self.last:
            self.add("return", i, end, ";")

    def expression(self, i, end, outer=None):
        """The tokens [i, end), inside the brackets that token outer opens."""
        around = [outer]
        while i < end:
            token = self.tokens[i]
            if token.kind == "name" and self.word(i + 1) == "(" and LEFT_ALONE.fullmatch(token.text):
                i = self.partner[i + 1] + 1
                continue
            if token.text in OPEN:
                around.append(i)
            elif token.text in CLOSE:
                around.pop()
            elif token.text in COMPARISONS:
                for new in COMPARISONS[token.text]:
                    self.add("comparison", i, i, new)
            elif token.text in LOGICAL:
                self.add("logical", i, i, LOGICAL[token.text])
            elif token.text == "!":
                self.add("logical", i, i, "")
            elif token.text in OPPOSITE:
                bracket = around[-1]
                is_argument = bracket is not None and self.word(bracket) == "(" and \
                    self.is_name(bracket - 1) and self.word(bracket - 1) not in BLOCKS | {"return"}
                self.add("argument" if is_argument else "boolean", i, i, OPPOSITE[token.text])
            elif token.kind == "number":
                self.constant(i)
            i += 1

    def constant(self, i):
        parts = INTEGER.fullmatch(self.word(i))
        if not parts:
            return
        digits, suffix = parts.groups()
        is_hex = digits[:2].lower() == "0x"
        value = int(digits, 16 if is_hex else 8 if digits[0] == "0" else 10)
        wanted = {value + 1, value - 1, 0} - {value}
        if self.word(i - 1) in {"/", "%"}:
            wanted -= {0} # the compiler may do what it likes then
        for new in sorted(wanted):
            written = hex(new) if is_hex and new >= 0 else str(new)
            self.add("constant", i, i, (written if new >= 0 else f"({written})") + suffix)


def apply(text, mutant):
    return text[:mutant.start] + mutant.new + text[mutant.end:]


def difference(text, mutant):
    """The lines that change, as of a diff and without their indentation."""
    first = text.rfind("\n", 0, mutant.start) + 1
    last = text.find("\n", mutant.end)
    new = text[first:mutant.start] + mutant.new + text[mutant.end:last]
    return [f"{sign} {line.strip()}" for sign, part in (("-", text[first:last]), ("+", new))
            for line in part.splitlines()]


def before_and_after(diff):
    return tuple(" ".join(line[2:] for line in diff if line[0] == sign) for sign in "-+")


def find_files(top, paths, exclude):
    files = set()
    for path in paths:
        found = top / path
        if not found.exists():
            raise MutationError(f"there is no {path}")
        inside = [file for pattern in ("*.c", "*.h") for file in found.rglob(pattern)] if found.is_dir() else [found]
        try:
            files.update(file.resolve().relative_to(top) for file in inside)
        except ValueError:
            raise MutationError(f"{path} is not in {top}") from None
    files = [file for file in sorted(files) if not any(
        fnmatch.fnmatch(file.name, pattern) or fnmatch.fnmatch(str(file), pattern) for pattern in exclude)]
    if not files:
        raise MutationError(f"no C files in {', '.join(map(str, paths))}, or all are excluded")
    return files


def number_of(*parts):
    """A number that depends on nothing else, whatever the version of Python."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "big")


def draw(top, paths, exclude, seed):
    """All that can be drawn, at most one a line, in an order of which each beginning has of each file in proportion
    to its lines; and the texts of the files.  A line is drawn by what is in it: a change elsewhere moves few others."""
    order, texts = [], {}
    for file in find_files(pathlib.Path(top).resolve(), paths, exclude):
        name = str(file)
        try:
            texts[name] = text = (pathlib.Path(top) / file).read_text()
        except UnicodeDecodeError:
            raise MutationError(f"{name} is no text") from None
        lines = collections.defaultdict(list)
        for mutant in Reader(name, text).found:
            lines[mutant.line].append(mutant)
        seen, drawn = collections.Counter(), []
        for number, mutants in sorted(lines.items()):
            content = text.splitlines()[number - 1].strip()
            seen[content] += 1
            key = (seed, name, content, seen[content])
            kinds = sorted({mutant.kind for mutant in mutants})
            kind = kinds[number_of("kind", *key) % len(kinds)]
            if kind == "statement" and number_of("half", *key) % 2:
                continue # or every second mutant were one of these, of which most are noticed at once
            mutants = [mutant for mutant in mutants if mutant.kind == kind]
            drawn.append((number_of("line", *key), mutants[number_of("mutant", *key) % len(mutants)]))
        phase = number_of("file", seed, name) / 2 ** 64
        order += [((i + phase) / len(drawn), mutant) for i, (_, mutant) in enumerate(sorted(drawn))]
    if not order:
        raise MutationError(f"there is nothing to change in {', '.join(texts)}")
    return [mutant for _, mutant in sorted(order)], texts
