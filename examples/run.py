#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The case studies: records their programs, judges what tidemark says of them, and holds the pages
in docs/case-studies to it.

  examples/run.py [--only NAME]… [--filter REGEX] [--write] [--measure] [--list] [--build DIR]

A hunt is a directory here with a hunt.py: hunt(stage) records, judges and gives figures; its page
is docs/case-studies/NAME.md. Whatever the page says in numbers stands between marks,
<!--=FIGURE-->text<!--/-->, and must be what the hunt found; a number outside of them is a failure,
unless it is a small count without a unit. Whole blocks, a command and its output, are marked in the
same way; times in them are not judged. --write writes the marks anew, and the pictures. The tour in
README.md has marks of the hunt TOUR, and numbers of others' beside them.

--measure runs peers(stage) of each hunt as well, the same hunt with other tools, and writes its
table, the mark `measured`. Its times are nowhere judged.

What was recorded and rendered is left in DIR/case-studies/NAME. Ends with the counts.
"""
import argparse
import importlib.util
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from stage import ROOT, Figure, Stage, record  # noqa: E402

MARK = re.compile(r"<!--=([\w.-]+)-->(.*?)<!--/-->", re.S)
MEASURED = "measured"
TOUR = "queue"
UNMARKED = re.compile(r"(?<![\w.])\d[\d,.]*\d{2}\b|"
                      r"(?<![\w.])\d[\d,.]* ?(?:%|×|bytes|[KMG]iB|[kKMG]B|[nµm]?s\b)")


def hunts():
    return sorted(path.parent.name for path in (ROOT / "examples").glob("*/hunt.py"))


def module_of(name):
    spec = importlib.util.spec_from_file_location(f"hunt_{name}", ROOT / f"examples/{name}/hunt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unmarked(text):
    """Numbers of a page that no figure stands behind."""
    text = MARK.sub("", text)
    for pattern in (r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)", r"<!--.*?-->"):
        text = re.sub(pattern, "", text, flags=re.S)
    return [found.group() for found in UNMARKED.finditer(text)]


def hold(page, figures, kept, alone=True):
    """The page says what was found, and nothing else unless others' numbers stand there, too. Marks
    that are kept stay as they are where nothing was found for them."""
    text = page.read_text()
    wrong = []
    for name, quoted in MARK.findall(text):
        if name not in figures:
            if name not in kept:
                wrong.append(f"there is no figure {name}")
        elif not figures[name].agrees(quoted):
            wrong.append(f"{name} is {figures[name].text!r}, the page has {quoted!r}")
    if alone:
        wrong += [f"'{number}' has no figure behind it" for number in unmarked(text)]
    if wrong:
        raise record.Failure(f"{page.name}: " + "; ".join(wrong))


def rewrite(page, figures):
    def anew(mark):
        name, quoted = mark.groups()
        text = figures[name].text if name in figures else quoted
        return f"<!--={name}-->{text}<!--/-->"
    page.write_text(MARK.sub(anew, page.read_text()))


def pursue(name, options):
    stage = Stage(name, options.build, options.write)
    module = module_of(name)
    module.hunt(stage)
    if options.measure and hasattr(module, "peers"):
        stage.figures[MEASURED] = Figure("\n" + module.peers(stage).strip() + "\n")
    pages = [ROOT / f"docs/case-studies/{name}.md", *([ROOT / "README.md"] if name == TOUR else [])]
    for page in pages:
        if options.write or options.measure:
            rewrite(page, stage.figures)
        hold(page, stage.figures, stage.kept | {MEASURED}, alone=page == pages[0])


def main():
    # A job in the background of a shell is started deaf to SIGINT, and its children would be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--write", action="store_true", help="write pages and pictures anew")
    parser.add_argument("--measure", action="store_true", help="the same with other tools, timed")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    options.build = options.build.resolve()
    chosen = [name for name in hunts() if record.is_chosen(options, name)]
    if options.list:
        print("\n".join(chosen))
        return 0
    tally = record.Tally()
    for name in chosen:
        tally.run(name, lambda n=name: pursue(n, options))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
