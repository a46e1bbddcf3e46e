# SPDX-License-Identifier: Apache-2.0
"""Where an export goes: not over the capture, not half a file, no packed bytes on a screen."""
import os
import pty
import subprocess

from ground import expect, test


def export(ground, *words):
    return ground.run(ground.tidemark, "export", *words)


@test
def export_spares_the_capture(ground):
    ground.record("-o", "x.tide", ground.program("return 0;"))
    before = (ground.scratch / "x.tide").read_bytes()
    os.link(ground.scratch / "x.tide", ground.scratch / "same.tide")
    for name in ("x.tide", "./x.tide", "same.tide"):
        for words in (("export", "--to", "svg"), ("html",)):
            done = ground.run(ground.tidemark, *words, "-f", "-o", name, "x.tide")
            expect(done.status == 2 and "is the capture itself" in done.stderr, done.stderr)
    expect((ground.scratch / "x.tide").read_bytes() == before, "the capture has changed")


@test
def export_replaces_whole_files(ground):
    ground.record("-o", "x.tide", ground.program("return 0;"))
    out = ground.scratch / "out"
    out.write_text("what was there\n")
    out.chmod(0o640)
    done = export(ground, "--to", "csv", "-o", out, "x.tide")
    expect(done.status and "-f overwrites it" in done.stderr, done.stderr)
    done = export(ground, "--to", "dhat", "--at", "end", "-f", "-o", out, "x.tide")
    expect(done.status and "whole run" in done.stderr, done.stderr)
    expect(out.read_text() == "what was there\n", "a refusal took the file away")
    expect(export(ground, "--to", "csv", "-f", "-o", out, "x.tide").status == 0, "-f")
    expect(out.read_text().startswith("time_s,"), out.read_text()[:40])
    expect(out.stat().st_mode & 0o777 == 0o640, "other permissions")
    link = ground.scratch / "link"
    link.symlink_to("out")
    expect(export(ground, "--to", "folded", "-f", "-o", link, "x.tide").status == 0, "a link")
    expect(link.is_symlink() and ";" in out.read_text(), "the link was not followed")
    expect(sorted(p.name for p in ground.scratch.glob("out*")) == ["out"], "something is left")


@test
def export_of_packed_bytes_is_not_for_terminals(ground):
    ground.record("-o", "x.tide", ground.program("return 0;"))
    for form, status in (("pprof", 2), ("folded", 0)):
        ours, its = pty.openpty()
        done = subprocess.run([ground.tidemark, "export", "--to", form, ground.scratch / "x.tide"],
                              env=ground.env, stdin=subprocess.DEVNULL, stdout=its,
                              stderr=subprocess.PIPE, text=True)
        os.close(its)
        os.close(ours)
        expect(done.returncode == status, f"{form}: {done.returncode} {done.stderr}")
        expect(("terminal" in done.stderr) == (status == 2), done.stderr)
