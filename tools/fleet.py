#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers of other makers that the suite `fleet` proves the pushing and scraping against.

    tools/fleet.py build [parca] [pyroscope] [profilecli] [prometheus] [otlp] [otelcol]
                                                                          (no name: all)
    tools/fleet.py where NAME

They are had once for each version and kept outside the tree, in $XDG_CACHE_HOME/tidemark-fleet
(~/.cache/tidemark-fleet): Parca and Pyroscope are built from the Go module proxy (ten minutes of a
processor and 4 GB of Go's own caches), and so is an OpenTelemetry collector, by its own builder;
Prometheus is unpacked from Debian's package, OTLP's own decoder is a package of Python's. `where`
prints the path of a program that is there, or says which command makes it, and fails.
"""
import os
import shutil
import subprocess
import sys
import tempfile

PARCA = "github.com/parca-dev/parca"
PYROSCOPE = "github.com/grafana/pyroscope"
COLLECTOR = "go.opentelemetry.io/collector"
# name: (module or Debian package, version, commands in a writable copy of the module; {out} is
# the program). These versions are the newest whose pinned dependencies a module proxy serves.
PROGRAMS = {
    "parca": (PARCA, "v0.21.0", [
        "go build -trimpath -ldflags '-s -w -checklinkname=0' -o {out} ./cmd/parca"]),
    "pyroscope": (PYROSCOPE, "v1.12.0", [
        f"go mod edit -replace {PYROSCOPE}/api={PYROSCOPE}/api@v1.2.0",
        "go build -mod=mod -trimpath -ldflags '-s -w' -o {out} ./cmd/pyroscope"]),
    "profilecli": (PYROSCOPE, "v1.12.0", [
        f"go mod edit -replace {PYROSCOPE}/api={PYROSCOPE}/api@v1.2.0",
        "go build -mod=mod -trimpath -ldflags '-s -w' -o {out} ./cmd/profilecli"]),
    "otelcol": (f"{COLLECTOR}/cmd/builder", "v0.162.0", [
        "go build -trimpath -o builder .",
        "./builder --skip-strict-versioning --config otelcol.yaml",
        "cp made/otelcol {out}"]),
    "prometheus": ("prometheus", "debian", []),
    "promtool": ("prometheus", "debian", []),
    "otlp": ("opentelemetry-proto", "1.45.2", []),
}
# What the collector is built of: it takes OTLP and passes it on.
FILES = {"otelcol": {"otelcol.yaml": f"""
dist: {{name: otelcol, module: otelcol, output_path: ./made}}
receivers: [{{gomod: {COLLECTOR}/receiver/otlpreceiver v0.162.0}}]
exporters: [{{gomod: {COLLECTOR}/exporter/otlphttpexporter v0.162.0}}]
providers: [{{gomod: {COLLECTOR}/confmap/provider/fileprovider v1.68.0}}]
conf_resolver: {{default_uri_scheme: file}}
"""}}
OTLP = '''#!{python}
import sys
sys.path.insert(0, {packages!r})
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
request = service.ExportProfilesServiceRequest.FromString(sys.stdin.buffer.read())
print(MessageToJson(request, always_print_fields_with_no_presence=True))
'''


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "tidemark-fleet")


def place(name):
    """Where a program of ours lies once it was had."""
    return os.path.join(cache(), f"{name}-{PROGRAMS[name][1]}", name)


def found(name):
    """The path of a program: the machine's if Debian has it, else the cache's; None: neither."""
    if PROGRAMS[name][1] == "debian" and shutil.which(name):
        return shutil.which(name)
    return place(name) if os.access(place(name), os.X_OK) else None


def how(name):
    """The command that makes a program that is missing."""
    return f"tools/fleet.py build {'prometheus' if name == 'promtool' else name}"


def run(command, folder):
    environment = dict(os.environ, GOWORK="off", CGO_ENABLED="0")
    subprocess.run(command, shell=True, cwd=folder, env=environment, check=True)


def publish(built, name):
    """A program is at its place whole, or not at all."""
    os.makedirs(os.path.dirname(place(name)), exist_ok=True)
    shutil.copy2(built, place(name) + ".new")
    os.replace(place(name) + ".new", place(name))
    print(f"{name}: {place(name)}")


def build_go(name):
    module, version, commands = PROGRAMS[name]
    if not shutil.which("go"):
        return f"{name}: skipped: it is built by Go, which is not here"
    with tempfile.TemporaryDirectory(prefix="tidemark-fleet-") as scratch:
        run(f"go mod download {module}@{version}", scratch)
        modules = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        source = os.path.join(scratch, "source")
        shutil.copytree(os.path.join(modules, f"{module}@{version}"), source)
        run("chmod -R u+w .", source)
        for file, text in FILES.get(name, {}).items():
            with open(os.path.join(source, file), "w", encoding="utf-8") as new:
                new.write(text)
        out = os.path.join(scratch, name)
        for command in commands:
            run(command.format(out=out), source)
        publish(out, name)
    return None


def build_debian(_name):
    if not shutil.which("apt-get"):
        return "prometheus: skipped: it is Debian's package, and apt-get is not here"
    with tempfile.TemporaryDirectory(prefix="tidemark-fleet-") as scratch:
        os.chmod(scratch, 0o755)
        run("apt-get -q download prometheus && dpkg -x prometheus_*.deb .", scratch)
        for name in ("prometheus", "promtool"):
            publish(os.path.join(scratch, "usr/bin", name), name)
    return None


def build_pip(name):
    """A program that reads a request and prints it as JSON, by the project's generated code."""
    package, version, _ = PROGRAMS[name]
    packages = os.path.join(os.path.dirname(place(name)), "packages")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", packages,
                           f"{package}=={version}"], check=False)
    if done.returncode:
        return f"{name}: skipped: pip does not have {package} {version}"
    with tempfile.TemporaryDirectory(prefix="tidemark-fleet-") as scratch:
        built = os.path.join(scratch, name)
        with open(built, "w", encoding="utf-8") as out:
            out.write(OTLP.format(python=sys.executable, packages=packages))
        os.chmod(built, 0o755)
        publish(built, name)
    return None


BUILDERS = {"prometheus": build_debian, "promtool": build_debian, "otlp": build_pip}


def build(names):
    for name in names or ("prometheus", "otlp", "otelcol", "parca", "pyroscope",
                          "profilecli"):
        if found(name):
            print(f"{name}: {found(name)}")
            continue
        lacking = BUILDERS.get(name, build_go)(name)
        if lacking:
            print(lacking)
    return 0


def where(name):
    if found(name):
        print(found(name))
        return 0
    print(f"fleet: no {name} here: {how(name)}", file=sys.stderr)
    return 1


def main(words):
    if words[:1] == ["build"] and all(w in PROGRAMS for w in words[1:]):
        return build(words[1:])
    if words[:1] == ["where"] and len(words) == 2 and words[1] in PROGRAMS:
        return where(words[1])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
