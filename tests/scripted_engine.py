"""A container engine for tests: a `docker` that runs "containers" as plain processes, and fails in each way it is told to.

It does what the adapter relies on: starts the first process with the mounts where the command line says, applies the limits
that a process can be held to, ends everything that a container started with its first process, and answers version, image
inspect, ps and rm. It isolates nothing. What a container would find out about itself follows from the options that were given,
so that one that is missing is noticed as with a real engine.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

IMAGE = "python:3.12-slim"


@dataclass(frozen=True, slots=True)
class ScriptedEngine:
    """The engine's state: files that the executable reads and writes."""

    state: Path

    def fail(self, how: str) -> None:
        """From now on: "daemon", "start", "hang", "silent", "die", "kill", "freeze", "client", or "" for no way."""
        (self.state / "fault").write_text(how)

    def ignore(self, *options: str) -> None:
        """Leave out these options, as engines do with what they cannot enforce."""
        (self.state / "ignored").write_text(json.dumps(options))

    def without_image(self) -> None:
        (self.state / "images").write_text("")

    def containers(self) -> list[str]:
        return sorted(path.name for path in (self.state / "containers").iterdir())

    def add_container(self, name: str) -> None:
        (self.state / "containers" / name).write_text("0")

    def asked(self) -> list[list[str]]:
        """Every command line, without the client."""
        log = self.state / "log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """Put the engine where `docker` is looked for; there is no other engine then."""
    state, bin_ = folder / "state", folder / "bin"
    (state / "containers").mkdir(parents=True)
    (state / "images").write_text(IMAGE)
    (state / "fault").write_text("")
    (state / "ignored").write_text("[]")
    bin_.mkdir()
    client = bin_ / "docker"
    client.write_text(f"#!{sys.executable} -IS\nSTATE = {str(state)!r}\n{_CLIENT}")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}/usr/bin{os.pathsep}/bin")
    engines = {"docker": str(client), "podman": None}
    monkeypatch.setattr("treewright.sandbox.container.engine.which", lambda name: engines[name])
    return ScriptedEngine(state)


_CLIENT = r'''
import ctypes, json, os, resource, shutil, signal, subprocess, sys, tempfile, time

FACTS = """
import os
def gather(root=None, scratch=None):
    return FOUND
def memory_kills(root=None):
    return int(os.path.exists(MARK))
