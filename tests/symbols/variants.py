# SPDX-License-Identifier: Apache-2.0
"""The builds whose chains are looked at: compilers, optimisation, DWARF, linkers, and what is done
to a program afterwards.

A variant is a shell script that makes `program` in an empty directory. $S is where the sources are.
"""
import os
import re

MACHINE = os.uname().machine
C_SOURCES = ("chain.c", "chain.h", "generated.inc", "other.c", "library.c", "assembly.S")
CXX_SOURCES = ("chain.cpp", "chain.hpp", "other.cpp")
APART = "objcopy --only-keep-debug $f $f.debug && strip --strip-all $f"
LINKED = APART + " && objcopy --add-gnu-debuglink=$f.debug $f"
# As packages of debug symbols have it: found by build id alone.
BY_ID = (APART + " && id=$(readelf -n $f | sed -n 's/.*Build ID: //p') "
         "&& dir=debug/.build-id/$(echo $id | cut -c 1-2) && mkdir -p $dir "
         "&& mv $f.debug $dir/$(echo $id | cut -c 3-).debug")
VARIANTS = []


class Variant:
    """One build: what it is made of, how, and what it takes."""

    def __init__(self, name, sources, script, tags, needs, directory="$S", options=()):
        self.name, self.sources, self.script = name, sources, script
        self.tags, self.needs = set(tags) | {MACHINE}, set(needs)
        self.directory = directory  # of the sources, as the debug information should have it
        self.options = options      # for the report
        # Compared with other tools, address by address: not what has no symbols to find functions
        # by or hardly any lines, and not where these tools fail in Debian 12: at the second file
        # of split DWARF, zstd, the file that dwz moves common parts to, code thrown away.
        beyond = "strip |-static-|-gsplit|=zstd|dwz -m|-DTHROWN_AWAY"
        self.compared = not ("names" in tags or re.search(beyond, script))
        VARIANTS.append(self)


def settled(compiler, flags):
    """The flags with which the compiler keeps to the source: gcc makes functions that do the same
    one, and what is left has the name of either."""
    return flags + (" -fno-ipa-icf" if compiler == "gcc" else "")


def level(flags):
    return {"O0" if "-O0" in flags else "O2"}


def c(name, compiler, flags, link="", after="", needs=(), tags=(), is_lined=True, **more):
    """Unless is_lined, the function in assembly has no debug information."""
    flags = settled(compiler, flags)
    assembly = flags if is_lined else "-g0"
    script = [f"{compiler} {flags} -shared -fPIC $S/library.c -o liblibrary.so",
              f"{compiler} {flags} -c $S/chain.c -o chain.o",
              f"{compiler} {flags} -c $S/other.c -o other.o",
              f"{compiler} {assembly} -c $S/assembly.S -o assembly.o",
              f"{compiler} {flags} {link} chain.o assembly.o other.o -L. -llibrary "
              "-Wl,-rpath,'$ORIGIN' -o program"]
    if after:
        script.append(f"for f in program liblibrary.so; do {after} || exit; done")
    Variant(f"c.{compiler}.{name}", C_SOURCES if is_lined else C_SOURCES[:-1], " && ".join(script),
            {compiler, *level(flags), *tags}, {compiler, *needs}, **more)


def cxx(name, compiler, flags, link="", after="", needs=(), tags=(), **more):
    flags = settled(compiler, flags)
    command = {"gcc": "g++", "clang": "clang++"}[compiler]
    script = [f"{command} -std=c++17 {flags} -c $S/chain.cpp -o chain.o",
              f"{command} -std=c++17 {flags} -c $S/other.cpp -o other.o",
              f"{command} {flags} {link} -pthread chain.o other.o -o program"]
    if after:
        script.append("f=program && " + after)
    Variant(f"c++.{compiler}.{name}", CXX_SOURCES, " && ".join(script),
            {compiler, *level(flags), *tags}, {command, *needs}, **more)


def rust(name, flags, after="", needs=(), tags=(), **more):
    script = f"RUSTC_BOOTSTRAP=1 rustc --edition=2021 {flags} $S/chain.rs -o program"
    if after:
        script += " && f=program && " + after
    Variant(f"rust.{name}", ("chain.rs",), script, tags, {"rustc", *needs}, **more)


def of_both_languages(make, cc):
    for dwarf in (4, 5):
        for o in ("-O0", "-O2"):
            make(f"dwarf{dwarf}{o}", cc, f"-gdwarf-{dwarf} {o}")
    lto, lld = ("-flto -fuse-ld=lld", ["ld.lld"]) if cc == "clang" else ("-flto=1", [])
    make("lto", cc, f"-g -O2 {lto}", needs=lld)
    make("swept", cc, "-g -O2 -ffunction-sections -fdata-sections", link="-Wl,--gc-sections")
    make("swept-lld", cc, "-g -O0 -ffunction-sections -no-pie -fno-pie",
         link="-Wl,--gc-sections -fuse-ld=lld", needs=["ld.lld"])
    make("split", cc, "-g -O2 -gsplit-dwarf")
    make("apart", cc, "-g -O2", after=LINKED)
    make("by-id", cc, "-g -O2", after=BY_ID, options=["--debug-dir", "debug"])
    make("types", cc, "-gdwarf-4 -O2 -fdebug-types-section")
    make("frame-pointer", cc, "-g -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer")
    make("dwz", cc, "-gdwarf-4 -O2", after="dwz $f", needs=["dwz"])
    make("names", cc, "-g0 -O2", tags=["names"])


