# SPDX-License-Identifier: Apache-2.0
"""What of a capture others get to see: modes of files, and --redact-args in everything written."""
import base64
import contextlib
import gzip
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import zlib

from ground import expect, test, wait_for

DECODER = pathlib.Path(__file__).resolve().parents[1] / "compat" / "tide_decode.py"
SECRET = "hunter2-Zx9"
LEFT_OUT = "[3 arguments left out]"
# A child of its own, with the secret in its command line as well.
PARENT = """
  if (argc > 3) {
    char *words[] = {argv[0], argv[2], NULL};
    if (fork() == 0)
      execv("/proc/self/exe", words);
    extern int wait(int *);
    wait(NULL);
  }
  return 0;
"""


def mode(path):
    return path.stat().st_mode & 0o777


@contextlib.contextmanager
def checkpoint_of(ground, *words):
    """The file of a run that goes on."""
    prog = ground.program("for (;;) pause();", "waiter")
    tide = ground.scratch / "live.tide"
    child = ground.start("-q", "-o", tide, *words[:-1], "--", prog, words[-1], umask=0)
    try:
        wait_for(lambda: tide.exists() and tide.stat().st_size, "a checkpoint")
        yield tide
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


@test
def captures_are_private(ground):
    """Whatever the umask, and whatever was there before; what is written for others is theirs."""
    prog = ground.program("return 0;")
    for mask in (0, 0o022, 0o077, 0o377):
        name = f"{mask:o}.tide"
        for again in ((), ("-f",), ("-f",)):
            run = [ground.tidemark, "run", "-q", *again, "-o", name, "--", prog]
            subprocess.run(run, cwd=ground.scratch, env=ground.env, check=True,
                           umask=mask)
            tide = ground.scratch / name
            expect(mode(tide) == 0o600, f"umask {mask:o}: {mode(tide):o}")
            tide.chmod(0o666)
    subprocess.run([ground.tidemark, "run", "-q", "--", prog], cwd=ground.scratch, env=ground.env,
                   check=True, umask=0)
    named, = ground.scratch.glob("tidemark.prog.*.tide")
    expect(mode(named) == 0o600, f"without -o: {mode(named):o}")

    def write(*words):
        subprocess.run([ground.tidemark, *words], cwd=ground.scratch, env=ground.env, check=True,
                       umask=0o022, capture_output=True)

    for verb, out, *more in (("merge", "m.tide", "22.tide"), ("symbolize", "s.tide")):
        for force in ((), ("-f",)):
            write(verb, *force, "-o", out, "0.tide", *more)
            expect(mode(ground.scratch / out) == 0o600, f"{verb}: {mode(ground.scratch / out):o}")
            (ground.scratch / out).chmod(0o644)
    write("symbolize", "0.tide")
    expect(mode(ground.scratch / "0.tide") == 0o666, "symbolize in place: its owner opened it")
    write("export", "--to", "folded", "-o", "x.folded", "0.tide")
    expect(mode(ground.scratch / "x.folded") == 0o644, "an export is for others")


@test
def checkpoints_are_private(ground):
    """Of a run that goes on: its file, without arguments where they are not wanted."""
    with checkpoint_of(ground, SECRET) as tide:
        expect(mode(tide) == 0o600, f"{mode(tide):o}")
        expect(SECRET in decoded(tide).decode(), "no arguments")
    tide.unlink()
    with checkpoint_of(ground, "--redact-args", SECRET) as tide:
        expect(mode(tide) == 0o600, f"{mode(tide):o}")
        text = decoded(tide).decode()
        expect(SECRET not in text and "[1 argument left out]" in text, "the secret is in it")


def unpacked(data):
    """All texts in a file, whatever it is packed in."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    joined = data.replace(b'</script>\n<script type="application/octet-stream">', b"")
    blocks = re.findall(rb' id="tidemark-data-\d">([^<]*)<', joined)
    return data + b"".join(zlib.decompress(base64.b64decode(block)) for block in blocks)


def decoded(tide):
    """A capture as the second decoder reads it."""
    done = subprocess.run([sys.executable, DECODER, tide], capture_output=True, check=True)
    return done.stdout


def formats(ground):
    words = re.findall(r"^  ([a-z]+): ", ground.run(ground.tidemark, "help", "export").stdout, re.M)
    expect(len(words) >= 9, f"formats: {words}")
    return words


def everything(ground, tide, *options):
    """Each thing that can be written of a capture, by its name."""
    def ask(*words):
        done = subprocess.run([ground.tidemark, *words], cwd=ground.scratch, env=ground.env,
                              capture_output=True)
        expect(done.returncode == 0, f"{words}: {done.stderr}")
        return done.stdout + done.stderr

    out = {}
    shutil.copy(tide, ground.scratch / "y.tide")
    for word in formats(ground):
        ask("export", "--to", word, *options, "-f", "-o", f"x.{word}", tide)
        out[f"export {word}"] = unpacked((ground.scratch / f"x.{word}").read_bytes())
    ask("html", *options, "-f", "-o", "x.html", tide)
    out["html"] = unpacked((ground.scratch / "x.html").read_bytes())
    ask("html", *options, "-f", "-o", "xx.html", tide, tide)
    out["html of two"] = unpacked((ground.scratch / "xx.html").read_bytes())
    for way in ((), ("--json",)):
        for words in (("report",), ("info",), ("tree",), ("diff", "x.tide")):
            out[" ".join((*words, *way))] = ask(*words, *way, *options, tide)
    for verb, name, *more in (("merge", "m.tide", "y.tide"), ("symbolize", "s.tide")):
        ask(verb, *options, "-f", "-o", name, tide, *more)
        out[verb] = decoded(ground.scratch / name)
    return out


def secret_run(ground, *options):
    prog = ground.program(PARENT, "teller")
    words = ("--password", SECRET, "3")
    done = ground.record("-q", "-f", "-o", "x.tide", *options, "--", prog, *words)
    expect(done.status == 0, done.stderr)
    return ground.scratch / "x.tide"


def telling(out):
    return {name for name, text in out.items() if SECRET.encode() in text}


@test
def redacted_everywhere(ground):
    """--redact-args on what is written of a capture that has the arguments."""
    tide = secret_run(ground)
    told = telling(everything(ground, tide))
    must_tell = {"export massif", "export dhat", "html", "info", "report --json", "merge",
                 "symbolize"}
    expect(must_tell <= told, f"nothing to leave out in {must_tell - told}")
    out = everything(ground, tide, "--redact-args")
    expect(not telling(out), f"the secret is in {telling(out)}")
    for name in told - {"html of two"}:
        text = b" ".join(out[name].split())
        expect(LEFT_OUT.encode() in text, f"{name} does not say how many were left out")
        expect(b"teller" in out[name], f"{name} has no program")
    once = ground.run(ground.tidemark, "symbolize", "--redact-args", tide)
    expect(once.status == 0 and SECRET not in decoded(tide).decode(), "symbolize in place")
    ground.run(ground.tidemark, "symbolize", "--redact-args", "-f", "-o", "s.tide", tide)
    expect(LEFT_OUT.encode() in decoded(ground.scratch / "s.tide"), "left out a second time")


@test
def redacted_from_the_start(ground):
    """run --redact-args: the file never has them."""
    tide = secret_run(ground, "--redact-args")
    text = decoded(tide).decode()
    expect(SECRET not in text, "the secret is in the file")
    expect(LEFT_OUT in text and "[1 argument left out]" in text, "numbers of arguments")
    expect(not telling(everything(ground, tide)), "… or in what is made of it")
