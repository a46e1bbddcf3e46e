# SPDX-License-Identifier: Apache-2.0
"""The builds whose chains are looked at: compilers, optimisation, DWARF, linkers, and what is done
to a program afterwards.

A variant is a shell script that makes `program` in an empty directory. $S is where the sources are.
"""
import os

C_SOURCES = ("chain.c", "chain.h", "generated.inc", "other.c", "library.c",
             "assembly.S")
CXX_SOURCES = ("chain.cpp", "chain.hpp", "other.cpp")
BOTH = "for f in program liblibrary.so; do {}; done"
APART = ("objcopy --only-keep-debug $f $f.debug && strip --strip-all $f "
         "&& objcopy --add-gnu-debuglink=$f.debug $f")
MACHINE = os.uname().machine
VARIANTS = []


class Variant:
    """One build: what it is made of, how, and what it takes."""

    def __init__(self, name, sources, script, tags, needs):
        self.name, self.sources, self.script = name, sources, script
        self.tags, self.needs = tags | {MACHINE}, needs
        # Compared with other tools, address by address: not what has no symbols to find functions
        # by, and not split DWARF, of which llvm-symbolizer 14 reads the first file alone.
        self.compared = "strip " not in script and "-gsplit-dwarf" not in script
        VARIANTS.append(self)


def settled(compiler, flags):
    """The flags with which the compiler keeps to the source: gcc makes functions that do the same
    one, and what is left has the name of either."""
    return flags + (" -fno-ipa-icf" if compiler == "gcc" else "")


def level(flags):
    return {"O0" if "-O0" in flags else "O2"}


def c(name, compiler, flags, link="", after="", needs=()):
    flags = settled(compiler, flags)
    script = [f"{compiler} {flags} -shared -fPIC $S/library.c -o liblibrary.so",
              f"{compiler} {flags} -c $S/chain.c -o chain.o",
              f"{compiler} {flags} -c $S/other.c -o other.o",
              f"{compiler} {flags} -c $S/assembly.S -o assembly.o",
              f"{compiler} {flags} {link} chain.o other.o assembly.o -L. -llibrary "
              "-Wl,-rpath,'$ORIGIN' -o program"]
    if after:
        script.append(BOTH.format(after))
    Variant(f"c.{compiler}.{name}", C_SOURCES, " && ".join(script), {compiler} | level(flags),
            {compiler, *needs})


def cxx(name, compiler, flags, link="", after="", needs=()):
    flags = settled(compiler, flags)
    command = {"gcc": "g++", "clang": "clang++"}[compiler]
    script = [f"{command} -std=c++17 {flags} -c $S/chain.cpp -o chain.o",
              f"{command} -std=c++17 {flags} -c $S/other.cpp -o other.o",
              f"{command} {flags} {link} -pthread chain.o other.o -o program"]
    if after:
        script.append("f=program && " + after)
    Variant(f"c++.{compiler}.{name}", CXX_SOURCES, " && ".join(script),
            {compiler} | level(flags), {command, *needs})


def rust(name, flags, after="", needs=(), tags=()):
    script = f"RUSTC_BOOTSTRAP=1 rustc --edition=2021 {flags} $S/chain.rs -o program"
    if after:
        script += " && f=program && " + after
    Variant(f"rust.{name}", ("chain.rs",), script, set(tags), {"rustc", *needs})


for cc in ("gcc", "clang"):
    for make in (c, cxx):
        for dwarf in (4, 5):
            for o in ("-O0", "-O2"):
                make(f"dwarf{dwarf}{o}", cc, f"-gdwarf-{dwarf} {o}")
        lto = "-flto -fuse-ld=lld" if cc == "clang" else "-flto=1"
        lld = ["ld.lld"] if cc == "clang" else []
        make("lto", cc, f"-g -O2 {lto}", needs=lld)
        make("swept", cc, "-g -O2 -ffunction-sections -fdata-sections", link="-Wl,--gc-sections",
             )
        make("swept-lld", cc, "-g -O0 -ffunction-sections -no-pie -fno-pie",
             link="-Wl,--gc-sections -fuse-ld=lld", needs=["ld.lld"])
        make("split", cc, "-g -O2 -gsplit-dwarf")
        make("apart", cc, "-g -O2", after=APART)
        make("types", cc, "-gdwarf-4 -O2 -fdebug-types-section")
        make("frame-pointer", cc, "-g -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer")
        make("dwz", cc, "-gdwarf-4 -O2", after="dwz $f", needs=["dwz"])
    c("os", cc, "-g -Os")
    c("o3", cc, "-g -O3")
    c("fixed", cc, "-g -O2 -fno-pie -no-pie")
    c("packed", cc, "-g -O2 -gz=zlib")
    c("dwarf64", cc, "-gdwarf-5 -gdwarf64 -O2")
    c("moved", cc, "-g -O2 -ffile-prefix-map=$S=/elsewhere")
c("packed-old", "gcc", "-g -O2", after="objcopy --compress-debug-sections=zlib-gnu $f")
c("apart-packed", "gcc", "-g -O2",
  after=APART + " && objcopy --compress-debug-sections=zlib $f.debug")
c("apart-dwz", "gcc", "-gdwarf-5 -O2", after="dwz $f && " + APART, needs=["dwz"])
c("lto-dwarf4", "gcc", "-gdwarf-4 -O2 -flto=1")
c("split-dwarf4", "gcc", "-gdwarf-4 -O2 -gsplit-dwarf")
c("own-lines", "gcc", "-g -O2 -gno-as-loc-support")
c("dwarf2", "gcc", "-gdwarf-2 -O2")
c("dwarf3", "gcc", "-gdwarf-3 -O2")
c("gold", "gcc", "-g -O2 -ffunction-sections", link="-fuse-ld=gold -Wl,--gc-sections")
c("one-segment", "gcc", "-g -O2 -Wl,-z,noseparate-code -Wl,--emit-relocs")
c("lines-only", "gcc", "-g1 -O2")
c("lines-only", "clang", "-gline-tables-only -O2")
if MACHINE == "x86_64":
    c("block-sections", "clang", "-g -O2 -fbasic-block-sections=all")

for scheme in ("v0", "legacy"):
    mangled = f"-Zunstable-options -Csymbol-mangling-version={scheme}"
    rust(f"{scheme}-O0", f"-g {mangled}")
    rust(f"{scheme}-O2", f"-g -Copt-level=2 {mangled}")
    rust(f"{scheme}-limited", f"-Cdebuginfo=1 -Copt-level=2 {mangled}")
    rust(f"{scheme}-lines", f"-Cdebuginfo=line-tables-only -Copt-level=2 {mangled}",
         tags={"last_part"})
    rust(f"{scheme}-apart", f"-g -Copt-level=2 {mangled}", after=APART)
rust("default-O3", "-g -Copt-level=3 -Cpanic=abort")
rust("lto-thin", "-g -Copt-level=2 -Clto=thin")
rust("lto-fat", "-g -Copt-level=2 -Clto=fat -Ccodegen-units=1")
rust("dwarf5", "-g -Copt-level=2 -Zdwarf-version=5")
rust("packed", "-g -Copt-level=2", after="objcopy --compress-debug-sections=zlib $f")