"""

FOLDER = ""

def read(name):
    with open(os.path.join(STATE, name)) as file:
        return file.read()

def fail(text, code):
    print(text, file=sys.stderr)
    sys.exit(code)

def mib(text):
    return int(text.rstrip("m")) << 20

def found(options):
    memory = mib(options["--memory"][0]) if "--memory" in options else None
    both = mib(options["--memory-swap"][0]) if "--memory-swap" in options else None
    sizes = [part for part in options.get("--tmpfs", [""])[0].split(",") if part.startswith("size=")]
    return {
        "machine": os.uname().machine,
        "user": int(options.get("--user", ["0"])[0].partition(":")[0]),
        "capable": options.get("--cap-drop") != ["ALL"],
        "privileges_final": "no-new-privileges" in options.get("--security-opt", []),
        "filtered": "seccomp=unconfined" not in options.get("--security-opt", []),
        "read_only": "--read-only" in options,
        "networks": ["lo"] if options.get("--network") == ["none"] else ["eth0", "lo"],
        "memory": memory,
        "swap": None if both is None or memory is None else both - memory,
        "tasks": int(options["--pids-limit"][0]) if "--pids-limit" in options else None,
        "scratch": mib(sizes[0][5:]) if sizes else 1 << 50,
    }

def limit(options):
    for each in options.get("--ulimit", []):
        name, _, bounds = each.partition("=")
        if name != "nproc":  # it would count what else this user runs
            soft, hard = map(int, bounds.split(":"))
            resource.setrlimit(getattr(resource, "RLIMIT_" + name.upper()), (soft, hard))

def below():
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(entry)] = int(parent)
    found, ahead = [], [os.getpid()]
    while ahead:
        above = ahead.pop()
        children = [pid for pid, parent in parents.items() if parent == above]
        found += children
        ahead += children
    return found

def clear():
    while pids := below():
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.005)

def run(arguments):
    fault, ignored, options = read("fault"), json.loads(read("ignored")), {}
    while arguments[0].startswith("--"):
        name, _, value = arguments.pop(0).partition("=")
        if name not in ignored:
            options.setdefault(name, []).append(value)
    image, *arguments = arguments
    if fault == "start":
        fail("docker: Error response from daemon: OCI runtime create failed: no space left.\n", 125)
    name = options["--name"][0]
    global FOLDER
    with tempfile.TemporaryDirectory(prefix="treewright-") as folder:
        FOLDER = folder
        scratch, code = os.path.join(folder, "scratch"), os.path.join(folder, "code")
        os.mkdir(scratch)
        for mount in options["--mount"]:
            parts = dict(part.partition("=")[::2] for part in mount.split(","))
            if parts["target"].endswith("/code"):
                place = shutil.copytree(parts["source"], code)
            else:  # inside, the path is short
                place = os.path.join(folder, "m")
                os.symlink(parts["source"], place)
            arguments = [argument.replace(parts["target"], place) for argument in arguments]
        facts = FACTS.replace("FOUND", repr(found(options))).replace("MARK", repr(os.path.join(scratch, "oom")))
        with open(os.path.join(code, "treewright", "sandbox", "container", "facts.py"), "w") as file:
            file.write(facts)
        if fault == "hang":
            arguments = ["-c", "import time; time.sleep(600)"]
        if fault == "silent":
            arguments = ["-c", "raise SystemExit('no module named socket')"]
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what a container leaves behind becomes ours, to be ended with it
        environment = {"PATH": os.environ["PATH"], "SECRET_OF_IMAGE": "1"}
        environment.update(each.partition("=")[::2] for each in options.get("--env", []))
        first = subprocess.Popen(
            [sys.executable, *arguments], cwd=scratch, env=environment, preexec_fn=lambda: limit(options)
        )
        with open(os.path.join(STATE, "containers", name), "w") as file:
            file.write(str(os.getpid()))
        if fault in ("die", "kill", "freeze", "client"):
            while not os.path.exists(os.path.join(scratch, "now")):
                time.sleep(0.01)
            if fault == "client":
                shutil.rmtree(folder)
                os.kill(os.getpid(), signal.SIGKILL)
            first.send_signal(signal.SIGSTOP if fault == "freeze" else signal.SIGKILL)
        code = first.wait()
        clear()
        try:
            os.unlink(os.path.join(STATE, "containers", name))
        except FileNotFoundError:
            pass
    if fault == "die":
        fail("docker: unexpected EOF", 1)
    sys.exit(code if code >= 0 else 128 - code)

def remove(name):
    place = os.path.join(STATE, "containers", name)
    try:
        with open(place) as file:
            pid = int(file.read())
        os.unlink(place)
    except FileNotFoundError:
        fail(f"Error: No such container: {name}", 1)
    try:
        os.kill(pid, signal.SIGTERM) if pid else None
        while pid:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return
            time.sleep(0.01)
    except (ProcessLookupError, FileNotFoundError):
        pass

def ended(number, frame):
    clear()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os._exit(137)

signal.signal(signal.SIGTERM, ended)
words = sys.argv[1:]
with open(os.path.join(STATE, "log"), "a") as file:
    file.write(json.dumps(words) + "\n")
if read("fault") == "daemon":
    fail("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", 1)
if words[0] == "run":
    run(words[1:])
elif words[:2] == ["image", "inspect"] and words[2] not in read("images").split():
    fail(f"Error: No such image: {words[2]}", 1)
elif words[0] == "ps":
    print("\n".join(os.listdir(os.path.join(STATE, "containers"))))
elif words[0] == "rm":
    remove(words[-1])
'''