for each in ("gcc", "clang"):
    of_both_languages(c, each)
    of_both_languages(cxx, each)
    # What the linker left of a function reaches over one without debug information.
    for linker in ("bfd", "gold", "lld"):
        c(f"swept-large-{linker}", each, "-g -O2 -DTHROWN_AWAY -ffunction-sections",
          link=f"-Wl,--gc-sections -fuse-ld={linker}", needs=[f"ld.{linker}"], is_lined=False)
    c("os", each, "-g -Os")
    c("o3", each, "-g -O3")
    c("fixed", each, "-g -O2 -fno-pie -no-pie")
    c("packed", each, "-g -O2 -gz=zlib")
    c("dwarf64", each, "-gdwarf-5 -gdwarf64 -O2")
    cxx("moved", each, "-g -O2 -fdebug-prefix-map=$S=/elsewhere", directory="/elsewhere")
    for dwarf in (4, 5):
        Variant(f"c.{each}.relative-dwarf{dwarf}", C_SOURCES,
                f"mkdir -p 'odd ü/x' && cp $S/*.c $S/*.h $S/*.inc $S/*.S 'odd ü' && cd 'odd ü/x' "
                f"&& {each} -gdwarf-{dwarf} -O2 ./../chain.c ../x/../other.c ../library.c "
                "../assembly.S -o ../../program",
                {each, "O2"}, {each}, directory="$PWD/odd ü")
c("packed-old", "gcc", "-g -O2", after="objcopy --compress-debug-sections=zlib-gnu $f")
c("packed-zstd", "gcc", "-g -O2", after="objcopy --compress-debug-sections=zstd $f")
cxx("packed-zstd", "clang", "-g -O2 -gdwarf-4",
    after="objcopy --compress-debug-sections=zstd $f && " + LINKED)
c("apart-packed", "gcc", "-g -O2",
  after=LINKED + " && objcopy --compress-debug-sections=zlib $f.debug")
c("apart-dwz", "gcc", "-gdwarf-5 -O2", after="dwz $f && " + LINKED, needs=["dwz"])
c("lto-dwarf4", "gcc", "-gdwarf-4 -O2 -flto=1")
c("split-dwarf4", "gcc", "-gdwarf-4 -O2 -gsplit-dwarf")
c("own-lines", "gcc", "-g -O2 -gno-as-loc-support")
c("dwarf2", "gcc", "-gdwarf-2 -O2")
c("dwarf3", "gcc", "-gdwarf-3 -O2")
c("gold", "gcc", "-g -O2 -ffunction-sections", link="-fuse-ld=gold -Wl,--gc-sections")
c("one-segment", "gcc", "-g -O2 -Wl,-z,noseparate-code -Wl,--emit-relocs")
c("lines-only", "gcc", "-g1 -O2")
c("lines-only", "clang", "-gline-tables-only -O2")
c("lto-names", "gcc", "-g0 -O2 -flto=1", tags=["names"])
if MACHINE == "x86_64":
    c("block-sections", "clang", "-g -O2 -fbasic-block-sections=all")
cxx("dwz-common", "gcc", "-gdwarf-5 -O2",
    after="cp program second && dwz -m common.debug program second", needs=["dwz"])
cxx("static", "gcc", "-g -O2", link="-static-libstdc++ -static-libgcc")

for scheme in ("v0", "legacy"):
    mangled = f"-Zunstable-options -Csymbol-mangling-version={scheme}"
    rust(f"{scheme}-O0", f"-g {mangled}")
    rust(f"{scheme}-O2", f"-g -Copt-level=2 {mangled}")
    rust(f"{scheme}-limited", f"-Cdebuginfo=1 -Copt-level=2 {mangled}")
    rust(f"{scheme}-lines", f"-Cdebuginfo=line-tables-only -Copt-level=2 {mangled}",
         tags=["last_part"])
    rust(f"{scheme}-apart", f"-g -Copt-level=2 {mangled}", after=LINKED)
    rust(f"{scheme}-names", f"-Cstrip=debuginfo -Copt-level=2 {mangled}", tags=["names"])
rust("default-O3", "-g -Copt-level=3 -Cpanic=abort")
rust("default-Os", "-g -Copt-level=s -Ccodegen-units=16")
rust("by-id", "-g -Copt-level=2 -Clink-arg=-Wl,--build-id", after=BY_ID,
     options=["--debug-dir", "debug"])
rust("lto-thin", "-g -Copt-level=2 -Clto=thin")
rust("lto-fat", "-g -Copt-level=2 -Clto=fat -Ccodegen-units=1")
rust("dwarf5", "-g -Copt-level=2 -Zdwarf-version=5")
rust("packed", "-g -Copt-level=2", after="objcopy --compress-debug-sections=zlib $f")
rust("split", "-g -Copt-level=2 -Csplit-debuginfo=unpacked")
rust("dynamic", "-g -Copt-level=2 -Cprefer-dynamic -Crpath")
